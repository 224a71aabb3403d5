"""The report of ``headcount check``: problems, activity and repeats, with exact numbers; not private.

The counters of the statistics are here as well; the pass over the log is in ``scan``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount._internal.arrays import Codes, Flags, Integers
from headcount.errors import Surface, render
from headcount.events.encode.id_table import TextTable
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
        """The problem, with examples and a remedy."""
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
    """Records per user: ``most`` holds the sums over the 1, 3 and 10 most active users."""

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
    """How many records repeat an item of the same user; of a part of the users, if there are many."""

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
    """The rows of a log that would and would not count: exact numbers, for the curator alone.

    ``records`` of ``people`` would count. ``left_out`` is the number of rows that a condition drops, which is no
    problem; a store with ``--times`` does not know it.
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
        """How many users have a record that counts."""
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
        first = f"{self.source}: {some(self.rows, 'row')}; {counted}"
        return "\n".join([first, *map(str, self.problems), *self.hints])

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


_FEW = 3
_MOST_TEXTS = 1 << 20
MOST_PAIRS = 1 << 24
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


class FrequentTexts:
    """Texts with the number of their records; beyond a million different ones, of those alone.

    >>> seen = FrequentTexts()
    >>> seen.add(pa.array(["tee", "ry", "tee"]), np.array([1, 5, 2]))
    >>> [str(each) for each in seen.most]
    ["'ry' (5)", "'tee' (3)"]
    """

    def __init__(self) -> None:
        self._table = TextTable()
        self._records: Integers = np.zeros(0, dtype=np.int64)

    def add(self, column: pa.Array, records: Integers) -> None:
        """Count the texts of a column without nulls."""
        codes = self._table.codes(column, may_add=self._table.size < _MOST_TEXTS)
        self._records = enlarged(self._records, self._table.size)
        has_code = codes >= 0
        np.add.at(self._records, codes[has_code], records[has_code])

    @property
    def most(self) -> tuple[Example, ...]:
        """The most frequent few, and of equals those that came first."""
        data, ends = self._table.raw
        starts = np.concatenate([[0], ends])
        chosen = np.argsort(-self._records[: ends.size], kind="stable")[:_FEW].tolist()
        texts = {code: bytes(data[starts[code] : ends[code]]).decode() for code in chosen}
        return tuple(Example(shortened(text), int(self._records[code])) for code, text in texts.items())


class DistinctPairs:
    """Distinct pairs of user and item, by their codes, in bounded memory.

    Where there are too many, those of half of the users are kept, then of a quarter, and so on; the choice does
    not depend on their records.

    >>> pairs = DistinctPairs()
    >>> pairs.add(np.array([0, 0, 1]), np.array([7, 7, 7]))
    >>> pairs.distinct, pairs.share_of_people
    (2, 1.0)
    """

    def __init__(self, most: int = MOST_PAIRS) -> None:
        self._most, self._halvings = most, 0
        self._parts: list[NDArray[np.uint64]] = []

    def add(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> None:
        """Take some pairs, none of which has a code below 0."""
        keys = users.astype(np.uint64) << np.uint64(32) | items.astype(np.uint64)
        self._parts.append(_distinct(keys[self._kept(users)]))
        if sum(part.size for part in self._parts) > 2 * self._most:
            self._settle()

    @property
    def distinct(self) -> int:
        """How many different pairs the kept users have."""
        return int(self._settle().size)

    @property
    def share_of_people(self) -> float:
        """The share of users that is kept."""
        return 0.5**self._halvings

    def records_of_kept(self, records: Integers) -> int:
        """Return how many records the kept users have, given the records by user."""
        return int(records[self._kept(np.arange(records.size))].sum())

    def _kept(self, users: NDArray[np.generic]) -> Flags:
        if not self._halvings:
            return np.ones(users.size, dtype=bool)
        spread = (users.astype(np.uint64) + np.uint64(1)) * _SPREAD
        return np.asarray(spread >> np.uint64(64 - self._halvings) == 0)

    def _settle(self) -> NDArray[np.uint64]:
        keys = _distinct(np.concatenate([np.zeros(0, dtype=np.uint64), *self._parts]))
        while keys.size > self._most and self._halvings < 63:
            self._halvings += 1
            keys = keys[self._kept(keys >> np.uint64(32))]
        self._parts = [keys]
        return keys


class RecordCounts:
    """The records that count: of whom, of which item if there are any, in which of so many contexts."""

    def __init__(self, contexts: int, *, of_items: bool) -> None:
        self.records = 0
        self.records_by_user: Integers = np.zeros(0, dtype=np.int64)
        self.of_contexts: Integers = np.zeros(contexts, dtype=np.int64)
        self._pairs = DistinctPairs() if of_items else None

    def add(self, users: Codes, items: Codes, contexts: Codes | None, records: Integers) -> None:
        """Count rows that stand for so many records each."""
        self.records += int(records.sum())
        self.records_by_user = enlarged(self.records_by_user, int(users.max(initial=-1)) + 1)
        np.add.at(self.records_by_user, users, records)
        if contexts is not None:
            np.add.at(self.of_contexts, contexts, records)
        if self._pairs is not None:
            self._pairs.add(users, items)

    @property
    def activity(self) -> ActivitySummary | None:
        """Records per user."""
        records_by_user = np.sort(self.records_by_user[self.records_by_user > 0])
        if not records_by_user.size:
            return None
        half, nine, nearly = (int(records_by_user[-(-records_by_user.size * n // 100) - 1]) for n in (50, 90, 99))
        most = tuple((top, int(records_by_user[-top:].sum())) for top in (1, 3, 10) if top <= records_by_user.size)
        return ActivitySummary(records_by_user.size, self.records, half, nine, nearly, most)

    @property
    def repeats(self) -> Repeats | None:
        """How many records repeat a pair of user and item."""
        if self._pairs is None or not self.records:
            return None
        distinct = self._pairs.distinct
        records = self._pairs.records_of_kept(self.records_by_user)
        return Repeats(records - distinct, records, self._pairs.share_of_people)


def _distinct(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Sort keys in place, and return each once; NumPy's own way hashes them, which takes ten times as long."""
    keys.sort()
    new = np.ones(keys.size, dtype=bool)
    new[1:] = keys[1:] != keys[:-1]
    return keys[new]


def enlarged(numbers: Integers, size: int) -> Integers:
    """Return numbers with room for so many, zeros where there were none; it grows by more than is asked for."""
    if size <= numbers.size:
        return numbers
    return np.concatenate([numbers, np.zeros(max(size, 2 * numbers.size) - numbers.size, dtype=np.int64)])


_LONGEST = 40


def shortened(text: str) -> str:
    """Cut a long text."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
