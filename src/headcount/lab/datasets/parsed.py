"""The result of a parser: a re-readable source of rows and the labels of its items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from headcount.events.sources.source import Source, TableSource


@dataclass(frozen=True)
class Parsed:
    """Rows with columns ``user`` and ``item`` and what else there is, and what items are called."""

    source: Source
    labels: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def from_table(cls, table: pa.Table, labels: Mapping[int, str] | None = None) -> Parsed:
        """Wrap rows that fit into memory."""
        return cls(TableSource(table), labels or {})

    @property
    def table(self) -> pa.Table:
        """All rows, in memory."""
        return whole(self.source)


@dataclass(frozen=True)
class StreamedFile:
    """A file too large for memory: parsed anew in every pass, table by table."""

    name: str
    schema: pa.Schema
    tables: Callable[[], Iterator[pa.Table]] = field(repr=False)
    rows: int | None = None

    def type_of(self, column: str) -> pa.DataType | None:
        """Look into the schema."""
        return self.schema.field(column).type if column in self.schema.names else None

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.names)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read the given columns."""
        for table in self.tables():
            yield from table.select(list(columns)).to_batches()

    def whole_range(self, column: str) -> tuple[int, int] | None:  # noqa: ARG002
        """Nothing is known beforehand."""
        return None


def whole(source: Source) -> pa.Table:
    """Read all columns of a source into memory."""
    if isinstance(source, TableSource):
        return source.table
    plain = pa.schema([(name, source.type_of(name)) for name in source.names])
    return pa.concat_tables(
        [plain.empty_table(), *map(_decoded, source.batches(source.names))], promote_options="permissive"
    )


def _decoded(batch: pa.RecordBatch) -> pa.Table:
    """Undo that files give text as codes."""
    columns = [
        column.dictionary_decode() if pa.types.is_dictionary(column.type) else column for column in batch.columns
    ]
    return pa.table(columns, names=batch.schema.names)


@dataclass(frozen=True)
class Sizes:
    """How much there is; 0 stands for what is not known."""

    records: int
    users: int
    items: int

    def __str__(self) -> str:
        return f"{self.records:,} records of {self.users:,} users about {self.items:,} items"


@dataclass(frozen=True)
class Census:
    """What one pass over a log finds: how large it is, and its items in order."""

    sizes: Sizes
    items: pa.Array

    @classmethod
    def count(cls, source: Source) -> Census:
        """Count the rows that have a user and an item, and gather both."""
        users, items, records = _Distinct(), _Distinct(), 0
        for batch in source.batches(["user", "item"]):
            kept = batch.filter(pc.and_(pc.is_valid(batch.column(0)), pc.is_valid(batch.column(1))))
            records += kept.num_rows
            users.add(kept.column(0))
            items.add(kept.column(1))
        ids = items.values()
        return cls(Sizes(records, len(users.values()), len(ids)), ids.take(pc.sort_indices(ids)))


class _Distinct:
    """The distinct values of a column that comes piece by piece; memory holds a few times as many as there are."""

    def __init__(self) -> None:
        self._pieces: list[pa.Array] = []
        self._n_values = self._n_distinct = 0

    def add(self, column: pa.Array) -> None:
        self._pieces.append(pc.unique(column))
        self._n_values += len(self._pieces[-1])
        if self._n_values > 4 * self._n_distinct + 100_000:
            self.values()

    def values(self) -> pa.Array:
        if not self._pieces:
            return pa.array([], pa.int64())
        self._pieces = [pc.unique(pa.chunked_array(self._pieces))]
        self._n_values = self._n_distinct = len(self._pieces[0])
        return self._pieces[0]
