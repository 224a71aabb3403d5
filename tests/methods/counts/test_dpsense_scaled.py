"""DPSense-S: counts scaled up by a factor that is chosen with the limit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from headcount.accounting.budget import Grant
from headcount.methods.counts.dpsense_scaled import ScaledSensitivityControl
from headcount.noise import SeededNoise
from tests.contracts.support.method_facts import Special, forced
from tests.methods.counts.test_dpsense import SENSE, UNIT, choosing, people, weighed
from tests.support.small_logs import scale_of
from tests.support.synthetic_logs import Floats, counts_of, truth, zipf

SPECIAL = {
    "dpsense-s": Special(
        {
            **SENSE,
            "forced": {"headcount.methods.counts.dpsense_scaled.choose_candidate": forced(lambda _: 2 * 101 + 25)},
        },
        # the bound allows for a person who raises one candidate and lowers another as far as can be
        {("choose", 1): 0.5, ("choose", 3): 0.5},
        audit_runs=6000,
    )
}


@pytest.mark.parametrize(("theta", "hundredths"), [(1, 100), (2, 125), (5, 199), (8, 200)])
def test_scaled_counts_are_weighted_counts_times_alpha(theta: int, hundredths: int) -> None:
    sizes = (1, 2, 3, 6, 8, 9, 50)
    index = 101 * (theta - 1) + hundredths - 100
    with choosing(index):
        release = ScaledSensitivityControl().release(people(*sizes, d=8), Grant("1000000"), SeededNoise(1))
    alpha = Fraction(hundredths, 100)
    assert release.chosen["items"] == {"theta": theta, "alpha": f"{float(alpha):.2f}"}
    assert np.allclose(counts_of(release), weighed(sizes, theta, 8) * float(alpha), atol=0.001)
    law = release.noise["items"]
    assert scale_of(law) == alpha * theta / (10**6 * Fraction(9, 10))
    assert law.step == alpha / UNIT
    assert f"multiplied by α = {float(alpha):.2f}" in release.explain()


def test_where_users_are_within_the_bound_nothing_is_scaled() -> None:
    """Everybody has 5 records of 20 items: θ is not less, α is 1 or a hundredth more, and the counts are right."""
    log = zipf(np.full(20_000, 5), 20)
    release = ScaledSensitivityControl().release(log, Grant("5"), SeededNoise(1))
    theta, alpha = release.chosen["items"]["theta"], float(release.chosen["items"]["alpha"])
    assert theta >= 5
    assert alpha <= 1.02
    assert abs(counts_of(release).sum() / truth(log).sum() - 1) < 0.03


def test_without_the_cut_a_repeating_user_breaks_the_claim() -> None:
    """One column, 160 people with a record each, and one with 100: the published choice at ε = 0.1 loses 5.5.

    The exact law of the factor α, from the definition; θ can only be 1. With the cut at d · repeats = 1 record,
    the same user costs no more than is paid.
    """

    def law(kept: float, true: float) -> Floats:
        alphas = np.arange(100, 201) / 100
        weights = np.exp(0.1 / 2 * -(np.abs(alphas * kept - true) + alphas / 0.9))
        return np.asarray(weights / weights.sum(), dtype=np.float64)

    def loss(with_user: Floats, without: Floats) -> float:
        return float(np.abs(np.log(with_user / without)).max())

    assert 5 < loss(law(161, 260), law(160, 160)) < 6
    assert loss(law(161, 161), law(160, 160)) <= 0.1
