"""Error metrics of released counts as the papers define them, and the measures of a release that use them.

``truth`` and ``released`` hold one number for every cell, in the same order, zeros and all.

=========================  ===========================================================================
mean_squared_error         Fan and Jin, definition 4, averaged over all cells
mean_absolute_error        Kellaris and Papadopoulos, section 5; Day and Li, section 5.3
mean_relative_error        Kellaris and Papadopoulos, section 5; Day and Li, section 5.3
kl_divergence              Fan and Jin, section 6.3
top_precision              Fan and Jin, sections 6.1 and 6.3; Day and Li, section 5.4 (top-k accuracy)
context_precision          Fan and Jin, section 6.3: the top of each context, averaged over contexts
listed_precision           the same of a ranking that comes without counts
top_absolute_error         Day and Li, section 5.3
top_relative_error         Day and Li, section 5.3
=========================  ===========================================================================

Where the papers leave a choice
    A relative error divides by the true count, but by no less than a *sanity bound*. Kellaris and Papadopoulos set
    it to 0.1 % of the size of the database, that is of the number of users (:func:`sanity_bound`). What we hold of
    Day and Li's paper names MRE without defining it, so the bound is an argument here and whoever reports it says
    which one was used. The top-k errors of Day and Li are likewise taken as the errors of the k cells whose *true*
    counts are the largest.

    Fan and Jin measure KL "of the released distribution with respect to the original": the original one is the
    reference, Σ p log(p/q) with p the true and q the released distribution, in nats.

    None of the papers says how equal counts are ranked. Smoothing methods release many of them, and the order of
    the catalogue must not decide who wins; so a precision here is its expectation when equal counts are put in
    random order, in both lists and independently of each other. If true counts tie across place k, even the truth
    itself comes out below 1, for all methods alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from headcount._internal.arrays import Floats
from headcount.lab.compare.trials import Measure, Number, Truth
from headcount.releases.release import Release

SMALL = 0.01
"""What counts of zero or less are replaced by before KL is computed."""

SANITY_SHARE = 0.001
"""The sanity bound of a relative error, as a share of the number of users."""


def mean_squared_error(truth: Floats, released: Floats) -> float:
    """Return the mean of the squared differences.

    >>> mean_squared_error(np.array([3.0, 1.0]), np.array([1.0, 1.0]))
    2.0
    """
    return float(((released - truth) ** 2).mean())


def mean_absolute_error(truth: Floats, released: Floats) -> float:
    """Return the mean of the absolute differences.

    >>> mean_absolute_error(np.array([3.0, 1.0]), np.array([1.0, 1.0]))
    1.0
    """
    return float(np.abs(released - truth).mean())


def sanity_bound(users: int) -> float:
    """Return 0.1 % of the number of users, and at least 1: smaller counts are no person at all.

    >>> sanity_bound(480_189), sanity_bound(20)
    (480.189, 1.0)
    """
    return max(1.0, SANITY_SHARE * users)


def mean_relative_error(truth: Floats, released: Floats, bound: float) -> float:
    """Return the mean of |difference| / max(true count, bound).

    >>> mean_relative_error(np.array([10.0, 1.0]), np.array([5.0, 2.0]), bound=4.0)
    0.375
    """
    if not bound > 0:
        raise ValueError(f"the sanity bound must be positive, not {bound}")
    return float((np.abs(released - truth) / np.maximum(truth, bound)).mean())


def kl_divergence(truth: Floats, released: Floats, small: float = SMALL) -> float:
    """Return Σ p log(p/q), zero and negative counts replaced by ``small`` before both are made to sum to 1.

    >>> round(kl_divergence(np.array([3.0, 1.0]), np.array([1.0, 1.0])), 3)
    0.131
    """
    p, q = (np.where(counts <= 0, small, counts) for counts in (truth, released))
    p, q = p / p.sum(), q / q.sum()
    return float((p * np.log(p / q)).sum())


def top_precision(truth: Floats, released: Floats, k: int) -> float:
    """Return which share of the released top k is in the true one, equal counts in random order.

    With fewer than k cells, all of them are the top.

    >>> top_precision(np.array([9.0, 7.0, 5.0, 1.0]), np.array([8.0, 2.0, 6.0, 0.0]), k=2)
    0.5
    >>> top_precision(np.array([9.0, 7.0, 5.0, 1.0]), np.zeros(4), k=2)  # as good as guessing
    0.5
    """
    k = min(check_top(k), truth.size)
    return float((in_top(truth, k) * in_top(released, k)).sum() / k)


def listed_precision(truth: Floats, listed: Sequence[int], k: int) -> float:
    """Return which share of a top k is found by a list of cells; places that it leaves empty find nothing.

    >>> [listed_precision(np.array([9.0, 7.0, 5.0, 1.0]), listed, k=2) for listed in ([2, 0], [1, 0], [1])]
    [0.5, 1.0, 0.5]
    """
    k = min(check_top(k), truth.size)
    return float(in_top(truth, k)[list(listed)].sum() / k)


def context_precision(truth: Floats, released: Floats, k: int) -> float:
    """Return the precision of the top k of each context, averaged over contexts; arrays are items by contexts.

    Contexts in which nothing happened have no top, and are left out; NaN if that is all of them.

    >>> truth = np.array([[5.0, 0.0, 1.0], [1.0, 0.0, 7.0]])
    >>> context_precision(truth, np.array([[4.0, 3.0, 9.0], [2.0, 1.0, 8.0]]), k=1)
    0.5
    """
    busy = [column for column in range(truth.shape[1]) if truth[:, column].any()]
    if not busy:
        return float("nan")
    return float(np.mean([top_precision(truth[:, column], released[:, column], k) for column in busy]))


def top_absolute_error(truth: Floats, released: Floats, k: int) -> float:
    """Return the mean absolute difference of the k cells with the largest true counts, ties in random order.

    >>> top_absolute_error(np.array([9.0, 7.0, 1.0]), np.array([8.0, 4.0, 50.0]), k=2)
    2.0
    """
    k = min(check_top(k), truth.size)
    return float((in_top(truth, k) * np.abs(released - truth)).sum() / k)


def top_relative_error(truth: Floats, released: Floats, k: int, bound: float) -> float:
    """Return the mean relative difference of the k cells with the largest true counts, ties in random order.

    >>> top_relative_error(np.array([10.0, 8.0, 1.0]), np.array([5.0, 4.0, 50.0]), k=2, bound=4.0)
    0.5
    """
    if not bound > 0:
        raise ValueError(f"the sanity bound must be positive, not {bound}")
    k = min(check_top(k), truth.size)
    return float((in_top(truth, k) * np.abs(released - truth) / np.maximum(truth, bound)).sum() / k)


def in_top(counts: Floats, k: int) -> Floats:
    """Return how likely each cell is among the k largest, equal counts in random order; k is at most the size.

    >>> in_top(np.array([4.0, 9.0, 4.0, 1.0, 4.0]), k=2).round(3).tolist()
    [0.333, 1.0, 0.333, 0.0, 0.333]
    """
    border = np.partition(counts, counts.size - k)[counts.size - k]
    above, level = counts > border, counts == border
    return np.asarray(above + level * ((k - above.sum()) / level.sum()), dtype=np.float64)


def check_top(k: int) -> int:
    """Refuse a top of nothing."""
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    return k


TOP = 10


def counts_of(release: Release, table: str, truth: Truth) -> tuple[Floats, Floats]:
    """Return true and released counts of a table, in the same shape."""
    expected: Floats = getattr(truth, table)
    return expected, release.tables[table]["count"].to_numpy().reshape(expected.shape)


def measure_tables(metric: Callable[[Floats, Floats], float], truth: Truth, release: Release) -> Iterator[Number]:
    """Measure every table of counts as a whole."""
    for table in ("items", "edges"):
        if table in release.tables:
            yield Number(table=table, value=metric(*counts_of(release, table, truth)))


def relative_error(truth: Truth, release: Release, bound: float | None = None) -> Iterator[Number]:
    """Measure MRE, with a sanity bound of 0.1 % of the users where none is given."""
    within = sanity_bound(truth.users) if bound is None else bound
    return measure_tables(partial(mean_relative_error, bound=within), truth, release)


def precision(truth: Truth, release: Release, tops: tuple[int, ...] = (TOP,)) -> Iterator[Number]:
    """Measure the precision of the top k: of items, and of each known context on average."""
    for k in tops:
        if "items" in release.tables:
            value = top_precision(*counts_of(release, "items", truth), k)
            yield Number(table="items", k=k, value=value)
        if "edges" in release.tables:
            exact, released = counts_of(release, "edges", truth)
            yield Number(table="edges", k=k, value=context_precision(exact[:, :-1], released[:, :-1], k))


USUAL: dict[str, Measure] = {
    "MSE": partial(measure_tables, mean_squared_error),
    "MAE": partial(measure_tables, mean_absolute_error),
    "MRE": relative_error,
    "KL": partial(measure_tables, kl_divergence),
    "precision": precision,
}
"""What ``headcount compare`` measures."""
