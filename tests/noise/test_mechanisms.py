"""Noise is paid for: the scale never undercuts, OpenDP confirms it, and the grant is spent exactly once."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.accounting.budget import Grant
from headcount.bounds import Bounded, SampleRecords, Sensitivity
from headcount.errors import GrantError, HeadcountError, UsageError
from headcount.noise import OperatingSystemNoise, SeededNoise, add_noise, laplace, scale_for
from headcount.noise.laplace import confirm
from tests.mutants.methods import forged
from tests.support.small_logs import scale_of

MOST = 2**31 - 1

epsilons = st.one_of(
    st.decimals(min_value=Decimal("1e-9"), max_value=Decimal(10**6), places=18),
    st.fractions(min_value=Fraction(1, 10**9), max_value=10**6, max_denominator=10**12).map(
        lambda x: Decimal(x.numerator) / Decimal(x.denominator)
    ),
).filter(lambda x: Decimal("1e-9") <= x <= 10**6)
limits = st.one_of(st.integers(1, 100), st.integers(1, MOST), st.integers(MOST - 100, MOST))


def counts(values: list[int], limit: int = 2) -> Bounded:
    exact = np.array(values, dtype=np.int64)
    return SampleRecords(limit).seal("records", exact, exact[:, None]).items


@given(limits, epsilons)
def test_the_scale_never_undercuts_and_fits_the_sampler(l1: int, epsilon: Decimal) -> None:
    exact = Fraction(l1) / Fraction(epsilon)
    if exact > MOST:
        with pytest.raises(UsageError, match="raise epsilon, or lower the limit"):
            scale_for(l1, Fraction(epsilon))
        return
    scale = scale_for(l1, Fraction(epsilon))
    assert scale >= exact
    assert 1 <= scale.numerator <= MOST
    assert 1 <= scale.denominator <= MOST
    assert scale <= exact * (1 + Fraction(1, 2**20)) or scale - exact <= Fraction(1, 2**30)
    if exact.numerator <= MOST and exact.denominator <= MOST:
        assert scale == exact


@pytest.mark.parametrize("l1", [2**29, 2**30 - 1, 2**30, 2**30 + 1, MOST])
def test_the_largest_scales_are_rounded_up_too(l1: int) -> None:
    epsilon = Fraction("1.000000000123456789")
    assert l1 / epsilon <= scale_for(l1, epsilon) <= l1


@given(st.integers(1, 10**6), st.decimals(min_value=Decimal("0.001"), max_value=Decimal(100), places=9))
def test_opendp_confirms_every_scale_and_refuses_a_smaller_one(l1: int, epsilon: Decimal) -> None:
    confirm(scale_for(l1, Fraction(epsilon)), l1, Fraction(epsilon))
    exact = l1 / Fraction(epsilon)
    for smaller in (exact / 2, exact * Fraction(999_999, 10**6), exact * (1 - Fraction(1, 10**10))):
        with pytest.raises(HeadcountError, match="does not pay"):
            confirm(smaller, l1, Fraction(epsilon))
    with pytest.raises(HeadcountError, match="does not pay"):
        confirm(exact, l1 + 1, Fraction(epsilon))


@pytest.mark.parametrize("source", [OperatingSystemNoise(), SeededNoise(1)], ids=lambda s: str(type(s).__name__))
@pytest.mark.parametrize("size", [0, 1, 5_000])
def test_add_spends_the_grant_and_keeps_the_shape(source: Any, size: int) -> None:
    exact = np.zeros((size, 3), dtype=np.int64)
    bounded = SampleRecords(2).seal("records", exact[:, 0].copy(), exact).edges
    grant = Grant("0.5")
    noisy = add_noise(bounded, grant, source)
    assert noisy.values.shape == (size, 3)
    assert noisy.values.dtype == np.int64
    assert scale_of(noisy.distribution) == 4
    assert grant.is_spent
    assert not exact.any()
    with pytest.raises(GrantError, match="already spent"):
        add_noise(bounded, grant, source)


def test_zeros_get_noise_too() -> None:
    noisy = add_noise(counts([0] * 1_000), Grant("0.1"), OperatingSystemNoise())
    assert np.count_nonzero(noisy.values) > 900


class Failing:
    """A source that fails when it is asked for words."""

    is_private = False

    def words(self, count: int) -> Any:
        raise OSError("no randomness left")

    def key(self) -> bytes:
        return bytes(16)


def test_a_grant_is_spent_even_if_drawing_fails() -> None:
    grant = Grant("1")
    with pytest.raises(OSError, match="no randomness"):
        add_noise(counts([1, 2]), grant, Failing())
    assert grant.is_spent
    with pytest.raises(GrantError):
        add_noise(counts([1, 2]), grant, SeededNoise(1))


def test_nothing_is_spent_when_the_scale_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    grant = Grant("1e-9")
    with pytest.raises(UsageError, match="more than can be drawn"):
        add_noise(counts([1], limit=100), grant, SeededNoise(1))
    assert not grant.is_spent
    grant = Grant("1")
    with monkeypatch.context() as patch:
        patch.setattr(laplace, "scale_for", lambda l1, epsilon: Fraction(l1) / epsilon / 2)
        with pytest.raises(HeadcountError, match="does not pay"):
            add_noise(counts([1]), grant, SeededNoise(1))
    assert not grant.is_spent


def test_a_spent_grant_draws_nothing() -> None:
    grant = Grant("1")
    grant.spend()
    with pytest.raises(GrantError):
        add_noise(counts([1]), grant, Failing())  # never asked for words


@pytest.mark.parametrize("forgery", [np.array([1, 2]), [1, 2], forged(np.array([1, 2])), None], ids=repr)
def test_noise_accepts_nothing_but_bounded_values(forgery: Any) -> None:
    grant = Grant("1")
    with pytest.raises((TypeError, AttributeError)):
        add_noise(forgery, grant, SeededNoise(1))
    assert not grant.is_spent
    with pytest.raises(TypeError, match="made by bounds alone"):
        add_noise(Bounded(np.array([1, 2]), Sensitivity(1, 1, 1), object()), grant, SeededNoise(1))


def test_a_lookalike_is_refused() -> None:
    """Duck typing must not open a second door."""

    class Lookalike:
        sensitivity = Sensitivity(1, 1, 1)
        sensitive_values = np.array([1, 2])
        shape = (2,)

    grant, lookalike = Grant("1"), Lookalike()
    unchecked: Any = lookalike
    with pytest.raises(TypeError):
        add_noise(unchecked, grant, SeededNoise(1))
    assert not grant.is_spent
