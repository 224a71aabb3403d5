"""Data sets by name: the publisher's own download, the Parquet files kept beside the project, or a stand-in.

:func:`load` looks in a folder for the publisher's files first, then for ``NAME.parquet``; what can be had from
neither may have a stand-in that is made on the spot. What was used is part of the result, and whoever shows a
number shows it as well. No data comes with the package.

None of this is private: the catalogue of a log is the items that occur in it, as in the papers.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headcount.errors import AbsentError, DataError, UnknownNameError
from headcount.events.catalogue import Catalogue
from headcount.events.log import EventLog, read_events
from headcount.events.times import LABELS
from headcount.lab.datasets import adult_hours, downloads, people, stand_ins
from headcount.lab.datasets.downloads import Member, Parsed
from headcount.lab.datasets.stand_ins import StandInShape, stand_in

Kind = Literal["shared", "original download", "stand-in"]
HOME = "HEADCOUNT_DATA"
AGES = ("Under 25", "25-34", "Above 34")
"""The age groups of Fan and Jin, section 6.3."""

_WEEK = {"context": "weekday", "contexts": {"weekday": list(LABELS["weekday"])}}


@dataclass(frozen=True)
class Sizes:
    """How much there is."""

    records: int
    users: int
    items: int

    @classmethod
    def of(cls, table: pa.Table) -> Sizes:
        """Count rows, users and items."""
        return cls(table.num_rows, *(len(pc.unique(table[name])) for name in ("user", "item")))

    def __str__(self) -> str:
        return f"{self.records:,} records of {self.users:,} users about {self.items:,} items"


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


@dataclass(frozen=True, kw_only=True)
class DatasetEntry:
    """What is known of a data set: how to read each form of it, and what its publisher says of its size."""

    about: str
    licence: str
    page: str = ""
    download: Callable[[Path], Parsed] | None = None
    members: tuple[Member, ...] = ()
    publisher_says: Sizes | None = None
    checksums: Mapping[str, str] = field(default_factory=dict)
    """MD5 of archives, where the publisher gives it."""
    shared: tuple[str, ...] = ()
    labels: tuple[str, str] = ("", "")
    shape: StandInShape | None = None
    scale: float = 1.0
    words: Mapping[Kind, Mapping[str, Any]] = field(default_factory=dict)
    prepare: Callable[[pa.Table], pa.Table] = lambda table: table
    people: Callable[[pa.Table], pa.Table] | None = None
    """How a table of people becomes a log, whose items are ``cells`` of a grid."""
    cells: int = 0


def load(name: str, folder: str | os.PathLike[str] | None = None, *, scale: float | None = None) -> Dataset:
    """Load a data set by name, in the best form that is at hand.

    ``folder`` is where to look; by default what ``HEADCOUNT_DATA`` names. ``scale`` makes a stand-in smaller or
    larger than it is by default.

    >>> load("netflix", ".", scale=0.0001).sizes
    Sizes(records=10048, users=48, items=10006)
    """
    kind, home = form_of(name, folder), _home(folder)
    entry = ENTRIES[name]
    if kind == "original download" and entry.download is not None and home is not None:
        return _downloaded(name, entry, entry.download, home)
    if kind == "shared" and home is not None:
        return _shared(name, entry, home)
    if entry.shape is not None:
        return _made(name, entry, entry.shape, entry.scale if scale is None else scale)
    raise AbsentError(f"{name} is not in {home or 'any folder: none was named'}", remedy=_where_to_get(entry))


def form_of(name: str, folder: str | os.PathLike[str] | None = None) -> Kind | None:
    """Say in which form :func:`load` would find a data set, None if in no form; nothing is read.

    >>> form_of("netflix", "."), form_of("fimi-retail", ".")
    ('stand-in', None)
    """
    if name not in ENTRIES:
        raise UnknownNameError.among("data set", name, ENTRIES)
    entry, home = ENTRIES[name], _home(folder)
    if home is not None and entry.download is not None and downloads.has(home, entry.members):
        return "original download"
    if home is not None and entry.shared and all((home / f"{each}.parquet").is_file() for each in entry.shared):
        return "shared"
    return "stand-in" if entry.shape is not None else None


def _home(folder: str | os.PathLike[str] | None) -> Path | None:
    given = folder if folder is not None else os.environ.get(HOME)
    if not given:
        return None
    home = Path(given)
    if not home.is_dir():
        raise DataError(f"{home} is not a folder", remedy=f"name the folder with the data with --data or {HOME}")
    return home


def _where_to_get(entry: DatasetEntry) -> str:
    ways = []
    if entry.members:
        files = sorted({each.archive or each.name for each in entry.members})
        ways.append(f"get {', '.join(files)} from {entry.page}")
    if entry.shared:
        ways.append(f"put {' and '.join(f'{each}.parquet' for each in entry.shared)} there")
    return f"{', or '.join(ways)}, and name the folder with --data or {HOME}"


def _downloaded(name: str, entry: DatasetEntry, read: Callable[[Path], Parsed], home: Path) -> Dataset:
    """Read the publisher's files, and check that they are as the publisher says."""
    for path in sorted({found for each in entry.members if (found := each.find(home))}):
        if path.name in entry.checksums:
            check_checksum(path, entry.checksums[path.name])
    parsed = read(home)
    sizes = Sizes.of(parsed.table)
    if entry.publisher_says is not None:
        check_sizes(name, sizes, entry.publisher_says)
    said = f"the publisher's own files ({entry.page}), as large as published; {sizes}"
    return _dataset(name, entry, "original download", parsed, said, sizes)


