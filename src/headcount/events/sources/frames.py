"""Frames of pandas and Spark; column types come from their declarations and never from rows.

pandas: a column of Python objects is read as text, value by value: texts as they are, numbers, truth values and
times as they are written, and everything else as missing.

Spark: the frame is described without Spark, and the Spark engine reads it inside Spark's tasks. Everything else
that reads a source, such as ``hc.check``, gets the rows through the driver, one partition after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa

from headcount.events.encode.text_columns import MAX_TEXT_BYTES


def table_of(frame: Any) -> pa.Table:
    """Return a pandas frame as a table, its index behind its columns unless that only numbers the rows."""
    names = [str(name) for name in frame.columns]
    levels = [] if type(frame.index).__name__ == "RangeIndex" else list(frame.index.names)
    names += [f"__index_level_{place}__" if name is None else str(name) for place, name in enumerate(levels)]
    index = [frame.index.get_level_values(place).to_frame(index=False) for place in range(len(levels))]
    frame = frame.reset_index(drop=True)
    of_objects = [place for place, kind in enumerate(frame.dtypes) if _is_object(kind)]
    typed = [place for place in range(len(frame.dtypes)) if place not in of_objects]
    columns: list[Any] = [None] * len(frame.dtypes)
    for place, column in zip(typed, pa.table(frame.iloc[:, typed]).columns, strict=True):
        columns[place] = column
    for place in of_objects:
        columns[place] = texts_of(frame.iloc[:, place])
    return pa.table([*columns, *(table_of(level).column(0) for level in index)], names=names)


def _is_object(kind: Any) -> bool:
    categories = getattr(kind, "categories", None)
    kind = kind if categories is None else categories.dtype
    return (
        str(kind) == "object" or getattr(kind, "storage", None) == "python"
    )  # where any text can be, Unicode or not


def texts_of(values: Any) -> pa.Array:
    """Return Python values as a column of text; equal values, such as 0.0 and -0.0, can have different texts."""
    return pa.array([as_text(value) for value in values], pa.string())


def as_text(value: object) -> str | None:
    """Return one Python value as text, or None if it is missing or has no text in Unicode.

    >>> [as_text(value) for value in ("tea", 7, True, -0.0, float("nan"), None, ["tea"], 10**5_000)]
    ['tea', '7', 'true', '-0.0', None, None, None, None]
    """
    try:
        text = _written(value)
        if text is not None:
            text = text[: MAX_TEXT_BYTES + 1]  # enough to tell that it is too long
            text.encode()
    except Exception:  # the class of the value can raise any error
        return None
    return text


def _written(value: Any) -> str | None:
    if isinstance(value, str):
        return str.__str__(value)  # plain text, whatever a class that extends it does
    if hasattr(value, "item"):
        value = value.item() if getattr(value, "ndim", 1) == 0 else None  # a number of NumPy's
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return None if math.isnan(value) else float.__repr__(value)
    if isinstance(value, int | Decimal | datetime | date | time | UUID):
        text = str.__str__(str(value))
        return None if text in ("NaT", "NaN", "sNaN") else text
    return None


_TYPES: Mapping[str, pa.DataType] = {
    "string": pa.string(),
    "char": pa.string(),
    "varchar": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),  # an instant, whatever zone the session shows it in
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
}
"""The declared type of each of Spark's types; a column of any other type plays no role here."""


@dataclass(frozen=True)
class SparkSource:
    """A Spark DataFrame; two columns of one name, and nested ones, cannot be read."""

    frame: Any = field(repr=False)
    name: str = "the Spark frame"
    rows: None = None

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [str(field.name) for field in self.frame.schema.fields]

    def type_of(self, column: str) -> pa.DataType | None:
        """Look into the schema of the frame."""
        from headcount.events.sources.files.formats import declared

        fields = [(str(field.name), _type(field.dataType)) for field in self.frame.schema.fields]
        return declared(pa.schema(fields), self.name)(column)

    def whole_range(self, column: str) -> tuple[int, int] | None:  # noqa: ARG002
        """Nothing is known beforehand."""
        return None

    def selected(self, columns: Sequence[str]) -> Any:
        """Return the frame with some columns alone, by their exact names."""
        quoted = ["`" + name.replace("`", "``") + "`" for name in columns]
        return self.frame.select(*quoted)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read the given columns through the driver, which holds one partition at a time."""
        wanted = pa.schema([(name, self.type_of(name)) for name in columns])
        packets = self.selected(columns).mapInArrow(_packing(), "rows binary")
        for packet in packets.toLocalIterator():
            with pa.ipc.open_stream(packet["rows"]) as stream:
                yield from (batch.cast(wanted) for batch in stream)


def _packing() -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a task that makes one value of each batch; it is sent along: executors may have no Headcount."""

    def packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as stream:
                stream.write_batch(batch)
            yield pa.record_batch({"rows": pa.array([sink.getvalue().to_pybytes()], pa.binary())})

    return packed


def is_spark_frame(events: object) -> bool:
    """Tell a Spark DataFrame, without importing Spark."""
    return type(events).__module__.startswith("pyspark.sql.") and hasattr(events, "mapInArrow")


def _type(kind: Any) -> pa.DataType:
    """Return the declared type of a Spark type; of an unknown one a type that no role takes.

    >>> class Decimal: precision, scale, typeName = 10, 2, lambda self: "decimal"
    >>> _type(Decimal())
    Decimal128Type(decimal128(10, 2))
    """
    named = str(kind.typeName())
    if named == "decimal":
        return pa.decimal128(kind.precision, kind.scale)
    return _TYPES.get(named, pa.struct([]))
