"""The report of ``headcount check``: problems, activity and repeats, with exact numbers; not private.

The statistics are in ``statistics``, the pass over the log in ``scan``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from headcount.errors import Surface, render
from headcount.releases.formatting import per_cent, some

Fate = Literal["not counted", "counted as unknown"]
Role = Literal["user", "item", "times", "value", "context", "condition", "log"]


@dataclass(frozen=True)
class Example:
    """A raw text, shortened, and of how many records it is where that was counted."""

    text: str
    records: int | None = None

    def __str__(self) -> str:
        return f"{self.text!r}" + ("" if self.records is None else f" ({self.records:,})")

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"text": self.text} | ({} if self.records is None else {"records": self.records})


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Rows or records that would not be counted, or not where they belong, for one reason.

    >>> str(Problem(role="user", column="who", what="no user in column 'who'", number=2, total=80))
    "2 rows (2.5 %): no user in column 'who'"
    """

    role: Role
    column: str | None = None
    what: str
    number: int
    total: int
    noun: Literal["row", "record"] = "row"
    fate: Fate = "not counted"
    examples: tuple[Example, ...] = ()
    remedy: str | None = None

    def render(self, surface: Surface) -> Problem:
        """Return the problem with its parameters as a surface writes them."""
        remedy = None if self.remedy is None else render(self.remedy, surface)
        return replace(self, what=render(self.what, surface), remedy=remedy)

    @property
    def share(self) -> float:
        """How large a part of them it is."""
        return self.number / self.total if self.total else 0.0

    @property
    def reason(self) -> str:
        """What is wrong, with examples and what to do."""
        shown = ", ".join(map(str, self.examples))
        return self.what + (f": {shown}" if shown else "") + (f"; {self.remedy}" if self.remedy else "")

    def __str__(self) -> str:
        return f"{some(self.number, self.noun)} ({percent(self.share)}): {self.reason}"

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "role": self.role,
            "column": self.column,
            "what": self.what,
            f"{self.noun}s": self.number,
            "share": self.share,
            "fate": self.fate,
            "examples": [example.to_json() for example in self.examples],
            "remedy": self.remedy,
        }


@dataclass(frozen=True)
class ActivitySummary:
    """How many records people have: ``most`` says how many those of the most active 1, 3 and 10 add up to."""

    people: int
    records: int
    median: int
    most_of_90: int
    most_of_99: int
    most: tuple[tuple[int, int], ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "median": self.median,
            "most_of_90_percent": self.most_of_90,
            "most_of_99_percent": self.most_of_99,
            "most_active": [
                {"people": people, "records": records, "share": records / self.records}
                for people, records in self.most
            ],
        }


@dataclass(frozen=True)
class Repeats:
    """How many of the records are of an item that the same person has already; of some people, if of many."""

    records: int
    total: int
    share_of_people: float = 1.0

    @property
    def share(self) -> float:
        """How large a part of the records they are."""
        return self.records / self.total if self.total else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"records": self.records, "share": self.share, "share_of_people": self.share_of_people}


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What is in a log, and what of it would not be counted: exact numbers, for the curator's eyes only.

    ``records`` of ``people`` would count. ``left_out`` are rows that can be read and that a condition leaves out,
    which is no problem; a store with ``--times`` does not know them.
    """

    source: str
    rows: int
    left_out: int | None
    records: int
    problems: tuple[Problem, ...]
    hints: tuple[str, ...]
    activity: ActivitySummary | None
    repeats: Repeats | None
    contexts_without_records: tuple[str, ...] = ()
    values_cut: tuple[int, int] | None = None

    def render(self, surface: Surface) -> Checked:
        """Return the report with its parameters as a surface writes them."""
        hints = tuple(render(hint, surface) for hint in self.hints)
        return replace(self, hints=hints, problems=tuple(problem.render(surface) for problem in self.problems))

    @property
    def people(self) -> int:
        """How many people have a record that counts."""
        return 0 if self.activity is None else self.activity.people

    @property
    def all_counts(self) -> bool:
        """Whether every row that the conditions keep counts, in its item and its context."""
        return not self.problems

    def __repr__(self) -> str:
        problems = some(len(self.problems), "problem")
        return f"<Checked {self.source}: {problems}; {some(self.records, 'record')} would count>"

    def __str__(self) -> str:
        verb = "counts" if self.records == 1 else "count"
        counted = f"{some(self.records, 'record')} of {some(self.people, 'person', 'people')} {verb}"
        return "\n".join(
            [f"{self.source}: {some(self.rows, 'row')}; {counted}", *map(str, self.problems), *self.hints]
        )

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain data."""
        cut = self.values_cut
        return {
            "for": "the curator's eyes only",
            "source": self.source,
            "rows": self.rows,
            "left_out_by_conditions": self.left_out,
            "records": self.records,
            "people": self.people,
            "all_counts": self.all_counts,
            "problems": [problem.to_json() for problem in self.problems],
            "hints": list(self.hints),
            "activity": None if self.activity is None else self.activity.to_json(),
            "repeats": None if self.repeats is None else self.repeats.to_json(),
            "contexts_without_records": list(self.contexts_without_records),
            "values_cut": None if cut is None else {"below": cut[0], "above": cut[1]},
        }


def percent(share: float) -> str:
    """Write a share.

    >>> percent(0.0251), percent(1.0), percent(0.00001), percent(0.9999), percent(0.0)
    ('2.5 %', '100 %', '<0.1 %', '>99.9 %', '0 %')
    """
    if share in (0, 1):
        return per_cent(share)
    if share < 0.001:
        return "<0.1 %"
    return per_cent(share, 1) if share <= 0.999 else ">99.9 %"
