"""Rows that are asked for once: the first pass keeps them in a private file, and all others read that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.fs as pafs

from headcount.events.readers import FileSource
from headcount.events.spool import Spool


class KeptRows:
    """Rows of a stream that cannot be trusted, or got, to give the same again.

    >>> rows = KeptRows("a stream", pa.schema([("n", pa.int64())]), lambda: iter([pa.record_batch({"n": [1, 2]})]))
    >>> [batch.num_rows for _ in range(2) for batch in rows.batches(["n"])]
    [2, 2]
    """

    def __init__(self, shown: str, schema: pa.Schema, stream: Callable[[], Iterator[pa.RecordBatch]]) -> None:
        self._shown, self._schema, self._stream = shown, schema, stream
        self._file: FileSource | None = None

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read the given columns; whoever is first, and stops before the end, leaves nothing behind."""
        return self._first(list(columns)) if self._file is None else self._file.batches(columns)

    def _first(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        spool = Spool(self._shown)
        path = str(spool.folder / "rows.arrow")
        try:
            with pa.OSFile(path, "wb") as out, pa.ipc.new_stream(out, self._schema) as writer:
                for batch in self._stream():
                    writer.write_batch(batch)
                    yield batch.select(columns)
        except OSError as error:
            raise spool.failed(error) from error
        except BaseException:
            spool.delete()
            raise
        self._file = FileSource((path,), pafs.LocalFileSystem(), "arrow", spool=spool)
