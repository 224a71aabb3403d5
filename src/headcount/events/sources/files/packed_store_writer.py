"""Writer of packed stores: arrays grow in a temporary folder that is renamed into place at the end."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from headcount._internal.files import ScratchFolder
from headcount.errors import SurroundingsError, param
from headcount.events.encode.text_columns import is_textual
from headcount.events.log import EventLog, store_description
from headcount.events.sources.files.packed_store import (
    CATALOGUE,
    DESCRIPTION,
    FORMAT,
    NUMBERS,
    TEXTS,
    VERSION,
    Raw,
    Tally,
    refuse_existing_store,
)
from headcount.events.sources.source import assumptions_of
from headcount.releases.folder_integrity import move_into_place

_HEADER = 128


class StoreWriter:
    """A store in the making; without :meth:`finish` nothing is left of it."""

    def __init__(self, log: EventLog, target: Path, *, force: bool = False) -> None:
        refuse_existing_store(target, force=force)
        self._log, self._target = log, target
        self._words = store_description(log)
        self._users = self._records = self._bytes = 0
        self._repeats = False
        with self._writing():
            target.parent.mkdir(parents=True, exist_ok=True)
            self._scratch = ScratchFolder(f".{target.name}.packing-", target.parent)
        self._aside = self._scratch.path
        self._arrays: dict[str, _GrowingArray] = {}

    def __enter__(self) -> StoreWriter:
        kind = self._log.type_of(self._log.roles.user)
        ids = {TEXTS[0]: np.uint8, TEXTS[1]: np.int64} if is_textual(kind) else {NUMBERS[0]: np.int64}
        small = np.uint16 if self._log.cells <= 1 << 16 else np.int32
        try:
            with self._writing():
                for name, dtype in {"starts": np.int64, "cells": small, "times": np.int32, **ids}.items():
                    self._arrays[name] = _GrowingArray(self._aside / f"{name}.npy", np.dtype(dtype))
                self._arrays["starts"].append(np.zeros(1, dtype=np.int64))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for array in self._arrays.values():
            with suppress(OSError):  # on a full disk, closing fails like writing did
                array.file.close()
        self._scratch.delete()

    def append(
        self, users: Raw, lengths: NDArray[np.int64], cells: NDArray[np.int32], times: NDArray[np.int32]
    ) -> None:
        """Add some users: their raw ids, how many entries each has, and the entries."""
        with self._writing():
            start = self._arrays["cells"].size
            self._arrays["starts"].append(start + np.cumsum(lengths))
            self._arrays["cells"].append(cells)
            self._arrays["times"].append(times)
            if isinstance(users, tuple):
                data, ends = users
                self._arrays[TEXTS[0]].append(data)
                self._arrays[TEXTS[1]].append(self._bytes + ends)
                self._bytes += data.size
            else:
                self._arrays[NUMBERS[0]].append(users)
        self._users += lengths.size
        self._records += int(times.sum(dtype=np.int64))
        self._repeats |= bool((times > 1).any())

    def finish(self, tally: Tally) -> Path:
        """Write the rest, the description last, and rename the folder into place."""
        with self._writing():
            if not self._repeats:
                times = self._arrays.pop("times")
                times.file.close()
                times.path.unlink()
            arrays = {name: array.close() for name, array in self._arrays.items()}
            description = self._description(tally, arrays)
            text = json.dumps(description, indent=2, ensure_ascii=False) + "\n"
            (self._aside / DESCRIPTION).write_text(text, encoding="utf-8")
            self._aside.chmod(0o700)  # raw events: for the curator alone
            move_into_place(self._aside, self._target)
        return self._target

    def _description(self, tally: Tally, arrays: dict[str, Any]) -> dict[str, Any]:
        log = self._log
        used = pa.schema([pa.field(name, log.type_of(name)) for name in log.columns])
        return {
            "format": FORMAT,
            "version": VERSION,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "events": self._words,
            "columns": {column_field.name: str(column_field.type) for column_field in used},
            "schema": base64.b64encode(used.serialize().to_pybytes()).decode(),
            "catalogue": self._write_catalogue(),
            "cells": log.cells,
            "users": self._users,
            "rows": self._records,
            "tally": asdict(tally),
            "assumes": assumptions_of(log.source),
            "arrays": arrays,
        }

    def _write_catalogue(self) -> dict[str, Any]:
        catalogue, path = self._log.catalogue, self._aside / CATALOGUE
        ids = pa.array([str(item_id) for item_id in catalogue.ids], pa.string())  # whole numbers of any size
        table = pa.table({"id": ids, "label": catalogue.label_column})
        pq.write_table(table, path, compression="zstd")
        kind = "numbers" if isinstance(catalogue.ids[0], int) else "text"
        return {"digest": catalogue.digest, "ids": kind, "crc32": zlib.crc32(path.read_bytes())}

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise SurroundingsError.writing(self._target, error, param.to) from error


class _GrowingArray:
    """A NumPy file that is written from front to end; how long it is comes to stand in its header at last."""

    def __init__(self, path: Path, kind: np.dtype[Any]) -> None:
        self.path, self.kind, self.size, self.crc32 = path, kind, 0, 0
        self.file = path.open("wb")
        self.file.write(bytes(_HEADER))

    def append(self, values: NDArray[Any]) -> None:
        """Write some values."""
        data = np.ascontiguousarray(values, dtype=self.kind)
        self.file.write(data.data)
        self.crc32 = zlib.crc32(data.data, self.crc32)
        self.size += data.size

    def close(self) -> dict[str, Any]:
        """Write the header, and return how the array must look when it is read."""
        self.file.seek(0)
        self.file.write(_header(self.kind, self.size))
        self.file.close()
        return {"type": self.kind.name, "size": self.size, "crc32": self.crc32}


def _header(kind: np.dtype[Any], size: int) -> bytes:
    """Return the start of a NumPy file, of a length that does not depend on the size of the array."""
    text = f"{{'descr': {kind.str!r}, 'fortran_order': False, 'shape': ({size},), }}"
    start = b"\x93NUMPY\x01\x00" + (_HEADER - 10).to_bytes(2, "little")
    return start + text.encode().ljust(_HEADER - 11) + b"\n"
