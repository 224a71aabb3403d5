"""Number notation: decimal and thousands separators of text columns.

A notation is public. It rewrites one text at a time into the plain notation, ``1234.5``, and looks at no other.
A text that breaks the notation is missing: it never means another number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headcount.errors import Parameter, UsageError, param
from headcount.events.encode.text_columns import is_text, plain_type

Separators = str | Sequence[str] | Mapping[str, str] | None
"""A character for all text columns, ``COL=C`` for one column, several of both, or a mapping of columns."""

_EVERY = ""
"""Stands for all text columns, in place of a name."""

_SPACES = " \u00a0\u202f"
_APOSTROPHES = "'\u2019"
_COMMA, _POINT, _COLUMN_COMMA = '","', '"."', '"COL=,"'
"""Examples of separators, as shells need them."""

_BLANKS = r"[\t-\r ]*"


@dataclass(frozen=True)
class Notation:
    r"""How the numbers of one column are written.

    Thousands separators are optional. They stand before groups of exactly three digits, and such a number does not
    start with 0. So ``1.2.3`` and ``12.34,5`` are missing, and so is ``0.125`` if the point separates thousands.

    >>> Notation(",", ".").plain(pa.array(["1.234,50", "1234,5", "12.34,5", "0.125", "15", "15.30"])).to_pylist()
    ['1234.50', '1234.5', None, None, '15', None]
    """

    decimal: str = "."
    thousands: str | None = None

    def plain(self, column: pa.Array) -> pa.Array:
        """Return a column with its numbers in the plain notation; other texts are missing there."""
        if self == PLAIN or not is_text(column.type):
            return column
        if pa.types.is_dictionary(column.type):
            return pa.DictionaryArray.from_arrays(column.indices, self.plain(column.dictionary))
        kept = pc.match_substring_regex(column, rf"\A{_BLANKS}{self._pattern}{_BLANKS}\z")
        texts = column if self.thousands is None else pc.replace_substring(column, self.thousands, "")
        return pc.if_else(kept, pc.replace_substring(texts, self.decimal, "."), pa.scalar(None, column.type))

    @property
    def _pattern(self) -> str:
        digits = "[0-9]+"
        if self.thousands is not None:
            digits += rf"|[1-9][0-9]{{0,2}}(?:{re.escape(self.thousands)}[0-9]{{3}})+"
        point = re.escape(self.decimal)
        return rf"[+-]?(?:(?:{digits})(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?"


PLAIN = Notation()


@dataclass(frozen=True)
class Notations:
    """The notation of each text column: separators by the name of the column, or of all columns.

    >>> numbers = Notations.read([",", "paid=."], {"sum": "."})
    >>> numbers.notation_of("sum"), numbers.notation_of("paid"), numbers.describe()
    (Notation(decimal=',', thousands='.'), Notation(decimal='.', thousands=None), {'decimal': [',', 'paid=.'], \
'thousands': ['sum=.']})
    """

    decimal: tuple[tuple[str, str], ...] = ()
    thousands: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, decimal: Separators = None, thousands: Separators = None) -> Notations:
        """Read ``--decimal`` and ``--thousands``; refuse separators that a number cannot have."""
        numbers = cls(_read(decimal, param.decimal), _read(thousands, param.thousands))
        for column in dict.fromkeys((_EVERY, *numbers.columns)):
            notation, name = numbers.notation_of(column), f" of column {column!r}" if column else ""
            if notation.decimal == notation.thousands:
                raise UsageError(
                    f'{param.thousands} is "{notation.thousands}", and so is the decimal separator{name}',
                    remedy="give both flags for the same columns, such as "
                    f"{param.decimal(_COMMA)} and {param.thousands(_POINT)}",
                )
        return numbers

    @classmethod
    def of_columns(cls, notations: Mapping[str, Notation]) -> Notations:
        """Take the notation of each column."""
        return cls.read(
            {name: own.decimal for name, own in notations.items() if own.decimal != PLAIN.decimal},
            {name: own.thousands for name, own in notations.items() if own.thousands is not None},
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that have a separator of their own."""
        return tuple(dict.fromkeys(name for name, _ in (*self.decimal, *self.thousands) if name != _EVERY))

    def notation_of(self, column: str) -> Notation:
        """Return the notation of a column."""
        decimal, thousands = dict(self.decimal), dict(self.thousands)
        return Notation(
            decimal.get(column, decimal.get(_EVERY, PLAIN.decimal)), thousands.get(column, thousands.get(_EVERY))
        )

    def plain(self, batch: pa.RecordBatch, column: str) -> pa.Array:
        """Return a column of a batch with its numbers in the plain notation."""
        return self.notation_of(column).plain(batch.column(column))

    def check(self, type_of: Callable[[str], pa.DataType]) -> None:
        """Refuse a named column that holds no text, or that does not exist."""
        for column in self.columns:
            kind = type_of(column)
            if not (is_text(kind) or pa.types.is_null(kind)):
                raise UsageError(
                    f"{param.decimal} and {param.thousands} are for text, and column {column!r} holds "
                    f"{plain_type(kind)}",
                    remedy="leave them out for this column",
                )

    def describe(self) -> dict[str, list[str]]:
        """Return the separators that were given, under the names of their flags."""
        pairs = {"decimal": self.decimal, "thousands": self.thousands}
        return {
            flag: [f"{name}={_spelled(mark)}" if name else _spelled(mark) for name, mark in own]
            for flag, own in pairs.items()
            if own
        }


def _spelled(mark: str) -> str:
    """Write a separator so that shells and forms keep it."""
    return f"\\u{ord(mark):04x}" if mark.isspace() else mark


def _read(given: Separators, flag: Parameter) -> tuple[tuple[str, str], ...]:
    texts = [given] if isinstance(given, str) else given or ()
    pairs = list(texts.items()) if isinstance(texts, Mapping) else [_named(text) for text in texts]
    usual = PLAIN.decimal if flag == param.decimal else None
    marks: dict[str, str] = {}
    for name, text in pairs:
        escaped = re.fullmatch(r"\\u([0-9a-fA-F]{4})", text) if isinstance(text, str) else None
        mark = chr(int(escaped[1], 16)) if escaped else text
        _check(mark, flag, name)
        if name in marks:
            raise UsageError(f"{flag} is given twice for {name or 'all columns'!r}", remedy="keep one of them")
        marks[name] = mark
    general = marks.get(_EVERY, usual)
    return tuple(sorted(pair for pair in marks.items() if pair[1] != (general if pair[0] else usual)))


def _named(text: str) -> tuple[str, str]:
    name, _, mark = text.rpartition("=") if isinstance(text, str) and len(text) > 1 else ("", "", text)
    return name, mark


def _check(mark: Any, flag: Parameter, column: str) -> None:
    sound = isinstance(mark, str) and len(mark) == 1
    if sound and (flag == param.decimal or mark not in _SPACES + _APOSTROPHES):
        refused = mark.isspace() or mark.isalnum() or mark in f'+-="\\\u2212{_APOSTROPHES}'
        sound = mark.isprintable() and not refused
    if not sound:
        more = "a space, an apostrophe, " if flag == param.thousands else ""
        raise UsageError(
            f"{flag} must be a single character{f' for column {column!r}' if column else ''}: {more}a comma, a "
            "point or another mark, but no digit, letter or sign",
            given=mark,
            remedy=f"such as {flag(_COMMA)} or {flag(_COLUMN_COMMA)}"
            + (r"; \u00a0 is a no-break space" if more else ""),
        )
