"""The public catalogue: the ids and labels of the items that may be released, fixed before rows are read.

Every item of the catalogue gets a count, zero included; other items are dropped.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.fs as pafs

from headcount.errors import DataError, NotSelectedError, UnknownNameError, UsageError, param
from headcount.events.encode.column_types import InexactError, cast_exactly, limits
from headcount.events.encode.text_columns import MAX_TEXT_BYTES, is_text, plain_type, value_type
from headcount.events.sources.files.formats import format_from_name, reading
from headcount.events.sources.source import open_source
from headcount.releases.folder_integrity import refuse_special
from headcount.releases.formatting import some

_LABEL_NAMES = ("label", "name", "title")
_TEXT = ".txt"
_FEW = 3


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
    kind: pa.DataType | None = field(default=None, repr=False, compare=False)
    _casts: dict[pa.DataType, pa.Array] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def selected(cls, ids: Sequence[str] | Sequence[int], declared: pa.DataType) -> Catalogue:
        """Make a catalogue of ids that a charged mechanism released, from a column of the declared type.

        There may be none of them, so what they are is for the type to say.
        """
        declared = value_type(declared)
        whole = pa.uint64() if pa.types.is_uint64(declared) else pa.int64()
        catalogue = cls.of(ids) if ids else cls((), ())
        return replace(catalogue, kind=whole if pa.types.is_integer(declared) else pa.string())

    @classmethod
    def of(
        cls, ids: Iterable[object], labels: Iterable[object] | None = None, *, where: str = "the catalogue"
    ) -> Catalogue:
        """Check ids and labels and make a catalogue of them."""
        given = list(ids)
        if not _all_of_type(str, given):
            given = [value.item() if hasattr(value, "item") else value for value in given]
        listed = _checked(given, where)
        if labels is None:
            return cls(listed, (None,) * len(listed))
        named = list(labels)
        if len(named) != len(listed):
            raise UsageError(f"{where} has {len(listed):,} ids but {len(named):,} labels", remedy="give one each")
        return cls(listed, tuple(None if label in (None, "") else str(label) for label in named))

    def __repr__(self) -> str:
        few = ", ".join(map(repr, self.ids[:_FEW])) + (", …" if len(self.ids) > _FEW else "")
        return f"<Catalogue of {some(len(self.ids), 'item')}: {few}>"

    @cached_property
    def digest(self) -> str:
        """A digest of the ids in their order; ids are public."""
        text = json.dumps(self.ids, ensure_ascii=False, separators=(",", ":"))
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def column(self) -> pa.Array:
        """The ids as the column of a release: text or whole numbers as they are listed, whatever the log holds."""
        if self.kind is not None and pa.types.is_integer(self.kind):
            return pa.array(self.ids, self.kind)
        ids = self.ids
        if self.kind is None and all(isinstance(value, int) and -(2**63) <= value < 2**63 for value in ids):
            return pa.array(ids, pa.int64())
        texts = self.ids if _all_of_type(str, self.ids) else [str(item_id) for item_id in self.ids]
        return pa.array(texts, pa.string())

    @cached_property
    def label_column(self) -> pa.Array:
        """The labels as a column beside that of the ids."""
        return pa.array(self.labels, pa.string())

    def as_type(self, kind: pa.DataType, column: str) -> pa.Array:
        """Return the ids cast exactly to the type of the log's item column: ``"7"`` is 7, ``"007"`` is not."""
        try:
            if kind not in self._casts:
                self._casts[kind] = cast_exactly(self.ids, kind)
            return self._casts[kind]
        except InexactError as error:
            kind = value_type(kind)
            low, high = limits(kind)
            raise DataError(
                f"the catalogue lists {error.value!r}, but column {column!r} holds whole numbers "
                f"({plain_type(kind)}: {low} to {high})",
                remedy=f"correct the entry, or choose another id column with {param.items('FILE:ID')}",
            ) from error


class UnknownCatalogue(Catalogue):
    """The catalogue of a log whose items are still to be selected: there is nothing to be had from it.

    >>> UnknownCatalogue().ids
    Traceback (most recent call last):
    headcount.errors.NotSelectedError: the items of this log are still to be selected; use headcount.release or \
headcount.rank, which select them first
    """

    def __init__(self) -> None:
        """Hold nothing."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotSelectedError(
            "the items of this log are still to be selected",
            remedy="use headcount.release or headcount.rank, which select them first",
        )

    @property
    def digest(self) -> NoReturn:
        """There is none."""
        self.__getattr__("digest")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return "UnknownCatalogue()"


class NoCatalogue(UnknownCatalogue):
    """The catalogue of a log that names none and selects none: all of its records count, but not per item."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        check_catalogue_given(None, select_items=False)
        raise AssertionError

    def __repr__(self) -> str:
        return "NoCatalogue()"


def check_catalogue_given(items: object, *, select_items: bool) -> None:
    """Refuse a log without a public catalogue whose items are not to be selected either, or with both."""
    if items is None and not select_items:
        raise UsageError(
            f"{param.items} is missing: no catalogue is given, and the items that may be released must be public",
            remedy=f"list them with {param.items('FILE')} (one id a line, or a CSV or Parquet column); or, if "
            "there is no "
            f"public list, add {param.select_items(True)} and {param.delta('1e-6')}, which releases the items "
            "that enough people have",
        )
    if items is not None and select_items:
        raise UsageError(
            f"{param.items} and {param.select_items(True)} are both given",
            remedy="leave one out: a public catalogue is never worse",
        )


def absent_or_read(items: object, *, select_items: bool) -> Catalogue:
    """Read the catalogue if one is given; else it is to be selected, or there is none."""
    if items is None and not select_items:
        return NoCatalogue()
    check_catalogue_given(items, select_items=select_items)
    return UnknownCatalogue() if select_items else read_catalogue(items)


