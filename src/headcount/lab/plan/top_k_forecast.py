"""Forecast of the share of correct top-K items, from public figures: the commands run on synthetic logs.

A log is made up that is like the figures say (:mod:`headcount.lab.synthetic.from_figures`), and ranked by
``rank`` and by ``release`` with ``top``, as they are, with seeded noise. Nothing of any real log goes into it. So
the noise is exact, whatever a command does, and the rest is the model: how active people are, and how popular
items. Several laws of popularity are tried, and the range tells how much hangs on that.

A log of many people is made smaller by a factor, with ε larger by the same: all noise is then smaller as counts
are, and the forecast is the same but for what chance does to small counts. With δ it is ρ that is larger, by the
square of that factor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from headcount._internal.arrays import Flags, Floats
from headcount.accounting.budget import Cost
from headcount.accounting.zcdp import epsilon_for
from headcount.engines.engine import Progress, silent
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError, param
from headcount.lab.compare.caching_engine import CachingEngine
from headcount.lab.compare.metrics import in_top
from headcount.lab.compare.rankings import places_of
from headcount.lab.compare.trial_grid import DEFAULT_SEED
from headcount.lab.compare.trials import Bench, Trial, Truth
from headcount.lab.plan.predicted_errors import Figures
from headcount.lab.synthetic.from_figures import log_like
from headcount.methods.counts import FAMILY as COUNTS
from headcount.methods.prediction.errors import TableShape
from headcount.methods.prediction.popularity import (
    POPULARITY_MODELS,
    SLOPES,
    share_for,
    shares_through,
    shifted_zipf_shares,
)
from headcount.methods.rankings import FAMILY as RANKINGS
from headcount.releases.formatting import some
from headcount.releases.release import Release

if TYPE_CHECKING:
    from collections.abc import Sequence


Command = Literal["rank", "release"]

LEVEL = 0.95
READABLE = 0.5
"""A count can be read if it is off by no more than this share of it."""

RUNS = 8
MOST_RECORDS = 300_000
"""About how many records a made-up log has at most."""

_LARGEST = Decimal("1e6")  # ε that any command takes
_LARGEST_WITH_DELTA = Decimal("1e4")


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What to expect of a top K: how many are right, and over all laws and runs how few and how many.

    ``apart``: items that differ by so many people or more are put in the right order, 95 % of them. ``readable``:
    counts of so many people or more are off by at most a half, 95 % of them. None: no such number was met. Neither
    is told more finely than ``grain``, the people that one person of the made-up log stands for.
    """

    way: Command
    epsilon: float
    table: str
    k: int
    right: float
    low: float
    high: float
    apart: int | None
    readable: int | None
    grain: int = 1

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def forecast_top_k(
    figures: Figures,
    epsilons: Sequence[str],
    k: int,
    *,
    delta: str | None = None,
    kth_count: int | None = None,
    runs: int = RUNS,
    progress: Progress = silent,
) -> list[Expected]:
    """Forecast the top K of items, and of each context; ``kth_count`` is how many people have the item at place K.

    With ``delta``, counts have Gaussian noise.

    >>> from headcount.methods.prediction.errors import lognormal_activity
    >>> activity = lognormal_activity(users=900, median=2, most=2)
    >>> figures = Figures(shapes={"items": TableShape(activity, 5, distinct=True)})
    >>> [(forecast.way, forecast.right) for forecast in forecast_top_k(figures, ["50"], 1, kth_count=600, runs=2)]
    [('rank', 1.0), ('release', 1.0)]
    """
    shape = figures.shapes["items"]
    if k > shape.cells:
        raise UsageError(f"k must be at most {shape.cells:,}, the number of items", given=k)
    if not shape.activity.total_records > 0:
        raise UsageError(
            "the released histogram shows nobody", remedy=f"give {param.users}, {param.median} and {param.max}"
        )
    progress("making logs up", 0, None)
    laws = [_SyntheticLog.from_figures(figures, law) for law in popularity_distributions(figures, k, kth_count)]
    tables = ("items", "edges") if figures.width > 1 else ("items",)
    ways: tuple[Command, ...] = ("rank", "release")
    combinations = list(product(epsilons, tables, ways))
    forecasts = []
    for done, (epsilon, table, command) in enumerate(combinations):
        progress("ranking them", done, len(combinations))
        forecasts.append(_forecast_one(laws, Cost.of(epsilon, delta), table, k, command, runs))
    return forecasts


