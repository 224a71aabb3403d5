"""What PNCF claims does not hold: worked out exactly, from the laws it draws from, on two logs of a few people."""

from __future__ import annotations

import math

import pytest

from headcount.lab.as_published.pncf_operations import _LEAST, Mechanism
from headcount.lab.recommender.neighbourhood import Neighbourhood
from headcount.lab.recommender.ratings import Ratings
from headcount.lab.recommender.similarity import GLOBAL, Metric

CLAIMED = 0.5


def scale_distribution(ratings: Ratings, metric: Metric) -> tuple[float, float]:
    """Return where the perturbed similarity of items 0 and 1 lies, and the scale of its Laplace noise."""
    alike = Neighbourhood(metric=metric).compared(ratings, sensitivity=True)
    sensitivity = max(float(alike.sensitivity[0, 1]), _LEAST)
    return float(alike.values[0, 1]), 2 * sensitivity / Mechanism(epsilon=CLAIMED).epsilon


def loss(first: tuple[float, float], other: tuple[float, float], output: float) -> float:
    """Return the logarithm of how much likelier an output is under one Laplace law than under the other."""

    def density(place: float, scale: float) -> float:
        return -abs(output - place) / scale - math.log(2 * scale)

    return density(*first) - density(*other)


def raters(pairs: list[tuple[float, float]]) -> Ratings:
    """People who each rated items 0 and 1."""
    users = [user for user in range(len(pairs)) for _ in range(2)]
    return Ratings.from_pairs(users, [0, 1] * len(pairs), [rating for pair in pairs for rating in pair], n_items=2)


CROWD = [(1.0, 2.0), (2.0, 1.0)] * 10
PERSON = (5.0, 1.0)


@pytest.mark.parametrize(("metric", "least"), [("cos", 5.0), ("pcc", 20.0)])
def test_one_user_is_detectable_in_the_scale_of_the_noise(metric: Metric, least: float) -> None:
    """One strange person makes the sensitivity several times as large, and the noise that much wider."""
    with_them, without = (
        scale_distribution(raters(rated_pairs), metric) for rated_pairs in ([*CROWD, PERSON], CROWD)
    )
    assert with_them[1] > 3 * without[1]
    output = with_them[0] + 3 * with_them[1]  # that far or further, with them: in 2.5 % of all runs
    assert loss(with_them, without, output) > least > CLAIMED


def test_a_sensitivity_fixed_beforehand_would_keep_its_guarantee() -> None:
    """The same logs with global sensitivity: so it is the data's own scale that breaks the claim."""
    places = [scale_distribution(raters(rated_pairs), "cos")[0] for rated_pairs in ([*CROWD, PERSON], CROWD)]
    laws = [(place, 2 * GLOBAL["cos"] / CLAIMED) for place in places]
    worst = max(abs(loss(laws[0], laws[1], output / 10)) for output in range(-500, 500))
    assert worst <= CLAIMED / 2 + 1e-9


def test_no_finite_beta_makes_lemma_2_a_smooth_bound() -> None:
    """A smooth bound changes by e^β at most between neighbours; exp(-β) RS goes from nothing to exp(-β)."""
    agreeing = [(3.0, 3.0)] * 20
    without, with_them = (
        float(Neighbourhood(metric="pcc").compared(raters(rated_pairs), sensitivity=True).sensitivity[0, 1])
        for rated_pairs in (agreeing, [*agreeing, PERSON])
    )
    assert without == 0
    assert with_them == pytest.approx(1)
