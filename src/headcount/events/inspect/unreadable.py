"""Unreadable values by column role: their number, a few examples, and the flag that would read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headcount._internal.arrays import Flags
from headcount.errors import param
from headcount.events.conditions import Condition, TimeWindow
from headcount.events.contexts import Context
from headcount.events.encode.text_columns import MAX_TEXT_BYTES, sizes
from headcount.events.inspect.report import Example, Fate, Problem, Role
from headcount.events.inspect.suggest_notation import remedy
from headcount.events.inspect.suggest_roles import time_remedy
from headcount.events.log import EventLog
from headcount.events.sources.files.formats import as_bytes, is_text

_FEW = 3
_LONGEST = 40
_LOOKED_AT = 1_000
_ENCODING = f"see {param.encoding}"
_TIME_FORMAT = f"see {param.time_format}"
_MOST_TEXTS = 1_000


class Examples:
    """The first few distinct texts that are shown to it.

    >>> seen = Examples()
    >>> seen.look(pa.array(["five", "4", "five", "six"]), np.array([True, False, True, True]))
    >>> [str(each) for each in seen.shown]
    ["'five'", "'six'"]
    """

    def __init__(self) -> None:
        self._texts: dict[str, None] = {}
        self.sample: list[str] = []

    def look(self, column: pa.Array, rows: Flags) -> None:
        """Look at some rows of a column as it was read, before anything was made of it."""
        if (len(self._texts) >= _FEW and len(self.sample) >= _MOST_TEXTS) or not rows.any():
            return
        chosen = column.take(pa.array(np.flatnonzero(rows)[:_LOOKED_AT]))
        for text in texts_of(chosen):
            if text is not None and len(self._texts) < _FEW:
                self._texts[shortened(text)] = None
            if text is not None and len(self.sample) < _MOST_TEXTS:
                self.sample.append(text)

    @property
    def shown(self) -> tuple[Example, ...]:
        """What was kept."""
        return tuple(Example(text) for text in self._texts)


@dataclass
class UnreadValues:
    """Rows of a column that say nothing in its role, or nothing that can be understood."""

    role: Role
    column: str
    nothing: str
    nonsense: str
    remedy: str | None = None
    fate: Fate = "not counted"
    missing: int = 0
    unreadable: int = 0
    overlong: int = 0
    examples: Examples = field(default_factory=Examples)
    remedy_for: Callable[[str, Sequence[str]], str | None] | None = None
    """Names the flags that read the texts of a column, if it can."""

    def look(self, raw: pa.Array, lost: Flags) -> None:
        """Take note of the rows that are lost, given the column as it was read."""
        if not lost.any():
            return
        something, overlong = _something(raw)
        odd = lost & something & ~overlong
        self.unreadable += int(np.count_nonzero(odd))
        self.overlong += int(np.count_nonzero(lost & overlong))
        self.missing += int(np.count_nonzero(lost & ~something))
        self.examples.look(raw, odd)

    @property
    def advice(self) -> str | None:
        """The flags that read most of what is unreadable, where its texts show them."""
        return self.remedy_for(self.column, self.examples.sample) if self.remedy_for and self.unreadable else None

    def problems(self, rows: int, absent: Callable[[str], str | None]) -> list[Problem]:
        """Say what was met among so many rows; ``absent`` says it of a column that no row has."""
        missing = Problem(
            role=self.role, column=self.column, what=self.nothing, number=self.missing, total=rows, fate=self.fate,
            remedy=absent(self.column) if self.missing == rows else None,
        )  # fmt: skip
        unreadable = Problem(
            role=self.role, column=self.column, what=self.nonsense, number=self.unreadable, total=rows,
            fate=self.fate, examples=self.examples.shown, remedy=self.advice or self.remedy,
        )  # fmt: skip
        overlong = Problem(
            role=self.role, column=self.column, number=self.overlong, total=rows, fate=self.fate,
            what=f"a text of more than {MAX_TEXT_BYTES:,} bytes in column {self.column!r}",
            remedy="Headcount reads no longer texts: shorten them before you write the log",
        )  # fmt: skip
        return [problem for problem in (missing, unreadable, overlong) if problem.number]


def required_columns(log: EventLog) -> list[UnreadValues]:
    """Return the columns without which a row does not count; a table of people names no items."""
    roles = log.roles
    trackers = [_id("user", "a user", roles.user)]
    if roles.item != roles.user:
        trackers.append(_id("item", "an item", roles.item))
    for tracker in trackers:
        if log.type_of(tracker.column) != log.source.type_of(tracker.column):  # fractions, read as whole numbers
            tracker.nonsense, tracker.remedy = tracker.nonsense.replace("no text", "no whole number"), None
    if roles.times is not None:
        column = f"column {roles.times!r} ({param.times})"
        nonsense = f"no number of records in {column}"
        trackers.append(UnreadValues("times", roles.times, f"nothing in {column}", nonsense, remedy_for=remedy))
    if roles.value is not None:
        column = f"column {roles.value!r} ({param.value})"
        nonsense = f"no number in {column}"
        trackers.append(UnreadValues("value", roles.value, f"nothing in {column}", nonsense, remedy_for=remedy))
    return trackers


def _id(role: Role, noun_phrase: str, name: str, fate: Fate = "not counted") -> UnreadValues:
    column, noun = f"column {name!r}", noun_phrase.split(maxsplit=1)[1]
    return UnreadValues(
        role, name, f"no {noun} in {column}", f"{noun_phrase} that is no text, in {column}", _ENCODING, fate
    )


def condition_column(condition: Condition) -> UnreadValues:
    """Return where rows are noted of which a condition cannot tell."""
    name, column = condition.column, f"column {condition.column!r} ({condition})"
    if isinstance(condition, TimeWindow):
        unreadable = f"no time that can be read in {column}"
        nothing = f"no time in {column}"
        return UnreadValues("condition", name, nothing, unreadable, _TIME_FORMAT, remedy_for=time_remedy)
    nonsense = f"nothing to compare in {column}"
    return UnreadValues("condition", name, f"nothing in {column}", nonsense, remedy_for=remedy)


def context_columns(context: Context, *, tags: bool) -> list[UnreadValues]:
    """Return where rows are noted whose context is missing; one without a tag does not count at all."""
    if context.part is None:
        if tags:
            return [_id("context", "a tag", name) for name in context.columns]
        return [_id("context", "a context", name, "counted as unknown") for name in context.columns]
    name = context.columns[0]
    column = f"in column {name!r}, so the {context.part} is unknown"
    unreadable = f"no time that can be read {column}"
    fate: Fate = "counted as unknown"
    return [
        UnreadValues("context", name, f"no time {column}", unreadable, _TIME_FORMAT, fate, remedy_for=time_remedy)
    ]


def texts_of(column: pa.Array) -> list[str | None]:
    r"""Return values as text, whatever they are; bytes that are no UTF-8 are spelled out.

    >>> texts_of(pa.array([b"caf\xe9", None]).view(pa.string())), texts_of(pa.array([7]))
    (['caf\\xe9', None], ['7'])
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if is_text(column.type):
        raw = as_bytes(column).to_pylist()
        return [
            None if text_bytes is None else text_bytes.decode("utf-8", "backslashreplace") for text_bytes in raw
        ]
    try:
        texts: list[str | None] = column.cast(pa.string()).to_pylist()
    except pa.ArrowException:  # a time that no calendar has
        return [None] * len(column)
    return texts


def _something(column: pa.Array) -> tuple[Flags, Flags]:
    """Say which rows of a column, as it was read, hold anything at all, and which a text that is too long."""
    if not is_text(column.type):
        return np.asarray(pc.is_valid(column)), np.zeros(len(column), dtype=bool)
    lengths = sizes(column)
    return lengths > 0, lengths > MAX_TEXT_BYTES


def shortened(text: str) -> str:
    """Cut a long text."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