def popularity_distributions(figures: Figures, k: int, kth_count: int | None) -> list[Floats]:
    """Return laws of popularity, the likeliest first: as released, through a place that is known, or as usual."""
    shape = figures.shapes["items"]
    if kth_count is not None:
        if not shape.distinct:
            raise UsageError(
                f"{param.kth} is of people, and the other figures are of records",
                remedy=f"give figures of different items of a person, and add {param.count('users')}",
            )
        share = share_for(shape.activity, kth_count)
        if k * share > 1:
            raise UsageError(
                f"{some(k, 'item')} of {some(kth_count, 'person', 'people')} or more are more than people have",
                remedy=f"check {param.kth} and the other figures",
            )
        return [shares_through(shape.cells, k, share, slope) for slope in SLOPES.values()]
    if figures.popularity is not None and figures.popularity.tells(k):
        return [figures.popularity.shares()]
    return [shifted_zipf_shares(shape.cells, *law) for law in POPULARITY_MODELS.values()]


@dataclass(frozen=True)
class _SyntheticLog:
    """A made-up log with its truth, of which one person stands for so many."""

    bench: Bench
    stands_for: float

    @classmethod
    def from_figures(cls, figures: Figures, shares: Floats) -> _SyntheticLog:
        """Make a log up that is like the figures say, or smaller."""
        shape: TableShape = figures.shapes["items"]
        activity = shape.activity
        size = min(1.0, MOST_RECORDS / activity.total_records)
        users = max(1, round(activity.total_users * size))
        stands_for = activity.total_users / users
        log = log_like(activity, shares, people=users, distinct=shape.distinct, contexts=figures.width - 1)
        engine = CachingEngine(LocalEngine(threads=1), "outlook")
        return cls(Bench(log, Truth.count(log, engine), engine, DEFAULT_SEED), stands_for)

    def releases(self, price: Cost, table: str, k: int, command: Command, runs: int) -> Iterator[Release]:
        """Run a command so often, with ε larger as there are fewer people."""
        delta = f"{price.delta:f}" if price.delta else None
        scaled = f"{self._scaled(price):.12f}"
        parameters: dict[str, Any] = {"k": k, "per_context": table == "edges"}
        method = RANKINGS.default
        if command == "release":
            method, parameters = COUNTS.default, {"what": "both" if table == "edges" else "items"}
            parameters |= {"noise": "gaussian"} if delta else {}
        for run in range(runs):
            if isinstance(self.bench.engine, CachingEngine):
                self.bench.engine.begin()
            yield self.bench.release(
                Trial.for_dataset("made up", method, epsilon=scaled, delta=delta, run=run, **parameters)
            )

    def _scaled(self, price: Cost) -> Decimal:
        """Return the ε at which noise is as much smaller as there are fewer people."""
        times = Decimal(repr(self.stands_for))
        if price.delta and times > 1:
            return min(max(price.epsilon, epsilon_for(price.rho * times**2, price.delta)), _LARGEST_WITH_DELTA)
        return min(price.epsilon * times, _LARGEST)

    def columns(self, table: str) -> Floats:
        """Return true counts, one row for each ranking."""
        truth = self.bench.truth
        return truth.edges.T[:-1] if table == "edges" else truth.items[None]

    def scores(self, release: Release, table: str, k: int) -> Floats:
        """Return in which order items come out, one row for each ranking: what is not listed has the score 0."""
        columns = self.columns(table)
        if "ranking" not in release.tables:
            counts = release.tables[table]["count"].to_numpy()
            return np.asarray(counts.reshape(columns.shape[1], -1).T[: len(columns)])
        scores = np.zeros(columns.shape)
        for row, places in zip(scores, places_of(release, self.bench.log), strict=True):
            row[places] = np.arange(k, k - len(places), -1)
        return scores


