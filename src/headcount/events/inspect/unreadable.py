"""Unreadable values by column role: their number, a few examples, and the flag that would read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headcount._internal.arrays import Flags
from headcount.errors import param
from headcount.events.conditions import Condition, TimeWindow
from headcount.events.encode.text_columns import MAX_TEXT_BYTES, as_bytes, is_text, plain, sizes
from headcount.events.inspect.report import Example, Fate, Problem, Role, shortened
from headcount.events.inspect.suggest import notation_remedy, time_remedy
from headcount.events.log import EventLog
from headcount.events.tag_log import TagLog

Remedy = Callable[[str, Sequence[str]], str | None]

_EXAMPLES = 3
_SAMPLE = 1_000  # texts that show a remedy, and rows of a batch that are looked at for them


class _Kind(NamedTuple):
    """A use of a column: its role, sentences for missing and unreadable values, and what reads more of them."""

    role: Role
    missing: str
    unreadable: str
    remedy: str | None = None
    remedy_for: Remedy | None = None


_ENCODING, _TIME_FORMAT = f"see {param.encoding}", f"see {param.time_format}"
_KINDS = {
    "user": _Kind("user", "no user in {}", "a user that is no text, in {}", _ENCODING),
    "item": _Kind("item", "no item in {}", "an item that is no text, in {}", _ENCODING),
    "whole user": _Kind("user", "no user in {}", "a user that is no whole number, in {}"),
    "whole item": _Kind("item", "no item in {}", "an item that is no whole number, in {}"),
    "times": _Kind("times", "nothing in {}", "no number of records in {}", None, notation_remedy),
    "value": _Kind("value", "nothing in {}", "no number in {}", None, notation_remedy),
    "comparison": _Kind("condition", "nothing in {}", "nothing to compare in {}", None, notation_remedy),
    "window": _Kind("condition", "no time in {}", "no time that can be read in {}", _TIME_FORMAT, time_remedy),
    "tag": _Kind("context", "no tag in {}", "a tag that is no text, in {}", _ENCODING),
    "context": _Kind("context", "no context in {}", "a context that is no text, in {}", _ENCODING),
    "part": _Kind("context", "no time in {}", "no time that can be read in {}", _TIME_FORMAT, time_remedy),
}


@dataclass
class Unread:
    """Rows in which a column says nothing in its role, or nothing that can be understood.

    >>> unread = Unread(_KINDS["value"], "n")
    >>> unread.look(pa.array(["five", "4", "", "six"]), np.array([True, False, True, True]))
    >>> [(problem.what, problem.number) for problem in unread.problems(9, lambda _: None)]
    [("nothing in column 'n'", 1), ("no number in column 'n'", 2)]
    """

    kind: _Kind
    column: str
    more: str = ""
    fate: Fate = "not counted"
    missing: int = 0
    unreadable: int = 0
    overlong: int = 0
    _shown: dict[str, None] = field(default_factory=dict)
    _sample: list[str] = field(default_factory=list)

    @property
    def role(self) -> Role:
        """The role of the column."""
        return self.kind.role

    def look(self, raw: pa.Array, lost: Flags) -> None:
        """Take note of the rows that are lost, given the column as it was read."""
        if not lost.any():
            return
        present, overlong = np.asarray(pc.is_valid(raw)), np.zeros(len(raw), dtype=bool)
        if is_text(raw.type):
            lengths = sizes(raw)
            present, overlong = lengths > 0, lengths > MAX_TEXT_BYTES
        odd = lost & present & ~overlong
        self.unreadable += int(np.count_nonzero(odd))
        self.overlong += int(np.count_nonzero(lost & overlong))
        self.missing += int(np.count_nonzero(lost & ~present))
        if odd.any() and (len(self._shown) < _EXAMPLES or len(self._sample) < _SAMPLE):
            self._keep_examples(raw.take(pa.array(np.flatnonzero(odd)[:_SAMPLE])))

    def _keep_examples(self, column: pa.Array) -> None:
        texts = [text for text in texts_of(column) if text is not None]
        for text in texts:
            if len(self._shown) < _EXAMPLES:
                self._shown[shortened(text)] = None
        self._sample += texts[: _SAMPLE - len(self._sample)]

    @property
    def advice(self) -> str | None:
        """The flags that read most of what is unreadable, where its texts show them."""
        remedy_for = self.kind.remedy_for
        return remedy_for(self.column, self._sample) if remedy_for and self.unreadable else None

    def problems(self, rows: int, absent: Callable[[str], str | None]) -> list[Problem]:
        """Return the problems among so many rows; ``absent`` explains a column that no row has."""
        column = f"column {self.column!r}{self.more}"
        no_such = absent(self.column) if self.missing == rows else None
        shorten = "Headcount reads no longer texts: shorten them before you write the log"
        table: tuple[tuple[int, str, tuple[Example, ...], str | None], ...] = (
            (self.missing, self.kind.missing.format(column), (), no_such),
            (
                self.unreadable,
                self.kind.unreadable.format(column),
                tuple(map(Example, self._shown)),
                self.advice or self.kind.remedy,
            ),
            (
                self.overlong,
                f"a text of more than {MAX_TEXT_BYTES:,} bytes in column {self.column!r}",
                (),
                shorten,
            ),
        )
        return [
            Problem(
                role=self.role, column=self.column, what=what, number=number, total=rows, fate=self.fate,
                examples=examples, remedy=remedy,
            )
            for number, what, examples, remedy in table if number
        ]  # fmt: skip


def required_columns(log: EventLog) -> list[Unread]:
    """Return the columns without which a row does not count; a user table names no items."""
    roles = log.roles
    ids = [("user", roles.user)] + ([("item", roles.item)] if roles.item != roles.user else [])
    whole = {name: log.type_of(name) != log.source.type_of(name) for _, name in ids}  # fractions, read as such
    unread = [Unread(_KINDS[f"whole {kind}" if whole[name] else kind], name) for kind, name in ids]
    numbers = (("times", roles.times, param.times), ("value", roles.value, param.value))
    return unread + [
        Unread(_KINDS[kind], name, f" ({given})") for kind, name, given in numbers if name is not None
    ]


def condition_column(condition: Condition) -> Unread:
    """Return where rows are noted for which a condition cannot be decided."""
    kind = "window" if isinstance(condition, TimeWindow) else "comparison"
    return Unread(_KINDS[kind], condition.column, f" ({condition})")


def context_columns(log: EventLog) -> list[Unread]:
    """Return where rows are noted whose context is missing."""
    context = log.context
    if context is None:
        return []
    if context.part is not None:
        more = f", so the {context.part} is unknown"
        return [Unread(_KINDS["part"], context.columns[0], more, "counted as unknown")]
    kind = _KINDS["tag" if isinstance(log, TagLog) else "context"]
    return [Unread(kind, name, fate=fate_of(log)) for name in context.columns]


def fate_of(log: EventLog) -> Fate:
    """Return what becomes of a record with an unknown context: without a tag it does not count."""
    return "not counted" if isinstance(log, TagLog) else "counted as unknown"


def texts_of(column: pa.Array) -> list[str | None]:
    r"""Return values as text, whatever they are; bytes that are no UTF-8 are spelled out.

    >>> texts_of(pa.array([b"caf\xe9", None]).view(pa.string())), texts_of(pa.array([7]))
    (['caf\\xe9', None], ['7'])
    """
    column = plain(column)
    if is_text(column.type):
        raw = as_bytes(column).to_pylist()
        return [None if text is None else text.decode("utf-8", "backslashreplace") for text in raw]
    try:
        texts: list[str | None] = column.cast(pa.string()).to_pylist()
    except pa.ArrowException:  # a time that no calendar has
        return [None] * len(column)
    return texts
