"""The publishers' own files, as one downloads them: each becomes a table of who did what, and in which context.

A file may lie in the folder as it was downloaded (an archive, or compressed) or unpacked. Lines that do not read
as the publisher describes them are refused with the file and the line. What the publisher says about the size of
the data is in :mod:`headcount.lab.datasets.by_name`, which checks it.
"""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from headcount.errors import DataError

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TWITTER_TIME = re.compile(r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) (\d\d) (\d\d:\d\d:\d\d) \+0000 (\d{4})")


@dataclass(frozen=True)
class Parsed:
    """Rows with columns ``user`` and ``item`` and what else there is, and what items are called."""

    table: pa.Table
    labels: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Member:
    """One file of a download: its name, and the archive it comes in, if any."""

    name: str
    archive: str | None = None

    def find(self, folder: Path) -> Path | None:
        """Return the file or archive that holds it, unpacked ones first."""
        plain = [folder / self.name, *folder.glob(f"*/{self.name}")]
        packed = [folder / f"{self.name}.gz", *([folder / self.archive] if self.archive else [])]
        return next((each for each in (*plain, *packed) if each.is_file()), None)


def has(folder: Path, members: Sequence[Member]) -> bool:
    """Tell whether all files of a download are there."""
    return all(each.find(folder) for each in members)


def movielens_1m(folder: Path) -> Parsed:
    """Read ``ratings.dat``, ``users.dat`` and ``movies.dat``: fields between ``::``, Latin-1."""
    ratings = _delimited(
        folder, RATINGS, "::", {"user": pa.int32(), "item": pa.int32(), "rating": pa.int8(), "time": pa.int64()}
    )
    people = _delimited(
        folder,
        USERS,
        "::",
        {"user": pa.int32(), "gender": pa.string(), "age": pa.int8(), "occupation": pa.int8(), "zip": pa.string()},
    )
    movies = _delimited(folder, MOVIES, "::", {"item": pa.int32(), "title": pa.string(), "genres": pa.string()})
    place = pc.index_in(ratings["user"], people["user"])
    if place.null_count:
        stranger = ratings["user"].filter(pc.is_null(place))[0].as_py()
        raise DataError(f"ratings.dat has user {stranger}, who is not in users.dat")
    table = ratings.select(["user", "item", "rating"])
    for name in ("gender", "age"):
        table = table.append_column(name, people[name].take(place))
    return Parsed(table, dict(zip(movies["item"].to_pylist(), movies["title"].to_pylist(), strict=True)))


def gowalla(folder: Path) -> Parsed:
    """Read ``loc-gowalla_totalCheckins.txt``: user, UTC time, latitude, longitude and place between tabs."""
    columns = {
        "user": pa.int32(), "time": pa.timestamp("s", "UTC"), "latitude": pa.float64(), "longitude": pa.float64(),
        "item": pa.int32(),
    }  # fmt: skip
    return Parsed(_delimited(folder, GOWALLA, "\t", columns).select(["user", "item", "time"]))


def foursquare_nyc(folder: Path) -> Parsed:
    """Read ``dataset_TSMC2014_NYC.txt``: eight fields between tabs, Latin-1; the time is UTC in Twitter's form."""
    columns = {
        "user": pa.int32(), "item": pa.string(), "category": pa.string(), "category name": pa.string(),
        "latitude": pa.float64(), "longitude": pa.float64(), "offset": pa.int32(), "time": pa.string(),
    }  # fmt: skip
    table = _delimited(folder, FOURSQUARE, "\t", columns)
    times = [_iso(text, FOURSQUARE, line) for line, text in enumerate(table["time"].to_pylist(), 1)]
    instants = pa.array(times).cast(pa.timestamp("s")).cast(pa.timestamp("s", "UTC"))
    return Parsed(table.select(["user", "item"]).append_column("time", instants))