def _forecast_one(
    laws: Sequence[_SyntheticLog], price: Cost, table: str, k: int, command: Command, runs: int
) -> Expected:
    """Forecast one top K, in one way."""
    right: list[list[float]] = []
    apart: list[tuple[Floats, Floats]] = []
    read: list[tuple[Floats, Flags]] = []
    for place, synthetic_log in enumerate(laws):
        columns = synthetic_log.columns(table)
        right.append([])
        for release in synthetic_log.releases(price, table, k, command, runs if place == 0 else max(1, runs // 2)):
            scores = synthetic_log.scores(release, table, k)
            right[-1].append(float(np.mean([_right(*entry, k) for entry in zip(columns, scores, strict=True)])))
            if place == 0:
                apart += [
                    _pairs(*entry, k, synthetic_log.stands_for) for entry in zip(columns, scores, strict=True)
                ]
                if command == "release":
                    read.append(
                        (columns.ravel() * synthetic_log.stands_for, _readable(columns.ravel(), scores.ravel()))
                    )
    every = [entry for mine in right for entry in mine]
    return Expected(
        way=command,
        epsilon=float(price.epsilon),
        table=table,
        k=k,
        right=float(np.mean(right[0])),
        low=min(every),
        high=max(every),
        apart=_smallest_reliable_difference(apart),
        readable=_smallest_reliable_difference(read) if read else None,
        grain=int(np.ceil(laws[0].stands_for)),
    )


def _right(truth: Floats, scores: Floats, k: int) -> float:
    """Return how many of the true top K are in the one that came out, equal ones in random order.

    >>> _right(np.array([9.0, 7.0, 5.0]), np.array([2.0, 0.0, 1.0]), 2)
    1.0
    """
    return float((in_top(truth, k) * in_top(scores, k)).sum())


def _pairs(truth: Floats, scores: Floats, k: int, stands_for: float) -> tuple[Floats, Floats]:
    """Return by how many people two items differ, and whether they came out in order, for items around the top K.

    Equal scores are half right; of pairs that are both not listed nothing is known.

    >>> [part.tolist() for part in _pairs(np.array([9.0, 7.0, 4.0]), np.array([1.0, 2.0, 0.0]), 1, 10.0)]
    [[20.0], [0.0]]
    """
    around = np.argsort(-truth, kind="stable")[: 2 * k]
    first, second = np.triu_indices(around.size, 1)
    first, second = around[first], around[second]
    is_ranked = (scores[first] > 0) | (scores[second] > 0)
    first, second = first[is_ranked], second[is_ranked]
    right = (scores[first] > scores[second]) + 0.5 * (scores[first] == scores[second])
    return (truth[first] - truth[second]) * stands_for, right


def _readable(truth: Floats, released: Floats) -> Flags:
    return np.asarray(np.abs(released - truth) <= READABLE * truth) & (truth > 0)


def _smallest_reliable_difference(measured: Sequence[tuple[Floats, Any]]) -> int | None:
    """Return the size from which on 95 % are right, however far one goes from there; None if there is none.

    >>> _smallest_reliable_difference([(np.array([1.0, 2.0, 3.0, 4.0]), np.array([False, True, False, True]))])
    4
    """
    sizes, right = (np.concatenate(arrays) for arrays in zip(*measured, strict=True))
    order = np.argsort(sizes, kind="stable")
    ahead = np.concatenate([[0.0], np.cumsum(right[order] - LEVEL)])
    first = int(np.argmin(ahead))
    return None if first == order.size else int(np.ceil(sizes[order][first]))


_ALIKE = 0.5  # items: a smaller difference decides nothing


def readable(counts: Expected, epsilon: str) -> str:
    """Say from how many people on a count of a release tells something."""
    if counts.readable is None:
        return f"At ε = {epsilon} no count of a single item is readable."
    users = some(max(counts.readable, counts.grain), "person", "people")
    return f"At ε = {epsilon}, counts of items that {users} or more have are readable."


def better_command(forecasts: Sequence[Expected]) -> Expected:
    """Return the way to go: where both find about as many, counts, which tell more."""
    rank, release = forecasts
    return release if release.right >= rank.right - _ALIKE else rank


def sentences(forecasts: Sequence[Expected]) -> str:
    """Say whether the top K will be right, and which way is the better one."""
    chosen = better_command(forecasts)
    k, right = chosen.k, chosen.right
    if right >= 0.9 * k:
        lines = [f"Yes: about {right:.0f} of {k:,} will be right."]
    elif right >= 0.5 * k:
        lines = [f"For the most part: about {right:.0f} of {k:,} will be right."]
    else:
        lines = [f"No: about {right:.0f} of {k:,} will be right. Ask for fewer, or spend more."]
    if chosen.high - chosen.low > 0.3 * k:
        lines[0] += (
            " How popular items are matters much here: with --kth, or from a release (--activity), the range is "
            "smaller."
        )
    return " ".join([*lines, _why(forecasts)])


def _why(forecasts: Sequence[Expected]) -> str:
    rank, release = forecasts
    if better_command(forecasts) is rank:
        return "A ranking without counts is the better way:"
    more = "more" if release.right > rank.right + _ALIKE else "as many"
    return f"Counts that are ranked find {more}, and tell more:"