def _all_of_type(kind: type, values: Iterable[object]) -> bool:
    """Say whether there are values, all of one type."""
    return set(map(type, values)) == {kind}


def _checked(ids: list[Any], where: str) -> tuple[str, ...] | tuple[int, ...]:
    if not ids:
        raise DataError(f"{where} is empty", remedy="list at least one item")
    if None in ids or "" in ids:
        raise DataError(
            f"{where} has an entry without an id, or a line that cannot be read", remedy="remove it or correct it"
        )
    if _all_of_type(str, ids):
        texts, whole = ids, []
    else:
        texts = [value for value in ids if isinstance(value, str)]
        whole = [value for value in ids if isinstance(value, int) and not isinstance(value, bool)]
    if texts and whole:
        raise DataError(
            f"{where} lists text ({texts[0]!r}) and whole numbers ({whole[0]!r})", remedy="write all ids alike"
        )
    if len(texts) + len(whole) < len(ids):
        odd = next(value for value in ids if not isinstance(value, str | int) or isinstance(value, bool))
        raise DataError(f"{where} must list text or whole numbers", given=odd, remedy="cast the ids to text")
    if len(set(ids)) < len(ids):
        previous: set[object] = set()
        for item_id in ids:
            if item_id in previous:
                raise DataError(f"{where} lists {item_id!r} twice", remedy="remove one of them")
            previous.add(item_id)
    for text in texts:
        if len(text.encode("utf-8", "surrogatepass")) > MAX_TEXT_BYTES:
            raise DataError(
                f"{where} lists an id of more than {MAX_TEXT_BYTES:,} bytes, {text[:40]!r}…",
                remedy="shorten it there and in the log: Headcount reads no longer ids",
            )
    for text in () if "".join(texts).isascii() else texts:
        if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
            raise DataError(f"{where} lists {text!r}, which is not Unicode text", remedy="write it as UTF-8")
    return tuple(texts) if texts else tuple(whole)


def read_catalogue(items: object) -> Catalogue:
    """Read a catalogue from ``FILE[:ID[,LABEL]]``, a comma-separated list, or a sequence of ids.

    In a comma-separated list blanks around an id do not count; in a file every character does.

    >>> read_catalogue("rye, tea").ids
    ('rye', 'tea')
    >>> read_catalogue(range(3)).ids
    (0, 1, 2)
    """
    if isinstance(items, Catalogue):
        return items
    if isinstance(items, os.PathLike):
        return _read_file(os.fspath(items), ())
    if isinstance(items, str):
        path, columns = _split(items)
        if path is not None:
            return _read_file(path, columns)
        listed = [text.strip() for text in items.split(",")] if items.strip() else []
        return Catalogue.of(listed, where="the list of items")
    if hasattr(items, "to_pylist"):
        return Catalogue.of(items.to_pylist())
    if isinstance(items, Iterable) and not isinstance(items, bytes):
        return Catalogue.of(items)
    raise UsageError(
        f"items must be a file, a list or a Catalogue, not {type(items).__name__}",
        remedy=f"give the public catalogue with {param.items('FILE')}",
    )


def _split(text: str) -> tuple[str | None, tuple[str, ...]]:
    r"""Tell a file from a list: a file exists, or has a known ending.

    >>> _split("imdb.com:1,imdb.com:2"), _split(r"C:\films.csv:id,title")
    ((None, ()), ('C:\\films.csv', ('id', 'title')))
    """
    if os.path.isfile(text):
        return text, ()
    head, colon, tail = text.rpartition(":")
    if colon and len(head) > 1 and (os.path.isfile(head) or format_from_name(head)):
        return head, tuple(part.strip() for part in tail.split(","))
    if "," not in text and format_from_name(text):
        return text, ()
    if "," not in text and os.path.isdir(text):
        raise UsageError(f"{param.items} {text} is a folder", remedy="give the file that lists the catalogue")
    for name in (text, head):  # not an item of that name
        refuse_special(name)
    return None, ()


def _read_file(path: str, columns: Sequence[str]) -> Catalogue:
    if not os.path.exists(path):
        raise DataError(f"the catalogue {path} does not exist", remedy=f"check the path given to {param.items}")
    refuse_special(path)
    if len(columns) > 2 or "" in columns:
        raise UsageError(
            f"{param.items} takes FILE, FILE:ID or FILE:ID,LABEL", given=f"{path}:{','.join(columns)}"
        )
    if path.lower().removesuffix(".gz").endswith(_TEXT):
        if columns:
            raise UsageError(f"{path} is plain text without columns", remedy=f"leave out ':{','.join(columns)}'")
        with reading(path), pafs.LocalFileSystem().open_input_stream(path) as file:
            text = file.read().decode("utf-8-sig")
        lines = text.replace("\r\n", "\n").split("\n")
        return Catalogue.of(filter(None, lines), where=path)
    source = open_source(path)
    names = source.names
    chosen = [*columns] or names[:1]
    if len(columns) < 2:
        chosen += [name for name in names if name.lower() in _LABEL_NAMES and name not in chosen][:1]
    for name in chosen:
        if name not in names:
            raise UnknownNameError.among("column", name, names, where=path)
    values: dict[str, list[object]] = {name: [] for name in chosen}
    with reading(path):
        for batch in source.batches(chosen) if chosen else ():
            for name in values:
                column = batch.column(name)
                values[name] += (column.cast(pa.string()) if is_text(column.type) else column).to_pylist()
    columns_read = [values[name] for name in chosen] or [[]]
    return Catalogue.of(columns_read[0], columns_read[-1] if len(chosen) > 1 else None, where=path)
