"""Row cache: rows of a stream that can be read once, kept in memory or on disk for later passes.

As many as a fixed amount of memory takes are held there, as they came; more are in a private file.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.fs as pafs

from headcount.events.sources.source import FileSource, Source, TableSource
from headcount.events.sources.spool import Spool

HELD = 256 << 20
"""Bytes of rows that are held in memory."""


class RowCache:
    """Rows of a stream that cannot be trusted, or got, to give the same again.

    >>> rows = RowCache("a stream", pa.schema([("n", pa.int64())]), lambda: iter([pa.record_batch({"n": [1, 2]})]))
    >>> [batch.num_rows for _ in range(2) for batch in rows.batches(["n"])]
    [2, 2]
    """

    def __init__(self, shown: str, schema: pa.Schema, stream: Callable[[], Iterator[pa.RecordBatch]]) -> None:
        self._shown, self._schema, self._stream = shown, schema, stream
        self._kept: Source | None = None

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read the given columns; whoever is first, and stops before the end, leaves nothing behind."""
        return self._first(list(columns)) if self._kept is None else self._kept.batches(columns)

    def all(self) -> Source:
        """Return all rows, fetched now if they were not."""
        if self._kept is None:
            for _ in self._first([]):
                pass
        if self._kept is None:
            raise RuntimeError("a stream that came to its end is kept")
        return self._kept

    @property
    def rows(self) -> int | None:
        """How many there are, once they were fetched."""
        return None if self._kept is None else self._kept.rows

    def _first(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        held: list[pa.RecordBatch] = []
        rows, size = self._stream(), 0
        for batch in rows:
            held.append(batch)
            size += batch.nbytes
            if size > HELD:
                yield from self._spooled(held, rows, columns)
                return
            yield batch.select(columns)
        self._kept = TableSource(pa.Table.from_batches(held, self._schema), self._shown)

    def _spooled(
        self, held: list[pa.RecordBatch], rows: Iterator[pa.RecordBatch], columns: list[str]
    ) -> Iterator[pa.RecordBatch]:
        """Write everything to a file; all that is held but the last was handed on already."""
        spool = Spool(self._shown)
        path = str(spool.folder / "rows.arrow")
        try:
            with pa.OSFile(path, "wb") as out, pa.ipc.new_stream(out, self._schema) as writer:
                for batch in held[:-1]:
                    writer.write_batch(batch)
                last = held[-1]
                held.clear()
                for batch in itertools.chain([last], rows):
                    writer.write_batch(batch)
                    yield batch.select(columns)
        except OSError as error:
            raise spool.failed(error) from error
        except BaseException:
            spool.delete()
            raise
        self._kept = FileSource((path,), pafs.LocalFileSystem(), "arrow", spool=spool, given=(self._shown,))
