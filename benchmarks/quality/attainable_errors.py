"""Lower bound of the absolute error of counts: ``python -m benchmarks.quality.attainable_errors``.

The noisy tables of the adaptive method are taken as they are, with its kinds of items. An oracle knows all true
counts of a kind, with the parts that were measured of them, but not which item has which. It gives every item the
mean of what is possible then, or the quantile at one level for all items at which counts have the right sum: of
all counts with that sum, these have the smallest expected absolute error. Medians, which need not sum to it, stand
beside them. No rule that looks at an item's own noisy counts and at its kind is better, on average.

With ``--limits`` the oracle knows which limit is best, too: of those given, for each log and each of its answers.
With ``--free`` its tables get all of ε, as if what steers and what is looked at beside them cost nothing.

Errors are told over those of the adaptive method in the same runs; with ``--published``, a file that
``python -m benchmarks.quality.count_accuracy --json FILE`` wrote, over those of the best published method. Noise
is seeded. The logs must be public: nothing here is private.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.quality.count_accuracy import SEVEN, ErrorsBySetting, Truth, described, geometric_mean, settings
from headcount._internal.arrays import Floats
from headcount.accounting.budget import Grant
from headcount.adaptive.estimator import shrink_groups
from headcount.adaptive.light_heavy_estimates import ShrinkageModel
from headcount.adaptive.measure import add_group_noise, release_histogram
from headcount.adaptive.posterior import blocks
from headcount.adaptive.threshold_choice import choose_threshold, estimate_users
from headcount.bounds import FIXED_POINT, Counting, WeightToThreshold
from headcount.engines.local.engine import LocalEngine
from headcount.lab.compare.metrics import mean_absolute_error
from headcount.methods.counts.adaptive import Adaptive
from headcount.noise import SeededNoise
from headcount.noise.stages import split_among_stages

LEVELS = np.linspace(0.2, 0.99, 80)
_CELL = 0.1  # scales of noise: true counts that differ by less are one
_ROWS = 256


class Measured(NamedTuple):
    """What the adaptive method makes its counts of, and the two parts as they are without noise."""

    draft: ShrinkageModel
    parts: Floats


class Best(NamedTuple):
    """What the oracle says of each item: the mean, and the quantile at each of ``LEVELS``, one row a level."""

    means: Floats
    quantiles: Floats

    @property
    def medians(self) -> Floats:
        """The quantiles at the level nearest to one half."""
        return np.asarray(self.quantiles[int(np.argmin(np.abs(LEVELS - 0.5)))])

    def with_sum(self, total: float) -> Floats:
        """Return the quantiles at the one level at which they have a sum, or the nearest there is.

        >>> best = Best(np.zeros(2), np.multiply.outer(LEVELS, [1.0, 3.0]))
        >>> best.with_sum(2.0).round(6).tolist()
        [0.5, 1.5]
        """
        sums = self.quantiles.sum(axis=1)
        place = int(np.clip(np.searchsorted(sums, total), 1, sums.size - 1))
        step = sums[place] - sums[place - 1]
        part = np.clip((total - sums[place - 1]) / step, 0.0, 1.0) if step > 0 else 0.0
        return np.asarray((1 - part) * self.quantiles[place - 1] + part * self.quantiles[place])


def measured(
    truth: Truth, epsilon: str, seed: int, engine: LocalEngine, limit: int | None = None, *, free: bool = False
) -> Measured:
    """Run the adaptive method up to its noisy tables, with a limit or as it chooses one."""
    method, log, grant, noise = Adaptive(what="items"), truth.log, Grant(epsilon), SeededNoise(seed)
    stages = method.stages(log, grant.cost)
    grants = split_among_stages(stages, grant)
    own = split_among_stages(stages[0].parts, grants["activity"])["items"]
    people = estimate_users(log, "items", release_histogram(log, "items", own, noise, engine))
    paying = Grant(epsilon) if free else grants["items"]
    price, measured_at = paying.cost, grants["shares"].cost
    limit = limit or choose_threshold(log, {"items": people}, {"items": price}, profile_cost=measured_at)
    bound = WeightToThreshold(limit, apart=True)
    counted = engine.measure(log, bound, noise.key()).items
    noisy = add_group_noise(counted, paying, noise)
    return Measured(shrink_groups(noisy, people, bound), counted.sensitive_values / FIXED_POINT)


def best_of(draft: ShrinkageModel, parts: Floats, counts: Floats) -> Best:
    """Return what an oracle makes of a draft that knows the true parts and counts of each kind."""
    best = Best(np.empty(counts.size), np.empty((LEVELS.size, counts.size)))
    scale = (draft.distribution.variance / 2) ** 0.5
    light, heavy = draft.noisy.part(slice(0, counts.size))
    for kind in np.unique(draft.level_groups):
        inside = np.flatnonzero(draft.level_groups == kind)
        true = np.vstack([parts[:, inside], counts[inside]])
        cells, copies = np.unique(np.rint(true / (_CELL * scale)), axis=1, return_counts=True)
        rising = np.argsort(cells[2], kind="stable")
        cells, copies = cells[:, rising] * (_CELL * scale), copies[rising]
        for rows in blocks(inside.size, _ROWS):
            items = inside[rows]
            distances = np.abs(light[items, None] - cells[0]) + np.abs(heavy[items, None] - cells[1])
            likely = copies * np.exp((distances.min(axis=1, keepdims=True) - distances) / scale)
            likely /= likely.sum(axis=1, keepdims=True)
            best.means[items] = likely @ cells[2]
            below = np.cumsum(likely, axis=1)
            for item, chances in zip(items.tolist(), below, strict=True):
                places = np.minimum(np.searchsorted(chances, LEVELS), cells.shape[1] - 1)
                best.quantiles[:, item] = cells[2][places]
    return best


def absolute_errors(
    truth: Truth, epsilon: str, seed: int, engine: LocalEngine, limit: int | None = None, *, free: bool = False
) -> dict[str, float]:
    """Return the errors of ours and of the oracle in one run, and what the sums come to."""
    draft, parts = measured(truth, epsilon, seed, engine, limit, free=free)
    released = Adaptive(what="items").release(truth.log, Grant(epsilon), SeededNoise(seed), engine)
    best, whole = best_of(draft, parts, truth.counts), float(truth.counts.sum())
    estimates = {
        "ours": released.items["count"].to_numpy(),
        "means": best.means,
        "right sum": best.with_sum(whole),
        "medians": best.medians,
    }
    errors = {name: float(mean_absolute_error(truth.counts, estimate)) for name, estimate in estimates.items()}
    return errors | {f"sum of {name}": float(estimate.sum()) / whole for name, estimate in estimates.items()}


def mean_errors(
    truth: Truth, epsilon: str, runs: int, engine: LocalEngine, limit: int | None, *, free: bool
) -> dict[str, float]:
    """Return the same on average over runs."""
    every = [absolute_errors(truth, epsilon, seed, engine, limit, free=free) for seed in range(runs)]
    return {statistic: float(np.mean([run[statistic] for run in every])) for statistic in every[0]}


def best_published(errors: ErrorsBySetting) -> float:
    """Return the smallest absolute error of a published method."""
    return min(errors[setting.label]["MAE"] for setting in settings() if setting.group == "published")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.attainable_errors", description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--epsilon", default="0.5")
    parser.add_argument("--count", choices=("users", "records"), default="users")
    parser.add_argument("--logs", default=",".join(SEVEN))
    parser.add_argument("--limits", help="with commas between: the best of them for each log, in hindsight")
    parser.add_argument("--free", action="store_true", help="the oracle's tables get all of ε")
    parser.add_argument(
        "--published", metavar="FILE", help="what benchmarks.quality.count_accuracy wrote with --json"
    )
    given = parser.parse_args()
    published = json.loads(Path(given.published).read_text(encoding="utf-8")) if given.published else {}
    counting: Counting = given.count
    engine = LocalEngine()
    print("| log | ours | oracle: means | quantiles, right sum | medians | sum: ours | medians |")
    print("|---|---|---|---|---|---|---|")
    ratios: list[list[float]] = []
    for name in given.logs.split(","):
        truth = described(name, counting)
        limits = [int(text) for text in given.limits.split(",")] if given.limits else [None]
        arguments = truth, given.epsilon, given.runs, engine
        errors_by_limit = [mean_errors(*arguments, limit, free=given.free) for limit in limits]
        mean = {statistic: min(run[statistic] for run in errors_by_limit) for statistic in errors_by_limit[0]}
        to = best_published(published[f"{counting}|{given.epsilon}|{name}"]) if published else mean["ours"]
        ratios.append([mean[text] / to for text in ("ours", "means", "right sum", "medians")])
        cells = [*ratios[-1], mean["sum of ours"], mean["sum of medians"]]
        print(f"| {name} | {' | '.join(f'{ratio:.2f}' for ratio in cells)} |", flush=True)
    means = [geometric_mean(list(column)) for column in zip(*ratios, strict=True)]
    print(f"| **geometric mean** | {' | '.join(f'{ratio:.3f}' for ratio in means)} | | |")


if __name__ == "__main__":
    main()
