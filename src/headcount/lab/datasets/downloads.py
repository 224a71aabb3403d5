"""Parsers of ratings, check-ins, plays and tags from the publishers' files into tables of user and item."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from headcount.errors import DataError
from headcount.events.sources.source import Source, TableSource
from headcount.lab.datasets.files import Member, bad, delimited, open_member
from headcount.lab.datasets.parsed import Parsed, whole

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TWITTER_TIME = re.compile(r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) (\d\d) (\d\d:\d\d:\d\d) \+0000 (\d{4})")

RATINGS, USERS, MOVIES = (Member(f"ml-1m/{name}.dat", "ml-1m.zip") for name in ("ratings", "users", "movies"))
RATINGS_10M, MOVIES_10M = (Member(f"ml-10M100K/{name}.dat", "ml-10m.zip") for name in ("ratings", "movies"))
RATINGS_100K, MOVIES_100K = (Member(f"ml-100k/u.{name}", "ml-100k.zip") for name in ("data", "item"))
GOWALLA = Member("loc-gowalla_totalCheckins.txt", "loc-gowalla_totalCheckins.txt.gz")
FOURSQUARE = Member("dataset_TSMC2014_NYC.txt", "dataset_tsmc2014.zip")
PLAYS, TAGGED, ARTISTS = (
    Member(f"{name}.dat", "hetrec2011-lastfm-2k.zip") for name in ("user_artists", "user_taggedartists", "artists")
)
TAGGED_FILMS = Member("user_taggedmovies-timestamps.dat", "hetrec2011-movielens-2k-v2.zip")
TAGGED_PAGES = Member("user_taggedbookmarks-timestamps.dat", "hetrec2011-delicious-2k.zip")

AGES = ("Under 25", "25-34", "Above 34")
"""The age groups of Fan and Jin, section 6.3."""


def movielens_1m(folder: Path) -> Parsed:
    """Read ``ratings.dat``, ``users.dat`` and ``movies.dat``: fields between ``::``, Latin-1."""
    ratings = delimited(
        folder, RATINGS, "::", {"user": pa.int32(), "item": pa.int32(), "rating": pa.int8(), "time": pa.int64()}
    )
    users = delimited(
        folder,
        USERS,
        "::",
        {"user": pa.int32(), "gender": pa.string(), "age": pa.int8(), "occupation": pa.int8(), "zip": pa.string()},
    )
    place = pc.index_in(ratings["user"], users["user"])
    if place.null_count:
        stranger = ratings["user"].filter(pc.is_null(place))[0].as_py()
        raise DataError(f"ratings.dat has user {stranger}, who is not in users.dat")
    table = ratings.select(["user", "item", "rating"])
    for name in ("gender", "age"):
        table = table.append_column(name, users[name].take(place))
    return Parsed.from_table(table, _films(folder, MOVIES))


def with_age_groups(source: Source) -> Source:
    """Turn the ages of MovieLens, 1 for under 18, into the three groups of Fan and Jin."""
    table = whole(source)
    age = table["age"]
    group = pc.if_else(pc.less(age, 25), AGES[0], pc.if_else(pc.less(age, 35), AGES[1], AGES[2]))
    return TableSource(table.set_column(table.column_names.index("age"), "age", group))


def movielens_10m(folder: Path) -> Parsed:
    """Read ``ratings.dat`` and ``movies.dat``: as in MovieLens 1M, but for halves of stars and UTF-8."""
    columns = {"user": pa.int32(), "item": pa.int32(), "rating": pa.float32(), "time": pa.int64()}
    ratings = delimited(folder, RATINGS_10M, "::", columns).select(["user", "item", "rating"])
    return Parsed.from_table(ratings, _films(folder, MOVIES_10M, "utf-8"))


def movielens_100k(folder: Path) -> Parsed:
    """Read ``u.data`` (user, film, rating, time between tabs) and ``u.item`` (film, title and more between |)."""
    columns = {"user": pa.int32(), "item": pa.int32(), "rating": pa.int8(), "time": pa.int64()}
    ratings = delimited(folder, RATINGS_100K, "\t", columns).select(["user", "item", "rating"])
    titles = {}
    with open_member(folder, MOVIES_100K) as (file, where):
        for line, text in enumerate(file.read().decode("latin-1").splitlines(), 1):
            number, *rest = text.split("|")
            if not number.isdigit() or not rest:
                raise bad(where, line, "the number and title of a film between |", text)
            titles[int(number)] = rest[0]
    return Parsed.from_table(ratings, titles)


def _films(folder: Path, member: Member, encoding: str = "latin-1") -> dict[int, str]:
    columns = {"item": pa.int32(), "title": pa.string(), "genres": pa.string()}
    movies = delimited(folder, member, "::", columns, encoding=encoding)
    return dict(zip(movies["item"].to_pylist(), movies["title"].to_pylist(), strict=True))


def gowalla(folder: Path) -> Parsed:
    """Read ``loc-gowalla_totalCheckins.txt``: user, UTC time, latitude, longitude and place between tabs."""
    columns = {
        "user": pa.int32(), "time": pa.timestamp("s", "UTC"), "latitude": pa.float64(), "longitude": pa.float64(),
        "item": pa.int32(),
    }  # fmt: skip
    return Parsed.from_table(delimited(folder, GOWALLA, "\t", columns).select(["user", "item", "time"]))


def foursquare_nyc(folder: Path) -> Parsed:
    """Read ``dataset_TSMC2014_NYC.txt``: eight fields between tabs, Latin-1; the time is UTC in Twitter's form."""
    columns = {
        "user": pa.int32(), "item": pa.string(), "category": pa.string(), "category name": pa.string(),
        "latitude": pa.float64(), "longitude": pa.float64(), "offset": pa.int32(), "time": pa.string(),
    }  # fmt: skip
    table = delimited(folder, FOURSQUARE, "\t", columns, encoding="latin-1")
    times = [_iso(text, FOURSQUARE, line) for line, text in enumerate(table["time"].to_pylist(), 1)]
    instants = pa.array(times, pa.string()).cast(pa.timestamp("s")).cast(pa.timestamp("s", "UTC"))
    return Parsed.from_table(table.select(["user", "item"]).append_column("time", instants))


