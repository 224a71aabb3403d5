"""Data sets by name: publishers' formats, shared files, stand-ins, and what is said when there is nothing."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headcount.errors import AbsentError, DataError, UnknownNameError
from headcount.events.encode.passes import EncodedLog
from headcount.lab.datasets import baskets, downloads, large, stand_ins
from headcount.lab.datasets import by_name as datasets
from headcount.lab.datasets.by_name import check_sizes, form_of, load
from headcount.lab.datasets.downloads import AGES
from headcount.lab.datasets.entries import ENTRIES
from headcount.lab.datasets.parsed import Sizes
from tests.lab.replicate import papers

HOME = os.environ.get("HEADCOUNT_DATA")


@pytest.fixture
def unpublished(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let downloads be smaller than published."""
    monkeypatch.setattr(datasets, "check_sizes", lambda *_: None)
    monkeypatch.setattr(datasets, "check_checksum", lambda *_: None)


def counts(name: str, folder: Path) -> dict[str, list[int]]:
    log = load(name, folder).log
    cells = np.concatenate([batch.cells for batch in EncodedLog(log).batches()])
    edges = np.bincount(cells, minlength=log.cells).reshape(-1, log.width)
    return {str(item): row.tolist() for item, row in zip(log.catalogue.ids, edges, strict=True)}


def test_movielens_with_groups_and_titles(tmp_path: Path, unpublished: None) -> None:
    papers.movielens(tmp_path)
    dataset = load("movielens-1m", tmp_path)
    assert dataset.kind == "original download"
    assert dataset.sizes == Sizes(records=4, users=3, items=3)
    assert dataset.log.catalogue.labels == ("Tale of Téa, A (1995)", "Rye (1999)", "Oat: Two (2000)")
    assert dataset.log.context is not None
    assert dataset.log.context.labels == tuple(f"{sex}|{age}" for sex in "MF" for age in AGES)
    held = counts("movielens-1m", tmp_path)  # women under 25, men of 25 to 34, men above 34
    assert held["10"] == [0, 1, 0, 1, 0, 0, 0]
    assert held["20"] == [0, 0, 0, 1, 0, 0, 0]
    assert held["30"] == [0, 0, 1, 0, 0, 0, 0]


def test_unpacked_files_are_loaded_too(tmp_path: Path) -> None:
    (tmp_path / "ml-1m").mkdir()
    for name, text in papers.MOVIELENS.items():
        (tmp_path / "ml-1m" / name).write_text(text, encoding="latin-1")
    assert downloads.movielens_1m(tmp_path).table.num_rows == 4
    (tmp_path / "kosarak.dat").write_text("1 2 3\n1\n4 5\n")
    assert baskets.kosarak(tmp_path).table["user"].to_pylist() == [1, 1, 1, 2, 3, 3]


def test_gowalla_has_days(tmp_path: Path, unpublished: None) -> None:
    papers.gowalla(tmp_path)
    held = counts("gowalla", tmp_path)
    assert held["22847"] == [0, 1, 0, 0, 0, 0, 1, 0]  # a Tuesday and a Sunday
    assert held["420315"] == [1, 0, 0, 0, 0, 0, 0, 0]


def test_foursquare_days_are_those_of_new_york(tmp_path: Path, unpublished: None) -> None:
    papers.foursquare(tmp_path)
    held = counts("foursquare-nyc", tmp_path)
    assert held["49bbd6c0"] == [0, 1, 0, 0, 0, 0, 0, 0]
    assert held["4a43c0ae"] == [0, 1, 0, 0, 0, 0, 0, 0]  # Wednesday in UTC, still Tuesday there


def test_shared_foursquare_counts_minutes_from_a_tuesday(tmp_path: Path) -> None:
    minutes = pa.array([1, 6 * 60, 10 * 60 + 1, 24 * 60 * 5], pa.int32())
    items = pa.array([1, 1, 2, 2], pa.int32())
    pq.write_table(
        pa.table({"user": items, "item": items, "minute": minutes}), tmp_path / "foursquare-nyc.parquet"
    )
    held = counts("foursquare-nyc", tmp_path)
    assert held["1"] == [0, 2, 0, 0, 0, 0, 0, 0]  # 14:01 and 20:00 in New York
    assert held["2"] == [0, 0, 1, 0, 0, 0, 1, 0]  # after midnight there, and the next Sunday


