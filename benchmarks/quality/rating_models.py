"""Error of private rating models: ``python -m benchmarks.quality.rating_models real|simulated|related``.

``real``: the first 2,999 people of MovieLens-1M, those whose ratings are in HEADCOUNT_DATA. A model is fitted to
80 % of each person's ratings and predicts the other 20 %; the mean absolute error and the root of the mean squared
one over several splits, predictions not rounded, without fitting factors anew and as chosen.

``simulated``: whether relations between items pay for more people than there are. A model of ratings is fitted to
one half of the real people, without privacy, and makes up many more; private models are fitted to these, with
relations, fitted anew and not, and without, and judged on the other half of the real people, who are in none of
them. How the made-up
people rate was fixed before relations were tuned: see RANK, RIDGE and ROUNDS.

``related``: which ten of the 300 most common films belong to each of the 100 most common, by private co-counts of
all 6,040 people, and how many of these the exact co-counts name, of everything people have.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from headcount.accounting.budget import Grant
from headcount.bounds import FIXED_POINT, NO_SECRET, SampleRecords
from headcount.bounds.ratings.rating_covariance import RatingCovariance
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.events.log import EventLog, read_events
from headcount.methods.recommender.co_occurrence import CoOccurrence
from headcount.methods.recommender.rating_model import RatingModel
from headcount.methods.recommender.recommender import NeighbourModel
from headcount.noise import SeededNoise
from headcount.releases.formatting import per_cent

Codes = NDArray[np.int64]
Numbers = NDArray[np.float64]
Options = dict[str, bool]

RANK, RIDGE, ROUNDS = 8, 5.0, 15
DELTA = "1e-6"
WAYS: dict[str, Options] = {
    "offsets alone": {"relations": False},
    "not fitted anew": {"refine": False},
    "chosen": {},
}


@dataclass(frozen=True)
class Ratings:
    """Who gave how many stars to what, sorted by person."""

    users: Codes
    items: Codes
    stars: Numbers
    size: int

    def taken(self, which: NDArray[np.bool_]) -> Ratings:
        return replace(self, users=self.users[which], items=self.items[which], stars=self.stars[which])

    def log(self) -> EventLog:
        table = pa.table({"user": self.users, "item": self.items, "stars": self.stars})
        items = [str(item) for item in range(self.size)]
        return read_events(table, user="user", item="item", value="stars", value_range="1,5", items=items)


def movielens() -> Ratings:
    """Read the ratings of MovieLens-1M that there are: those of its first 2,999 people."""
    folder = Path(os.environ.get("HEADCOUNT_DATA", "../shared/data"))
    table = pq.read_table(folder / "movielens-1m.parquet", columns=["user", "item", "rating"])
    table = table.filter(table["rating"].is_valid()).sort_by([("user", "ascending"), ("item", "ascending")])
    catalogue = np.sort(pq.read_table(folder / "movielens-1m-items.parquet")["item"].to_numpy())
    users = np.unique(table["user"].to_numpy(), return_inverse=True)[1]
    items = np.searchsorted(catalogue, table["item"].to_numpy())
    return Ratings(users, items, table["rating"].to_numpy().astype(np.float64), catalogue.size)


def training(users: Codes, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw 80 % of each person's ratings."""
    order = np.lexsort((rng.random(users.size), users))
    many = np.bincount(users)
    rank = np.empty(users.size, dtype=np.int64)
    rank[order] = np.arange(users.size) - np.repeat(np.cumsum(many) - many, many)
    return np.asarray(rank < np.ceil(0.8 * many[users]))


def errors(model: NeighbourModel, ratings: Ratings, in_training: NDArray[np.bool_]) -> Numbers:
    """Return the mean absolute and the root mean squared error of predicting each person's ratings not known."""
    tastes = model.tastes
    residuals = []
    for own in np.split(np.arange(ratings.users.size), np.flatnonzero(np.diff(ratings.users)) + 1):
        own_in_training = in_training[own]
        expected = tastes.predict(ratings.items[own[own_in_training]], ratings.stars[own[own_in_training]])
        residuals.append(expected[ratings.items[own[~own_in_training]]] - ratings.stars[own[~own_in_training]])
    away = np.concatenate(residuals)
    return np.array([np.abs(away).mean(), np.sqrt(np.square(away).mean())])


def fit(log: EventLog, epsilon: str, delta: str | None, seed: int, options: Options) -> NeighbourModel:
    release = RatingModel(**options).release(log, Grant(epsilon, delta), SeededNoise(seed))
    return NeighbourModel(release)


