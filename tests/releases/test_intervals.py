"""Half-widths: exact for one draw, never too narrow and hardly too wide for weighted sums of draws."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.accounting.noise_distributions import DiscreteGaussian, DiscreteLaplace
from headcount.noise import SeededNoise
from headcount.noise.gaussian import draw
from headcount.releases.intervals import Term, consistent_half_widths, half_width
from headcount.releases.reconcile import Weights
from tests.support.small_logs import scale_of

LEVELS = (0.5, 0.9, 0.95, 0.99)


def brute_force(terms: list[Term], width: float) -> float:
    """P(|weighted sum| <= width), by going through all combinations of draws that matter."""
    draws = [
        (term.weight, *_probabilities(scale_of(term.distribution))) for term in terms for _ in range(term.copies)
    ]
    total = {0.0: 1.0}
    for weight, places, weights in draws:
        sums: dict[float, float] = {}
        for (value, p), (place, q) in itertools.product(total.items(), zip(places, weights, strict=True)):
            key = round(value + weight * place, 9)
            sums[key] = sums.get(key, 0.0) + p * q
        total = sums
    return sum(p for value, p in total.items() if abs(value) <= width + 1e-9)


def _probabilities(scale: Fraction) -> tuple[list[int], list[float]]:
    reach = max(2, math.ceil(14 * scale))
    places = list(range(-reach, reach + 1))
    weights = [math.exp(-abs(place) / scale) for place in places]
    return places, [weight / sum(weights) for weight in weights]


@given(
    st.fractions(min_value=Fraction(1, 20), max_value=500, max_denominator=50),
    st.sampled_from(LEVELS),
    st.sampled_from([1.0, -1.0, 0.25]),
)
def test_one_draw_is_exact(scale: Fraction, level: float, weight: float) -> None:
    law = DiscreteLaplace(scale)
    assert half_width([Term(weight, law)], level) == abs(weight) * law.half_width(level)
    assert half_width([Term(weight, law), Term(0.0, law), Term(1.0, law, copies=0)], level) == abs(
        weight
    ) * law.half_width(level)


SUMS = [
    [(0.8, 1), (0.2, 1)],
    [(0.8, 2), (0.2, 1), (0.2, 1)],
    [(0.5, Fraction(1, 3)), (0.5, Fraction(1, 3))],
    [(1.0, 2), (-0.3, 2)],
    [(0.75, Fraction(7, 3)), (0.25, Fraction(5, 3)), (0.25, Fraction(5, 3))],
]


@pytest.mark.parametrize("parts", SUMS, ids=repr)
@pytest.mark.parametrize("level", LEVELS)
def test_sums_cover_and_are_not_much_too_wide(parts: list[tuple[float, Fraction]], level: float) -> None:
    terms = [Term(weight, DiscreteLaplace(Fraction(scale))) for weight, scale in parts]
    width = half_width(terms, level)
    deviation = math.sqrt(sum(term.variance for term in terms))
    assert brute_force(terms, width) >= level - 1e-5, "undercuts its level"
    assert brute_force(terms, width - deviation / 50) < level, "wider than needed"


def test_copies_are_independent_draws() -> None:
    law = DiscreteLaplace(Fraction(3))
    assert half_width([Term(0.5, law, copies=3)], 0.95) == pytest.approx(
        half_width([Term(0.5, law)] * 3, 0.95), rel=1e-9
    )


@given(st.integers(1, 30), st.fractions(min_value=Fraction(1, 4), max_value=1000, max_denominator=20))
@settings(max_examples=12)
def test_wider_levels_are_wider_and_scales_scale(copies: int, scale: Fraction) -> None:
    terms = [Term(0.7, DiscreteLaplace(scale)), Term(0.3, DiscreteLaplace(scale), copies=copies)]
    widths = [half_width(terms, level) for level in LEVELS]
    assert widths == sorted(widths)
    deviation = math.sqrt(sum(term.variance for term in terms))
    assert widths[2] <= 4.5 * deviation + 1  # Chebyshev: 0.95 lies within 4.47 deviations of anything


@pytest.mark.parametrize(
    ("items", "edges", "contexts"), [(10, 10, 3), (3, 30, 8), (30, 3, 2), (1, 1, 25), (4, 4, 1)]
)
def test_reconciled_counts_are_covered(items: int, edges: int, contexts: int) -> None:
    """40,000 simulated items; coverage short by 0.0065 is a false alarm once in a billion, and seeds are fixed."""
    laws = DiscreteLaplace(Fraction(items)), DiscreteLaplace(Fraction(edges))
    weights = Weights.by_precision(
        items_variance=laws[0].variance, edges_variance=laws[1].variance, contexts=contexts
    )
    item_width, edge_width = consistent_half_widths(*laws, weights, 0.95)
    generator = np.random.default_rng(contexts)

    def noise(scale: int, *shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        p = -math.expm1(-1 / scale)
        return generator.geometric(p, shape) - generator.geometric(p, shape)

    y0, y = noise(items, 40_000), noise(edges, 40_000, contexts)
    best = weights.item * y0 + weights.edges * y.sum(axis=1)
    first = y[:, 0] + (best - y.sum(axis=1)) / contexts
    for errors, width in ((best, item_width), (first, edge_width)):
        covered = float((np.abs(errors) <= width).mean())
        assert covered > 0.95 - 0.0065
        assert covered < 0.95 + 0.012 or width <= np.quantile(np.abs(errors), 0.95) + 1
        assert (np.abs(errors) <= 0.8 * width).mean() < 0.95 - 0.0065, "a narrower interval would be seen"


def test_reconciling_never_widens() -> None:
    law = DiscreteLaplace(Fraction(20))
    for contexts in (1, 2, 7, 24):
        weights = Weights.by_precision(items_variance=law.variance, edges_variance=law.variance, contexts=contexts)
        item, edge = consistent_half_widths(law, law, weights, 0.95)
        assert item <= law.half_width(0.95) * 1.02
        assert edge <= law.half_width(0.95) * 1.02


def test_thousands_of_contexts_get_a_quick_bound_that_continues_the_exact_widths() -> None:
    law = DiscreteLaplace(Fraction(200, 7))
    widths = {}
    for contexts in (3_000, 5_000, 200_000):
        weights = Weights.by_precision(items_variance=law.variance, edges_variance=law.variance, contexts=contexts)
        widths[contexts] = consistent_half_widths(law, law, weights, 0.95)
    for item, edge in (widths[5_000], widths[200_000]):
        assert widths[3_000][0] * 0.99 < item < widths[3_000][0] * 1.25
        assert widths[3_000][1] * 0.99 < edge < widths[3_000][1] * 1.25


@pytest.mark.parametrize(
    ("items", "edges", "contexts"),
    [("10", "10", 3), ("9", "30", 8), ("100", "25/2", 2), ("1/2", "1/2", 5), ("1", "1", 25), ("4", "4", 1)],
)
def test_reconciled_gaussian_counts_are_covered(items: str, edges: str, contexts: int) -> None:
    """As above: with many steps per sigma by the normal law, with few by convolution."""
    laws = DiscreteGaussian(Fraction(items)), DiscreteGaussian(Fraction(edges))
    weights = Weights.by_precision(
        items_variance=laws[0].variance, edges_variance=laws[1].variance, contexts=contexts
    )
    item_width, edge_width = consistent_half_widths(*laws, weights, 0.95)
    y0 = draw(laws[0], 40_000, SeededNoise(1))
    y = draw(laws[1], 40_000 * contexts, SeededNoise(2)).reshape(40_000, contexts)
    best = weights.item * y0 + weights.edges * y.sum(axis=1)
    first = y[:, 0] + (best - y.sum(axis=1)) / contexts
    for errors, width in ((best, item_width), (first, edge_width)):
        covered = float((np.abs(errors) <= width).mean())
        assert covered > 0.95 - 0.0065
        assert covered < 0.95 + 0.012 or width <= np.quantile(np.abs(errors), 0.95) + 1
        assert (np.abs(errors) <= 0.8 * width - 0.2).mean() < 0.95 - 0.0065, "a narrower interval would be seen"


def test_thousands_of_gaussian_contexts_are_bounded() -> None:
    """A sum of 5,000 coarse draws, beside which the normal law says 1.96 deviations."""
    law = DiscreteGaussian(Fraction(2))
    width = half_width([Term(1.0, law), Term(0.01, law, copies=5_000)], 0.95)
    deviation = math.sqrt(law.variance * (1 + 0.5))
    assert 1.96 * deviation < width < 4 * deviation
    mixed = half_width([Term(1.0, DiscreteLaplace(Fraction(2))), Term(0.5, DiscreteGaussian(Fraction(50)))], 0.95)
    assert 0.95 * 1.96 * math.sqrt(8 + 625) < mixed < 1.1 * 1.96 * math.sqrt(8 + 625)