def _iso(text: str, member: Member, line: int) -> str:
    """Turn ``Tue Apr 03 18:00:09 +0000 2012`` into ISO 8601."""
    match = _TWITTER_TIME.fullmatch(text)
    if match is None or match[1] not in MONTHS:
        raise bad(member.name, line, "a time such as Tue Apr 03 18:00:09 +0000 2012", text)
    return f"{match[4]}-{MONTHS.index(match[1]) + 1:02d}-{match[2]}T{match[3]}"


def hetrec_plays(folder: Path) -> Parsed:
    """Read ``user_artists.dat`` (user, artist, times played) and ``artists.dat``: a heading, tabs."""
    columns = {"user": pa.int32(), "item": pa.int32(), "plays": pa.int32()}
    return Parsed.from_table(delimited(folder, PLAYS, "\t", columns, header=True), _artists(folder))


def hetrec_tags(folder: Path) -> Parsed:
    """Read ``user_taggedartists.dat`` (user, artist, tag, day, month, year) and ``artists.dat``."""
    columns = {name: pa.int32() for name in ("user", "item", "tag", "day", "month", "year")}
    tagged = delimited(folder, TAGGED, "\t", columns, header=True)
    return Parsed.from_table(tagged.select(["user", "item", "tag"]), _artists(folder))


def _artists(folder: Path) -> dict[int, str]:
    columns = {"item": pa.int32(), **dict.fromkeys(("name", "url", "picture"), pa.string())}
    table = delimited(folder, ARTISTS, "\t", columns, header=True)
    return dict(zip(table["item"].to_pylist(), table["name"].to_pylist(), strict=True))


def hetrec_film_tags(folder: Path) -> Parsed:
    """Read ``user_taggedmovies-timestamps.dat``: user, film, tag and milliseconds, under a heading."""
    return _tagged(folder, TAGGED_FILMS)


def hetrec_page_tags(folder: Path) -> Parsed:
    """Read ``user_taggedbookmarks-timestamps.dat``: user, page, tag and milliseconds, under a heading."""
    return _tagged(folder, TAGGED_PAGES)


def _tagged(folder: Path, member: Member) -> Parsed:
    columns = {"user": pa.int32(), "item": pa.int32(), "tag": pa.int32(), "time": pa.int64()}
    return Parsed.from_table(delimited(folder, member, "\t", columns, header=True).select(["user", "item", "tag"]))
