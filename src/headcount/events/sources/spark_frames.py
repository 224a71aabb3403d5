"""Spark DataFrame as a source: described without Spark, read by Spark executors.

The Spark engine reads it inside Spark's tasks. Everything else that reads a source, such as ``hc.check``, gets the
rows of the columns it asks for through the driver, one of Spark's partitions after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

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
"""What each of Spark's types is declared as; a column of any other one plays no role here."""


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
    """Return what a Spark type is declared as; what is not known here as a type that no role takes.

    >>> class Decimal: precision, scale, typeName = 10, 2, lambda self: "decimal"
    >>> _type(Decimal())
    Decimal128Type(decimal128(10, 2))
    """
    named = str(kind.typeName())
    if named == "decimal":
        return pa.decimal128(kind.precision, kind.scale)
    return _TYPES.get(named, pa.struct([]))
