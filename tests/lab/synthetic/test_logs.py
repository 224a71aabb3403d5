"""The synthetic logs: same seed, same rows; exact sizes; the shapes that the demo and benchmarks rely on."""

from __future__ import annotations

import csv
import hashlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from headcount.errors import UsageError
from headcount.lab.synthetic.draws import activity, distinct_items, generator
from headcount.lab.synthetic.logs import CheckIns, checkins, netflix_shaped, ratings

Ints = np.ndarray[Any, np.dtype[np.int64]]


def digest(table: Any) -> str:
    """Hash what the rows say, so that neither chunks nor file metadata count."""
    text = "\n".join(",".join(map(str, row.values())) for row in table.to_pylist())
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def tallies(column: Any) -> Ints:
    counts: Ints = np.sort(column.value_counts().field("counts").to_numpy())
    return counts


def names(files: CheckIns) -> dict[str, str]:
    with files.venues.open(encoding="utf-8", newline="") as file:
        return {row["venue"]: row["name"] for row in csv.DictReader(file)}


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> CheckIns:
    return checkins(tmp_path_factory.mktemp("city"))


@pytest.fixture(scope="module")
def visits(city: CheckIns) -> Any:
    return pq.read_table(city.visits)


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return pq.read_table(ratings(tmp_path_factory.mktemp("films")).ratings)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return netflix_shaped(
        tmp_path_factory.mktemp("netflix") / "log.parquet",
        users=2_000,
        items=3_000,
        records=400_001,
        largest=2_900,
        row_group_rows=100_000,
    )


def top(visits: Any, called: dict[str, str], many: int) -> list[tuple[str, int]]:
    counted = visits["venue"].value_counts()
    pairs = zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True)
    return [(called[venue], count) for venue, count in Counter(dict(pairs)).most_common(many)]


class TestCheckIns:
    def test_has_the_promised_columns_and_sizes(self, visits: Any, city: CheckIns) -> None:
        assert visits.num_rows == 1_000_000
        assert visits.schema.names == ["user", "venue", "time"]
        assert visits.schema.field("user").type == visits.schema.field("venue").type == pa.string()
        assert visits.schema.field("time").type.tz == "UTC"
        assert len(visits["user"].unique()) == 20_000
        assert set(visits["venue"].unique().to_pylist()) <= names(city).keys()
        assert {"u00042", "u20000"} <= set(visits["user"].unique().to_pylist())

    def test_names_are_distinct(self, city: CheckIns) -> None:
        called = names(city)
        assert len(called) == len(set(called.values())) == 5_000
        assert "v0137" in called
        assert sum(" No. " in name for name in called.values()) < 50
        assert all(name == name.strip() and "{" not in name for name in called.values())

    def test_names_stay_distinct_where_the_words_run_out(self, tmp_path: Path) -> None:
        called = names(checkins(tmp_path, users=10, venues=30_000, events=10))
        assert len(called) == len(set(called.values())) == 30_000

    def test_rows_are_ordered_by_time_within_26_weeks(self, visits: Any) -> None:
        seconds = visits["time"].cast(pa.timestamp("s", tz="UTC")).cast(pa.int64()).to_numpy()
        assert (np.diff(seconds) >= 0).all()
        first, last = np.datetime64(int(seconds[0]), "s"), np.datetime64(int(seconds[-1]), "s")
        assert np.datetime64("2026-01-05") <= first
        assert last < np.datetime64("2026-07-06")

    def test_users_are_heavy_tailed(self, visits: Any) -> None:
        counts = tallies(visits["user"])
        assert counts[0] >= 1
        assert 15 <= np.median(counts) <= 25
        assert counts.mean() == 50
        assert 3_000 <= counts[-1] <= 9_000

    def test_users_return_to_their_favourites(self, visits: Any) -> None:
        pairs = visits.group_by(["user", "venue"]).aggregate([])
        assert pairs.num_rows < 0.5 * visits.num_rows

    def test_the_leading_venues_are_clearly_apart(self, visits: Any, city: CheckIns) -> None:
        counts = np.array([count for _, count in top(visits, names(city), 13)])
        steps = counts[:-1] / counts[1:]
        assert (steps > 1.05).all()
        assert (steps < 1.12).all()
        assert counts[0] < 0.02 * visits.num_rows

    def test_venues_have_a_long_tail(self, visits: Any) -> None:
        counts = tallies(visits["venue"])
        assert len(counts) == 5_000
        assert counts[-50:].sum() > 0.2 * counts.sum()
        assert np.median(counts) < 0.7 * counts.mean()

    def test_fridays_have_another_order_than_the_week(self, visits: Any, city: CheckIns) -> None:
        called = names(city)
        friday = visits.filter(pc.equal(pc.day_of_week(visits["time"]), 4))
        overall = [name for name, _ in top(visits, called, 10)]
        on_friday = [name for name, _ in top(friday, called, 10)]
        assert on_friday[0] == "The Blue Heron"
        assert overall[0] == "Central Station"
        assert len(set(on_friday) - set(overall)) >= 2

    @pytest.mark.parametrize(
        ("name", "day", "at_least"),
        [("Old Harbour Market", 5, 0.4), ("Museum of the Sea", 6, 0.28), ("The Blue Heron", 4, 0.25)],
    )
    def test_kinds_of_venue_have_their_days(
        self, visits: Any, city: CheckIns, name: str, day: int, at_least: float
    ) -> None:
        [venue] = [venue for venue, called in names(city).items() if called == name]
        days = pc.day_of_week(visits.filter(pc.equal(visits["venue"], venue))["time"]).to_numpy()
        assert (days == day).mean() > at_least

    @pytest.mark.parametrize(("users", "venues", "events"), [(1, 1, 1), (1, 9, 50), (7, 3, 7), (2, 1, 3)])
    def test_small_cities(self, tmp_path: Path, users: int, venues: int, events: int) -> None:
        files = checkins(tmp_path, users=users, venues=venues, events=events)
        visits = pq.read_table(files.visits)
        assert visits.num_rows == events
        assert len(visits["user"].unique()) == users
        assert len(names(files)) == venues