def kosarak(folder: Path) -> Parsed:
    """Read ``kosarak.dat``: one session a line, the numbers of its pages between blanks."""
    users, items = [], []
    with _opened(folder, KOSARAK) as (file, where):
        for line, text in enumerate(file, 1):
            try:
                seen = [int(each) for each in text.split()]
            except ValueError as error:
                raise _bad(where, line, "numbers between blanks", text.decode("latin-1")) from error
            users.append(len(seen))
            items += seen
    user = np.repeat(np.arange(1, len(users) + 1, dtype=np.int32), users)
    return Parsed(pa.table({"user": user, "item": np.array(items, dtype=np.int32)}))


def hetrec_plays(folder: Path) -> Parsed:
    """Read ``user_artists.dat`` (user, artist, times played) and ``artists.dat``: a heading, tabs."""
    columns = {"user": pa.int32(), "item": pa.int32(), "plays": pa.int32()}
    return Parsed(_delimited(folder, PLAYS, "\t", columns, header=True), _artists(folder))


def hetrec_tags(folder: Path) -> Parsed:
    """Read ``user_taggedartists.dat`` (user, artist, tag, day, month, year) and ``artists.dat``."""
    columns = {name: pa.int32() for name in ("user", "item", "tag", "day", "month", "year")}
    tagged = _delimited(folder, TAGGED, "\t", columns, header=True)
    return Parsed(tagged.select(["user", "item", "tag"]), _artists(folder))


def netflix(folder: Path) -> Parsed:
    """Read ``mv_0000001.txt`` and so on: a line ``1:``, then user, rating and date of each rating of that film.

    All ratings are held in memory, 12 bytes each: 1.2 GB for the whole competition.
    """
    kind = {"user": pa.int32(), "rating": pa.int8(), "date": pa.date32()}
    pieces = []
    for where, text in _films(folder):
        head, _, rest = text.partition(b"\n")
        film = head.strip().removesuffix(b":")
        if not film.isdigit() or not head.strip().endswith(b":"):
            raise _bad(where, 1, "the number of a film and a colon", head.decode("latin-1"))
        rows = _columns(rest, ",", kind, where, first=2).select(["user", "date"])
        pieces.append(rows.append_column("item", pa.array(np.full(rows.num_rows, int(film), dtype=np.int32))))
    return Parsed(pa.concat_tables(pieces).select(["user", "item", "date"]))


RATINGS, USERS, MOVIES = (Member(f"{name}.dat", "ml-1m.zip") for name in ("ratings", "users", "movies"))
GOWALLA = Member("loc-gowalla_totalCheckins.txt")
FOURSQUARE = Member("dataset_TSMC2014_NYC.txt", "dataset_tsmc2014.zip")
KOSARAK = Member("kosarak.dat")
PLAYS, TAGGED, ARTISTS = (
    Member(f"{name}.dat", "hetrec2011-lastfm-2k.zip") for name in ("user_artists", "user_taggedartists", "artists")
)
NETFLIX = Member("mv_0000001.txt", "nf_prize_dataset.tar.gz")


def _artists(folder: Path) -> dict[int, str]:
    columns = {"item": pa.int32(), **dict.fromkeys(("name", "url", "picture"), pa.string())}
    table = _delimited(folder, ARTISTS, "\t", columns, header=True)
    return dict(zip(table["item"].to_pylist(), table["name"].to_pylist(), strict=True))


