"""Load a data set by name: the publisher's download, a Parquet copy, or a synthetic stand-in.

:func:`load` looks in a folder for the publisher's files first, then for ``NAME.parquet``; what can be had from
neither may have a stand-in that is made on the spot. What was used is part of the result, and whoever shows a
number shows it as well. No data comes with the package. :mod:`headcount.lab.datasets.entries` describes each.

None of this is private: the catalogue of a log is the items that occur in it, as in the papers.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from headcount.errors import AbsentError, DataError, UnknownNameError, UsageError, param
from headcount.events.catalogue import Catalogue
from headcount.events.log import EventLog, read_events
from headcount.events.sources.source import Source, TableSource, open_source
from headcount.events.times import LABELS
from headcount.lab.datasets.entries import ENTRIES, DatasetEntry, Download
from headcount.lab.datasets.files import has_files
from headcount.lab.datasets.parsed import Census, Parsed, Sizes, whole
from headcount.lab.datasets.stand_ins import StandInShape, stand_in

Kind = Literal["shared", "original download", "stand-in"]
HOME = "HEADCOUNT_DATA"


@dataclass(frozen=True)
class Dataset:
    """A log, where it comes from, and under which terms."""

    name: str
    log: EventLog
    kind: Kind
    provenance: str
    licence: str
    sizes: Sizes
    scale: float = 1.0
    as_published: bool = True
    """Whether it is as large as its publisher says, if that is known: a copy may be a part of it."""


def load(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    scale: float | None = None,
    as_published: bool = True,
) -> Dataset:
    """Load a data set by name, in the best form that is at hand.

    ``folder`` is where to look; by default what ``HEADCOUNT_DATA`` names. ``scale`` makes a stand-in smaller or
    larger than it is by default. Without ``as_published`` the publisher's files may be of another size than known
    here: they may have changed since.

    >>> load("netflix", ".", scale=0.0001).sizes
    Sizes(records=10048, users=48, items=10006)
    """
    kind, home = form_of(name, folder), _home(folder)
    entry = ENTRIES[name]
    if kind == "original download" and home is not None:
        return _downloaded(name, entry, home, as_published=as_published)
    if kind == "shared" and home is not None:
        return _shared(name, entry, home)
    if entry.shape is not None:
        return _stand_in(name, entry, entry.shape, entry.scale if scale is None else scale)
    raise AbsentError(f"{name} is not in {home or 'any folder: none was named'}", remedy=where_to_get(name))


def form_of(name: str, folder: str | os.PathLike[str] | None = None) -> Kind | None:
    """Say in which form :func:`load` would find a data set, None if in no form; nothing is read.

    >>> form_of("netflix", "."), form_of("fimi-retail", ".")
    ('stand-in', None)
    """
    if name not in ENTRIES:
        raise UnknownNameError.among("data set", name, ENTRIES)
    entry, home = ENTRIES[name], _home(folder)
    if home is not None and _download_in(entry, home):
        return "original download"
    if home is not None and entry.shared and all((home / f"{stem}.parquet").is_file() for stem in entry.shared):
        return "shared"
    return "stand-in" if entry.shape is not None else None


def save_copy(name: str, folder: str | os.PathLike[str], into: str | os.PathLike[str]) -> list[Path]:
    """Write the publisher's files as a copy that :func:`load` takes: large ones are faster to read from it.

    What a copy holds is not checked against what the publisher says, so that it serves for files that have changed
    as well; reports say that a copy was used.
    """
    home = _home(folder)
    download = None if home is None else _download_in(ENTRIES[name], home)
    if home is None or download is None:
        raise AbsentError(f"the publisher's files of {name} are not in {folder}", remedy=where_to_get(name))
    entry, target = ENTRIES[name], Path(into)
    if home.resolve() == target.resolve():
        raise UsageError("a copy must go into another folder", given=str(into), remedy="downloads are read first")
    target.mkdir(parents=True, exist_ok=True)
    parsed = download.read(home)
    written = [target / f"{stem}.parquet" for stem in entry.shared]
    columns = parsed.source.names
    schema = pa.schema([(column, parsed.source.type_of(column)) for column in columns])
    with pq.ParquetWriter(written[0], schema, compression="zstd") as file:
        for batch in parsed.source.batches(columns):
            file.write_batch(batch)
    if entry.labels:
        item, label = entry.labels
        named = {item: list(parsed.labels), label: list(parsed.labels.values())}
        pq.write_table(pa.table(named), written[1], compression="zstd")
    return written


def where_to_get(name: str) -> str:
    """Say which files to get, from whom, and what they must hold.

    >>> from headcount.errors import command_line, render
    >>> print(render(where_to_get("fimi-retail"), command_line))
    get retail.dat.gz (a line for each basket: its goods between blanks) from the FIMI repository \
