"""Item-context counts: empirical Bayes estimates from noisy measurements, given the item counts.

A count is expected to be its item's count times the share of its context. Real counts differ from that,
relatively, in two ways: all counts of an item together, since its count has an error (variance σ², of each item),
and each by itself (variance τ²). How uncertain noise leaves an item count is known; where it is not, the scatter
of an item's noisy counts says it. By how much more they scatter than noise and chance alone would make them says
what τ² is, combined with a prior by precision. So an item-context count borrows from its item, from the other
contexts of that item, and from how other items spread over contexts. Large counts keep their measurement; small
ones follow their item. Where records are counted, the counts of an item are made to sum to its count by least
squares: the difference goes to those that are least certain.

Only released numbers are used.

Reference
    B. Efron, C. Morris. Stein's Estimation Rule and its Competitors. Journal of the American Statistical
    Association, 1973: shrinkage towards what is expected, with spreads that the data tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from headcount._internal.arrays import Floats
from headcount.adaptive.posterior import BLOCK, Posterior, blocks
from headcount.adaptive.priors import PRIORS, ItemContextPriors


class _Variances(NamedTuple):
    """Relative variances around the expectation: of each count alone (τ²), of all counts of an item (σ²)."""

    own_variance: float
    item_variance: Floats  # of each item

    def select(self, rows: slice) -> _Variances:
        """Return those of some items."""
        return _Variances(self.own_variance, self.item_variance[rows])


class RowMeasurements(Protocol):
    """A table of measurements, a row per item, of which some rows at a time are read."""

    @property
    def shape(self) -> tuple[int, ...]:
        """How many items and contexts there are."""
        ...

    def __getitem__(self, rows: slice, /) -> Floats:
        """Return some rows."""
        ...


def estimate_item_contexts(
    items: Posterior,
    measured: RowMeasurements,
    variance: float | Floats,
    *,
    sums: bool,
    relative_variances: Floats | None = None,
    priors: ItemContextPriors = PRIORS.item_contexts,
) -> Posterior:
    """Return counts, a row per item, from unbiased measurements with noise of that variance (of each item).

    ``sums`` says whether the counts of an item sum to its count; else ``relative_variances`` are those of the item
    counts, where they are known.

    >>> items = Posterior(np.array([100.0, 10.0]), np.array([90.0, 0.0]), np.array([110.0, 30.0]))
    >>> estimates = estimate_item_contexts(items, np.array([[70.0, 30.0], [-10.0, 20.0]]), 25.0, sums=True)
    >>> estimates.mean.sum(axis=1).round(6).tolist(), estimates.mean[0].round().tolist()
    ([100.0, 10.0], [69.0, 31.0])
    """
    noise = np.broadcast_to(np.asarray(variance, dtype=np.float64), items.mean.shape)
    shares = context_shares(items.mean, measured, noise, priors)
    item_variances = np.zeros_like(items.mean) if sums else relative_variances
    variances = _estimate_variances(items.mean, measured, noise, shares, item_variances, priors)
    # a context may have what noise conceals of it, and an item taken to be empty what its interval says
    whole = max(float(items.mean.sum()), 1.0)
    undetected_shares = np.clip(np.sqrt(noise.sum()) / whole - shares, 0.0, 1.0)
    common = _Common(shares, undetected_shares, sums, priors.interval_deviations)
    estimates = Posterior.empty(measured.shape)
    for rows in _rows(measured):
        estimates[rows] = _estimate_rows(
            items[rows], measured[rows], noise[rows, None], variances.select(rows), common
        )
    return estimates


def _rows(measured: RowMeasurements) -> Iterator[slice]:
    """Cut the rows of a table into blocks of about ``BLOCK`` cells."""
    return blocks(measured.shape[0], max(BLOCK // max(measured.shape[1], 1), 1))


class _Common(NamedTuple):
    """What all counts have in common."""

    shares: Floats
    undetected: Floats
    sums: bool
    interval_deviations: float


def _estimate_rows(
    items: Posterior, measured: Floats, noise: Floats, variances: _Variances, common: _Common
) -> Posterior:
    """Return the counts of some items; ``noise`` is a column."""
    shares = common.shares
    expected = np.outer(items.mean, shares)
    residual = measured - expected
    own_variance = variances.own_variance * expected**2 + expected
    gain = np.divide(
        own_variance, own_variance + noise, out=np.ones_like(own_variance), where=own_variance + noise > 0
    )
    item_shift, shift_variance = _item_shift(residual, expected, own_variance + noise, variances.item_variance)
    shrunk_away = expected * (1 - gain)
    mean = np.maximum(expected + gain * residual + shrunk_away * item_shift[:, None], 0.0)
    posterior_variance = gain * noise + shrunk_away**2 * shift_variance[:, None]
    if common.sums:
        mean = _constrain_sums(mean, posterior_variance, items.mean)
    above = np.divide(items.high - items.mean, items.mean, out=np.zeros_like(items.mean), where=items.mean > 0)
    below = np.divide(items.low, items.mean, out=np.zeros_like(items.mean), where=items.mean > 0)
    half_width = common.interval_deviations * np.sqrt(posterior_variance)
    # counts scatter more, the more their item may have
    highest = np.outer(items.high, shares)
    scatter = variances.own_variance * highest**2 + highest
    further = np.divide(scatter * noise, scatter + noise, out=np.zeros_like(scatter), where=scatter + noise > 0)
    upwards = common.interval_deviations * np.sqrt(np.maximum(posterior_variance, further))
    least = np.outer(items.high, common.undetected) + np.outer(np.where(items.mean > 0, 0.0, items.high), shares)
    return Posterior(
        mean,
        np.maximum(mean - half_width, 0.0) * below[:, None],
        mean + np.maximum(np.sqrt(upwards**2 + (mean * above[:, None]) ** 2), least),
    )


def context_shares(
    items: Floats, measured: RowMeasurements, noise: Floats, priors: ItemContextPriors = PRIORS.item_contexts
) -> Floats:
    """Return the share of each context in its items' counts: a regression with most weight on large items.

    >>> context_shares(np.array([100.0, 1.0]), np.array([[70.0, 30.0], [-2.0, 3.0]]), np.full(2, 25.0)).round(1)
    array([0.7, 0.3])
    """
    whole = items.sum()
    sums = np.zeros(measured.shape[1])
    for rows in _rows(measured):
        sums += measured[rows].sum(axis=0)
    shares = np.maximum(sums, 0.0) / (whole if whole > 0 else 1.0)
    for _ in range(priors.share_rounds):
        weight, weighed = np.zeros((2, measured.shape[1]))
        for rows in _rows(measured):
            own, noisy = items[rows, None], noise[rows, None]
            expected = own * shares
            scatter = noisy + priors.initial_own_variance * expected**2 + expected
            trust = np.divide(own, scatter, out=np.zeros_like(expected), where=noisy + expected > 0)
            weight += (trust * own).sum(axis=0)
            weighed += (trust * measured[rows]).sum(axis=0)
        shares = np.divide(weighed, weight, out=np.zeros_like(shares), where=weight > 0)
        shares = np.maximum(shares, 0.0)
    return np.asarray(shares)


def _estimate_variances(
    items: Floats,
    measured: RowMeasurements,
    noise: Floats,
    shares: Floats,
    relative_variances: Floats | None,
    priors: ItemContextPriors,
) -> _Variances:
    """Compare the scatter of measurements with that of noise and chance alone."""
    squares, products, own_total, common, item_total = 0.0, 0.0, 0.0, 0.0, 0.0
    for rows in _rows(measured):
        expected = np.outer(items[rows], shares)
        residual = measured[rows] - expected
        own = (residual**2).sum(axis=1)
        summed = (expected**2).sum(axis=1)
        squares += float(summed.sum())
        products += float((expected.sum(axis=1) ** 2).sum())
        own_total += float(own.sum() - noise[rows].sum() * shares.size - expected.sum())
        common += float((residual.sum(axis=1) ** 2 - own).sum())
        item_total += 0.0 if relative_variances is None else float((relative_variances[rows] * summed).sum())
    if squares <= 0:
        return _Variances(priors.min_variance, np.zeros_like(items))
    if relative_variances is None:
        products -= squares
        common_variance = min(max(common / products, 0.0), priors.max_variance) if products > 0 else 0.0
        relative_variances, item_total = np.full_like(items, common_variance), common_variance * squares
    own_variance_error = priors.laplace_kurtosis * shares.size * float((noise**2).sum()) / squares**2
    own_spread = _shrink_own_variance((own_total - item_total) / squares, own_variance_error, priors)
    return _Variances(
        min(max(own_spread, priors.min_variance), priors.max_variance),
        np.minimum(relative_variances, priors.max_variance),
    )


def _shrink_own_variance(
    measured: float, variance: float, priors: ItemContextPriors = PRIORS.item_contexts
) -> float:
    """Return the posterior of a τ² that was measured with that variance.

    >>> round(_shrink_own_variance(0.4, 1e-4), 3), round(_shrink_own_variance(40.0, 1e4), 3)
    (0.397, 0.05)
    """
    gain = priors.own_variance_deviation**2 / (priors.own_variance_deviation**2 + variance)
    return priors.own_variance + gain * (measured - priors.own_variance)


def _item_shift(
    residual: Floats, expected: Floats, scatter: Floats, item_variance: Floats
) -> tuple[Floats, Floats]:
    """Return the relative error of each item, as its counts together say, and its variance."""
    precision = np.divide(expected, scatter, out=np.zeros_like(expected), where=scatter > 0)
    posterior_variance = item_variance / (1 + item_variance * (precision * expected).sum(axis=1))
    return posterior_variance * (precision * residual).sum(axis=1), posterior_variance


def _constrain_sums(item_contexts: Floats, variances: Floats, items: Floats) -> Floats:
    """Return counts that sum to their items, and are nowhere negative."""
    shortfall = items - item_contexts.sum(axis=1)
    whole = variances.sum(axis=1)[:, None]
    share = np.divide(
        variances, whole, out=np.full_like(item_contexts, 1 / item_contexts.shape[1]), where=whole > 0
    )
    adjusted = np.maximum(item_contexts + share * shortfall[:, None], 0.0)
    row_sums = adjusted.sum(axis=1)
    return np.asarray(adjusted * np.divide(items, row_sums, out=np.zeros_like(items), where=row_sums > 0)[:, None])