def test_hetrec_has_names(tmp_path: Path, unpublished: None) -> None:
    papers.hetrec(tmp_path)
    plays, tags = load("hetrec-lastfm-plays", tmp_path), load("hetrec-lastfm-tags", tmp_path)
    assert plays.sizes == Sizes(records=3, users=2, items=2)
    assert plays.log.catalogue.labels == ("Blue Kettle", 'The "Owls"')
    assert tags.sizes == Sizes(records=2, users=2, items=2)


@pytest.mark.parametrize("packed", [True, False])
def test_netflix_in_its_archives_or_unpacked(tmp_path: Path, unpublished: None, packed: bool) -> None:
    if packed:
        papers.netflix(tmp_path)
    else:
        (tmp_path / "training_set").mkdir()
        for name, text in papers.NETFLIX.items():
            (tmp_path / "training_set" / name).write_text(text)
    dataset = load("netflix", tmp_path)
    assert (dataset.kind, dataset.sizes) == ("original download", Sizes(records=3, users=2, items=2))
    assert counts("netflix", tmp_path)["1"] == [0, 1, 0, 0, 1, 0, 0, 0]


Write = Callable[[Path], object]


def large_netflix(folder: Path) -> object:
    return large.netflix(folder).table


BAD: dict[str, tuple[Write, Callable[[Path], object], str]] = {
    "too few fields": (
        lambda folder: papers.movielens(folder, ratings="1::10::5::978300760\n1::20::3\n"),
        downloads.movielens_1m,
        r"ml-1m\.zip:ml-1m/ratings\.dat, line 2: expected 4 fields \(user, item, rating, time\), not '1::20::3'",
    ),
    "no number": (
        lambda folder: papers.movielens(folder, users="1::F::young::10::48067\n"),
        downloads.movielens_1m,
        r"users\.dat, line 1: expected age as int8, not '1::F::young::10::48067'",
    ),
    "a stranger": (
        lambda folder: papers.movielens(folder, users="1::F::1::10::48067\n"),
        downloads.movielens_1m,
        "ratings.dat has user 2, who is not in users.dat",
    ),
    "no time": (
        lambda folder: papers.gowalla(folder, papers.GOWALLA.replace("2010-10-18T22:17:43Z", "yesterday")),
        downloads.gowalla,
        r"loc-gowalla_totalCheckins\.txt\.gz, line 2: expected time as timestamp",
    ),
    "another form of time": (
        lambda folder: papers.foursquare(folder, papers.FOURSQUARE.replace("Wed Apr", "Wed Avr")),
        downloads.foursquare_nyc,
        r"dataset_TSMC2014_NYC\.txt, line 2: expected a time such as .*, not 'Wed Avr 04 03:00:25 \+0000 2012'",
    ),
    "words among numbers": (
        lambda folder: (folder / "kosarak.dat").write_text("1 2\n3 four\n"),
        baskets.kosarak,
        r"kosarak\.dat, line 2: expected numbers between blanks, not '3 four'",
    ),
    "no film": (
        lambda folder: (folder / "mv_0000001.txt").write_text("1488844,3,2005-09-06\n"),
        large_netflix,
        r"mv_0000001\.txt, line 1: expected the number of a film and a colon",
    ),
    "no date": (
        lambda folder: (folder / "mv_0000001.txt").write_text("1:\n1,3,2005-09-06\n2,3,today\n"),
        large_netflix,
        r"mv_0000001\.txt, line 3: expected date as date32",
    ),
    "no archive": (
        lambda folder: (folder / "ml-1m.zip").write_bytes(b"<html>not found</html>"),
        downloads.movielens_1m,
        r"ml-1m\.zip is damaged .*; download it again",
    ),
    "half an archive": (
        lambda folder: papers.zipped(folder / "ml-1m.zip", "ml-1m", {"ratings.dat": "1::10::5::978300760\n"}),
        downloads.movielens_1m,
        r"ml-1m\.zip holds no users\.dat; download it again",
    ),
    "a cut file": (
        lambda folder: (folder / "kosarak.dat.gz").write_bytes(gzip.compress(b"1 2\n" * 999)[:-9]),
        baskets.kosarak,
        r"kosarak\.dat\.gz is damaged",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_named_with_their_lines(case: str, tmp_path: Path) -> None:
    write, read, complaint = BAD[case]
    write(tmp_path)
    with pytest.raises(DataError, match=complaint):
        read(tmp_path)


def test_downloads_must_be_as_large_as_published(tmp_path: Path) -> None:
    (tmp_path / "kosarak.dat").write_text("1 2\n3\n")
    with pytest.raises(DataError, match="kosarak has 2 users where its publisher gives 990,002"):
        load("kosarak", tmp_path)
    check_sizes("gowalla", Sizes(6_442_890, 5, 7), Sizes(6_442_890, 0, 0))


def test_an_archive_must_be_the_publishers_to_the_byte(tmp_path: Path) -> None:
    papers.movielens(tmp_path)
    with pytest.raises(DataError, match=r"ml-1m\.zip is not the publisher's file: its MD5 is [0-9a-f]{32}, and"):
        load("movielens-1m", tmp_path)
    path = tmp_path / "empty"
    path.touch()
    datasets.check_checksum(path, "d41d8cd98f00b204e9800998ecf8427e")


def test_the_publishers_own_files_come_first(tmp_path: Path, unpublished: None) -> None:
    papers.shared(tmp_path)
    assert form_of("movielens-1m", tmp_path) == load("movielens-1m", tmp_path).kind == "shared"
    papers.movielens(tmp_path)
    assert form_of("movielens-1m", tmp_path) == load("movielens-1m", tmp_path).kind == "original download"


def test_shared_files_have_titles_and_say_what_they_are(tmp_path: Path) -> None:
    papers.shared(tmp_path, users=30, items=8)
    dataset = load("movielens-1m", tmp_path)
    assert dataset.log.catalogue.labels[0] == "Film 1 (1951)"
    assert dataset.provenance.startswith("movielens-1m.parquet, a copy kept as Parquet: MovieLens 1M")
    assert str(dataset.sizes) in dataset.provenance
    assert "not to be redistributed" in dataset.licence


def test_the_environment_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    papers.shared(tmp_path)
    monkeypatch.setenv("HEADCOUNT_DATA", str(tmp_path))
    assert load("gowalla-10core").kind == "shared"
    monkeypatch.delenv("HEADCOUNT_DATA")
    with pytest.raises(AbsentError, match="none was named"):
        load("gowalla-10core")


def test_where_to_get_what_is_absent(tmp_path: Path) -> None:
    complaint = (
        r"get ml-1m\.zip \(ratings\.dat .* from GroupLens.*; or put movielens-1m\.parquet \(.*HEADCOUNT_DATA"
    )
    with pytest.raises(AbsentError, match=complaint):
        load("movielens-1m", tmp_path)
    with pytest.raises(DataError, match="is not a folder"):
        load("movielens-1m", tmp_path / "nowhere")
    with pytest.raises(UnknownNameError, match="did you mean 'movielens-1m'"):
        load("movielens", tmp_path)


def test_half_a_download_is_none(tmp_path: Path) -> None:
    (tmp_path / "ml-1m").mkdir()
    (tmp_path / "ml-1m" / "ratings.dat").write_text(papers.MOVIELENS["ratings.dat"])
    assert form_of("movielens-1m", tmp_path) is None


@pytest.mark.parametrize("name", ["netflix", "pubmed"])
def test_stand_ins_have_the_published_shape(name: str, tmp_path: Path) -> None:
    entry = ENTRIES[name]
    assert entry.shape is not None
    scale = 5_000 / entry.shape.users
    dataset = load(name, tmp_path, scale=scale)
    shape = entry.shape.scaled(scale)
    assert (dataset.kind, dataset.scale) == ("stand-in", scale)
    assert (dataset.sizes.users, dataset.sizes.records) == (shape.users, shape.records)
    assert len(dataset.log.catalogue.ids) == entry.shape.items
    assert "stand-in" in dataset.provenance
    table = stand_ins.stand_in(entry.shape, scale)
    assert max(table["user"].value_counts().field("counts").to_pylist()) == min(entry.shape.largest, shape.largest)


@pytest.mark.skipif(HOME is None, reason="HEADCOUNT_DATA names no folder")
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("movielens-1m", Sizes(1_000_209, 6_040, 3_706)),
        ("foursquare-nyc", Sizes(147_938, 1_083, 5_135)),
        ("gowalla-10core", Sizes(1_027_370, 29_858, 40_981)),
        ("hetrec-lastfm-plays", Sizes(92_834, 1_892, 17_632)),
    ],
)
def test_the_real_data(name: str, sizes: Sizes) -> None:
    assert load(name).sizes == sizes
