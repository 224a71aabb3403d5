"""Taking noise out of released weights: better than the noisy weights, and nothing where there is only noise."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.methods.tags.denoise import denoised, keep_significant, topics

DRAWS = np.random.default_rng(1)
POPULAR = np.linspace(3, 1, 30)
TASTES = np.where(np.arange(60)[:, None] % 2 == 0, 1.0, -1.0) * np.where(np.arange(30) < 15, 1.0, -1.0)
TRUE = 4 * POPULAR * (1 + 0.6 * TASTES)


def test_most_of_the_noise_goes_and_the_themes_stay() -> None:
    noisy = TRUE + DRAWS.normal(0, 3, TRUE.shape)
    fit = denoised(noisy, POPULAR, 3.0)
    assert fit.directions == 1
    assert ((fit.weights - TRUE) ** 2).mean() < 0.2 * ((noisy - TRUE) ** 2).mean()
    assert (fit.weights >= 0).all()


def test_noise_alone_has_no_direction() -> None:
    """Of 20 tables of noise none has one: the bar is 2 % above the longest that noise makes, seeds are fixed."""
    for _ in range(20):
        assert denoised(DRAWS.normal(0, 3, TRUE.shape), POPULAR, 3.0).directions == 0
    assert denoised(DRAWS.normal(0, 3, TRUE.shape), POPULAR, 1.0).directions > 0  # a wrong deviation would show


def test_tags_together_help_to_find_directions() -> None:
    faint = 0.08 * TRUE
    noisy = faint + DRAWS.normal(0, 3, TRUE.shape)
    half = DRAWS.normal(0, 1, (30, 30))
    together = 40 * np.outer(np.where(np.arange(30) < 15, 1, -1), np.where(np.arange(30) < 15, 1, -1)) / 30
    alone = denoised(noisy, POPULAR, 3.0)
    helped = denoised(noisy, POPULAR, 3.0, together + (half + half.T) / 2, 1.0)
    assert alone.directions == 0
    assert helped.directions == 1


def test_topics_are_recovered_and_sum_to_one() -> None:
    about, tags = topics(TRUE, 2)
    assert tags.sum(axis=1) == pytest.approx([1, 1])
    assert about @ tags == pytest.approx(TRUE, rel=0.05)
    assert about.sum(axis=0)[0] >= about.sum(axis=0)[1]
    shares = tags[:, :15].sum(axis=1)
    assert max(shares) > 0.7
    assert min(shares) < 0.4
    about, tags = topics(np.ones((3, 4)), 1)
    assert about @ tags == pytest.approx(np.ones((3, 4)))


def test_significance_is_limited_both_ways() -> None:
    weights = np.array([5.0, 1.0, 9.0, -2.0])
    assert keep_significant(weights, 4.0, 1, 9).tolist() == [2, 0]
    assert keep_significant(weights, 4.0, 3, 9).tolist() == [2, 0, 1]
    assert keep_significant(weights, 0.5, 1, 2).tolist() == [2, 0]