(http://fimi.uantwerpen.be/data/): 908,576 records of 88,162 users about 16,470 items; or put fimi-retail.parquet \
(user, item) there; and name the folder with --data or HEADCOUNT_DATA
    """
    entry = ENTRIES[name]
    ways = []
    if entry.downloads:
        forms = ", or ".join(f"{download.files} ({download.holds})" for download in entry.downloads)
        ways.append(f"get {forms} from {entry.page}{_sizes_text(entry.publisher_says)}")
    if entry.shared:
        names = f" and {entry.shared[1]}.parquet ({', '.join(entry.labels)})" if entry.labels else ""
        ways.append(f"put {entry.shared[0]}.parquet ({entry.copy_columns}){names} there")
    return f"{'; or '.join(ways)}; and name the folder with {param.data} or {HOME}"


def _sizes_text(sizes: Sizes | None) -> str:
    parts = [f"{many:,} {what}" for what, many in vars(sizes).items() if many] if sizes else []
    if sizes and len(parts) == len(vars(sizes)):
        parts = [str(sizes)]
    return f": {', '.join(parts)}" if parts else ""


def _home(folder: str | os.PathLike[str] | None) -> Path | None:
    given = folder if folder is not None else os.environ.get(HOME)
    if not given:
        return None
    home = Path(given)
    if not home.is_dir():
        raise DataError(
            f"{home} is not a folder", remedy=f"name the folder with the data with {param.data} or {HOME}"
        )
    return home


def _download_in(entry: DatasetEntry, home: Path) -> Download | None:
    return next((download for download in entry.downloads if has_files(home, download.members)), None)


def _downloaded(name: str, entry: DatasetEntry, home: Path, *, as_published: bool) -> Dataset:
    """Read the publisher's files, and check that they are as the publisher says."""
    download = _download_in(entry, home)
    if download is None:
        raise AbsentError(f"{name} is not in {home}", remedy=where_to_get(name))
    for path in sorted({path for member in download.members if (path := member.find(home))}):
        if as_published and path.name in entry.checksums:
            check_checksum(path, entry.checksums[path.name])
    parsed = download.read(home)
    census = None if entry.people else Census.count(parsed.source)
    if as_published and entry.publisher_says is not None:
        check_sizes(name, census.sizes if census else Sizes(parsed.table.num_rows, 0, 0), entry.publisher_says)
    size = "as large as published" if as_published else "of whatever size"
    provenance = f"the publisher's own files, {entry.page}, {size}"
    return _dataset(name, entry, "original download", parsed, provenance, census)


def check_checksum(path: Path, expected: str) -> None:
    """Refuse an archive that is not the publisher's, to the byte."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if digest != expected:
        raise DataError(
            f"{path.name} is not the publisher's file: its MD5 is {digest}, and should be {expected}",
            remedy=_MENDED,
        )


def check_sizes(name: str, sizes: Sizes, publisher_says: Sizes) -> None:
    """Refuse files that are not as large as their publisher says; 0 stands for what is not published."""
    for what, expected in vars(publisher_says).items():
        got = getattr(sizes, what)
        if expected and got != expected:
            raise DataError(f"{name} has {got:,} {what} where its publisher gives {expected:,}", remedy=_MENDED)


_MENDED = (
    "download it again, and leave the files as they are; if the publisher has changed them since, go on with a "
    "copy: headcount.lab.datasets.by_name.save_copy writes one, whatever they hold"
)


def _shared(name: str, entry: DatasetEntry, home: Path) -> Dataset:
    source = open_source(home / f"{entry.shared[0]}.parquet")
    labels: dict[Any, str] = {}
    if entry.labels:
        named = pq.read_table(home / f"{entry.shared[1]}.parquet", columns=list(entry.labels))
        labels = dict(zip(*(named[column].to_pylist() for column in entry.labels), strict=True))
    if "resource" in source.names:
        table = whole(source)
        names = ["item" if column_name == "resource" else column_name for column_name in table.column_names]
        source = TableSource(table.rename_columns(names))
    provenance = f"{entry.shared[0]}.parquet, a copy kept as Parquet: {entry.about}"
    if entry.people is not None or entry.publisher_says is None:
        return _dataset(name, entry, "shared", Parsed(source, labels), provenance)
    census = Census.count(source)
    dataset = _dataset(name, entry, "shared", Parsed(source, labels), provenance, census)
    return replace(dataset, as_published=agrees_roughly(census.sizes, entry.publisher_says))


def agrees_roughly(sizes: Sizes, publisher_says: Sizes) -> bool:
    """Tell whether no more than a thousandth of what is published is missing, or in excess.

    >>> agrees_roughly(Sizes(186_478, 1_892, 12_523), Sizes(186_479, 1_892, 0))
    True
    >>> agrees_roughly(Sizes(9, 9, 9), Sizes(10, 0, 0))
    False
    """
    pairs = zip(vars(sizes).values(), vars(publisher_says).values(), strict=True)
    return all(not published or abs(got - published) <= published / 1000 for got, published in pairs)


def _stand_in(name: str, entry: DatasetEntry, shape: StandInShape, scale: float) -> Dataset:
    table = stand_in(shape, scale)
    days = pa.array(LABELS["weekday"])
    table = table.set_column(2, "weekday", days.take(table["weekday"].combine_chunks()))
    share = f"{100 * scale:g} %" if scale < 1 else "all"
    provenance = f"a stand-in with {share} of the users and records that {shape.source}, give for {entry.about}"
    numbered = replace(entry, columns=range(shape.items), licence="made up: nothing of the real data is in it")
    return replace(_dataset(name, numbered, "stand-in", Parsed.from_table(table), provenance), scale=scale)


def _dataset(
    name: str, entry: DatasetEntry, kind: Kind, parsed: Parsed, provenance: str, census: Census | None = None
) -> Dataset:
    """Describe the log of what was read; ``census`` is that of the rows as they were, if it was taken already."""
    source: Source = parsed.source
    if entry.people is not None:
        source = TableSource(entry.people(whole(source)))
    if entry.prepare is not None:
        source = entry.prepare(source)
    if census is None or source is not parsed.source:
        census = Census.count(source)
    if entry.columns is not None:
        items = Catalogue.of(entry.columns)
    else:
        ids = census.items.to_pylist()
        items = Catalogue.of(ids, [parsed.labels.get(item_id) for item_id in ids])
    words = next((words for column, words in entry.words.items() if column in source.names), {})
    log = read_events(source, user="user", item="item", items=items, **words)
    return Dataset(name, log, kind, f"{provenance}; {census.sizes}", entry.licence, census.sizes)
