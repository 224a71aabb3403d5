"""Exact binomial bounds: equal to SciPy's, and wrong no more often than they say."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from headcount.lab.audit.epsilon_bounds import least_epsilon, lower_probability, upper_probability

RISKS = (0.3, 0.001, 1e-7)
COUNTS = [(0, 1), (1, 1), (0, 40), (3, 40), (40, 40), (17, 1000), (60_000, 200_000), (199_999, 200_000)]


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize(("hits", "runs"), COUNTS)
def test_equal_to_scipy(hits: int, runs: int, risk: float) -> None:
    low = stats.beta.ppf(risk, hits, runs - hits + 1) if hits else 0.0
    high = stats.beta.ppf(1 - risk, hits + 1, runs - hits) if hits < runs else 1.0
    assert lower_probability(hits, runs, risk) == pytest.approx(low, rel=1e-8, abs=1e-15)
    assert upper_probability(hits, runs, risk) == pytest.approx(high, rel=1e-8)


@pytest.mark.parametrize("p", [0.01, 0.2, 0.5, 0.97])
def test_bounds_fail_no_more_often_than_declared(p: float) -> None:
    runs, risk = 60, 0.01
    chances = stats.binom.pmf(range(runs + 1), runs, p)
    missed_low = sum(chances[k] for k in range(runs + 1) if lower_probability(k, runs, risk) > p)
    missed_high = sum(chances[k] for k in range(runs + 1) if upper_probability(k, runs, risk) < p)
    assert max(missed_low, missed_high) <= risk


def test_the_least_epsilon_is_never_above_the_ratio() -> None:
    for here, there in ((500, 100), (100, 500), (10, 0), (0, 10), (1000, 1000)):
        bound = least_epsilon((here, there), (1000, 1000), 0.0, 0.01)
        assert bound == 0.0 or bound < math.log(here / max(there, 1e-9))
    assert least_epsilon((1000, 0), (1000, 1000), 0.0, 0.001) > 4
    assert least_epsilon((5, 0), (1000, 1000), 0.01, 0.001) == 0.0  # δ explains it