def check_checksum(path: Path, expected: str) -> None:
    """Refuse an archive that is not the publisher's, to the byte."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if found != expected:
        raise DataError(
            f"{path.name} is not the publisher's file: its MD5 is {found}, and should be {expected}",
            remedy="download it again",
        )


def check_sizes(name: str, found: Sizes, publisher_says: Sizes) -> None:
    """Refuse files that are not as large as their publisher says; 0 stands for what is not published."""
    for what, expected in vars(publisher_says).items():
        got = getattr(found, what)
        if expected and got != expected:
            raise DataError(
                f"{name} has {got:,} {what} where its publisher gives {expected:,}",
                remedy="download it again, and leave the files as they are",
            )


def _shared(name: str, entry: DatasetEntry, home: Path) -> Dataset:
    table = pq.read_table(home / f"{entry.shared[0]}.parquet")
    if entry.people is not None:
        table = entry.people(table)
    labels: dict[Any, str] = {}
    if entry.labels[0]:
        named = pq.read_table(home / f"{entry.shared[1]}.parquet", columns=list(entry.labels))
        labels = dict(zip(*(named[column].to_pylist() for column in entry.labels), strict=True))
    if "resource" in table.column_names:
        table = table.rename_columns({"resource": "item"})
    table = table.filter(pc.and_(pc.is_valid(table["user"]), pc.is_valid(table["item"])))
    sizes = Sizes.of(table)
    said = f"{entry.shared[0]}.parquet, a copy kept as Parquet: {entry.about}; {sizes}"
    return _dataset(name, entry, "shared", Parsed(table, labels), said, sizes)


def _made(name: str, entry: DatasetEntry, shape: StandInShape, scale: float) -> Dataset:
    table = stand_in(shape, scale)
    days = pa.array(LABELS["weekday"])
    table = table.set_column(2, "weekday", days.take(table["weekday"].combine_chunks()))
    sizes = Sizes.of(table)
    share = f"{100 * scale:g} %" if scale < 1 else "all"
    said = f"a stand-in with {share} of the users and records that {shape.source}, give for {entry.about}; {sizes}"
    made = _dataset(name, entry, "stand-in", Parsed(table), said, sizes)
    whole = replace(made.log, catalogue=Catalogue.of(range(shape.items)))
    return replace(made, log=whole, scale=scale)


def _dataset(name: str, entry: DatasetEntry, kind: Kind, parsed: Parsed, said: str, sizes: Sizes) -> Dataset:
    table = entry.prepare(parsed.table)
    ids = pc.unique(table["item"]).sort().to_pylist()
    items = Catalogue.of(ids, [parsed.labels.get(each) for each in ids])
    if entry.cells:
        items = Catalogue.of(range(entry.cells))
    log = read_events(table, user="user", item="item", items=items, **entry.words.get(kind, {}))
    return Dataset(name, log, kind, said, entry.licence, sizes)


def _with_age_groups(table: pa.Table) -> pa.Table:
    """Turn the ages of MovieLens, 1 for under 18, into the three groups of Fan and Jin."""
    age = table["age"]
    group = pc.if_else(pc.less(age, 25), AGES[0], pc.if_else(pc.less(age, 35), AGES[1], AGES[2]))
    return table.set_column(table.column_names.index("age"), "age", group)


_DEMOGRAPHIC = {"context": "gender,age", "contexts": {"gender": ["M", "F"], "age": list(AGES)}}
_NEW_YORK = "America/New_York"
_GROUPLENS = (
    "research use with acknowledgement; not to be redistributed, nor used commercially, without permission"
)
_HETREC = "non-commercial use; cite Last.fm and HetRec 2011"
_LASTFM = "https://grouplens.org/datasets/hetrec-2011/"

ENTRIES: Mapping[str, DatasetEntry] = {
    "movielens-1m": DatasetEntry(
        about="MovieLens 1M, film ratings with gender and age of the users",
        licence=_GROUPLENS,
        page="https://grouplens.org/datasets/movielens/1m/",
        download=downloads.movielens_1m,
        members=(downloads.RATINGS, downloads.USERS, downloads.MOVIES),
        publisher_says=Sizes(records=1_000_209, users=6_040, items=3_706),
        checksums={"ml-1m.zip": "c4d9eecfca2ab87c1945afe126590906"},
        shared=("movielens-1m", "movielens-1m-items"),
        labels=("item", "title"),
        words={"shared": _DEMOGRAPHIC, "original download": _DEMOGRAPHIC},
        prepare=_with_age_groups,
    ),
    "movielens-100k": DatasetEntry(
        about="MovieLens 100K, film ratings",
        licence=_GROUPLENS,
        shared=("movielens-100k", "movielens-100k-items"),
        labels=("item", "title"),
    ),
    "foursquare-nyc": DatasetEntry(
        about="Foursquare check-ins in New York; the copy counts minutes from about 2012-04-03 18:00 UTC",
        licence="research use; traces of people's movements, to be handled with care",
        page="https://sites.google.com/site/yangdingqi/home/foursquare-dataset",
        download=downloads.foursquare_nyc,
        members=(downloads.FOURSQUARE,),
        publisher_says=Sizes(records=227_428, users=1_083, items=38_333),
        shared=("foursquare-nyc",),
        words={
            "shared": {
                "context": "weekday:minute",
                "time_format": "min@2012-04-03T18:00:00+00:00",
                "timezone": _NEW_YORK,
            },
            "original download": {"context": "weekday:time", "timezone": _NEW_YORK},
        },
    ),
    "gowalla-10core": DatasetEntry(
        about="Gowalla, users and places with ten or more alone, each pair once and without time",
        licence="no licence text found; cite the papers",
        shared=("gowalla-10core",),
    ),
    "gowalla": DatasetEntry(
        about="all check-ins of Gowalla",
        licence="no licence text found; cite E. Cho, S. A. Myers, J. Leskovec, KDD 2011",
        page="https://snap.stanford.edu/data/loc-gowalla.html",
        download=downloads.gowalla,
        members=(downloads.GOWALLA,),
        publisher_says=Sizes(records=6_442_890, users=0, items=0),
        shape=stand_ins.GOWALLA,
        scale=0.1,
        words={"original download": {"context": "weekday:time"}, "stand-in": _WEEK},
    ),
    "kosarak": DatasetEntry(
        about="Kosarak, clicks on a news portal",
        licence="no licence text found",
        page="http://fimi.uantwerpen.be/data/",
        download=downloads.kosarak,
        members=(downloads.KOSARAK,),
        publisher_says=Sizes(records=0, users=990_002, items=41_270),
    ),
    "kosarak-prefix": DatasetEntry(
        about="Kosarak, the first 36,682 of 990,002 sessions",
        licence="no licence text found",
        shared=("kosarak-prefix",),
    ),
    "hetrec-lastfm-plays": DatasetEntry(
        about="Last.fm, the artists that people listened to most",
        licence=_HETREC,
        page=_LASTFM,
        download=downloads.hetrec_plays,
        members=(downloads.PLAYS, downloads.ARTISTS),
        publisher_says=Sizes(records=92_834, users=1_892, items=17_632),
        shared=("hetrec-lastfm-plays", "hetrec-lastfm-artists"),
        labels=("item", "name"),
    ),
    "hetrec-lastfm-tags": DatasetEntry(
        about="Last.fm, the tags that people gave to artists",
        licence=_HETREC,
        page=_LASTFM,
        download=downloads.hetrec_tags,
        members=(downloads.TAGGED, downloads.ARTISTS),
        publisher_says=Sizes(records=186_479, users=1_892, items=12_523),
        shared=("hetrec-lastfm-tags", "hetrec-lastfm-artists"),
        labels=("item", "name"),
    ),
    "hetrec-movielens-tags": DatasetEntry(
        about="MovieLens, the tags that people gave to films",
        licence="non-commercial research; cite HetRec 2011",
        page=_LASTFM,
        shared=("hetrec-movielens-tags",),
    ),
    "fimi-retail": DatasetEntry(
        about="FIMI retail, the baskets of a Belgian supermarket",
        licence="use with acknowledgement of the donor, T. Brijs",
        shared=("fimi-retail",),
    ),
    "bms-webview-1": DatasetEntry(
        about="BMS-WebView-1, page views of a shop (KDD Cup 2000)",
        licence="research use with acknowledgement",
        shared=("bms-webview-1",),
    ),
    "msweb": DatasetEntry(
        about="areas of microsoft.com that people visited in a week of 1998",
        licence="CC BY 4.0",
        shared=("msweb", "msweb-items"),
        labels=("item", "title"),
    ),
    "uci-adult": DatasetEntry(
        about="UCI Adult, the complete records of the training set, in 16 bins each of four columns",
        licence="CC BY 4.0",
        shared=("uci-adult",),
        people=people.adult_cells,
        cells=people.ADULT_CELLS,
    ),
    "uci-adult-hours": DatasetEntry(
        about="UCI Adult, the complete records of the training set by hours a week",
        licence="CC BY 4.0",
        shared=("uci-adult",),
        people=adult_hours.hours_cells,
        cells=adult_hours.HOURS_CELLS,
    ),
    "nltcs": DatasetEntry(
        about="the National Long-Term Care Survey, 16 questions of two values",
        licence="no licence text found",
        shared=("nltcs",),
        people=people.nltcs_cells,
        cells=people.NLTCS_CELLS,
    ),
    "dpbench-nettrace": DatasetEntry(
        about="connections of a network trace by host (DPBench)",
        licence="no licence text found; cite M. Hay and others, SIGMOD 2016",
        shared=("dpbench-1d",),
        people=people.nettrace_cells,
        cells=people.NETTRACE_CELLS,
    ),
    "netflix": DatasetEntry(
        about="Netflix",
        licence="the publisher no longer hands it out",
        page="https://www.netflixprize.com",
        download=downloads.netflix,
        members=(downloads.NETFLIX,),
        publisher_says=Sizes(records=100_480_507, users=480_189, items=17_770),
        shape=stand_ins.NETFLIX,
        scale=0.01,
        words={"original download": {"context": "weekday:date"}, "stand-in": _WEEK},
    ),
    "pubmed": DatasetEntry(
        about="PubMed abstracts",
        licence="the real data are at UCI; nothing of them is used",
        page="https://archive.ics.uci.edu/dataset/164/bag+of+words",
        shape=stand_ins.PUBMED,
        scale=0.01,
    ),
}
"""All data sets that are known by name."""
