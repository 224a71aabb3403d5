"""Public row filters: ``--where`` comparisons and ``--since``/``--until`` time windows.

A condition looks at one record alone, so no user decides about the records of another.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from operator import ge, gt, le, lt
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headcount.errors import UsageError, param
from headcount.events.encode.column_types import InexactError, cast_exactly, check_comparable
from headcount.events.encode.text_columns import is_textual, plain_type, value_type
from headcount.events.notation import PLAIN, Notation, Notations
from headcount.events.sources.files.scalar import numbers, whole_numbers
from headcount.events.times import TimeFormat, read_moment, stamped

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": pc.equal, "==": pc.equal, "!=": pc.not_equal,
    "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal,
}  # fmt: skip
_ORDER: dict[str, Callable[[Any, Any], Any]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
_PATTERN = re.compile(r"^\s*(?P<column>[^<>=!]+?)\s*(?P<operator><=|>=|!=|==|=|<|>)\s*(?P<value>[^<>=!\s].*?)\s*$")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_MOST_PLACES = 18


class Condition(Protocol):
    """Something a record fulfils or not."""

    @property
    def column(self) -> str:
        """The column it looks at."""

    def check(self, kind: pa.DataType) -> None:
        """Refuse a column type that cannot be compared, before any row is read."""

    def holds(self, batch: pa.RecordBatch) -> NDArray[np.bool_]:
        """Say for each row whether it holds; a missing value never does."""

    def is_decidable(self, batch: pa.RecordBatch) -> NDArray[np.bool_]:
        """Say for each row whether there is a value to tell by."""

    def __str__(self) -> str: ...


@dataclass(frozen=True)
class Compared:
    """``COL OP VALUE``: the value is cast to the column's type.

    Text is compared as text, except with ``<``, ``<=``, ``>`` and ``>=`` and a VALUE that is a number without
    quotes, which compare numbers. Whole numbers are compared exactly, also with a fraction.

    >>> condition = read_condition("rating >= 4")
    >>> batch = pa.record_batch({"rating": [5, 3, None]})
    >>> condition.holds(batch).tolist(), condition.is_decidable(batch).tolist()
    ([True, False, False], [True, True, False])
    """

    column: str
    operator: str
    value: str
    notation: Notation = PLAIN

    def check(self, kind: pa.DataType) -> None:
        """Refuse a value that cannot be compared with the column."""
        check_comparable(kind, self.column, self._compared)
        value = self._value(value_type(kind))
        if self.operator not in _ORDER or not (is_textual(kind) and pa.types.is_string(value.type)):
            return
        if (plain := self.notation.plain(pa.array([self.value]))).null_count == 0 and self.notation != PLAIN:
            raise UsageError(
                f"the condition {str(self)!r} does not write its number with a decimal point",
                remedy=f"write {plain[0]}, or put {self.value} in quotes to compare texts",
            )

    def holds(self, batch: pa.RecordBatch) -> NDArray[np.bool_]:
        """Compare each row."""
        return np.asarray(pc.fill_null(self._compared(batch.column(self.column)), fill_value=False), dtype=bool)

    def is_decidable(self, batch: pa.RecordBatch) -> NDArray[np.bool_]:
        """Look for a value that can be compared."""
        return np.asarray(pc.is_valid(self._compared(batch.column(self.column))), dtype=bool)

    def _compared(self, column: pa.Array) -> pa.Array:
        """Return whether each row holds, or nothing where it has no value to compare."""
        if pa.types.is_null(column.type):
            return pa.nulls(len(column), pa.bool_())
        if pa.types.is_dictionary(column.type):  # written out, one user's rows of a long text would not fit
            return self._compared(column.dictionary).take(column.indices)
        value = self._value(column.type)
        if is_textual(column.type) and pa.types.is_floating(value.type):
            return _numbers_compare(self.notation.plain(column), self.operator, Decimal(self.value))
        if is_textual(column.type):
            value = value.cast(column.type)
        elif pa.types.is_timestamp(column.type):  # by the microsecond: nanoseconds end in 2262
            moments = stamped(column)
            column = pa.array(moments.micros, mask=~moments.there).cast(value.type)
        elif pa.types.is_float16(column.type):  # which Arrow compares as nothing else
            column, value = column.cast(pa.float32()), value.cast(pa.float32())
        elif value.type != column.type:
            column = column.cast(value.type)
        return _COMPARE[self.operator](column, value)

    def _value(self, kind: pa.DataType) -> pa.Scalar:
        quoted = len(self.value) >= 2 and self.value[0] == self.value[-1] and self.value[0] in "'\""
        text = self.value[1:-1] if quoted else self.value
        if is_textual(kind):
            ordered = self.operator in ("<", "<=", ">", ">=")
            return pa.scalar(float(text)) if ordered and not quoted and _is_number(text) else pa.scalar(text)
        try:
            if pa.types.is_timestamp(kind):
                moment = datetime.fromisoformat(text)
                if kind.tz is None and moment.tzinfo is not None:
                    raise InexactError(text)
                return pa.scalar(TimeFormat().instant(moment, kind), pa.int64()).cast(pa.timestamp("us", kind.tz))
            if pa.types.is_integer(kind) and _is_number(text):
                return _exact_number(text, kind)
            return cast_exactly([text], kind)[0]
        except (InexactError, ValueError) as error:
            raise UsageError(
                f"the condition {str(self)!r} compares column {self.column!r}, which holds {plain_type(kind)}, "
                f"with {text!r}",
                remedy="correct the value",
            ) from error

    def __str__(self) -> str:
        return f"{self.column} {self.operator} {self.value}"


@dataclass(frozen=True)
class TimeWindow:
    """Records from ``since`` on and before ``until``; without an offset, these are times of the zone in use."""

    column: str
    since: datetime | None = None
    until: datetime | None = None
    time: TimeFormat = field(default_factory=TimeFormat)

    def check(self, kind: pa.DataType) -> None:
        """Refuse a column that holds no times."""
        self.time.check(kind, self.column)

    def holds(self, batch: pa.RecordBatch) -> NDArray[np.bool_]:
        """Compare each row's time."""
        column = batch.column(self.column)
        times, kept = self.time.instants(column)
        since, until = self.edges(column.type)
        if since is not None:
            kept = kept & (times >= since)
        if until is not None:
            kept = kept & (times < until)
        return kept

    def edges(self, kind: pa.DataType) -> tuple[int | None, int | None]:
        """Return both ends in microseconds since 1970, as a column of this type has them, None if open."""
        since, until = (None if end is None else self.time.instant(end, kind) for end in (self.since, self.until))
        return since, until

    def is_decidable(self, batch: pa.RecordBatch) -> NDArray[np.bool_]:
        """Look for a time."""
        return self.time.instants(batch.column(self.column))[1]

    def __str__(self) -> str:
        since = f"{self.since.isoformat()} ≤ " if self.since else ""
        until = f" < {self.until.isoformat()}" if self.until else ""
        return f"{since}{self.column}{until}"