class TestRatings:
    def test_it_resembles_movielens(self, rated: Any) -> None:
        counts = tallies(rated["user"])
        assert rated.num_rows == 1_000_000
        assert [str(field.type) for field in rated.schema][:3] == ["int32", "int32", "int8"]
        assert len(counts) == 6_000
        assert counts[0] >= 20
        assert counts[-1] > 10 * np.median(counts)
        assert 3.2 < pc.mean(rated["rating"]).as_py() < 3.9
        assert sorted(rated["rating"].unique().to_pylist()) == [1, 2, 3, 4, 5]

    def test_no_user_rates_a_film_twice(self, rated: Any) -> None:
        assert rated.group_by(["user", "item"]).aggregate([]).num_rows == rated.num_rows

    def test_rows_are_ordered_by_time(self, rated: Any) -> None:
        assert (np.diff(rated["time"].cast(pa.int64()).to_numpy()) >= 0).all()

    def test_titles_are_distinct(self, tmp_path: Path) -> None:
        files = ratings(tmp_path, users=10, items=3_700, events=1_000)
        with files.movies.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert [int(row["item"]) for row in rows] == list(range(1, 3_701))
        assert len({row["title"] for row in rows}) == 3_700

    @pytest.mark.parametrize(("users", "items", "events"), [(1, 1, 1), (3, 4, 12), (50, 2, 51), (9, 100, 200)])
    def test_small_and_full_tables(self, tmp_path: Path, users: int, items: int, events: int) -> None:
        rated = pq.read_table(ratings(tmp_path, users=users, items=items, events=events).ratings)
        assert rated.num_rows == events == rated.group_by(["user", "item"]).aggregate([]).num_rows
        assert len(rated["user"].unique()) == users


class TestNetflixShaped:
    def test_has_exactly_the_requested_shape(self, path: Path) -> None:
        log = pq.read_table(path)
        counts = np.bincount(log["user"].to_numpy())
        assert [str(field.type) for field in log.schema] == ["int32", "int32", "int8"]
        assert log.num_rows == counts.sum() == 400_001
        assert len(counts) == 2_000
        assert counts.min() >= 1
        assert counts.max() == 2_900
        assert np.quantile(counts, 0.99) > 4 * np.median(counts)
        assert 0 <= pc.min(log["item"]).as_py() <= pc.max(log["item"]).as_py() < 3_000
        assert sorted(log["weekday"].unique().to_pylist()) == list(range(7))
        groups = pq.ParquetFile(path).metadata
        assert [groups.row_group(i).num_rows for i in range(groups.num_row_groups)] == [100_000] * 4 + [1]

    def test_no_user_has_an_item_twice(self, path: Path) -> None:
        log = pq.read_table(path)
        assert log.group_by(["user", "item"]).aggregate([]).num_rows == log.num_rows

    def test_items_are_zipf_like(self, path: Path) -> None:
        counts = tallies(pq.read_table(path)["item"])
        assert counts[-300:].sum() > 0.3 * counts.sum()

    def test_users_are_interleaved(self, path: Path) -> None:
        users = pq.read_table(path)["user"].to_numpy()
        assert (users[1:] == users[:-1]).mean() < 0.01
        assert len(np.unique(users[:100_000])) > 0.95 * 2_000

    def test_progress_rises_to_the_end_and_nothing_unfinished_stays(self, tmp_path: Path) -> None:
        heard: list[tuple[int, int]] = []
        netflix_shaped(
            tmp_path / "log.parquet",
            users=30,
            items=40,
            records=300,
            largest=40,
            on_progress=lambda done, steps: heard.append((done, steps)),
        )
        assert heard == sorted(heard)
        assert heard[-1] == (600, 600)
        assert [file.name for file in tmp_path.iterdir()] == ["log.parquet"]

    @pytest.mark.parametrize(
        ("users", "items", "records", "largest"), [(1, 1, 1, 1), (5, 9, 45, 9), (4, 9, 12, 9), (3, 9, 9, 3)]
    )
    def test_extreme_shapes(self, tmp_path: Path, users: int, items: int, records: int, largest: int) -> None:
        path = netflix_shaped(tmp_path / "log.parquet", users=users, items=items, records=records, largest=largest)
        log = pq.read_table(path)
        assert log.num_rows == records == log.group_by(["user", "item"]).aggregate([]).num_rows
        assert tallies(log["user"])[-1] == largest
        assert len(log["user"].unique()) == users


