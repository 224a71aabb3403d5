"""Recall of private visit models for new users: ``python -m benchmarks.quality.visit_models recall|ages|hours``.

``recall``: in each run 80 % of the people of a log, drawn at random, are who a model is fitted to. Of each of the
others 80 % of the items, rounded up, drawn at random, are what they are known to have, and the rest is the truth.
Recall@20 is how many of the 20 items recommended are true, over 20 or over how many are true if these are fewer:
the mean over those people who have any truth, and over the runs. Beside it stand the items that most people of the
80 % have, counted exactly, and with --exact a linear model without privacy (EASE, λ = 500), for small catalogues.

``ages``: the same on MovieLens-1M, with the age of a person as the context of all they rated, and how well the
same model recommends with and without it.

``hours``: the same on Foursquare, with the quarter of the day of each visit as its context. A person is
recommended items in each quarter, and what is true is what they visited in it.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from headcount.accounting.budget import Grant
from headcount.events.log import EventLog, read_events
from headcount.methods.recommender.recommender import NeighbourModel
from headcount.methods.recommender.visit_model import VisitModel
from headcount.noise import SeededNoise

Codes = NDArray[np.int64]
Numbers = NDArray[np.float64]

DELTA = "1e-6"
K = 20
PART = 0.8
RIDGE = 500.0
CATALOGUES = {
    "movielens-1m": "movielens-1m-items",
    "movielens-100k": "movielens-100k-items",
    "hetrec-lastfm-plays": "hetrec-lastfm-artists",
    "msweb": "msweb-items",
}
"""Where the items of a log are listed; those of others are taken to be numbered, all numbers being public."""


class Events:
    """Who has what, each once, sorted by person; and what is told of a person beside."""

    def __init__(self, name: str, about: str | None = None) -> None:
        folder = Path(os.environ.get("HEADCOUNT_DATA", "../shared/data"))
        columns = ["user", "item", *([about] if about else [])]
        table = pq.read_table(folder / f"{name}.parquet", columns=columns).drop_null()
        listed = (
            table["item"]
            if name not in CATALOGUES
            else pq.read_table(folder / f"{CATALOGUES[name]}.parquet")["item"]
        )
        self.catalogue = np.unique(listed.to_numpy())
        people, users = np.unique(table["user"].to_numpy(), return_inverse=True)
        keys = np.unique(users * self.catalogue.size + np.searchsorted(self.catalogue, table["item"].to_numpy()))
        self.users, self.items = np.divmod(keys, self.catalogue.size)
        self.people = people.size
        self.about = np.empty(people.size, dtype=object)
        if about:
            self.about[users] = [str(value) for value in table[about].to_pylist()]

    def log(self, which: NDArray[np.bool_], *, context: bool) -> EventLog:
        """Describe the events of some people as a log."""
        users, items = self.users[which], self.items[which]
        table = pa.table({"user": users, "item": items, "about": self.about[users].tolist() if context else users})
        options: dict[str, Any] = {}
        if context:
            options = {"context": "about", "contexts": ",".join(sorted(set(self.about.tolist())))}
        return read_events(table, user="user", item="item", items=list(range(self.catalogue.size)), **options)


class Split:
    """Who a model is fitted to, and what is known, and true, of the others."""

    def __init__(self, events: Events, seed: int) -> None:
        rng = np.random.default_rng(seed)
        fitted = np.zeros(events.people, dtype=bool)
        fitted[rng.permutation(events.people)[: int(PART * events.people)]] = True
        self.fitted = fitted[events.users]
        users, items = events.users[~self.fitted], events.items[~self.fitted]
        order = np.lexsort((rng.random(users.size), users))
        cuts = np.flatnonzero(np.diff(users)) + 1
        self.people = users[np.concatenate([[0], cuts])]
        drawn = np.split(items[order], cuts)
        many = [int(np.ceil(PART * items.size)) for items in drawn]
        self.profiles = [items[:count] for items, count in zip(drawn, many, strict=True)]
        self.truth = [items[count:] for items, count in zip(drawn, many, strict=True)]

    def recall(self, scores: Callable[[int, Codes], Numbers]) -> float:
        """Return the mean recall of the best items that are not known; a person is given by their number too."""
        recalls = []
        for person, profile, truth in zip(self.people.tolist(), self.profiles, self.truth, strict=True):
            if truth.size:
                expected = scores(person, profile).copy()
                expected[profile] = -np.inf
                best = np.argpartition(-expected, K)[:K]
                recalls.append(np.isin(best, truth).sum() / min(K, truth.size))
        return float(np.mean(recalls))


def fitted(log: EventLog, epsilon: str, seed: int) -> NeighbourModel:
    return NeighbourModel(VisitModel().release(log, Grant(epsilon, DELTA), SeededNoise(seed)))


def linear(events: Events, split: Split) -> Callable[[int, Codes], Numbers]:
    """Fit EASE, without privacy."""
    from scipy import sparse

    users, items = events.users[split.fitted], events.items[split.fitted]
    incidence = sparse.csr_matrix(
        (np.ones(users.size), (users, items)), shape=(events.people, events.catalogue.size)
    )
    inverse = np.linalg.inv((incidence.T @ incidence).toarray() + RIDGE * np.eye(events.catalogue.size))
    weights = -inverse / np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    return lambda _, profile: np.asarray(weights[profile].sum(axis=0))


def _scoring(
    model: NeighbourModel, events: Events, lifts: Mapping[str, Numbers]
) -> Callable[[int, Codes], Numbers]:
    """Return what a model expects of a person, in the context that is told of them if its lifts are given."""
    return lambda person, profile: model.habits.scores(profile, lifts.get(events.about[person]))


def recall(name: str, epsilons: list[str], runs: int, *, exact: bool) -> None:
    events = Events(name)
    print(f"{name}: {events.people:,} people, {events.catalogue.size:,} items; Recall@{K} of {runs} runs")
    splits = [Split(events, seed) for seed in range(runs)]
    popular = []
    for split in splits:
        people = np.bincount(events.items[split.fitted], minlength=events.catalogue.size).astype(np.float64)
        popular.append(split.recall(lambda *_, people=people: people))
    _print_recall("popular, exact", popular)
    if exact:
        _print_recall("linear, exact", [split.recall(linear(events, split)) for split in splits])
    for epsilon in epsilons:
        recalls, chosen = [], []
        for seed, split in enumerate(splits):
            model = fitted(events.log(split.fitted, context=False), epsilon, seed)
            recalls.append(split.recall(_scoring(model, events, {})))
            chosen.append(model.release.chosen["model"])
        chosen_means = ", ".join(
            f"{np.mean([choice[key] for choice in chosen]):.0f} {key}" for key in ("items", "factors")
        )
        _print_recall(f"ε = {epsilon}, δ = {DELTA}", recalls, f"   {chosen_means}")


def ages(epsilons: list[str], runs: int) -> None:
    events = Events("movielens-1m", "age")
    print(f"movielens-1m, ages as contexts; Recall@{K} of {runs} runs")
    for epsilon in epsilons:
        rows: dict[str, list[float]] = {"without": [], "with the context": []}
        for seed in range(runs):
            split = Split(events, seed)
            model = fitted(events.log(split.fitted, context=True), epsilon, seed)
            rows["without"].append(split.recall(_scoring(model, events, {})))
            lifts = {context: model.lifts(context) for context in model.release.contexts or ()}
            rows["with the context"].append(split.recall(_scoring(model, events, lifts)))
        for how, recalls in rows.items():
            _print_recall(f"ε = {epsilon}, {how}", recalls)


def hours(epsilons: list[str], runs: int) -> None:
    folder = Path(os.environ.get("HEADCOUNT_DATA", "../shared/data"))
    table = pq.read_table(folder / "foursquare-nyc.parquet", columns=["user", "item", "minute"])
    people, users = np.unique(table["user"].to_numpy(), return_inverse=True)
    catalogue, items = np.unique(table["item"].to_numpy(), return_inverse=True)
    quarters = (table["minute"].to_numpy() // 360 % 4).astype(str)
    print(f"foursquare-nyc, quarters of the day as contexts; Recall@{K} of {runs} runs")
    for epsilon in epsilons:
        rows: dict[str, list[float]] = {"without": [], "with the context": []}
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            drawn = rng.permutation(people.size)[: int(PART * people.size)]
            which = np.isin(users, drawn)
            events = pa.table({"user": users[which], "item": items[which], "quarter": quarters[which]})
            options: dict[str, Any] = {
                "items": list(range(catalogue.size)),
                "context": "quarter",
                "contexts": "0,1,2,3",
            }
            model = fitted(read_events(events, user="user", item="item", **options), epsilon, seed)
            recalls: dict[str, list[float]] = {how: [] for how in rows}
            for person in np.setdiff1d(np.arange(people.size), drawn):
                own, when = items[users == person], quarters[users == person]
                mixed = rng.permutation(np.unique(own))
                profile, rest = np.split(mixed, [int(np.ceil(PART * mixed.size))])
                for quarter in model.release.contexts or ():
                    truth = np.intersect1d(rest, own[when == quarter])
                    if truth.size:
                        for how, lifts in (("without", None), ("with the context", model.lifts(quarter))):
                            expected = model.habits.scores(profile, lifts)
                            expected[profile] = -np.inf
                            best = np.argpartition(-expected, K)[:K]
                            recalls[how].append(np.isin(best, truth).sum() / min(K, truth.size))
            for how, values in recalls.items():
                rows[how].append(float(np.mean(values)))
        for how, means in rows.items():
            _print_recall(f"ε = {epsilon}, {how}", means)


def _print_recall(what: str, recalls: list[float], more: str = "") -> None:
    print(f"{what:<26}{np.mean(recalls):.4f} ± {np.std(recalls):.4f}{more}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["recall", "ages", "hours"])
    parser.add_argument("--log", default="movielens-1m")
    parser.add_argument("--epsilon", nargs="*", default=["1", "4", "8"])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--exact", action="store_true")
    given = parser.parse_args()
    begin = time.perf_counter()
    if given.part == "recall":
        recall(given.log, given.epsilon, given.runs, exact=given.exact)
    else:
        {"ages": ages, "hours": hours}[given.part](given.epsilon, given.runs)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{time.perf_counter() - begin:.0f} s, at most {peak:.2f} GiB")


if __name__ == "__main__":
    main()