def read_condition(text: str, numbers: Notations = Notations()) -> Compared:  # noqa: B008 - frozen
    """Read ``COL OP VALUE``; ``numbers`` says how text columns write numbers, VALUE has a decimal point."""
    match = _PATTERN.match(text)
    if match is None:
        raise UsageError(
            "a condition must read COL OP VALUE with =, !=, <, <=, > or >=",
            given=text,
            remedy="such as 'rating >= 4'",
        )
    return Compared(match["column"], match["operator"], match["value"], numbers.notation_of(match["column"]))


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def _numbers_compare(column: pa.Array, operator: str, bound: Decimal) -> pa.Array:
    """Compare the numbers that texts say: whole ones exactly, others as near as floating point comes."""
    compare = _ORDER[operator]
    values, there = numbers(column)
    holds: NDArray[np.bool_] = compare(values, float(bound))
    whole, is_whole = whole_numbers(column)
    edge = math.floor(bound) if operator in (">", "<=") else math.ceil(bound)
    exact: NDArray[np.bool_] = compare(whole, min(max(edge, -(2**62)), 2**62))
    return pa.array(np.where(is_whole, exact, holds), mask=~(there | is_whole))


def _exact_number(text: str, kind: pa.DataType) -> pa.Scalar:
    """Return a number to compare whole numbers with: of their own type where it fits, else a decimal."""
    try:
        return cast_exactly([text], kind)[0].cast(kind)
    except InexactError:
        number = Decimal(text)
        places = max(0, -int(number.normalize().as_tuple().exponent))
        if places > _MOST_PLACES or abs(number) >= 10 ** (38 - _MOST_PLACES):
            raise
        return pa.scalar(round(number, places), pa.decimal128(38, places))


def time_window(time: str | None, since: str | None, until: str | None, clock: TimeFormat) -> list[Condition]:
    """Read --since and --until; neither goes without --time, nor --time without one of them."""
    if since is None and until is None:
        if time is None:
            return []
        raise UsageError(
            f"{param.time} is given without {param.since} or {param.until}",
            remedy="leave it out, or give one of them",
        )
    if time is None:
        raise UsageError(
            f"{param.since} and {param.until} need a time column", remedy=f"name it with {param.time('COL')}"
        )
    start = None if since is None else read_moment(since, param.since)
    end = None if until is None else read_moment(until, param.until)
    if start and end and (start.tzinfo is None) == (end.tzinfo is None) and start >= end:
        raise UsageError(f"{param.since(since)} is not before {param.until(until)}", remedy="swap or correct them")
    return [TimeWindow(time, start, end, clock)]


def described_conditions(conditions: Sequence[Condition]) -> dict[str, Any]:
    """Return conditions under the names of their flags."""
    words: dict[str, Any] = {}
    comparisons = [str(condition) for condition in conditions if not isinstance(condition, TimeWindow)]
    if comparisons:
        words["where"] = comparisons
    for window in (condition for condition in conditions if isinstance(condition, TimeWindow)):
        words["time"] = window.column
        words |= {"since": window.since.isoformat()} if window.since else {}
        words |= {"until": window.until.isoformat()} if window.until else {}
    return words
