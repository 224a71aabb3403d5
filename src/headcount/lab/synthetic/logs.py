"""Synthetic event logs: a city's check-ins, film ratings, and a log shaped like the Netflix data.

The demo, the documentation, tests and benchmarks use them, so that no real person's data is needed.
The same seed gives the same rows on every machine; ``draws`` says how, and how users come to
have different numbers of records and different items.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headcount.errors import UsageError
from headcount.lab.synthetic.draws import Ints, activity, below, distinct_items, draw, generator, lookup, whole
from headcount.lab.synthetic.names import DISTRICTS, KINDS, LANDMARKS, film_titles, venue_names

WEEKS = 26
_MONDAY = int(np.datetime64("2026-01-05T00:00:00", "s").astype(np.int64))
_HOUR, _DAY = 3600, 86_400
_TASTES = 12


@dataclass(frozen=True)
class CheckIns:
    """Where ``checkins`` wrote: visits (user, venue, time) and the public list of venues (venue, name)."""

    visits: Path
    venues: Path


@dataclass(frozen=True)
class FilmRatings:
    """Where ``ratings`` wrote: ratings (user, item, rating, time) and the public list of films."""

    ratings: Path
    movies: Path


def checkins(
    folder: str | Path, *, users: int = 20_000, venues: int = 5_000, events: int = 1_000_000, seed: int = 2015
) -> CheckIns:
    """Write half a year of check-ins of an invented city: ``visits.parquet`` and ``venues.csv``.

    Exactly ``events`` visits, ordered by time, over 26 weeks from Monday 5 January 2026. A few landmarks
    belong to everybody; beyond them people return to favourite places, mostly in their own district.
    Bars fill on Friday, markets on Saturday morning, canteens on working days.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = checkins(folder, users=50, venues=40, events=1_000)
    ...     visits = pq.read_table(files.visits)
    ...     first = files.venues.read_text(encoding="utf-8").splitlines()[0]
    >>> visits.num_rows, visits.column_names, first
    (1000, ['user', 'venue', 'time'], 'venue,name')
    """
    visits, names, labels = _visits(users=users, venues=venues, events=events, seed=seed)
    files = CheckIns(Path(folder) / "visits.parquet", Path(folder) / "venues.csv")
    files.visits.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(visits, files.visits, compression="zstd")
    _write_csv(files.venues, ("venue", "name"), sorted(zip(labels, names, strict=True)))
    return files


def ratings(
    folder: str | Path, *, users: int = 6_000, items: int = 3_700, events: int = 1_000_000, seed: int = 1998
) -> FilmRatings:
    """Write film ratings in the manner of MovieLens: ``ratings.parquet`` and ``movies.csv``.

    Exactly ``events`` ratings from 1 to 5, ordered by time; nobody rates a film twice. Everybody rates at
    least 20 films (or half the mean, if that is less). Users share one of a dozen tastes, which raises both
    the chance that they see a film and what they think of it. Users and items count from 1.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rated = pq.read_table(ratings(folder, users=30, items=200, events=2_000).ratings)
    >>> rated.num_rows, rated.group_by(["user", "item"]).aggregate([]).num_rows
    (2000, 2000)
    """
    _check_sizes(users=users, items=items, events=events)
    if events > users * items:
        raise UsageError(
            f"{users:,} users can rate {items:,} items at most {users * items:,} times",
            given=events,
            remedy=f"ask for events={users * items} or fewer, or for more users or items",
        )
    rng = generator(seed)
    least = max(1, min(20, events // users // 2))
    most = max(min(items * 5 // 8, events - (users - 1) * least), -(-events // users))
    counts = activity(rng, users, events, least=least, most=most)
    quality, taste, genre = (rng.standard_normal(items), below(rng, _TASTES, users), below(rng, _TASTES, items))
    popularity = whole(np.exp(1.4 * rng.standard_normal(items) + 0.5 * quality))
    pairs = []
    for taste_class in range(_TASTES):
        members = np.flatnonzero(taste == taste_class)
        liked = popularity * np.where(genre == taste_class, 4, 1)
        pairs += [(members[who], what) for who, what in distinct_items(rng, counts[members], liked, rows=5_000)]
    user, item = (np.concatenate(column) for column in zip(*pairs, strict=True))
    bias, began = 0.4 * rng.standard_normal(users), below(rng, 900 * _DAY, users)
    liking = np.where(taste[user] == genre[item], 0.5, -0.1)
    score = 3.5 + 0.5 * quality[item] + bias[user] + liking + 0.8 * rng.standard_normal(events)
    lasting = below(rng, 2 * _HOUR, events) + np.floor(150 * rng.random(events) ** 6).astype(np.int64) * _DAY
    time = _MONDAY - 1_096 * _DAY + began[user] + lasting
    order = np.argsort(time, kind="stable")
    table = pa.table(
        {
            "user": (user[order] + 1).astype(np.int32),
            "item": (item[order] + 1).astype(np.int32),
            "rating": np.clip(np.rint(score[order]), 1, 5).astype(np.int8),
            "time": pa.array(time[order], pa.timestamp("s", tz="UTC")),
        }
    )
    files = FilmRatings(Path(folder) / "ratings.parquet", Path(folder) / "movies.csv")
    files.ratings.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, files.ratings, compression="zstd")
    _write_csv(files.movies, ("item", "title"), enumerate(film_titles(rng, items), start=1))
    return files


def netflix_shaped(
    path: str | Path,
    *,
    users: int = 480_189,
    items: int = 17_770,
    records: int = 100_480_507,
    largest: int = 17_653,
    seed: int = 2006,
    row_group_rows: int = 1_000_000,
    on_progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Write a log with the sizes of the Netflix data: int32 ``user`` and ``item``, int8 ``weekday``.

    Users are numbered from 0 and all occur; exactly ``records`` rows in random order, the most active user
    has exactly ``largest``, no user has an item twice. Needs 8 bytes of memory a record and little besides.
    For a smaller log of the same shape lower ``users`` with ``records`` (48,000 users for 10 million).
    ``on_progress`` hears steps done and steps to do: every record is drawn and, later, written. Users are
    stored plain, items and weekdays as dictionaries: of the settings tried this reads fastest.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = netflix_shaped(f"{folder}/log.parquet", users=90, items=60, records=900, largest=50)
    ...     log = pq.read_table(path)
    >>> log.num_rows, max(log["user"].value_counts().field("counts").to_pylist())
    (900, 50)
    """
    _check_sizes(users=users, items=items, records=records, largest=largest, row_group_rows=row_group_rows)
    if largest > items:
        raise UsageError(
            f"largest must be at most the number of items ({items:,}), since no user has an item twice",
            given=largest,
            remedy=f"try largest={items} or more items",
        )
    if not largest + users - 1 <= records <= users * largest:
        raise UsageError(
            f"{users:,} users with 1 to {largest:,} records each, one of them with {largest:,}, have "
            f"{largest + users - 1:,} to {users * largest:,} records",
            given=records,
            remedy="change records, users or largest to fit",
        )
    rng = generator(seed)
    counts = activity(rng, users, records, least=1, most=largest)
    popularity = whole((np.arange(items) + 100.0) ** -1.1)
    rng.shuffle(popularity)
    pairs = np.empty(records, dtype=np.int64)
    done = 0
    for user, item in distinct_items(rng, counts, popularity, rows=100_000):
        pairs[done : done + len(user)] = user * items + item
        done += len(user)
        if on_progress is not None:
            on_progress(done, 2 * records)
    rng.shuffle(pairs)
    days = np.stack([lookup(np.array(kind.week), 256) for kind in KINDS]).astype(np.int8)
    schema = pa.schema([("user", pa.int32()), ("item", pa.int32()), ("weekday", pa.int8())])
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(target.name + ".unfinished")
    compression = {"user": "none", "item": "snappy", "weekday": "snappy"}
    with pq.ParquetWriter(
        unfinished, schema, compression=compression, use_dictionary=["item", "weekday"]
    ) as writer:
        for start in range(0, records, row_group_rows):
            user, item = np.divmod(pairs[start : start + row_group_rows], items)
            weekday = days[item % len(KINDS), below(rng, 256, len(item))]
            columns = [user.astype(np.int32), item.astype(np.int32), weekday]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=row_group_rows)
            if on_progress is not None:
                on_progress(records + start + len(item), 2 * records)
    unfinished.replace(target)
    return target


