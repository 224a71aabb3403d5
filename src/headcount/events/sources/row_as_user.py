"""A table with one row per user and no user column: the row number is the user id.

Why it is private
    It is taken for granted, and said in the promise, that every row is one person and that nobody has two. So one
    person more or less is one row more or less. A row's place is unlike all others, whatever else is in the table,
    so every row is bounded by itself, as one person with one record.

    One row less gives later rows other places. Places decide nothing but draws, where a group is cut down, and
    draws are a function of a fresh secret and the place: for different places they are independent, and their
    joint law is the same for any set of places of the same size. So what is measured of the others has the law
    that it would have if they had kept their places.

    All passes must see the same order. Files that change are refused and tables in memory do not change; the rows
    of a database and of Spark have no order that stays, so they are not taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headcount.errors import UsageError, param
from headcount.events.sources.source import FileSource, Source, TableSource, check_reachable

ROW = "(row)"
"""What the column of places is called."""

ROW_IS_USER = "every row is one person, and nobody has two: the place of a row stands for the user id"


@dataclass(frozen=True)
class RowAsUserSource:
    """A source whose rows are people, with their places as a column more.

    >>> rows = RowAsUserSource.of(TableSource(pa.table({"age": [30, 70]})))
    >>> [batch.to_pydict() for batch in rows.batches(["age", ROW])]
    [{'age': [30, 70], '(row)': [0, 1]}]
    """

    source: Source

    @classmethod
    def of(cls, source: Source) -> RowAsUserSource:
        """Take files and tables in memory, whose rows stay in order; refuse other sources."""
        if not isinstance(source, FileSource | TableSource):
            raise UsageError(
                f"{param.user} is missing, and the rows of {source.name} have no order that stays, so that they "
                f"cannot "
                "stand for people",
                remedy="name the column that says who, or write the table to a file",
            )
        return cls(source)

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return self.source.name

    @property
    def names(self) -> list[str]:
        """The names of the columns that there really are."""
        return self.source.names

    @property
    def rows(self) -> int | None:
        """How many rows there are, where that is known beforehand."""
        return self.source.rows

    @property
    def assumes(self) -> tuple[str, ...]:
        """What the promise takes for granted."""
        return (ROW_IS_USER,)

    def type_of(self, column: str) -> pa.DataType | None:
        """Return the declared type of a column."""
        return pa.int64() if column == ROW else self.source.type_of(column)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read the given columns, one pass."""
        read = [name for name in columns if name != ROW] or self.source.names[:1]
        begin = 0
        for batch in self.source.batches(read):
            places = pa.array(np.arange(begin, begin + batch.num_rows))
            begin += batch.num_rows
            yield pa.RecordBatch.from_arrays(
                [places if name == ROW else batch.column(name) for name in columns], names=list(columns)
            )

    def whole_range(self, column: str) -> tuple[int, int] | None:
        """Return the smallest and largest value of an integer column, where that is known beforehand."""
        if column != ROW:
            return self.source.whole_range(column)
        return (0, self.rows - 1) if self.rows else None

    def check_reachable(self) -> None:
        """Refuse what cannot be opened; nothing is read from it."""
        check_reachable(self.source)


def underlying_source(source: Source) -> Source:
    """Return what rows are really read from."""
    return source.source if isinstance(source, RowAsUserSource) else source