def format_errors(error_pairs: list[Numbers]) -> str:
    """Return the means of both errors, and the deviation of the first."""
    absolute, squared = np.mean(error_pairs, axis=0)
    return f"{absolute:.4f} / {squared:.4f} ± {np.std(error_pairs, axis=0)[0]:.4f}"


def real(runs: int, epsilons: list[str]) -> None:
    ratings = movielens()
    print(
        f"MovieLens-1M, {ratings.users.max() + 1:,} people, {runs} splits; mean absolute / root mean squared error"
    )
    for epsilon in epsilons:
        for delta in (DELTA, None):
            errors_by_model: dict[str, list[Numbers]] = {name: [] for name in ("not fitted anew", "chosen")}
            for seed in range(runs):
                in_training = training(ratings.users, np.random.default_rng(seed))
                log = ratings.taken(in_training).log()
                for name, model_errors in errors_by_model.items():
                    model = fit(log, epsilon, delta, seed, WAYS[name])
                    model_errors.append(errors(model, ratings, in_training))
            privacy = f"ε = {epsilon}, δ = {delta}" if delta else f"ε = {epsilon}, pure"
            both = "   ".join(
                f"{name} {format_errors(model_errors)}" for name, model_errors in errors_by_model.items()
            )
            print(f"{privacy:<22}{both}   {model.release.chosen['model']}", flush=True)


@dataclass(frozen=True)
class SyntheticUsers:
    """A model that makes up people: what they rate, and how.

    Ratings follow a factor analysis: a person's taste is standard normal before anything is known of them. A
    made-up person has the level and a draw of the posterior taste of a real one, and rates as many items, drawn by
    the real one's row in a smoothed table of who rated what.
    """

    mean: float
    offsets: Numbers
    levels: Numbers
    factors: Numbers
    tastes: Numbers
    spreads: Numbers
    chance: float
    rows: Numbers
    activity: Codes

    @classmethod
    def from_ratings(cls, ratings: Ratings) -> SyntheticUsers:
        """Fit by expectation and maximisation."""
        people, items, users = int(ratings.users.max()) + 1, ratings.items, ratings.users
        mean = float(ratings.stars.mean())
        many, rated = np.bincount(users, minlength=people), np.bincount(items, minlength=ratings.size)
        offsets = np.bincount(items, ratings.stars - mean, ratings.size) / (rated + 10)
        levels = np.bincount(users, ratings.stars - mean - offsets[items], people) / (many + 5)
        left = ratings.stars - mean - offsets[items] - levels[users]
        factors, variance = np.random.default_rng(0).normal(0, 0.3, (ratings.size, RANK)), float(left.var())
        tastes, spreads = np.zeros((people, RANK)), np.zeros((people, RANK, RANK))
        for _ in range(ROUNDS):
            for person in range(people):
                own = slice(*np.searchsorted(users, [person, person + 1]))
                own_factors = factors[items[own]]
                spreads[person] = np.linalg.inv(own_factors.T @ own_factors / variance + np.eye(RANK))
                tastes[person] = spreads[person] @ own_factors.T @ left[own] / variance
            moments = spreads + tastes[:, :, None] * tastes[:, None, :]
            summed = np.zeros((ratings.size, RANK, RANK))
            np.add.at(summed, items, moments[users])
            meeting = np.zeros((ratings.size, RANK))
            np.add.at(meeting, items, left[:, None] * tastes[users])
            factors[:] = np.linalg.solve(summed + RIDGE * variance * np.eye(RANK), meeting[:, :, None])[:, :, 0]
            explained = (tastes[users] * factors[items]).sum(axis=1)
            doubt = np.einsum("ni,nij,nj->n", factors[items], spreads[users], factors[items])
            variance = float(((left - explained) ** 2 + doubt).mean())
        table = np.zeros((people, ratings.size))
        table[users, items] = 1
        left_side, values, right_side = np.linalg.svd(table, full_matrices=False)
        rows = np.maximum(left_side[:, :RANK] * values[:RANK] @ right_side[:RANK], 0.1 * rated / people)
        return cls(mean, offsets, levels, factors, tastes, spreads, variance**0.5, rows, many)

    def people(self, number: int, rng: np.random.Generator) -> Ratings:
        """Make people up."""
        like = rng.integers(0, self.levels.size, number)
        activity = np.minimum(self.activity[like], np.count_nonzero(self.rows, axis=1)[like] - 1)
        with np.errstate(divide="ignore"):
            logs = np.log(self.rows)
        chosen = [
            np.argpartition(-(logs[user] + rng.gumbel(size=logs.shape[1])), many)[:many]
            for user, many in zip(like, activity, strict=True)
        ]
        halves = np.linalg.cholesky(self.spreads)
        tastes = self.tastes[like] + np.einsum("nij,nj->ni", halves[like], rng.normal(size=(number, RANK)))
        users, items = np.repeat(np.arange(number), activity), np.concatenate(chosen)
        stars = self.mean + self.offsets[items] + self.levels[like][users] + rng.normal(0, self.chance, items.size)
        stars += (tastes[users] * self.factors[items]).sum(axis=1)
        return Ratings(users, items, np.clip(np.rint(stars), 1, 5), self.offsets.size)


