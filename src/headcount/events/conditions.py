"""Public conditions on single records: which rows count at all.

A condition looks at one record alone, so it keeps or drops a person's records without regard to anyone else's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headcount.errors import DataError, UsageError
from headcount.events.formats import is_text, plain_type
from headcount.events.times import TimeFormat

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": pc.equal, "==": pc.equal, "!=": pc.not_equal,
    "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal,
}  # fmt: skip
_PATTERN = re.compile(r"^\s*(?P<column>.+?)\s*(?P<operator><=|>=|!=|==|=|<|>)\s*(?P<value>.*?)\s*$")


class Condition(Protocol):
    """Something a record fulfils or not."""

    @property
    def column(self) -> str:
        """The column it looks at."""

    def holds(self, batch: pa.RecordBatch) -> NDArray[np.bool_]:
        """Say for each row whether it holds; a missing value never does."""

    def __str__(self) -> str: ...


@dataclass(frozen=True)
class Comparison:
    """``COL OP VALUE``: the value is cast to the column's type; text compares as numbers if VALUE is one.

    >>> condition = read_condition("rating >= 4")
    >>> batch = pa.record_batch({"rating": [5, 3, None]})
    >>> condition.holds(batch).tolist()
    [True, False, False]
    """

    column: str
    operator: str
    value: str

    def holds(self, batch: pa.RecordBatch) -> NDArray[np.bool_]:
        """Compare each row."""
        column = batch.column(self.column)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        value = self._value(column.type)
        if pa.types.is_floating(value.type) and not pa.types.is_floating(column.type):
            try:
                column = column.cast(pa.float64())
            except pa.ArrowException as error:
                raise DataError(
                    f"column {self.column!r} holds text that is not a number",
                    remedy=f"the condition {self} compares numbers; put the value in quotes to compare text",
                ) from error
        answer = _COMPARE[self.operator](column, value)
        return np.asarray(pc.fill_null(answer, fill_value=False), dtype=bool)

    def _value(self, kind: pa.DataType) -> pa.Scalar:
        quoted = len(self.value) >= 2 and self.value[0] == self.value[-1] and self.value[0] in "'\""
        text = self.value[1:-1] if quoted else self.value
        if is_text(kind):
            ordered = self.operator in ("<", "<=", ">", ">=")
            return pa.scalar(float(text)) if ordered and not quoted and _is_number(text) else pa.scalar(text)
        try:
            return pa.scalar(text).cast(kind)
        except pa.ArrowException as error:
            if pa.types.is_integer(kind) and _is_number(text):
                return pa.scalar(float(text))
            raise UsageError(
                f"the condition {str(self)!r} compares column {self.column!r}, which holds {plain_type(kind)}",
                given=text,
            ) from error

    def __str__(self) -> str:
        return f"{self.column} {self.operator} {self.value}"


@dataclass(frozen=True)
class TimeWindow:
    """Records from ``since`` on and before ``until``."""

    column: str
    since: datetime | None = None
    until: datetime | None = None
    time: TimeFormat = field(default_factory=TimeFormat)

    def holds(self, batch: pa.RecordBatch) -> NDArray[np.bool_]:
        """Compare each row's time."""
        times = self.time.instants(batch.column(self.column), self.column)
        kept = np.asarray(pc.is_valid(times), dtype=bool)
        for moment, compare in ((self.since, pc.greater_equal), (self.until, pc.less)):
            if moment is not None:
                answer = compare(times, pa.scalar(moment, pa.timestamp("us", "UTC")))
                kept = kept & np.asarray(pc.fill_null(answer, fill_value=False), dtype=bool)
        return kept

    def __str__(self) -> str:
        since = f"{self.since.isoformat()} ≤ " if self.since else ""
        until = f" < {self.until.isoformat()}" if self.until else ""
        return f"{since}{self.column}{until}"


def read_condition(text: str) -> Comparison:
    """Read ``COL OP VALUE``."""
    match = _PATTERN.match(text)
    if match is None or not match["value"]:
        raise UsageError(
            "a condition must read COL OP VALUE with =, !=, <, <=, > or >=",
            given=text,
            remedy="such as 'rating >= 4'",
        )
    return Comparison(match["column"], match["operator"], match["value"])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
