"""Quantiles: exact weights and spreads over small neighbours, exact spending, how far off they are, and errors."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headcount as hc
from headcount.accounting.budget import Cost, Grant
from headcount.bounds import NO_SECRET, Bounded, Scored
from headcount.bounds.scores.quantile_scores import (
    POSITIONS_PER_CELL,
    QuantilePart,
    ScoredTogether,
    quantile_scores,
)
from headcount.bounds.values.user_totals import FixedRange
from headcount.bounds.values.value_histograms import UserGroups, UserValues, ValueGrid
from headcount.engines.local.engine import LocalEngine
from headcount.errors import HeadcountError
from headcount.methods.totals.quantile_targets import read_quantiles
from headcount.methods.totals.quantiles import (
    AT_ONCE,
    Points,
    choose_quantiles,
    level_stages,
    levels,
    max_rank_errors,
)
from headcount.methods.totals.totals import Totals
from headcount.noise import SeededNoise
from headcount.noise.selection.exponential_parallel import choose_in_parallel
from tests.contracts.support.method_checks import recorded_spending
from tests.reference.engine import ReferenceEngine

Row = tuple[str, str, float | None, int, str]
FULL_WEIGHT = UserValues(1).most

rows = st.lists(
    st.tuples(
        st.sampled_from("abcd"),
        st.sampled_from(("tea", "rye", "oat")),
        st.one_of(st.floats(-9, 9, width=16), st.sampled_from((1e300, -1e300, math.inf, math.nan, None))),
        st.sampled_from((1, 1, 2, 40, 0, 2**31 - 1)),
        st.sampled_from(("AM", "PM", "night")),
    ),
    max_size=20,
)
READ: dict[str | None, dict[str, Any]] = {
    None: {},
    "items": {"items": "rye,tea"},
    "contexts": {"context": "part", "contexts": "AM,PM"},
}


def log_of(rows: list[Row], **more: Any) -> hc.EventLog:
    kinds = (pa.string(), pa.string(), pa.float64(), pa.int64(), pa.string())
    names = ("who", "what", "stars", "times", "part")
    columns = zip(names, kinds, strict=True)
    table = pa.table({name: pa.array([row[at] for row in rows], kind) for at, (name, kind) in enumerate(columns)})
    words: dict[str, Any] = {"value": "stars", "value_range": (1, 5), "times": "times"}
    return hc.read_events(table, user="who", item="what", **{**words, **more})


def people(many: int, values: Any = lambda n: float(1 + n % 5)) -> list[Row]:
    return [(f"u{n:03}", ("tea", "rye")[n % 2], values(n), 1, ("AM", "PM")[n % 2]) for n in range(many)]


# Bounds


@pytest.mark.parametrize("by", READ)
@settings(deadline=None, max_examples=25)
@given(rows=rows, limit=st.sampled_from((1, 3, 64, 100)))
def test_weights_equal_plain_python_and_stay_within_the_bound(by: Any, rows: list[Row], limit: int) -> None:
    log = log_of(rows, **READ[by])
    bounds = [UserValues(limit, ValueGrid((1.5, 3.0)), by), *([UserGroups(limit, by)] if by else [])]
    for bound in bounds:
        measured = LocalEngine(threads=1).measure(log, bound, NO_SECRET)
        slow = ReferenceEngine().measure(log, bound, NO_SECRET)
        assert measured.sensitive_values.tolist() == slow.sensitive_values.tolist()
        assert measured.sensitive_values.min() >= 0
        for who in {row[0] for row in rows}:
            others = log_of([row for row in rows if row[0] != who], **READ[by])
            moved = (
                measured.sensitive_values
                - LocalEngine(threads=1).measure(others, bound, NO_SECRET).sensitive_values
            )
            assert moved.min() >= 0
            assert moved.sum() <= measured.sensitivity.l1
            assert moved.max() <= measured.sensitivity.linf


def test_light_and_heavy_users_attain_the_bound() -> None:
    bound = UserValues(5, ValueGrid((2.0, 3.0)))
    for many in (5, 6, 7, 1000):
        records: list[Row] = [("ann", "tea", float(1 + n % 3), 1, "AM") for n in range(many)]
        measured = LocalEngine(threads=1).measure(log_of(records), bound, NO_SECRET)
        assert measured.sensitive_values.sum() == bound.most == measured.sensitivity.l1


def test_rounding_hardly_moves_ranks_of_heavy_users() -> None:
    """Units are fine: 64 to a person, half of what everybody has would seem to be up to 0.8 % off."""
    values = np.random.default_rng(2).permuted(np.tile(np.arange(50.0), (300, 1)), axis=1)[:, :49]
    records: list[Row] = [(f"u{n}", "tea", value, 1, "AM") for n in range(300) for value in values[n].tolist()]
    bound = UserValues(1, ValueGrid(tuple(np.arange(1, 50).tolist())))
    ranks = LocalEngine(threads=1).measure(log_of(records), bound, NO_SECRET).sensitive_values[0] / bound.unit
    exact = np.bincount(values.astype(int).ravel(), minlength=50) / 49
    assert np.abs(np.cumsum(ranks) - np.cumsum(exact)).max() < 0.002 * 300


# Scores


def weights(*cells: int, most: int = 1) -> Bounded:
    return UserValues(most, ValueGrid(tuple(range(1, len(cells))))).seal(np.array([cells]))


def scores(exact: Bounded, parts: list[QuantilePart]) -> tuple[Scored, ...]:
    return cast("tuple[Scored, ...]", quantile_scores(exact, parts).parts)


cells = st.lists(st.integers(0, 5), min_size=3, max_size=3)


@settings(deadline=None, max_examples=60)
@given(
    before=cells,
    joined=st.tuples(*[st.integers(0, 170)] * 3),
    below=st.integers(1, 9),
    cut=st.integers(1, 3 * POSITIONS_PER_CELL - 1),
    divides=st.tuples(st.booleans(), st.booleans()),
)
def test_spreads_of_one_user_stay_within_the_stated_bound(
    before: list[int], joined: tuple[int, ...], below: int, cut: int, divides: tuple[bool, bool]
) -> None:
    """One person has 512 units in all: the shares of their spreads in both parts sum to 1 at most."""
    parts = [
        QuantilePart(0, 0, cut, below, 10, divides[0]),
        QuantilePart(0, cut, 3 * POSITIONS_PER_CELL, 1, 2, divides[1]),
    ]
    exact = [FULL_WEIGHT * count for count in before]
    without = scores(weights(*exact), parts)
    there = scores(weights(*(a + b for a, b in zip(exact, joined, strict=True))), parts)
    assert sum(joined) <= FULL_WEIGHT
    shares = Fraction(0)
    for scored_before, other in zip(without, there, strict=True):
        gained = scored_before.sensitive_gaps.astype(np.int64) - other.sensitive_gaps
        shares += Fraction(int(gained.max() - gained.min()), scored_before.spread)
    assert shares <= Fraction(max(sum(joined), 1), FULL_WEIGHT)


@pytest.mark.parametrize("divides", [True, False])
def test_the_stated_spread_is_attained(*, divides: bool) -> None:
    """With less than is told, a person at the edge of a quantile would not be paid for."""
    part = [QuantilePart(0, 0, 6 * POSITIONS_PER_CELL, 1, 10, divides)]
    before = scores(weights(0, 0, FULL_WEIGHT * 9, FULL_WEIGHT * 9, FULL_WEIGHT * 9, FULL_WEIGHT), part)[0]
    other = scores(weights(FULL_WEIGHT, 0, FULL_WEIGHT * 9, FULL_WEIGHT * 9, FULL_WEIGHT * 9, FULL_WEIGHT), part)[
        0
    ]
    gained = before.sensitive_gaps.astype(np.int64) - other.sensitive_gaps
    assert int(gained.max() - gained.min()) == before.spread


def flipped(behind: np.ndarray, scale: float) -> np.ndarray:
    """The exact law of permute-and-flip: p_i · ∫ Π (1 - t · p_j) dt over all others, t from 0 to 1."""
    stays = np.exp(-behind.astype(float) / scale)
    points, lengths = np.polynomial.legendre.leggauss(60)
    at, by = (points + 1) / 2, lengths / 2
    others = [np.prod(1 - np.outer(at, np.delete(stays, place)), axis=1) for place in range(stays.size)]
    return np.array([stay * (chances * by).sum() for stay, chances in zip(stays, others, strict=True)])


def loss(before: list[int], joined: list[int], parts: list[QuantilePart], *, cheaper: float = 1.0) -> float:
    """Return how much likelier the worst outcome of all choices is for one of two neighbours, at ε = 2."""
    both = [scores(weights(*counts), parts) for counts in (before, np.add(before, joined).tolist())]
    total = 0.0
    for scored_before, other in zip(both[0], both[1], strict=True):
        scale = scored_before.spread / 2 / cheaper
        laws = [flipped(counts.sensitive_gaps, scale) for counts in (scored_before, other)]
        total += float(np.abs(np.log(laws[0] / laws[1])).max())
    return total


def test_no_choice_is_likelier_than_epsilon_allows() -> None:
    """The exact law, outcome by outcome: no statistics. A law that is twice as sharp is refuted."""
    half = 3 * POSITIONS_PER_CELL // 2
    apart = [QuantilePart(0, 0, half, 1, 10), QuantilePart(0, half, 3 * POSITIONS_PER_CELL, 1, 2)]
    mixed = [QuantilePart(0, 0, half, 1, 10, False), QuantilePart(0, half, 3 * POSITIONS_PER_CELL, 1, 2)]
    divided, whole = ([QuantilePart(0, 0, 3 * POSITIONS_PER_CELL, 1, 10, divides)] for divides in (True, False))
    logs = [
        [0, 0, 0],
        [FULL_WEIGHT, 0, FULL_WEIGHT],
        [FULL_WEIGHT, 10 * FULL_WEIGHT, FULL_WEIGHT],
        [0, 3 * FULL_WEIGHT, 0],
        [0, 10 * FULL_WEIGHT, 0],
    ]
    people = [[FULL_WEIGHT, 0, 0], [0, FULL_WEIGHT, 0], [0, 0, FULL_WEIGHT], [160, 192, 160]]
    worst = {
        cheaper: max(
            loss(log, user, parts, cheaper=cheaper)
            for log in logs
            for user in people
            for parts in (apart, mixed, divided, whole)
        )
        for cheaper in (1.0, 2.0)
    }
    assert worst[1.0] <= 2 + 1e-9
    assert worst[2.0] > 2.1


@pytest.mark.parametrize(("divides", "least"), [(True, 0.25), (False, 0.69)])
def test_a_frequent_value_is_selected_among_many_rare_values(*, divides: bool, least: float) -> None:
    """The exact law at ε = 0.6: if positions alone counted, the right value would come in 21 % of runs."""
    steep = weights(*(FULL_WEIGHT * weight for weight in (*[1] * 30, 40, *[1] * 30)))
    part = QuantilePart(0, 0, 61 * POSITIONS_PER_CELL, 33, 100, divides)
    scored = scores(steep, [part])[0]
    chances = flipped(scored.sensitive_gaps, scored.spread / 0.6)
    positions = np.array([part.positions([index])[0] // POSITIONS_PER_CELL for index in range(chances.size)])
    assert chances.sum() == pytest.approx(1)
    assert chances[positions == 30].sum() > least


def test_parts_that_overlap_are_refused() -> None:
    with pytest.raises(ValueError, match="must not overlap"):
        quantile_scores(weights(1, 2, 3), [QuantilePart(0, 0, 30, 1, 2), QuantilePart(0, 29, 40, 1, 2)])
    with pytest.raises(TypeError, match="made by headcount"):
        ScoredTogether((), object())
    with pytest.raises(TypeError, match="ScoredTogether alone"):
        choose_in_parallel(weights(1, 2), Grant("1"), SeededNoise(1))  # type: ignore[arg-type]


# Levels and ranks


@given(st.integers(1, 99))
def test_every_quantile_is_chosen_once_between_neighbours_of_levels_before(many: int) -> None:
    chosen = {-1, many}
    for level in levels(many):
        for split in level:
            assert split.low < split.chosen[0] <= split.chosen[-1] < split.high
            assert {split.low, split.high} <= chosen
            assert chosen.isdisjoint(split.chosen)
        chosen |= {at for split in level for at in split.chosen}
    assert chosen == set(range(-1, many + 1))
    assert len(levels(many)) == max(1, math.ceil(math.log2((many + 1) / (AT_ONCE + 1))) + 1)
    assert sum(stage.share for stage in level_stages(range(1, many + 1))) == 1


def quantile_levels_of_runs(exact: Bounded, levels: tuple[int, ...], price: str, runs: int) -> np.ndarray:
    return np.array([choose_quantiles(exact, levels, Grant(price), SeededNoise(seed))[0] for seed in range(runs)])


def test_choices_follow_permute_and_flip() -> None:
    """Two positions of one part, 4,000 draws: each within 5.5 deviations of its chance, once in 10⁷ not."""
    exact = quantile_scores(
        weights(0, FULL_WEIGHT),
        [QuantilePart(0, POSITIONS_PER_CELL - 1, POSITIONS_PER_CELL + 1, 1, 2, divides=False)],
    )
    part = cast("Scored", exact.parts[0])
    behind, scale = part.sensitive_gaps.astype(float), part.spread / (2 * POSITIONS_PER_CELL)
    best = int(behind.argmin())
    chance = 1 - 0.5 * math.exp(-float(behind.max()) / scale)
    choices = [
        choose_in_parallel(exact, Grant(2 * POSITIONS_PER_CELL), SeededNoise(seed))[0] for seed in range(4000)
    ]
    share, deviation = choices.count((best,)) / 4000, math.sqrt(chance * (1 - chance) / 4000)
    assert abs(share - chance) < 5.5 * deviation
    assert abs(share - (1 - 0.5 * math.exp(-1.3 * float(behind.max()) / scale))) > 5.5 * deviation


def test_quantiles_are_exact_at_a_large_budget_with_ties() -> None:
    steep = weights(*(FULL_WEIGHT * weight for weight in (100, 0, 0, 700, 0, 150, 50)))
    levels = (50, 150, 500, 790, 810, 960)
    assert quantile_levels_of_runs(steep, levels, "100000", 3).tolist() == [[0, 3, 3, 3, 5, 6]] * 3


def test_ranks_enclose_what_came_out_and_are_not_idle() -> None:
    """300 releases of 3 quantiles: 95 % at least; below 90 % of 300 in fewer than 1 of 10⁶ (Chernoff: e^-16)."""
    shape = np.random.default_rng(5).gamma(2, 20, 800).astype(int).clip(0, 199)
    histogram = np.bincount(shape, minlength=200)
    exact, levels = weights(*(FULL_WEIGHT * histogram)), (100, 500, 900)
    far = max_rank_errors(levels, 1, 200, Cost.of("0.5"), 0.05)
    up_to = np.cumsum(histogram)
    quantiles = quantile_levels_of_runs(exact, levels, "0.5", 300)
    ranks = np.array(levels) * up_to[-1] / 1000
    errors = np.maximum(np.maximum((up_to - histogram)[quantiles] - ranks, ranks - up_to[quantiles]), 0)
    assert ((errors <= far).mean(axis=0) >= 0.9).all()
    assert (errors <= far / 30).mean() < 0.9, "any ranks would do"


# Releases


@pytest.mark.parametrize(
    ("more", "read"),
    [
        ({"quantiles": (100, 500, 900)}, {}),
        ({"quantiles": (500,), "by": "contexts"}, {**READ["contexts"], "value_range": None}),
        ({"quantiles": (500, 750), "by": "items", "distinct": True}, READ["items"]),
        ({"by": "contexts", "distinct": True}, {**READ["contexts"], "items": "rye,tea"}),
        ({"distinct": True}, {"value": None, "value_range": None}),
    ],
    ids=repr,
)
def test_the_grant_is_spent_exactly_and_noise_is_as_planned(more: dict[str, Any], read: dict[str, Any]) -> None:
    log, method, grant = log_of(people(30), **read), Totals(limit=2, **more), Grant("0.7")
    planned = method.noise_distributions(log, Grant("0.7"))
    with recorded_spending() as spent:
        release = method.release(log, grant, SeededNoise(1))
    assert grant.is_spent
    assert sum(Fraction(grant.epsilon) for grant in spent) == grant.exact
    assert {name: release.noise[name] for name in planned} == planned
    assert method.notes(log, Grant("0.7")) or "quantiles" not in more


def test_large_budgets_give_exact_quantiles_totals_of_groups_and_items() -> None:
    log = log_of(people(100), **READ["contexts"], items="rye,tea,unknown")
    request: dict[str, Any] = {
        "what": "totals",
        "limit": 5,
        "by": "contexts",
        "distinct": True,
        "quantiles": [0.25, "0.5"],
    }
    release = hc.release(log, epsilon=10**5, **request)
    assert release.totals["total"].to_pylist() == ["users", "records", "sum", "mean", "items"]
    assert release.totals["value"].to_pylist() == pytest.approx([100, 100, 300, 3, 2], abs=0.01)
    groups = {(row["of"], row["total"]): row["value"] for row in release.tables["groups"].to_pylist()}
    for name, expected in (("AM", (50, 50, 1)), ("PM", (50, 50, 1)), (None, (0, 0, 0))):
        totals = [groups[name, total] for total in ("users", "records", "items")]
        assert totals == pytest.approx(expected, abs=0.01)
    quantiles = {(row["of"], row["quantile"]): row["value"] for row in release.tables["quantiles"].to_pylist()}
    assert [quantiles["AM", at] for at in (0.25, 0.5)] == [2.0, 3.0]
    assert release.request["release"]["quantiles"] == "0.25,0.5"


def test_distinct_items_are_those_of_kept_records() -> None:
    rows: list[Row] = [*(("ann", f"i{n}", 1.0, 1, "AM") for n in range(9)), ("bob", "i0", 1.0, 1, "AM")]
    for limit, fewest, most in ((1, 1, 2), (4, 4, 5), (20, 9, 9)):
        for read in ({}, {"items": [f"i{n}" for n in range(12)]}):
            release = hc.release(log_of(rows, **read), epsilon=10**5, what="totals", limit=limit, distinct=True)
            assert fewest <= round(release.totals["value"].to_pylist()[-1]) <= most


BAD: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"value": None, "value_range": None}, {"quantiles": "0.5"}, "value=COL"),
    ({}, {"quantiles": "0.5", "by": "contexts"}, "context=COL"),
    ({}, {"by": "items"}, "items=FILE"),
    (READ["contexts"], {"by": "contexts", "distinct": True}, "items=FILE"),
    (READ["contexts"], {"quantiles": "0.5"}, 'add by="contexts"'),
    ({}, {"quantiles": "0.5,2"}, "which 2 does not"),
    ({}, {"quantiles": "a"}, "numbers between 0 and 1"),
    ({}, {"quantiles": "0.5,0.5"}, "different ones"),
    ({}, {"quantiles": "0.0001"}, "in thousandths"),
    ({}, {"quantiles": "0.5", "limit": 100_000}, "too large to weigh"),
    ({"items": "tea"}, {"what": "items", "method": "sra", "quantiles": "0.5", "value": None}, "for totals alone"),
]


@pytest.mark.parametrize(("read", "options", "message"), BAD, ids=repr)
def test_invalid_requests_are_refused_with_their_reason(
    read: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    words = {"epsilon": 1, "what": "totals", "limit": 3, **options}
    if words.pop("value", "") is None:
        read = {**read, "value": None, "value_range": None}
    with pytest.raises(HeadcountError, match=message):
        hc.release(log_of(people(5), **read), **words)


def test_points_hold_the_ends_and_whole_numbers() -> None:
    for low, high in itertools.product((0, -7, 1), (5, 100, 1000, 5000)):
        points = Points.spanning(FixedRange(low * 16, high * 16, 16))
        assert (points.values[0], points.values[-1]) == (low, high)
        assert points.steps <= 1024
        if high - low <= 1024:
            assert set(range(low, high + 1)) <= set(points.values.round(9).tolist())
    assert read_quantiles(0.5) == (500,)