def _films(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Go through the files of all films: unpacked, or inside the archive inside the archive."""
    unpacked = sorted(folder.glob("**/mv_*.txt"))
    for path in unpacked:
        yield path.name, path.read_bytes()
    if unpacked:
        return
    with tarfile.open(folder / (NETFLIX.archive or "")) as outer:
        for member in outer:
            inner = outer.extractfile(member)
            if inner is not None and member.name.endswith("training_set.tar"):
                with tarfile.open(fileobj=inner) as films:
                    for film in films:
                        file = films.extractfile(film)
                        if file is not None and "mv_" in film.name:
                            yield f"{NETFLIX.archive}:{film.name}", file.read()


def _iso(text: str, member: Member, line: int) -> str:
    """Turn ``Tue Apr 03 18:00:09 +0000 2012`` into ISO 8601."""
    match = _TWITTER_TIME.fullmatch(text)
    if match is None or match[1] not in MONTHS:
        raise _bad(member.name, line, "a time such as Tue Apr 03 18:00:09 +0000 2012", text)
    return f"{match[4]}-{MONTHS.index(match[1]) + 1:02d}-{match[2]}T{match[3]}"


def _delimited(
    folder: Path, member: Member, delimiter: str, columns: Mapping[str, pa.DataType], *, header: bool = False
) -> pa.Table:
    """Read a file of lines with these fields."""
    with _opened(folder, member) as (file, where):
        content = file.read()
    if header:
        content = content.partition(b"\n")[2]
    return _columns(content, delimiter, columns, where, first=2 if header else 1)


def _columns(
    content: bytes, delimiter: str, columns: Mapping[str, pa.DataType], where: str, *, first: int
) -> pa.Table:
    """Read lines as columns, quickly if all is well; otherwise line by line, to name the one that is not."""
    content = content.decode("latin-1" if delimiter == "::" else "utf-8", errors="replace").encode()
    one = content.replace(b"::", b"\t") if delimiter == "::" else content
    if not one.strip():
        return pa.table({name: pa.array([], kind) for name, kind in columns.items()})
    try:
        return pacsv.read_csv(
            io.BytesIO(one),
            read_options=pacsv.ReadOptions(column_names=list(columns)),
            parse_options=pacsv.ParseOptions(
                delimiter="\t" if delimiter == "::" else delimiter, quote_char=False, ignore_empty_lines=False
            ),
            convert_options=pacsv.ConvertOptions(
                column_types=dict(columns),
                strings_can_be_null=False,
                null_values=[],
                timestamp_parsers=[pacsv.ISO8601],
            ),
        )
    except pa.ArrowInvalid as error:
        _blame(content.decode(), delimiter, columns, where, first)
        raise DataError(f"{where} cannot be read: {error}") from error


def _blame(text: str, delimiter: str, columns: Mapping[str, pa.DataType], where: str, first: int) -> None:
    """Find the first line that cannot be read, and say what it should be."""
    for line, given in enumerate(text.splitlines(), first):
        fields = given.split(delimiter)
        if len(fields) != len(columns):
            raise _bad(where, line, f"{len(columns)} fields ({', '.join(columns)})", given)
        for value, (name, kind) in zip(fields, columns.items(), strict=True):
            try:
                pa.array([value]).cast(kind)
            except pa.ArrowInvalid as error:
                raise _bad(where, line, f"{name} as {kind}", given) from error


def _bad(where: str, line: int, wanted: str, given: str) -> DataError:
    shown = given.rstrip("\r\n")
    return DataError(
        f"{where}, line {line}: expected {wanted}",
        given=shown if len(shown) <= 80 else f"{shown[:79]}…",
        remedy="download the file again, and leave it as it is",
    )


@contextmanager
def _opened(folder: Path, member: Member) -> Iterator[tuple[Any, str]]:
    """Open a file of a download, wherever it lies, and say where that is."""
    path = member.find(folder)
    if path is None:
        raise DataError(f"{member.name} is not in {folder}")
    opener: Callable[..., Any] = gzip.open if path.suffix == ".gz" else open
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                inside = [each for each in archive.namelist() if each.rpartition("/")[2] == member.name]
                if not inside:
                    raise DataError(f"{path.name} holds no {member.name}", remedy="download it again")
                with archive.open(inside[0]) as file:
                    yield file, f"{path.name}:{inside[0]}"
            return
        with opener(path, "rb") as file:
            yield file, path.name
    except (zipfile.BadZipFile, gzip.BadGzipFile, EOFError) as error:
        raise DataError(f"{path.name} is damaged ({error})", remedy="download it again") from error
