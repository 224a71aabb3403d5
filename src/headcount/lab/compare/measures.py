"""Measures of a release against the true counts, table by table, as trials call them.

The formulas are in metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from headcount._internal.arrays import Floats
from headcount.lab.compare import metrics
from headcount.lab.compare.trials import Measure, Number, Truth
from headcount.releases.release import Release

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
    within = metrics.sanity_bound(truth.users) if bound is None else bound
    return measure_tables(partial(metrics.mean_relative_error, bound=within), truth, release)


def precision(truth: Truth, release: Release, tops: tuple[int, ...] = (TOP,)) -> Iterator[Number]:
    """Measure the precision of the top k: of items, and of each known context on average."""
    for k in tops:
        if "items" in release.tables:
            value = metrics.top_precision(*counts_of(release, "items", truth), k)
            yield Number(table="items", k=k, value=value)
        if "edges" in release.tables:
            exact, released = counts_of(release, "edges", truth)
            yield Number(table="edges", k=k, value=metrics.context_precision(exact[:, :-1], released[:, :-1], k))


USUAL: dict[str, Measure] = {
    "MSE": partial(measure_tables, metrics.mean_squared_error),
    "MAE": partial(measure_tables, metrics.mean_absolute_error),
    "MRE": relative_error,
    "KL": partial(measure_tables, metrics.kl_divergence),
    "precision": precision,
}
"""What ``headcount compare`` measures."""
