"""The public catalogue: the items that may be released, fixed before anyone looks at the log.

Every item of the catalogue gets a count, also those nobody touched; what it does not list is dropped.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from headcount.errors import DataError, UnknownNameError, UsageError
from headcount.events.formats import is_text
from headcount.events.readers import open_source

_LABEL_NAMES = ("label", "name", "title")


@dataclass(frozen=True)
class Catalogue:
    """Distinct ids, text or whole numbers, in their public order, each with a label or None.

    >>> Catalogue.of(["tea", "rye"], labels=["Tea", None]).labels
    ('Tea', None)
    >>> Catalogue.of(["tea", "tea"])
    Traceback (most recent call last):
    headcount.errors.DataError: the catalogue lists 'tea' twice; remove one of them
    """

    ids: tuple[str, ...] | tuple[int, ...]
    labels: tuple[str | None, ...]

    @classmethod
    def of(
        cls,
        ids: Iterable[object],
        labels: Iterable[str | None] | None = None,
        *,
        where: str = "the catalogue",
    ) -> Catalogue:
        """Check ids and labels and make a catalogue of them."""
        listed = [each.item() if hasattr(each, "item") else each for each in ids]
        if not listed:
            raise DataError(f"{where} is empty", remedy="list at least one item")
        if any(each is None or each == "" for each in listed):
            raise DataError(f"{where} has an entry without an id", remedy="remove it or give it an id")
        whole = all(isinstance(each, int) and not isinstance(each, bool) for each in listed)
        if not whole and not all(isinstance(each, str) for each in listed):
            odd = next(each for each in listed if not isinstance(each, str | int) or isinstance(each, bool))
            raise DataError(f"{where} must list text or whole numbers", given=odd, remedy="cast the ids to text")
        if len(set(listed)) < len(listed):
            seen: set[object] = set()
            twice = next(each for each in listed if each in seen or seen.add(each))
            raise DataError(f"{where} lists {twice!r} twice", remedy="remove one of them")
        named = [None] * len(listed) if labels is None else list(labels)
        return cls(tuple(listed), tuple(None if not label else str(label) for label in named))

    @cached_property
    def digest(self) -> str:
        """A digest of the ids in their order; ids are public."""
        text = json.dumps(self.ids, ensure_ascii=False, separators=(",", ":"))
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()

    def as_type(self, kind: pa.DataType, column: str) -> pa.Array:
        """Return the ids cast exactly to the type of the log's item column."""
        if is_text(kind):
            return pa.array([str(each) for each in self.ids], pa.string())
        return pa.array([self._whole(each, column) for each in self.ids], pa.int64())

    def _whole(self, entry: str | int, column: str) -> int:
        try:
            number = int(entry)
            if str(number) == str(entry).strip() and -(2**63) <= number < 2**63:
                return number
        except ValueError:
            pass
        raise DataError(
            f"the catalogue lists {entry!r}, but column {column!r} holds whole numbers",
            remedy="correct the entry, or choose another id column with --items FILE:ID",
        )


def read_catalogue(items: object) -> Catalogue:
    """Read a catalogue from ``FILE[:ID[,LABEL]]``, a comma-separated list, or a sequence of ids.

    >>> read_catalogue("rye,tea").ids
    ('rye', 'tea')
    >>> read_catalogue(range(3)).ids
    (0, 1, 2)
    """
    if isinstance(items, Catalogue):
        return items
    if isinstance(items, os.PathLike):
        return _read_file(Path(items), ())
    if isinstance(items, str):
        path, columns = _split(items)
        if path is not None:
            return _read_file(path, columns)
        return Catalogue.of([each.strip() for each in items.split(",")], where="the list of items")
    if hasattr(items, "to_pylist"):
        return Catalogue.of(items.to_pylist())
    if isinstance(items, Iterable):
        return Catalogue.of(items)
    raise UsageError(f"items must be a file, a list or a Catalogue, not {type(items).__name__}")


def _split(text: str) -> tuple[Path | None, tuple[str, ...]]:
    """Tell a file from a list: a file exists, or has a known ending."""
    if Path(text).exists():
        return Path(text), ()
    head, colon, tail = text.rpartition(":")
    if colon and len(head) > 1 and (Path(head).exists() or Path(head).suffix):
        return Path(head), tuple(part.strip() for part in tail.split(","))
    if "," not in text and Path(text).suffix in (".txt", ".csv", ".parquet", ".tsv", ".jsonl"):
        raise DataError(f"the catalogue {text} does not exist", remedy="check the path given to --items")
    return None, ()


def _read_file(path: Path, columns: Sequence[str]) -> Catalogue:
    if not path.exists():
        raise DataError(f"the catalogue {path} does not exist", remedy="check the path given to --items")
    if path.suffix == ".txt":
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError as error:
            raise DataError(f"{path} is not UTF-8 text", remedy="save it as UTF-8") from error
        return Catalogue.of([line for line in lines if line], where=str(path))
    source = open_source(path)
    names = source.schema.names
    chosen = [*columns] or [names[0]]
    if len(columns) < 2:
        chosen += [name for name in names if name.lower() in _LABEL_NAMES and name != chosen[0]][:1]
    for name in chosen[:2]:
        if name not in names:
            raise UnknownNameError.among("column", name, names, where=str(path))
    table = (
        pa.Table.from_batches(
            list(source.batches(chosen[:2])), pa.schema([source.schema.field(name) for name in chosen[:2]])
        )
        if source.rows != 0
        else None
    )
    if table is None:
        raise DataError(f"{path} is empty", remedy="list at least one item")
    labels = table[chosen[1]].to_pylist() if len(chosen) > 1 else None
    return Catalogue.of(table[chosen[0]].to_pylist(), labels, where=str(path))
