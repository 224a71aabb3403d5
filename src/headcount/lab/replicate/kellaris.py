"""Replication of Kellaris and Papadopoulos, section 5: GS, GS-S, GS-R against LPA and FPA.

As in the paper, a cell of the database is 0 or 1: how many people have an item at all. Δ₁ is the largest number of
items of anyone, read from the data, and FPA keeps the number of coefficients that is best for the data (by squared
error; the paper does not say by which). So these variants are not private. Beside them run the adaptive method and
DPSense, which need no such number.

Departures
    Discrete instead of continuous noise. The real L1 error of a group size (figure 8) is the one to be expected
    over the noise on the groups' averages, with the order of columns that the run's own sample gives: a smallest
    one of many noisy errors would be small by chance. It is looked for on a grid of group sizes, to which the
    chosen size is added; GS itself tries all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from headcount._internal.arrays import Floats, Integers
from headcount.accounting.budget import Grant
from headcount.bounds import SampleRecords
from headcount.events.log import EventLog
from headcount.lab.as_published.laplace_hpa import largest_user
from headcount.lab.compare import metrics
from headcount.lab.compare.metrics import counts_of
from headcount.lab.compare.trials import Bench, Number, Trial, Truth, numbers_of
from headcount.lab.datasets.by_name import Dataset
from headcount.lab.replicate.claims.claims import ALL
from headcount.lab.replicate.paper import Effort, Paper, Setting
from headcount.lab.replicate.results import LOG, Estimate, Results, Row, rows_of
from headcount.methods.counts.smoothing.grouping import Groups, order_by, size_errors
from headcount.noise import add_noise, scale_for
from headcount.releases.release import Release

EPSILONS = ("0.1", "0.693147", "1.098612")
TUNED_AT = EPSILONS[1]
SAMPLINGS = ("column", "row", "none")
SIZES, QUICK_SIZES = 100, 30  # group sizes of figure 8
OURS_RUNS = 20  # our own methods are shown, and no claim is about them

GS = "gs-published"
METHODS = {
    "LPA": "lpa-published",
    "FPA": "fpa-published",
    "GS-R": "gs-r-published",
    "GS-S": "gs-s-published",
    "GS": GS,
}
OURS = ("adaptive", "dpsense")
RIVALS = ("lpa-published", "fpa-published")
CURVES = {"real L1": "real", "estimated L1": "estimated"}
CHECKIN = "Checkin"
EXCESS = "excess of L1 over the best group size"
_HALVES = {"sample": Decimal("0.5"), "sums": Decimal("0.5")}
_HERE = "headcount.lab.replicate.kellaris"


def settings(effort: Effort, datasets: Mapping[str, Dataset]) -> Iterator[Setting]:
    """Return everything that is run."""
    for name in datasets:
        yield Setting(experiment="sizes", dataset=name, method=LOG, function=f"{_HERE}:facts", runs=1)
        yield from _sampling(name)
        yield Setting(
            experiment="group size",
            dataset=name,
            method=GS,
            epsilon=float(TUNED_AT),
            spend=TUNED_AT,
            parameters={"sizes": QUICK_SIZES if effort.quick else SIZES},
            function=f"{_HERE}:tuned",
        )
        yield from _comparison(name, effort)


def _sampling(name: str) -> Iterator[Setting]:
    """Figure 7: GS-S with each way of sampling."""
    for epsilon in EPSILONS:
        for sampling in SAMPLINGS:
            yield Setting(
                experiment="sampling",
                dataset=name,
                method=f"gs-s-published ({sampling})",
                epsilon=float(epsilon),
                spend=epsilon,
                run_as="gs-s-published",
                parameters={"sampling": sampling},
            )


def _comparison(name: str, effort: Effort) -> Iterator[Setting]:
    """Figures 9 and 10: all methods."""
    for epsilon in EPSILONS:
        for method in (*METHODS.values(), *OURS):
            yield Setting(
                experiment="comparison",
                dataset=name,
                method=method,
                epsilon=float(epsilon),
                spend=epsilon,
                runs=min(effort.runs, OURS_RUNS) if method in OURS else None,
            )


def compared(truth: Truth, release: Release) -> Iterator[Number]:
    """Measure MAE, and MRE with a sanity bound of 0.1 % of the users."""
    exact, released = counts_of(release, "items", truth)
    bound = metrics.sanity_bound(truth.users)
    yield Number(metric="MAE", table="items", value=metrics.mean_absolute_error(exact, released))
    yield Number(metric="MRE", table="items", value=metrics.mean_relative_error(exact, released, bound))


def facts(bench: Bench, trial: Trial) -> Iterator[Number]:
    """Say what the log is like, as table 2 does."""
    truth = bench.truth
    most = largest_user(bench.log, "items", bench.noise(trial), bench.engine)
    yield from numbers_of(
        {"rows": truth.users, "columns": truth.items.size, "Δ₁": most, "average count": truth.items.mean()}
    )


def tuned(bench: Bench, trial: Trial) -> Iterator[Number]:
    """Measure figure 8: the error that GS expects of each group size, the real one, and what its choice costs."""
    noise, halves = bench.noise(trial), Grant(trial.epsilon).split(_HALVES)
    most = largest_user(bench.log, "items", noise, bench.engine)
    counts = bench.engine.measure(bench.log, SampleRecords(1), noise.key()).items
    sample = add_noise(counts, halves["sample"], noise, at_least=1).values
    scale = float(scale_for(most, halves["sums"].exact))
    estimated, order = size_errors(sample, most, scale, noise.key()), order_by(sample)
    chosen = 1 + int(np.argmin(estimated))
    grid = sizes_up_to(sample.size, dict(trial.parameters)["sizes"])
    real = {size: expected_error(bench.truth.items, order, size, scale) for size in {*grid, chosen}}
    best = min(grid, key=lambda size: real[size])
    for size in grid:
        yield Number(metric="real L1", table="items", k=size, value=real[size])
        yield Number(metric="estimated L1", table="items", k=size, value=float(estimated[size - 1]))
    yield Number(metric="chosen group size", table="items", value=float(chosen))
    yield Number(metric="best group size", table="items", value=float(best))
    yield Number(metric=EXCESS, table="items", value=real[chosen] / min(real.values()) - 1)


def sizes_up_to(d: int, many: int) -> list[int]:
    """Return group sizes from 1 to d, about evenly spread over the orders of magnitude.

    >>> sizes_up_to(100, 5)
    [1, 3, 10, 32, 100]
    """
    return [int(size) for size in np.unique(np.rint(np.geomspace(1, d, many)))]


def expected_error(counts: Floats, order: Integers, size: int, scale: float) -> float:
    """Return Σ |c - t| for groups of a size along an order, expected over Laplace noise on the groups' sums.

    A group's average that is off by a, with noise of scale b, is off by |a| + b · exp(-|a|/b) on average.

    >>> round(expected_error(np.array([3.0, 1.0, 8.0, 8.0]), np.array([0, 1, 2, 3]), 2, scale=6.0), 3)
    12.299
    """
    groups = Groups.by_size(order, size)
    averages = np.bincount(groups.labels, counts) / groups.sizes
    bias, spread = np.abs(counts - groups.spread(averages)), groups.spread(scale / groups.sizes)
    return float((bias + spread * np.exp(-bias / spread)).sum())


def derived(results: Results) -> Iterator[Row]:
    """Return what follows from the measured rows: the curves of figure 8, ratios of MAE, and of data sets."""
    for row in results.table.to_pylist():
        if row["experiment"] == "group size" and row["metric"] in CURVES:
            yield Row(**row | {"experiment": "figure 8", "metric": "L1", "method": CURVES[row["metric"]]})
    names = results.datasets
    largest: dict[str, Estimate] = {}
    for name in names:
        for rival in RIVALS:
            gains = _gains(results, name, rival)
            for epsilon, gain in gains.items():
                yield from rows_of("gains", name, GS, f"gain over {rival} by epsilon", gain.runs, epsilon=epsilon)
            best = max(gains.values(), key=lambda estimate: estimate.mean)
            yield from rows_of("gains", name, GS, f"largest gain over {rival}", best.runs)
            if rival == RIVALS[0]:
                largest[name] = best
    yield from _between(results, names, largest)


def _gains(results: Results, name: str, rival: str) -> dict[float, Estimate]:
    """Return by ε how many times smaller the MAE of GS is than another one, run by run."""
    theirs, ours = (results.points("comparison", name, "MAE", method) for method in (rival, GS))
    return {
        epsilon: Estimate.from_runs(np.divide(theirs[epsilon, x].runs, ours[epsilon, x].runs).tolist())
        for epsilon, x in ours
        if epsilon is not None
    }


def _between(results: Results, names: Sequence[str], largest: Mapping[str, Estimate]) -> Iterator[Row]:
    """Compare the data sets, run by run."""
    if len(names) < 2:
        return
    sizes = []
    for name in names:
        [best] = results.points("group size", name, "best group size", GS).values()
        sizes.append(best.runs)
    ratios = np.max(sizes, axis=0) / np.min(sizes, axis=0)
    metric = "largest best group size over smallest"
    yield from rows_of("group size", ALL, GS, metric, ratios, epsilon=float(TUNED_AT))
    others = [estimate for name, estimate in largest.items() if name != CHECKIN]
    if CHECKIN in largest:
        following = max(others, key=lambda estimate: estimate.mean)
        ratios = np.divide(largest[CHECKIN].runs, following.runs)
        metric = f"gain over {RIVALS[0]} on {CHECKIN} over the next largest"
        yield from rows_of("gains", ALL, GS, metric, ratios)


def zero_or_one(data: Dataset) -> EventLog:
    """Return the log as the paper counts it: who has an item at all, once."""
    return replace(data.log, counting="users", context=None)


KELLARIS = Paper(
    name="kellaris",
    methods=METHODS,
    runs=200,
    quick_runs=10,
    pace=0.04,
    settings=settings,
    measures={"compared": compared},
    log_of=zero_or_one,
    derived=derived,
)
