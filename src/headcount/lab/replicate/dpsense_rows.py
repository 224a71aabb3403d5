"""Derived rows of the Day and Li replication: the curves of figure 1 and the ratios named by claims."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headcount._internal.arrays import Floats
from headcount.lab.replicate.claims.claims import ALL
from headcount.lab.replicate.results import LOG, Results, Row, rows_of

FIXED = "dpsense (fixed θ)"
PRINTED, SCALED = "dpsense-published", "dpsense-s-published"
CHOSEN = {PRINTED: "dpsense", SCALED: "dpsense-s"}
"""The paper's methods that choose, as printed, and what we make of each."""
LOW, HIGH = 0.405465, 1.098612
SHOWN = {LOW: "ln 1.5", HIGH: "ln 3"}
TENTH = 0.1
BEST = (1.5, 6.0)
"""Between which multiples of the average row count the best θ is said to tend to lie."""


def derived(results: Results) -> Iterator[Row]:
    """Return what follows for each data set, and for all together."""
    figures = [FigureOne.from_results(results, name) for name in results.datasets]
    for name, figure in zip(results.datasets, figures, strict=True):
        yield from figure.drawn()
        yield from figure.symmetry()
        yield from figure.choices()
        yield from _chosen(results, name, figure)
        yield from _splits(results, name)
    low, high = BEST
    within = np.array([(low <= figure.best_limits) & (figure.best_limits <= high) for figure in figures])
    metric = f"share of logs whose best θ at ln 3 is {low:g} to {high:g} times the average row count"
    yield from rows_of("choice", ALL, FIXED, metric, within.mean(axis=0))


@dataclass(frozen=True)
class FigureOne:
    """Figure 1 of one data set: by ε, numbers of each run and θ."""

    dataset: str
    thetas: tuple[float, ...]
    errors: dict[float, Floats]
    """MAE: runs by θ."""
    kept: dict[float, Floats]
    """MAE with negative counts kept."""
    quality: dict[float, Floats]
    half: float
    """Half the average column count."""
    row: float
    """The average row count."""

    @classmethod
    def from_results(cls, results: Results, name: str) -> FigureOne:
        """Look everything up."""

        def by_epsilon(metric: str) -> dict[float, Floats]:
            points = results.points("quality", name, metric, FIXED)
            return {
                epsilon: np.array([estimate.runs for (at, _), estimate in points.items() if at == epsilon]).T
                for epsilon in (LOW, HIGH)
            }

        def size(metric: str) -> float:
            [point] = results.points("sizes", name, metric, LOG).values()
            return point.mean

        thetas = results.points("quality", name, "MAE", FIXED)
        return cls(
            name,
            tuple(sorted({x for _, x in thetas if x is not None})),
            by_epsilon("MAE"),
            by_epsilon("MAE, negatives kept"),
            by_epsilon("quality"),
            size("average column count") / 2,
            size("average row count"),
        )

    def best(self, epsilon: float) -> float:
        """Return the smallest MAE of any θ, on average over the runs."""
        return float(self.errors[epsilon].mean(axis=0).min())

    @property
    def best_limits(self) -> Floats:
        """The best θ at ln 3 in each run, in multiples of the average row count."""
        places = self.errors[HIGH].argmin(axis=1)
        best: Floats = np.array(self.thetas)[places] / self.row
        return best

    def drawn(self) -> Iterator[Row]:
        """Return the curves of figure 1, as the paper draws them: both ε in one chart."""
        for epsilon in (LOW, HIGH):
            curves = {
                "MAE": ("MAE and quality", self.errors[epsilon]),
                "quality": ("MAE and quality", self.quality[epsilon]),
                "mean": ("mean of both", (self.errors[epsilon] + self.quality[epsilon]) / 2),
                "negatives kept": ("mean of both", (self.kept[epsilon] + self.quality[epsilon]) / 2),
            }
            for what, (metric, numbers) in curves.items():
                name = f"{what}, ε = {SHOWN[epsilon]}"
                yield from self._by_theta("figure 1", name, metric, numbers, epsilon)
        level = np.full((1, len(self.thetas)), self.half)
        yield from self._by_theta("figure 1", "half the average count", "mean of both", level, None)

    def symmetry(self) -> Iterator[Row]:
        """Return how far quality and MAE are from mirroring each other, and how ε changes that."""
        means = {at: (self.errors[at] + self.quality[at]) / 2 for at in (LOW, HIGH)}
        metric = "distance of the mean of quality and MAE from half the average count, over that half"
        for epsilon, mean in means.items():
            yield from self._by_theta("quality", FIXED, metric, np.abs(mean - self.half) / self.half, epsilon)
        metric = "MAE at ln 3 over MAE at ln 1.5"
        yield from self._by_theta("quality", FIXED, metric, self.errors[HIGH] / self.errors[LOW], None)
        metric = "difference of the means of quality and MAE between both ε, over half the average count"
        yield from self._by_theta("quality", FIXED, metric, np.abs(means[HIGH] - means[LOW]) / self.half, None)

    def choices(self) -> Iterator[Row]:
        """Return what a good θ is worth, and where it lies."""
        rises = {}
        for epsilon in (LOW, HIGH):
            place = int(self.quality[epsilon].mean(axis=0).argmax())
            worth = self.errors[epsilon][:, place] / self.best(epsilon)
            metric = "MAE at the best quality over the smallest MAE"
            yield from rows_of("choice", self.dataset, FIXED, metric, worth, epsilon=epsilon)
            rises[epsilon] = self.errors[epsilon][:, -1] / self.errors[epsilon].min(axis=1)
        metric = "rise of MAE to the largest θ at ln 3 over that at ln 1.5"
        yield from rows_of("choice", self.dataset, FIXED, metric, rises[HIGH] / rises[LOW])
        metric = "best θ at ln 3 over the average row count"
        yield from rows_of("choice", self.dataset, FIXED, metric, self.best_limits)

    def _by_theta(
        self, experiment: str, method: str, metric: str, numbers: Floats, epsilon: float | None
    ) -> Iterator[Row]:
        for theta, runs in zip(self.thetas, numbers.T, strict=True):
            yield from rows_of(experiment, self.dataset, method, metric, runs, epsilon=epsilon, x=theta)


def _chosen(results: Results, name: str, figure: FigureOne) -> Iterator[Row]:
    """Return what DPSense's own choice of θ costs, and the factors of DPSense-S: as printed, and ours."""
    for method in (PRINTED, CHOSEN[PRINTED]):
        for (epsilon, _), mae in results.points("errors", name, "MAE", method).items():
            worth = np.array(mae.runs) / figure.best(epsilon or 0)
            metric = "MAE at the chosen θ over the smallest MAE"
            yield from rows_of("choice", name, method, metric, worth, epsilon=epsilon)
    for method in (SCALED, CHOSEN[SCALED]):
        for (epsilon, _), alpha in results.points("choice", name, "alpha", method).items():
            yield from rows_of("choice", name, method, "factor", alpha.runs, epsilon=epsilon)


def _splits(results: Results, name: str) -> Iterator[Row]:
    """Return the MAE with the best split of ε over that with a tenth for the choice."""
    points = results.points("split", name, "MAE", PRINTED)
    for epsilon in (LOW, HIGH):
        tried = {x: estimate for (at, x), estimate in points.items() if at == epsilon}
        best = min(tried.values(), key=lambda estimate: estimate.mean)
        ratios = np.divide(best.runs, tried[TENTH].runs)
        yield from rows_of(
            "split", name, PRINTED, "MAE with the best split over MAE with a tenth", ratios, epsilon=epsilon
        )
