"""Replication of Day and Li, sections 4 and 5: DPSense and DPSense-S, ε = ln 1.5 and ln 3.

As in the paper, a cell is 0 or 1, a tenth of ε pays for the choice of θ and the rest for the counts, and negative
counts are set to 0 (Algorithm 1, line 11); here that is done for all methods alike. DPSense and DPSense-S are run
as printed (:mod:`headcount.lab.as_published.dpsense`), ours beside them. Figure 1 fixes θ: then all
records of a person with more than θ of them are weighted down, and the noise is paid with 0.9 ε.

Departures
    Discrete instead of continuous noise, weights in steps of 2^-16. Figure 1 does not say which θ it draws: here
    they go from 1 to ten times the average row count, since the best ones are said to lie within six times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from headcount.accounting.budget import Grant
from headcount.bounds import ActivityHistogram, WeightToThreshold
from headcount.lab.compare import metrics
from headcount.lab.compare.metrics import counts_of
from headcount.lab.compare.trials import Bench, Number, Trial, Truth, numbers_of
from headcount.lab.datasets.by_name import Dataset
from headcount.lab.replicate.dpsense_rows import CHOSEN, FIXED, PRINTED, SCALED, derived
from headcount.lab.replicate.kellaris import sizes_up_to, zero_or_one
from headcount.lab.replicate.paper import Effort, Paper, Setting
from headcount.lab.replicate.results import LOG
from headcount.methods.counts.dpsense import SHARES
from headcount.noise import add_noise
from headcount.releases.release import Release

EPSILONS = ("0.405465", "1.098612")
THETAS, QUICK_THETAS = 24, 8  # of figure 1
FARTHEST = 10  # times the average row count
SPLITS = ("0.02", "0.05", "0.1", "0.2", "0.3", "0.5")
QUICK_SPLITS = ("0.05", "0.1", "0.3")
TOPS = (10, 20, 50, 100, 200, 500)

METHODS = {
    "DPSense": PRINTED,
    "DPSense-S": SCALED,
    "LPA": "lpa-published",
    "GS": "gs-published",
    "FPA": "fpa-published",
}
OURS = (*CHOSEN.values(), "adaptive")
_CHOICES = ("theta", "alpha")
_HERE = "headcount.lab.replicate.dpsense"


def settings(effort: Effort, datasets: Mapping[str, Dataset]) -> Iterator[Setting]:
    """Return everything that is run."""
    for name, data in datasets.items():
        yield Setting(experiment="sizes", dataset=name, method=LOG, function=f"{_HERE}:facts", runs=1)
        grid = thetas(
            data.sizes.records / data.sizes.users, data.sizes.items, QUICK_THETAS if effort.quick else THETAS
        )
        for epsilon in EPSILONS:
            yield from _fixed(name, epsilon, grid)
            yield from _splits(name, epsilon, QUICK_SPLITS if effort.quick else SPLITS)
            for method in (*METHODS.values(), *OURS):
                yield Setting(
                    experiment="errors", dataset=name, method=method, epsilon=float(epsilon), spend=epsilon
                )


def _fixed(name: str, epsilon: str, grid: list[int]) -> Iterator[Setting]:
    """Figure 1: MAE and quality of each θ."""
    for theta in grid:
        yield Setting(
            experiment="quality",
            dataset=name,
            method=FIXED,
            epsilon=float(epsilon),
            x=theta,
            spend=epsilon,
            run_as="dpsense",
            parameters={"theta": theta},
            function=f"{_HERE}:fixed",
        )


def _splits(name: str, epsilon: str, splits: tuple[str, ...]) -> Iterator[Setting]:
    """Section 4.1: other parts of ε than a tenth for the choice."""
    for split in splits:
        yield Setting(
            experiment="split",
            dataset=name,
            method=PRINTED,
            epsilon=float(epsilon),
            x=float(split),
            spend=epsilon,
            parameters={"choice": split},
            function=f"{_HERE}:divided",
        )


def thetas(average: float, columns: int, many: int) -> list[int]:
    """Return limits from 1 to ten times the average row count, and no more than there are columns.

    >>> thetas(8.0, 500, 5)
    [1, 3, 9, 27, 80]
    """
    return sizes_up_to(min(columns, max(2, round(FARTHEST * average))), many)


def facts(bench: Bench, trial: Trial) -> Iterator[Number]:  # noqa: ARG001 - what all functions of trials take
    """Say what the log is like, as table 2 and figure 1 do."""
    truth = bench.truth
    yield from numbers_of(
        {
            "rows": truth.users,
            "columns": truth.items.size,
            "average column count": truth.items.mean(),
            "average row count": truth.items.sum() / truth.users,
        }
    )


def fixed(bench: Bench, trial: Trial) -> Iterator[Number]:
    """Measure figure 1 at one θ: the MAE with negative counts set to 0, and kept, and the quality."""
    theta: int = dict(trial.parameters)["theta"]
    pays = Grant(trial.epsilon).split(SHARES)["counts"]
    worth = quality(bench, theta, float(pays.epsilon))
    exact, noise = bench.truth.items, bench.noise(trial)
    released = add_noise(
        bench.engine.measure(bench.log, WeightToThreshold(theta), noise.key()).items, pays, noise
    ).counts
    yield Number(metric="MAE", table="items", value=metrics.mean_absolute_error(exact, np.maximum(released, 0)))
    yield Number(metric="MAE, negatives kept", table="items", value=metrics.mean_absolute_error(exact, released))
    yield Number(metric="quality", table="items", value=worth)


def quality(bench: Bench, theta: int, epsilon: float) -> float:
    """Return q(θ): the average column count that a limit of θ leaves, less θ/ε of noise (equation 3)."""
    columns = bench.truth.items.size
    rows = bench.engine.measure(bench.log, ActivityHistogram("items", columns), bytes(16)).sensitive_values
    left = (rows * np.minimum(np.arange(1, columns + 1), theta)).sum()
    return float(left / columns - theta / epsilon)


def divided(bench: Bench, trial: Trial) -> Iterator[Number]:
    """Measure the MAE of DPSense with another part of ε for the choice of θ."""
    error = metrics.mean_absolute_error(*counts_of(bench.release(trial), "items", bench.truth))
    yield Number(metric="MAE", table="items", value=error)


def compared(truth: Truth, release: Release) -> Iterator[Number]:
    """Measure a release as sections 5.3 and 5.4 announce, negative counts set to 0, and what was chosen."""
    exact, released = counts_of(release, "items", truth)
    positive, bound = np.maximum(released, 0), metrics.sanity_bound(truth.users)
    yield Number(metric="MAE", table="items", value=metrics.mean_absolute_error(exact, positive))
    yield Number(metric="MRE", table="items", value=metrics.mean_relative_error(exact, positive, bound))
    for k in TOPS:
        error = metrics.top_absolute_error(exact, positive, k)
        yield Number(metric="top-k MAE", table="items", k=k, value=error)
        error = metrics.top_relative_error(exact, positive, k, bound)
        yield Number(metric="top-k MRE", table="items", k=k, value=error)
        accuracy = metrics.top_precision(exact, released, k)
        yield Number(metric="top-k accuracy", table="items", k=k, value=accuracy)
    for name in _CHOICES:
        if name in release.chosen.get("items", {}):
            yield Number(metric=name, table="items", value=float(release.chosen["items"][name]))


DPSENSE = Paper(
    name="dpsense",
    methods=METHODS,
    runs=30,
    quick_runs=5,
    pace=0.05,
    settings=settings,
    measures={"compared": compared},
    log_of=zero_or_one,
    elsewhere={("errors", name, "items"): "choice" for name in _CHOICES},
    derived=derived,
)
