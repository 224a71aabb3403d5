"""What was measured of two groups of people is, put together, what is measured of all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import headcount as hc
from headcount.accounting.noise_distributions import DiscreteLaplace
from headcount.bounds import (
    NO_SECRET,
    ActivityHistogram,
    Bound,
    ClassProfile,
    ItemSubset,
    KeepTopScored,
    Noisy,
    SampleRecords,
    WeightToThreshold,
)
from headcount.bounds.counts.record_cap import RecordCap
from headcount.bounds.counts.sample_records import SampleUsers
from headcount.bounds.counts.top_item_counts import BoundedTopItemCounts, TopItemCounts
from headcount.bounds.counts.users_per_column import UsersPerColumn
from headcount.bounds.grid.marginals import BoundedTables, Marginals
from headcount.bounds.grid.user_group_cells import GroupCells
from headcount.bounds.keys.distinct_items_sign import DistinctItemsSign
from headcount.bounds.keys.key_support import KeySupport
from headcount.bounds.keys.key_weights import KeyWeights
from headcount.bounds.ratings.centered_cooccurrence import CenteredCooccurrence
from headcount.bounds.ratings.factor_gradients import FactorGradients
from headcount.bounds.ratings.rating_bound import Raters
from headcount.bounds.ratings.rating_covariance import RatingCovariance
from headcount.bounds.ratings.rating_offsets import RatingOffsets
from headcount.bounds.ratings.sampled_item_pairs import SampledItemPairs
from headcount.bounds.tags.tag_weights import Taggers, TagMarginals, TagPairs, TagWeights
from headcount.bounds.values.user_totals import FixedRange, UserTotals
from headcount.bounds.values.value_histograms import UserGroups, UserValues, ValueGrid
from headcount.engines.local.engine import LocalEngine
from headcount.events.grid import Grid
from headcount.events.log import EventLog
from tests.reference.registry import examples, measured_bounds

SECRET = bytes(range(16))
ITEMS, PARTS = ["tea", "rye", "oat"], ["AM", "PM"]
SCORES = Noisy(np.array([3, 9, 3]), DiscreteLaplace.from_json({"scale": "1"}))
CELLS = GroupCells(Grid.from_mapping({"stars": {"edges": [0, 2, 6]}, "item": {"values": ITEMS}}))
REFINEMENT = TopItemCounts(
    ClassProfile("items", np.arange(3) % 2, above=1), ItemSubset(np.array([2, 0])), (1, 3), (1, 2)
)
BOUNDS: tuple[Bound[Any], ...] = (
    SampleRecords(2),
    SampleUsers(2, 1 << 63),
    KeepTopScored(2, SCORES),
    WeightToThreshold(2),
    ActivityHistogram("edges", 4),
    ClassProfile("edges", np.arange(9) % 2, above=1),
    REFINEMENT,
    RecordCap("items", 3),
    UsersPerColumn("edges"),
    KeySupport(1),
    DistinctItemsSign(),
    KeyWeights("roots", 2, ((2, 50_000),)),
    UserTotals(2, FixedRange(1, 5, 1)),
    UserValues(2, ValueGrid((2.5,)), "items"),
    UserGroups(1),
    GroupCells(Grid.from_mapping({"stars": {"edges": [0, 2, 6]}}), records=2),
    Marginals(CELLS, ((0,), (0, 1))),
    Raters(),
    RatingOffsets(3, "l2"),
    RatingCovariance(2, "l1", np.arange(3)),
    SampledItemPairs(SampleRecords(2), np.arange(3)),
    CenteredCooccurrence(np.arange(3), np.array([5, 2, 0])),
    FactorGradients(np.arange(3), np.array([[700], [0], [-300]]), np.zeros(3, dtype=np.int64)),
    Taggers(),
    TagWeights("l1"),
    TagMarginals("l2"),
    TagPairs(np.arange(3), np.arange(2), "l2"),
    *examples(),
)


def rows(seed: int = 1) -> list[tuple[str, str, str, float]]:
    draw = np.random.default_rng(seed)
    return [
        (
            f"u{draw.integers(0, 20)}",
            ITEMS[draw.integers(0, 3)],
            PARTS[draw.integers(0, 2)],
            float(draw.integers(1, 6)),
        )
        for _ in range(120)
    ]


def log_of(rows: list[tuple[str, str, str, float]], bound: Bound[Any]) -> EventLog:
    names = ("user", "item", "part", "stars")
    kinds = (pa.string(), pa.string(), pa.string(), pa.float64())
    table = pa.table({n: pa.array([row[at] for row in rows], kinds[at]) for at, n in enumerate(names)})
    if isinstance(bound, GroupCells | Marginals):
        return hc.read_people(table, user="user")
    if isinstance(bound, Taggers | TagWeights | TagMarginals | TagPairs):
        return hc.read_tags(table, user="user", resource="item", tag="part", resources=ITEMS, vocabulary=PARTS)
    if isinstance(bound, KeySupport | KeyWeights | DistinctItemsSign):
        return hc.read_events(table, user="user", item="item", select_items=True)
    words: dict[str, Any] = {"context": "part", "contexts": PARTS}
    if isinstance(bound, UserTotals | UserValues | Raters | RatingOffsets | RatingCovariance | FactorGradients):
        words = {"value": "stars", "value_range": "1,5"}
    return hc.read_events(table, user="user", item="item", items=ITEMS, **words)


def shown(measured: Any) -> Any:
    """Return all that a sealed value holds, in an order of its own."""
    if hasattr(measured, "sensitive_weights"):
        pairs = zip(measured.sensitive_ids.to_pylist(), measured.sensitive_weights.tolist(), strict=True)
        return sorted(pairs), measured.bound
    if hasattr(measured, "sensitive_ids"):
        pairs = zip(measured.sensitive_ids.to_pylist(), measured.sensitive_users.tolist(), strict=True)
        return sorted(pairs), measured.limit
    if hasattr(measured, "sensitive_columns"):
        return measured.sensitive_columns.tolist(), measured.sensitive_users.tolist(), measured.sensitivity
    if hasattr(measured, "sensitive_values"):
        return measured.sensitive_values.tolist(), measured.sensitivity, measured.unit, measured.admission
    if hasattr(measured, "starts"):
        runs = zip(measured.starts[:-1], measured.starts[1:], strict=True)
        return measured.sums.tolist(), [sorted(measured.columns[first:last].tolist()) for first, last in runs]
    if isinstance(measured, BoundedTables):
        return [shown(part) for part in measured.tables]
    if isinstance(measured, BoundedTopItemCounts):
        return [shown(part) for part in (measured.shares, measured.people, *measured.counts)]
    return {name: shown(value) for name, value in vars(measured).items() if value is not None}


def test_every_bound_is_here() -> None:
    assert {type(bound) for bound in BOUNDS} == set(measured_bounds())


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: type(bound).__name__)
@pytest.mark.parametrize("border", ["u", "u13", "u5", "z"])
def test_sums_of_disjoint_users_add_up(bound: Bound[Any], border: str) -> None:
    everyone = rows()
    parts = [row for row in everyone if row[0] < border], [row for row in everyone if row[0] >= border]
    left, other = (LocalEngine(threads=1).measure(log_of(part, bound), bound, SECRET) for part in parts)
    whole = LocalEngine(threads=1).measure(log_of(everyone, bound), bound, SECRET)
    assert shown(left.with_others(other)) == shown(whole)
    assert shown(other.with_others(left)) == shown(whole)


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: type(bound).__name__)
def test_a_user_in_both_groups_is_detected(bound: Bound[Any]) -> None:
    """The same people twice are not the same as once: the test above could fail."""
    whole = LocalEngine(threads=1).measure(log_of(rows(), bound), bound, SECRET)
    assert shown(whole.with_others(whole)) != shown(whole)


@pytest.mark.parametrize(
    "bound", [bound for bound in BOUNDS if not bound.draws], ids=lambda bound: type(bound).__name__
)
def test_what_says_that_it_draws_nothing_hangs_on_no_secret(bound: Bound[Any]) -> None:
    first, other = (LocalEngine().measure(log_of(rows(), bound), bound, secret) for secret in (SECRET, NO_SECRET))
    assert shown(first) == shown(other)


def test_what_is_of_another_bound_is_refused() -> None:
    pairs: tuple[tuple[Bound[Any], Bound[Any]], ...] = (
        (SampleRecords(2), SampleRecords(3)),
        (ActivityHistogram("items", 3), ActivityHistogram("items", 4)),
        (UsersPerColumn("items"), UsersPerColumn("edges")),
        (KeySupport(1), KeySupport(2)),
        (KeyWeights("shares"), KeyWeights("one")),
        (RecordCap("items", 3), RecordCap("items", 4)),
        (REFINEMENT, replace(REFINEMENT, limits=(2, 3))),
        (UserTotals(2), UserTotals(3)),
        (Marginals(CELLS, ((0,),)), Marginals(CELLS, ((0,), (0,)))),
    )
    for bound, another in pairs:
        left, other = (
            LocalEngine().measure(log_of(rows(), own_bound), own_bound, SECRET) for own_bound in (bound, another)
        )
        with pytest.raises(ValueError, match="not of the same bound"):
            left.with_others(other)
