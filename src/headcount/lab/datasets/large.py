"""Parsers of Netflix and PubMed (100 and 483 million rows), streamed again in every pass."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headcount.errors import DataError
from headcount.events.sources.source import Source, TableSource
from headcount.lab.datasets.files import Member, bad, blocks, damage_of, open_member, table_of, tables_in
from headcount.lab.datasets.parsed import Parsed, StreamedFile

NETFLIX = Member("mv_0000001.txt", "nf_prize_dataset.tar.gz")
NETFLIX_PARTS = tuple(Member(f"combined_data_{part}.txt") for part in range(1, 5))
PUBMED = Member("docword.pubmed.txt", "docword.pubmed.txt.gz")
_FILM = re.compile(rb"^(\d+):[ \t\r]*$", re.MULTILINE)
_RATING = {"user": pa.int32(), "rating": pa.int8(), "date": pa.date32()}
_RATINGS = pa.schema([("user", pa.int32()), ("item", pa.int32()), ("rating", pa.int8()), ("date", pa.date32())])
_WORDS = pa.schema([("user", pa.int32()), ("item", pa.int32()), ("count", pa.int32())])


def netflix(folder: Path) -> Parsed:
    """Read ``mv_0000001.txt`` and so on: a line ``1:``, then user, rating and date of each rating of that film."""
    return Parsed(StreamedFile("the Netflix Prize", _RATINGS, partial(_all_films, folder)))


def netflix_parts(folder: Path) -> Parsed:
    """Read ``combined_data_1.txt`` to ``combined_data_4.txt``: the same lines, many films in a file."""
    return Parsed(StreamedFile("the Netflix Prize", _RATINGS, partial(_all_parts, folder)))


def _all_films(folder: Path) -> Iterator[pa.Table]:
    """Go through the files of all films: unpacked, or inside the archive inside the archive."""
    unpacked = sorted(folder.glob("**/mv_*.txt"))
    for path in unpacked:
        with path.open("rb") as file:
            yield from _rated(file, path.name)
    if unpacked:
        return
    archive = folder / (NETFLIX.archive or "")
    with damage_of(archive), tarfile.open(archive) as outer:
        for member in outer:
            inner = outer.extractfile(member)
            if inner is not None and member.name.endswith("training_set.tar"):
                with tarfile.open(fileobj=inner) as films:
                    for film in films:
                        packed = films.extractfile(film)
                        if packed is not None and "mv_" in film.name:
                            yield from _rated(packed, f"{archive.name}:{film.name}")


def _all_parts(folder: Path) -> Iterator[pa.Table]:
    for member in NETFLIX_PARTS:
        with open_member(folder, member) as (file, where):
            yield from _rated(file, where)


def _rated(file: Any, where: str) -> Iterator[pa.Table]:
    """Read ratings under the numbers of their films; a film may go on in the next block."""
    film, line = None, 1
    for block in blocks(file):
        done = 0
        tables = []
        for match in [*_FILM.finditer(block), None]:
            lines = block[done : match.start() if match else len(block)]
            if lines:
                tables.append(_of_film(film, lines, where, line))
                line += lines.count(b"\n")
            if match:
                film, done = int(match[1]), min(match.end() + 1, len(block))
                line += 1
        if tables:
            yield pa.concat_tables(tables).combine_chunks()


def _of_film(film: int | None, lines: bytes, where: str, first: int) -> pa.Table:
    if film is None:
        raise bad(where, first, "the number of a film and a colon", lines.partition(b"\n")[0].decode("latin-1"))
    rows = table_of(lines, ",", _RATING, where, first)
    item = pa.array(np.full(rows.num_rows, film, dtype=np.int32))
    return rows.append_column("item", item).select(_RATINGS.names)


FEWEST, MOST = 20, 250


def rarely_rated(source: Source) -> Source:
    """Return the extract of Zhu's thesis: films that 20 to 250 people rated, people with 20 or more of these."""
    ratings = np.zeros(1, dtype=np.int64)
    for batch in source.batches(["item"]):
        counts = np.bincount(batch.column(0).to_numpy(), minlength=ratings.size)
        counts[: ratings.size] += ratings
        ratings = counts
    films = pa.array(np.flatnonzero((ratings >= FEWEST) & (ratings <= MOST)).astype(np.int32))
    pieces = (batch.filter(pc.is_in(batch.column(1), films)) for batch in source.batches(_RATINGS.names))
    table = pa.Table.from_batches(pieces, _RATINGS)
    before = -1
    while table.num_rows != before:  # leaving out people may leave films with too few, and so on
        before = table.num_rows
        for column in ("user", "item"):
            counted = table[column].value_counts()
            enough = counted.field("values").filter(pc.greater_equal(counted.field("counts"), FEWEST))
            table = table.filter(pc.is_in(table[column], enough))
    return TableSource(table.combine_chunks())


def pubmed(folder: Path) -> Parsed:
    """Read ``docword.pubmed.txt``: how many documents, words and lines, then document, word and count a line."""
    return Parsed(StreamedFile("PubMed", _WORDS, partial(_words, folder)))


def _words(folder: Path) -> Iterator[pa.Table]:
    columns = {name: pa.int32() for name in _WORDS.names}
    with open_member(folder, PUBMED) as (file, where):
        head = []
        for line in range(1, 4):
            text = file.readline().strip()
            if not text.isdigit():
                raise bad(where, line, "how many documents, words and lines there are", text.decode("latin-1"))
            head.append(int(text))
        documents, words, lines = head
        read = 0
        for table in tables_in(file, " ", columns, where, first=4):
            for name, most in (("user", documents), ("item", words)):
                least = pc.min_max(table[name]).as_py()
                if table.num_rows and not 1 <= least["min"] <= least["max"] <= most:
                    raise DataError(f"{where}: {name} {least['min']} to {least['max']}, where it says 1 to {most}")
            read += table.num_rows
            yield table
        if read != lines:
            raise DataError(
                f"{where} has {read:,} rows where it says {lines:,}",
                remedy="download it again, and leave it as it is",
            )
