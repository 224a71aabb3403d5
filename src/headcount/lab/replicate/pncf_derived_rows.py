"""Derived rows and tables of the PNCF replication.

The rows are MAE ratios per run, costs and paired t-tests. The tables are table 3.1 as measured here, and the
actual guarantee of each method.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from headcount._internal.extras import require_package
from headcount.lab.replicate.results import Estimate, Results, Row, number, rows_of

CONFIGURATIONS = ("item-pcc", "item-cos", "user-pcc", "user-cos")
BUDGETED = ("item-pcc", "user-pcc")
RATIOS = (("PNCF", "DP"), ("PNCF", "non-private"), ("PNCF", "RS&NM"), ("RS&NM", "DP"), ("RS&NM", "non-private"))
TESTED = ("PNCF", "RS&NM")
_NOTHING = 1e-9  # the smallest cost that is divided by
MOST = 300.0
"""The largest -log10 p that is written down."""


def derived(results: Results) -> Iterator[Row]:
    """Return what claims are judged by: two methods are compared on the same ratings in each run."""
    for name in results.datasets:
        for configuration in CONFIGURATIONS:
            yield from _ratios(results, name, configuration)
            yield from _tests(results, name, configuration)
        for configuration in BUDGETED:
            yield from _budget(results, name, configuration)


def _ratios(results: Results, name: str, configuration: str) -> Iterator[Row]:
    for method, other in RATIOS:
        ours, theirs = (_curve(results, name, configuration, entry) for entry in (method, other))
        for k in ours:
            ratios = np.divide(ours[k].runs, theirs[k].runs)
            yield from rows_of(configuration, name, method, f"MAE over that of {other}", ratios, epsilon=1.0, x=k)
    plain, ours, theirs = (_curve(results, name, configuration, entry) for entry in ("non-private", "PNCF", "DP"))
    for k in plain:
        cost, dearer = (np.subtract(entry[k].runs, plain[k].runs) for entry in (ours, theirs))
        shares = cost / max(dearer.mean(), _NOTHING)  # of one run it may be next to nothing
        yield from rows_of(configuration, name, "PNCF", "cost over that of DP", shares, epsilon=1.0, x=k)


def _tests(results: Results, name: str, configuration: str) -> Iterator[Row]:
    """Test in each run whether the MAEs of two methods differ, paired over k."""
    for method in TESTED:
        ours, theirs = (_curve(results, name, configuration, entry) for entry in (method, "DP"))
        pairs = np.array([[curve[k].runs for k in ours] for curve in (ours, theirs)])
        tested = [paired(*entry) for entry in np.moveaxis(pairs, 2, 0)]
        for place, metric in enumerate(("t", "-log10 p")):
            values = [entry[place] for entry in tested]
            yield from rows_of(
                "t-tests", name, method, f"{metric} against DP, {configuration}", values, epsilon=1.0
            )


def paired(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float]:
    """Return t and -log10 p of the two-tailed paired t-test; t is positive where the others are larger.

    >>> [round(number, 3) for number in paired([1.0, 2.0, 3.0], [2.0, 3.5, 4.0])]
    [7.0, 1.703]
    """
    with require_package("the paired t-test", "scipy", "lab"):
        from scipy.stats import ttest_rel

    apart = np.subtract(theirs, ours)
    if np.ptp(apart) == 0:  # no spread: all the same, or all apart by as much
        return float(MOST * np.sign(apart[0])), MOST * float(apart[0] != 0)
    result = ttest_rel(theirs, ours)
    p = float(result.pvalue)
    return float(result.statistic), MOST if p <= 0 else min(MOST, -math.log10(p))


def _budget(results: Results, name: str, configuration: str) -> Iterator[Row]:
    experiment = f"budget {configuration}"
    curve = _curve(results, name, experiment, "PNCF")
    first, early, late, last = (np.array(curve[epsilon].runs) for epsilon in (0.1, 0.4, 0.7, 1.0))
    falls = np.where(first > last, (first - early) / np.maximum(first - last, _NOTHING), 0.0)
    yield from rows_of(experiment, name, "PNCF", "share of the fall up to 0.4", falls)
    yield from rows_of(experiment, name, "PNCF", "MAE at 0.7 over that at 1", late / last)


def _curve(results: Results, name: str, experiment: str, method: str) -> dict[float, Estimate]:
    points = results.points(experiment, name, "MAE", method)
    return {x: estimate for (_, x), estimate in points.items() if x is not None}


KS = tuple(range(5, 55, 5))
OURS = "private"
"""What the tidy table calls the proven method."""

NAMES = {
    "item-pcc": "items, Pearson",
    "item-cos": "items, cosine",
    "user-pcc": "users, Pearson",
    "user-cos": "users, cosine",
}
GUARANTEES: Mapping[str, str] = {
    "non-private": "promises nothing",
    "PNCF": "claims ε for each prediction; no finite ε holds, since noise and selection follow a sensitivity "
    "that is read from the data, and every prediction spends again",
    "RS&NM": "as PNCF",
    "DP": "ε/2 for the draw, but ε/2 again for the noise of each of the k neighbours, since one user may change "
    "all of their similarities: (k + 1)/2 · ε for one prediction, and every prediction spends again",
    OURS: "(1, 10⁻⁶)-differential privacy of a whole user for all predictions together",
    "user mean": "each user's own ratings alone, so that nobody else learns anything",
}
_COLUMNS = ("non-private", "PNCF", "RS&NM", "DP", OURS, "user mean")


def tables(table: pa.Table, section: str) -> Sequence[Mapping[str, Any]]:
    """Return the tables of a section: table 3.1 as measured here, and what each method really guarantees."""
    if section != "overall":
        return ()
    return [*_table_3_1(table), _guarantees(table)]


def _table_3_1(table: pa.Table) -> Iterator[dict[str, Any]]:
    runs: dict[tuple[str, str, float], dict[str, list[float]]] = {}
    for row in table.to_pylist():
        if row["metric"] == "MAE" and row["experiment"] in CONFIGURATIONS and row["x"] is not None:
            place = (row["dataset"], row["experiment"], row["x"])
            runs.setdefault(place, {}).setdefault(row["method"], []).append(row["value"])
    for dataset in dict.fromkeys(place[0] for place in runs):
        shown = [
            name
            for name in _COLUMNS
            if any(name in by_name for place, by_name in runs.items() if place[0] == dataset)
        ]
        rows = [
            [
                NAMES[place[1]],
                number(place[2]),
                *(f"{Estimate.from_runs(by_name[name]).mean:.4f}" for name in shown),
            ]
            for place, by_name in runs.items()
            if place[0] == dataset
        ]
        title, columns = f"Table 3.1 again: MAE, {dataset}", ["by", "k", *shown]
        yield {"title": title, "columns": columns, "words": ["by"], "rows": rows}


def _guarantees(table: pa.Table) -> dict[str, Any]:
    methods = set(table["method"].to_pylist())
    rows = [[name, text] for name, text in GUARANTEES.items() if name in methods]
    columns = ["method", "guarantee"]
    return {"title": "What each method really guarantees", "columns": columns, "words": columns, "rows": rows}