def _visits(seed: int, folder: Path) -> Any:
    return pq.read_table(checkins(folder, users=100, venues=60, events=3_000, seed=seed).visits)


def _ratings(seed: int, folder: Path) -> Any:
    return pq.read_table(ratings(folder, users=50, items=80, events=2_000, seed=seed).ratings)


def _netflix(seed: int, folder: Path) -> Any:
    path = folder / "log.parquet"
    return pq.read_table(netflix_shaped(path, users=90, items=60, records=900, largest=50, seed=seed))


@pytest.mark.parametrize(
    ("make", "expected"),
    [(_visits, "1ce10f02f857ac32"), (_ratings, "9323df1e35f1ca95"), (_netflix, "d6f483bc3a08b92a")],
)
def test_the_seed_decides_every_row(make: Callable[[int, Path], Any], expected: str, tmp_path: Path) -> None:
    first, again, other = (digest(make(seed, tmp_path)) for seed in (7, 7, 8))
    assert first == again != other
    assert first == expected  # rows that change silently would change every documented number


def test_files_are_equal_byte_for_byte(tmp_path: Path) -> None:
    first = checkins(tmp_path / "one", users=100, venues=60, events=3_000)
    two = checkins(tmp_path / "two", users=100, venues=60, events=3_000)
    assert first.visits.read_bytes() == two.visits.read_bytes()
    assert first.venues.read_bytes() == two.venues.read_bytes()


@pytest.mark.parametrize("seed", range(40))
def test_activity_keeps_its_bounds_for_any_size(seed: int) -> None:
    draw = np.random.default_rng(seed)
    users, least = int(draw.integers(2, 60)), int(draw.integers(1, 5))
    most = least + int(draw.integers(1, 400))
    low, high = most + (users - 1) * least, users * most
    for total in {low, high, int(draw.integers(low, high + 1))}:
        counts = activity(generator(seed), users, total, least=least, most=most)
        assert (counts.min() >= least, counts.max(), counts.sum()) == (True, most, total)


def test_distinct_items_follow_popularity_as_far_as_they_can() -> None:
    popularity = np.array([4_000, 200, 100, 50, 50])
    blocks = distinct_items(generator(1), np.full(20_000, 2), popularity, rows=500)
    share = np.bincount(np.concatenate([items for _, items in blocks])) / 20_000
    # The first item is in every pair; the others share what is left in proportion.
    np.testing.assert_allclose(share, [1, 0.5, 0.25, 0.125, 0.125], atol=0.02)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda at: checkins(at, users=10, events=9), "10 users need at least as many events"),
        (lambda at: checkins(at, users=0), "users must be a whole number of at least 1, not 0"),
        (lambda at: checkins(at, venues=0), "venues must be"),
        (lambda at: checkins(at, events=0), "events must be"),
        (lambda at: checkins(at, events=cast("Any", 1e6)), "events must be a whole number"),
        (lambda at: checkins(at, seed=-1), "seed must be"),
        (lambda at: ratings(at, users=10, items=3, events=31), "at most 30 times, not 31"),
        (lambda at: ratings(at, users=10, items=3, events=9), "10 users need"),
        (lambda at: netflix_shaped(at / "x", users=5, items=8, records=20, largest=9), "largest must be"),
        (lambda at: netflix_shaped(at / "x", users=5, items=8, records=41, largest=8), "12 to 40 records"),
        (lambda at: netflix_shaped(at / "x", users=5, items=8, records=11, largest=8), "12 to 40 records"),
        (lambda at: netflix_shaped(at / "x", row_group_rows=0), "row_group_rows must be"),
    ],
)
def test_impossible_sizes_are_refused_with_a_remedy(
    call: Callable[[Path], object], says: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=says) as refused:
        call(tmp_path)
    assert refused.value.remedy
    assert list(tmp_path.iterdir()) == []
