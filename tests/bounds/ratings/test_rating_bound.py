"""Sums over ratings: what one person adds at most, and that the kernels equal the plain engine to the unit.

Sensitivity is checked without chance: a log with and without one person, whose numbers then are the difference.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from headcount.accounting.budget import Grant
from headcount.bounds import NO_SECRET, Bound, Bounded, Norm
from headcount.bounds.ratings.rating_bound import Raters, read_ratings
from headcount.bounds.ratings.rating_covariance import RatingCovariance
from headcount.bounds.ratings.rating_offsets import RatingOffsets
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.events.log import EventLog, read_events
from headcount.methods.recommender.rating_model import RatingModel
from tests.reference.engine import ReferenceEngine

ITEMS = 7
NORMS: tuple[Norm, ...] = ("l1", "l2")

Record = tuple[int, int, float]

records = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, ITEMS), st.sampled_from([-3, 1, 2.5, 3, 4, 5, 9.0])),
    max_size=60,
)
offsets = st.lists(st.integers(-2048, 2048), min_size=ITEMS, max_size=ITEMS)
places = st.sets(st.integers(0, ITEMS - 1), min_size=1)


def rated(given_records: list[Record]) -> EventLog:
    return EventLog.of(given_records, items=list(range(ITEMS)), value_range=(1, 5))


def pair_bound(limit: int, norm: Norm, chosen: set[int], given_offsets: list[int] | None) -> RatingCovariance:
    released = None if given_offsets is None else np.array(given_offsets, dtype=np.int64)
    return RatingCovariance(limit, norm, np.array(sorted(chosen), dtype=np.int64), released)


def moved(before: Bounded, other: Bounded) -> NDArray[np.int64]:
    return (before.sensitive_values - other.sensitive_values).ravel()


def within(bounded: Bounded, by: NDArray[np.int64]) -> bool:
    reach = bounded.sensitivity
    squares = sum(int(value) ** 2 for value in by)
    return bool(
        np.abs(by).sum() <= reach.l1 and squares <= reach.l2_squared and np.abs(by).max(initial=0) <= reach.linf
    )


@pytest.mark.parametrize("engine", [LocalEngine(threads=1), LocalEngine(threads=3)])
@given(records, offsets, places, st.integers(1, 40), st.sampled_from(NORMS), st.booleans())
@settings(deadline=None)
def test_the_kernels_equal_the_plain_engine(
    engine: LocalEngine,
    given_records: list[Record],
    given_offsets: list[int],
    chosen: set[int],
    limit: int,
    norm: Norm,
    plain: bool,
) -> None:
    log, reference = rated(given_records), ReferenceEngine()
    bound = RatingOffsets(limit, norm)
    assert not moved(engine.measure(log, bound, NO_SECRET), reference.measure(log, bound, NO_SECRET)).any()
    pairs = pair_bound(limit, norm, chosen, None if plain else given_offsets)
    assert not moved(engine.measure(log, pairs, NO_SECRET), reference.measure(log, pairs, NO_SECRET)).any()


@given(records, offsets, places, st.integers(1, 12), st.sampled_from(NORMS), st.booleans())
@settings(deadline=None)
def test_one_user_stays_within_the_sensitivity(
    given_records: list[Record],
    given_offsets: list[int],
    chosen: set[int],
    limit: int,
    norm: Norm,
    plain: bool,
) -> None:
    engine, log = ReferenceEngine(), rated(given_records)
    pairs = pair_bound(limit, norm, chosen, None if plain else given_offsets)
    bound = RatingOffsets(limit, norm)
    sums, covariance = engine.measure(log, bound, NO_SECRET), engine.measure(log, pairs, NO_SECRET)
    for user in {user for user, _, _ in given_records}:
        without = rated([record for record in given_records if record[0] != user])
        assert within(sums, moved(sums, engine.measure(without, bound, NO_SECRET)))
        assert within(covariance, moved(covariance, engine.measure(without, pairs, NO_SECRET)))


@pytest.mark.parametrize("norm", NORMS)
def test_the_bound_is_nearly_reached(norm: Norm) -> None:
    """So that it is not kept by adding nothing; a person who rates everything reaches nearly all of it."""
    log = EventLog.of([(1, n, 1 + 4 * (n % 2)) for n in range(40)], items=list(range(40)), value_range=(1, 5))
    sums = ReferenceEngine().measure(log, RatingOffsets(7, norm), NO_SECRET)
    zeros = np.zeros(40, dtype=np.int64)
    covariance = ReferenceEngine().measure(log, RatingCovariance(30, norm, np.arange(40), zeros), NO_SECRET)
    for bounded in (sums, covariance):
        values = bounded.sensitive_values.astype(np.float64).ravel()
        length, most = float(np.abs(values).sum()), float(bounded.sensitivity.l1)
        if norm == "l2":
            length, most = float(np.sqrt((values**2).sum())), bounded.sensitivity.l2
        assert 0.9 * most <= length <= most, "a kernel that rounds to nearest, not toward zero, may exceed it"


@given(records, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_of_rows_makes_no_difference(given_records: list[Record], random: Any) -> None:
    shuffled = list(given_records)
    random.shuffle(shuffled)
    bound = RatingOffsets(3, "l2")
    assert not moved(
        LocalEngine().measure(rated(given_records), bound, NO_SECRET),
        LocalEngine().measure(rated(shuffled), bound, NO_SECRET),
    ).any()


def test_of_several_ratings_of_one_item_the_mean_counts() -> None:
    read = read_ratings(LocalEngine(), rated([(1, 3, 1.0), (1, 3, 4.0), (1, 2, 9.0), (2, ITEMS, 5.0)]))
    assert read.items.tolist() == [2, 3]
    assert read.values.tolist() == [4096, 1536]
    assert read.starts.tolist() == [0, 2, 2]


def test_a_hand_worked_case() -> None:
    """One person, ratings 5 and 2: mean (4 + 1 + 5 · 2.6) / 7 stars above 1, in units of 1/1024."""
    log = rated([(1, 0, 5.0), (1, 1, 2.0)])
    mean = (4096 + 1024 + 5 * 2662) // 7
    sums = ReferenceEngine().measure(log, RatingOffsets(7, "l2"), NO_SECRET).sensitive_values
    assert sums[0, :2].tolist() == [int((4096 - mean) * 10 / 9), int((1024 - mean) * 10 / 9)]
    assert sums[1, :2].tolist() == [512, 512]
    covariance = (
        ReferenceEngine()
        .measure(log, RatingCovariance(100, "l2", np.arange(2), np.zeros(ITEMS, np.int64)), NO_SECRET)
        .sensitive_values
    )
    assert covariance.tolist() == [int((4096 - mean) / 4) * int((1024 - mean) / 4)]


@pytest.mark.parametrize("value", [1.7e308, -1.7e308, 5e-324])
def test_no_rating_makes_numpy_warn(value: float) -> None:
    log = EventLog.of([(1, 0, value), (1, 1, 3.0)], items=list(range(ITEMS)), value_range=("-1e307", "1.5e308"))
    assert read_ratings(LocalEngine(), log).values.tolist() == [
        {1.7e308: 4096, -1.7e308: 0, 5e-324: 256}[value],
        256,
    ]
    bound = RatingOffsets(7, "l2")
    lowest, other = (
        engine.measure(log, bound, NO_SECRET).sensitive_values for engine in (LocalEngine(), ReferenceEngine())
    )
    assert lowest.tolist() == other.tolist()


@pytest.mark.parametrize("span", [("-1e308", "1e308"), ("1e16", "10000000000000000.1"), ("0", "1e400")])
def test_a_range_that_tells_no_ratings_apart_is_refused_in_the_plan(span: tuple[str, str]) -> None:
    log = EventLog.of([(1, 0, 3.0)], items=list(range(ITEMS)), value_range=span)
    with pytest.raises(UsageError, match="tell ratings apart"):
        RatingModel().noise_distributions(log, Grant("1", "1e-6"))


def test_other_ranges_are_stretched() -> None:
    five = read_ratings(LocalEngine(), rated([(1, 0, 1.0), (1, 1, 2.0), (1, 2, 5.0)]))
    ten = EventLog.of([(1, 0, 0), (1, 1, 25), (1, 2, 100)], items=list(range(ITEMS)), value_range=(0, 100))
    assert read_ratings(LocalEngine(), ten).values.tolist() == five.values.tolist()


def test_engines_say_that_they_can() -> None:
    engine: Engine
    for engine in (LocalEngine(), ReferenceEngine()):
        assert all(engine.can(kind) for kind in (Raters, RatingOffsets, RatingCovariance))
        assert not engine.can(Bound)


def test_co_counts_of_a_log_without_ratings_and_from_a_store(tmp_path: Any) -> None:
    from headcount.engines.local.pack import pack

    log = EventLog.of([("ann", "tea"), ("ann", "rye"), ("ann", "tea"), ("bob", "tea")], items=["rye", "tea"])
    bound = RatingCovariance(10, "l1", np.arange(2))
    stored = read_events(pack(log, tmp_path / "store"))
    for source in (log, stored):
        assert (LocalEngine().measure(source, bound, NO_SECRET).sensitive_values == [1 << 16]).all()


@pytest.mark.parametrize("wrong", [[3, 1], [1, 1], [-1, 2]])
def test_places_must_rise(wrong: list[int]) -> None:
    with pytest.raises(ValueError, match="rising"):
        RatingCovariance(1, "l2", np.array(wrong))