def simulated(runs: int, sizes: list[int], epsilons: list[str]) -> None:
    ratings = movielens()
    lot = np.random.default_rng(0).permutation(int(ratings.users.max()) + 1)
    first = np.isin(ratings.users, lot[: lot.size // 2])
    first_half = ratings.taken(first)
    crowd = SyntheticUsers.from_ratings(
        replace(first_half, users=np.unique(first_half.users, return_inverse=True)[1])
    )
    others = ratings.taken(~first)
    print("Fitted to made-up people, judged on real ones: mean absolute / root mean squared error")
    for number in sizes:
        log = crowd.people(number, np.random.default_rng(1)).log()
        for epsilon in epsilons:
            errors_by_way: dict[str, list[Numbers]] = {name: [] for name in WAYS}
            for seed in range(runs):
                in_training = training(others.users, np.random.default_rng(seed))
                for name, options in WAYS.items():
                    model = fit(log, epsilon, DELTA, seed, options)
                    errors_by_way[name].append(errors(model, others, in_training))
            error_texts = "   ".join(
                f"{name} {format_errors(model_errors)}" for name, model_errors in errors_by_way.items()
            )
            print(
                f"{number:>9,} people, ε = {epsilon:<4} {error_texts}   {model.release.chosen['model']}",
                flush=True,
            )


def exact_lists(pairs: Numbers, size: int) -> Codes:
    """Return the ten most related of each item: what meets most above chance, relative to chance and 50 people."""
    table = np.zeros((size, size))
    table[np.triu_indices(size, 1)] = pairs
    table += table.T
    meetings = table.sum(axis=1)
    chance = np.outer(meetings, meetings) / meetings.sum()
    lifts = (table - chance) / (chance + 50)
    np.fill_diagonal(lifts, -np.inf)
    return np.argsort(-lifts, axis=1, kind="stable")[:, :10]


def related(runs: int) -> None:
    folder = Path(os.environ.get("HEADCOUNT_DATA", "../shared/data"))
    events, items = folder / "movielens-1m.parquet", folder / "movielens-1m-items.parquet"
    log = read_events(events, user="user", item="item", items=str(items))

    ids = log.catalogue.column.to_pylist()
    people = (
        LocalEngine()
        .measure(replace(log, counting="users"), SampleRecords(10**6), bytes(16))
        .items.sensitive_values
    )
    common = np.sort(np.argsort(-people, kind="stable")[:300])
    exact = exact_lists(
        LocalEngine().measure(log, RatingCovariance(10**6, "l2", common), NO_SECRET).sensitive_values
        / FIXED_POINT,
        300,
    )
    wanted = {
        ids[common[at]]: {ids[common[other]] for other in related_items} for at, related_items in enumerate(exact)
    }
    common_items = [ids[place] for place in np.argsort(-people, kind="stable")[:100]]
    for epsilon in ("0.5", "1", "2", "4", "8"):
        for delta in (DELTA, None):
            shared = []
            for seed in range(runs):
                released = CoOccurrence(items=300).release(log, Grant(epsilon, delta), SeededNoise(seed))
                model = NeighbourModel(released)
                for item in common_items:
                    with suppress(UsageError):  # noise may leave it out of the 300
                        shared.append(len(wanted[item] & {row["item"] for row in model.related(item, 10)}) / 10)
            share = per_cent(float(np.mean(shared)))
            print(f"ε = {epsilon}, {f'δ = {delta}' if delta else 'pure':<10} {share} of ten in common")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["real", "simulated", "related"])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--people", type=int, nargs="+", default=[3_000, 10_000, 50_000])
    parser.add_argument("--epsilon", nargs="+", default=["0.5", "1", "2", "4", "8"])
    given = parser.parse_args()
    begin = time.perf_counter()
    if given.part == "real":
        real(given.runs, given.epsilon)
    elif given.part == "simulated":
        simulated(given.runs, given.people, given.epsilon)
    else:
        related(given.runs)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{time.perf_counter() - begin:.0f} s, at most {peak:.2f} GiB")


if __name__ == "__main__":
    main()
