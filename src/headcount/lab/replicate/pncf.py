"""Replication of Zhu's thesis, chapter 3: private neighbour collaborative filtering (PNCF).

As in the thesis, one random rating of each user is held back and predicted from all others (all but one), by items
and by users, with Pearson's correlation and the cosine, for k = 5 to 50 neighbours and ε = 1. DP is the naive
exponential mechanism with global sensitivity, RS&NM the same with recommendation-aware sensitivity, and PNCF adds
truncated similarity.

Departures
    A rating is a context with five public values, so that it is packed with the log. See
    :mod:`headcount.lab.as_published.pncf` for where the thesis is silent, or prints what cannot be
    meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from headcount._internal.arrays import Floats, Integers
from headcount.engines.local.encoded_rows import collect_rows
from headcount.events.contexts import Context
from headcount.events.encode.passes import EncodedLog
from headcount.events.log import EventLog
from headcount.lab.as_published.pncf import Settings
from headcount.lab.as_published.pncf_operations import Mechanism, truncation
from headcount.lab.compare.trials import Bench, Number, Trial, numbers_of, run_name, seed_of
from headcount.lab.datasets.by_name import Dataset
from headcount.lab.recommender.candidates import By, Candidates, Split, candidates, split_one_per_user
from headcount.lab.recommender.neighbourhood import Neighbourhood, fit_ratings
from headcount.lab.recommender.ratings import Ratings
from headcount.lab.recommender.similarity import Metric
from headcount.lab.replicate.paper import Effort, Paper, Setting
from headcount.lab.replicate.pncf_derived_rows import BUDGETED, CONFIGURATIONS, KS, OURS, derived, tables
from headcount.lab.replicate.results import LOG

STARS = ("1", "2", "3", "4", "5")
WITHIN = (1.0, 5.0)
EPSILONS = tuple(f"{tenths / 10:g}" for tenths in range(1, 11))
QUICK_EPSILONS = ("0.1", "0.4", "0.7", "1")
BUDGET_K, PRINTED_K = 35, 40
DELTA = "1e-6"

MECHANISMS: Mapping[str, Mapping[str, Any]] = {
    "PNCF": {},
    "RS&NM": {"truncated": False},
    "DP": {"truncated": False, "sensitivity": "global"},
}
PLAIN, USER_MEAN = "non-private", "user mean"
_HERE = "headcount.lab.replicate.pncf"


def settings(effort: Effort, datasets: Mapping[str, Dataset]) -> Iterator[Setting]:
    """Return everything that is run; all k even if it is to be quick, since the t-tests pair over them."""
    for name in datasets:
        yield Setting(experiment="sizes", dataset=name, method=LOG, function=f"{_HERE}:facts", runs=1)
        for configuration in CONFIGURATIONS:
            common: dict[str, Any] = {"dataset": name, "run_as": configuration, "epsilon": 1.0, "spend": "1"}
            for method in (PLAIN, *MECHANISMS):
                words = {"configuration": configuration, "as": method}
                yield Setting(
                    experiment=configuration, method=method, function=f"{_HERE}:measured",
                    parameters={**words, "ks": KS}, **common,
                )  # fmt: skip
                yield Setting(
                    experiment="as printed", method=f"{method}, {configuration}", function=f"{_HERE}:measured",
                    parameters={**words, "ks": (PRINTED_K,), "signed": True}, **common,
                )  # fmt: skip
            for method in (USER_MEAN, OURS):
                yield Setting(
                    experiment=configuration, method=method, function=f"{_HERE}:without_neighbours",
                    parameters={"as": method, "ks": KS}, **common,
                )  # fmt: skip
        for configuration in BUDGETED:
            for epsilon in QUICK_EPSILONS if effort.quick else EPSILONS:
                yield Setting(
                    experiment=f"budget {configuration}", dataset=name, method="PNCF", x=float(epsilon),
                    spend=epsilon, run_as=configuration, function=f"{_HERE}:measured",
                    parameters={"configuration": configuration, "as": "PNCF", "ks": (BUDGET_K,)},
                )  # fmt: skip


def with_ratings(data: Dataset) -> EventLog:
    """Return the log with ratings as its context; records without one are in the unknown context."""
    return replace(data.log, context=Context(("rating",), (STARS,)))


def ratings_in(log: EventLog) -> Ratings:
    """Read the ratings from a log that has them as its context."""
    rows = collect_rows(EncodedLog(log))
    rated = rows.cells % log.width < len(STARS)
    what = rows.cells[rated].astype(np.int64)
    _, who = np.unique(rows.users[rated], return_inverse=True)  # only those who rated
    return Ratings.from_pairs(who, what // log.width, 1.0 + what % log.width, n_items=len(log.catalogue.ids))


@dataclass(frozen=True)
class _Kept:
    """What trials of one run share: the split, and the candidates of one configuration."""

    log: EventLog
    name: tuple[str, str]
    split: Split
    some: Candidates | None


_kept: list[_Kept] = []


def _shared(bench: Bench, trial: Trial, configuration: str) -> tuple[Split, Candidates | None]:
    """Return the split of a run, and the candidates of a configuration, which the last trial may have had."""
    run = run_name(bench.seed, trial.dataset, trial.run)
    last = _kept[-1] if _kept and _kept[-1].log is bench.log and _kept[-1].name[0] == run else None
    if last is None or (configuration and last.name[1] != configuration):
        split = last.split if last else split_one_per_user(ratings_in(bench.log), seed_of(bench.seed, run))
        some = None
        if configuration:
            near = neighbourhood(configuration, 1)
            alike = near.compared(split.train, sensitivity=True)
            some = candidates(split.train, split.queries, near.by, alike)
        last = _Kept(bench.log, (run, configuration), split, some)
        _kept[:] = [last]
    return last.split, last.some


def neighbourhood(configuration: str, k: int, *, signed: bool = False) -> Neighbourhood:
    """Return the method that a name such as item-pcc stands for."""
    by, metric = configuration.split("-")
    return Neighbourhood(by=cast("By", by), metric=cast("Metric", metric), k=k, within=WITHIN, signed=signed)


def facts(bench: Bench, trial: Trial) -> Iterator[Number]:  # noqa: ARG001 - what all functions of trials take
    """Say how many ratings there are, of how many users, about how many items."""
    ratings = ratings_in(bench.log)
    yield from numbers_of(
        {
            "ratings": ratings.values.size,
            "users": ratings.n_users,
            "items": np.unique(ratings.items).size,
            "mean rating": ratings.mean,
        }
    )


def measured(bench: Bench, trial: Trial) -> Iterator[Number]:
    """Measure the MAE of one method in one configuration, for each k."""
    words = dict(trial.parameters)
    split, some = _shared(bench, trial, words["configuration"])
    if some is None:
        raise ValueError("a neighbourhood method has candidates")
    noise = bench.noise(trial)
    for k in words["ks"]:
        near = neighbourhood(words["configuration"], k, signed=words.get("signed", False))
        if words["as"] == PLAIN:
            places, similarity = near.nearest(some)
        else:
            mechanism = Mechanism(epsilon=float(trial.epsilon), **MECHANISMS[words["as"]])
            places, similarity = Settings(neighbourhood=near, mechanism=mechanism).chosen(some, noise)
            if mechanism.truncated:
                yield from _theorems(some, places, k, mechanism)
        predicted = near.predict_candidates(some, places, similarity)
        yield Number(metric="MAE", table="items", k=k, value=split.mean_absolute_error(predicted))


def _theorems(some: Candidates, places: Integers, k: int, mechanism: Mechanism) -> Iterator[Number]:
    """Measure what theorems 3.4.1 and 3.4.2 bound, and how many similarities truncation changes at all."""
    at_k, w = truncation(some, k, mechanism)
    low, high = at_k - w, at_k + w
    below = some.similarity[places] < low[some.query[places]] - 1e-9
    missed = some.similarity > high[some.query] + 1e-9
    missed[places] = False
    shares = {
        "share of selections with a neighbour below s_k - w": _touched(some.query[places][below]),
        "share of selections without one above s_k + w": _touched(some.query[missed]),
    }
    for metric, many in shares.items():
        yield Number(metric=metric, table="items", k=k, value=many / some.base.size)
    raised = (some.similarity < low[some.query] - 1e-9).mean()
    yield Number(metric="share of similarities that truncation raises", table="items", k=k, value=float(raised))


def _touched(queries: Integers) -> int:
    return int(np.unique(queries).size)


def without_neighbours(bench: Bench, trial: Trial) -> Iterator[Number]:
    """Measure what needs no k, the user's mean or the proven method: the same for each k."""
    words = dict(trial.parameters)
    split, _ = _shared(bench, trial, "")
    means = split.train.means[split.queries.users]
    predicted = means if words["as"] == USER_MEAN else _predict_privately(split, trial, bench)
    for k in words["ks"]:
        yield Number(metric="MAE", table="items", k=k, value=split.mean_absolute_error(predicted))


def _predict_privately(split: Split, trial: Trial, bench: Bench) -> Floats:
    """Fit the proven model, and let each user predict from their own ratings."""
    model = fit_ratings(split.train, trial.epsilon, DELTA, WITHIN, bench.noise(trial))
    predicted = np.empty(split.truth.size)
    for place, (user, item) in enumerate(zip(*split.queries, strict=True)):
        predicted[place] = model.predict(*split.train.of_user(user), np.array([item], dtype=np.int32))[0]
    return predicted


PNCF = Paper(
    name="pncf",
    methods={
        "non-private": "plain neighbourhood method",
        "PNCF": "pncf-published",
        "RS&NM": "pncf-published without truncation",
        "DP, GS&NM": "pncf-published without truncation, with global sensitivity",
    },
    runs=20,
    quick_runs=3,
    pace=0.25,
    settings=settings,
    log_of=with_ratings,
    derived=derived,
    tables=tables,
)
