"""What an oracle makes of noisy tables: everything where there is hardly any noise, and more than anybody else."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.quality import count_accuracy
from benchmarks.quality.attainable_errors import absolute_errors, best_of, measured
from headcount.engines.local.engine import LocalEngine


@pytest.fixture(scope="module")
def truth() -> count_accuracy.Truth:
    return count_accuracy.described("300 people", "users")


def test_hardly_any_noise_hides_nothing(truth: count_accuracy.Truth) -> None:
    draft, parts = measured(truth, "2000", 1, LocalEngine())
    best = best_of(draft, parts, truth.counts)
    assert np.abs(best.means - truth.counts).max() < 0.01
    assert np.abs(best.medians - truth.counts).max() < 0.01


def test_of_counts_with_the_right_sum_quantiles_are_nearest(truth: count_accuracy.Truth) -> None:
    errors = absolute_errors(truth, "1", 1, LocalEngine())
    assert errors["medians"] <= errors["right sum"] <= errors["means"] * 1.01
    assert errors["sum of means"] == pytest.approx(1, abs=0.1)
    assert errors["sum of right sum"] == pytest.approx(1, abs=0.02)
    assert errors["medians"] < errors["ours"]


def test_tables_that_get_all_of_it_have_less_noise(truth: count_accuracy.Truth) -> None:
    plain, free = (measured(truth, "1", 1, LocalEngine(), 4, free=free).draft for free in (False, True))
    assert free.distribution.variance / plain.distribution.variance == pytest.approx(0.84**2, rel=1e-3)