def _visits(*, users: int, venues: int, events: int, seed: int) -> tuple[pa.Table, list[str], list[str]]:
    """Return the visits, and the name and label of each venue."""
    _check_sizes(users=users, venues=venues, events=events)
    rng = generator(seed)
    landmarks = min(len(LANDMARKS), venues // 4)
    kind_of = {kind.label: number for number, kind in enumerate(KINDS)}
    shares = np.cumsum([kind.share for kind in KINDS])
    kind = np.concatenate(
        [
            np.array([kind_of[label] for _, label in LANDMARKS[:landmarks]], dtype=np.int64),
            draw(rng, shares, venues - landmarks),
        ]
    )
    district = np.sort(below(rng, len(DISTRICTS), venues - landmarks))
    names = [name for name, _ in LANDMARKS[:landmarks]] + venue_names(rng, kind[landmarks:], district)
    labels = _labels("v", rng.permutation(venues) + 1, width=4)

    typical_maximum = int(0.64 * events / np.sqrt(users))
    most = min(max(typical_maximum, -(-events // users)), events - users + 1)
    counts = activity(rng, users, events, least=1, most=most)
    user = np.repeat(np.arange(users), counts)
    weights = _popularity(rng, landmarks, venues)
    venue = _venues_visited(rng, user, counts, weights=weights, landmarks=landmarks, district=district)

    hours = np.stack([lookup(_hours_of_week(kind.week, kind.opens, kind.hours), 4096) for kind in KINDS])
    hour = hours[kind[venue], below(rng, 4096, events)] + 168 * below(rng, WEEKS, events)
    time = _MONDAY + hour * _HOUR + below(rng, _HOUR, events)
    order = np.argsort(time, kind="stable")
    table = pa.table(
        {
            "user": _strings(_labels("u", np.arange(1, users + 1), width=5), user[order]),
            "venue": _strings(labels, venue[order]),
            "time": pa.array(time[order], pa.timestamp("s", tz="UTC")),
        }
    )
    return table, names, labels


def _popularity(rng: np.random.Generator, landmarks: int, venues: int) -> Ints:
    """Return venue weights: landmarks 6 to 11 % apart, the others on a long tail, in random order."""
    gaps = 1.06 + 0.05 * rng.random(max(landmarks - 1, 0))
    head = np.concatenate([[1.0], 1 / np.cumprod(gaps)])[:landmarks]
    last = head[-1] * 0.93 if landmarks else 1.0
    tail = last * (1 + np.arange(venues - landmarks) / max(landmarks, 1)) ** -0.65
    rng.shuffle(tail)
    return whole(np.concatenate([head, tail]))


def _venues_visited(
    rng: np.random.Generator, user: Ints, counts: Ints, *, weights: Ints, landmarks: int, district: Ints
) -> Ints:
    """Choose a venue for each visit: a landmark, one of the user's favourites, or something new.

    Landmarks get their share of everybody's visits, so that their order does not hang on a few very active
    people. A user has more favourites the more visits, and goes to the first of them most.
    """
    users, events = len(counts), len(user)
    tail = np.cumsum(weights[landmarks:])
    many = 2 + np.sqrt(counts / 2).astype(np.int64)
    owner = np.repeat(np.arange(users), many)
    bounds = np.searchsorted(district, np.arange(len(DISTRICTS) + 1))
    edges = np.concatenate([[0], tail])[bounds]
    home = below(rng, len(DISTRICTS), users)[owner]
    near = (rng.random(len(owner)) < 0.75) & (edges[home + 1] > edges[home])
    low, high = np.where(near, edges[home], 0), np.where(near, edges[home + 1], tail[-1])
    spot = low + np.floor(rng.random(len(owner)) * (high - low)).astype(np.int64)
    favourites = landmarks + np.searchsorted(tail, spot, side="right")

    which = np.floor(rng.random(events) ** 2 * many[user]).astype(np.int64)
    venue: Ints = favourites[(np.cumsum(many) - many)[user] + which]
    habit = rng.random(events)
    new = np.flatnonzero(habit > 0.8)
    venue[new] = landmarks + draw(rng, tail, len(new))
    if landmarks:
        share = weights[:landmarks].sum() / weights.sum()
        shared = np.flatnonzero(rng.random(events) < share)
        evenly = lookup(weights[:landmarks], len(shared))
        rng.shuffle(evenly)
        venue[shared] = evenly
    return venue


def _hours_of_week(week: tuple[int, ...], opens: int, hours: tuple[int, ...]) -> Ints:
    """Return the weight of each of the 168 hours from Monday midnight."""
    weights = np.zeros(168, dtype=np.int64)
    for day, weight in enumerate(week):
        np.add.at(weights, (24 * day + opens + np.arange(len(hours))) % 168, weight * np.array(hours))
    return weights


def _labels(prefix: str, numbers: Ints, *, width: int) -> list[str]:
    return [f"{prefix}{number:0{width}d}" for number in numbers.tolist()]


def _strings(labels: list[str], codes: Ints) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(labels)).cast(pa.string())


def _write_csv(path: Path, header: tuple[str, str], rows: Iterable[tuple[object, object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def _check_sizes(**sizes: int) -> None:
    """Refuse sizes that are not whole numbers of at least 1, and fewer events than users."""
    for name, size in sizes.items():
        if not isinstance(size, int) or size < 1:
            raise UsageError(f"{name} must be a whole number of at least 1", given=size, remedy=f"try {name}=1000")
    users, events = sizes["users"], sizes.get("events", sizes.get("records", 0))
    if events < users:
        raise UsageError(
            f"{users:,} users need at least as many events, since everybody has one",
            given=events,
            remedy=f"ask for {users} events or more, or for fewer users",
        )
