"""Replication of Zhu, chapter 4: PriTop against tag suppression and the true data.

One resource of each user is hidden, everything is learnt from the rest, and FolkRank looks for the hidden tags.
Beside them run what is private here: the tag model, with and without a person's own tags, and the most popular
tags at the same ε and δ.

Departures
    What PriTop's text leaves open is said in :mod:`headcount.lab.as_published.pritop`. In each run at most
    400 questions are asked, spread over all users. All methods of one run share what is hidden, and all ε the
    topics before noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount.accounting.budget import Grant
from headcount.bounds import NO_SECRET
from headcount.bounds.tags.tag_weights import TagWeights
from headcount.engines.local.encoded_rows import collect_rows
from headcount.events.encode.passes import EncodedLog
from headcount.events.log import EventLog, read_events
from headcount.events.tag_log import Tagging, TagLog
from headcount.lab.as_published.pritop_operations import Replaced, replaced
from headcount.lab.as_published.suppression import most_used
from headcount.lab.compare.tags import (
    Assignments,
    Hidden,
    by_folkrank,
    by_model,
    by_popularity,
    leave_one_out,
    loss_by_user,
    recall_and_precision,
    semantic_loss,
)
from headcount.lab.compare.trials import Bench, Number, Trial, numbers_of, seed_of
from headcount.lab.datasets.by_name import Dataset
from headcount.lab.replicate.paper import Effort, Paper, Setting
from headcount.lab.replicate.results import LOG, Results, Row
from headcount.lab.tags.topics import enough_tags, fit_topics, largest_factor
from headcount.methods.tags.model import TagModel
from headcount.noise import SeededNoise, add_noise

EPSILONS, LOSS_EPSILONS = tuple(f"{tenths / 10:g}" for tenths in range(1, 11)), ("0.1", "0.3", "0.5", "0.7", "1")
QUICK_EPSILONS = ("0.1", "0.5", "0.7", "0.8", "1")
TOPICS, QUICK_TOPICS = tuple(range(10, 101, 10)), (10, 60, 100)
USUAL_TOPICS = 100
BEND = 60
"""Where the semantic loss is said to stop falling fast on MovieLens."""
PERTURBED, SELECTED = {"topics": 10, "alpha": 0.1, "delta": 0.5}, {"topics": 100, "alpha": 0.5, "delta": 0.5}
"""Where theorems 4.4.1 and 4.4.2 are tried, both at ε = 1."""
DRAWN_LENGTHS = (1, 5, 10)
QUESTIONS = 400
DELTA = "1e-6"
OURS = ("1", "4", "8")
LISTS = {
    "true": "FolkRank on the true data",
    "suppression 0.8": "suppression (0.8)",
    "suppression 0.6": "suppression (0.6)",
    "pritop": "pritop-published (ε = 1)",
}
"""What the methods of the figures are called."""

SUPPRESSED = {0.8: LISTS["suppression 0.8"], 0.6: LISTS["suppression 0.6"]}
_HERE = "headcount.lab.replicate.pritop"
_SHIFT = 32  # bits for the tag in the number of a pair


def settings(effort: Effort, datasets: Mapping[str, Dataset]) -> Iterator[Setting]:
    """Return everything that is run; what one run measures at several ε is told apart afterwards."""
    for name in datasets:
        yield Setting(experiment="sizes", dataset=name, method=LOG, function=f"{_HERE}:sizes", runs=1)
        for many in QUICK_TOPICS if effort.quick else TOPICS:
            yield Setting(
                experiment="measured losses",
                dataset=name,
                method="pritop-published",
                x=float(many),
                parameters={"topics": many},
                function=f"{_HERE}:losses",
            )
        yield Setting(
            experiment="measured lists",
            dataset=name,
            method="all",
            parameters={"quick": effort.quick},
            function=f"{_HERE}:lists",
        )


def sizes(bench: Bench, _: Trial) -> Iterator[Number]:
    """Measure table 4.2."""
    tagging = tagging_of(bench.log)
    counts = {
        "records": tagging.size,
        "users": tagging.people,
        "resources": tagging.resources,
        "tags": tagging.tags,
    }
    return numbers_of(counts)


def losses(bench: Bench, trial: Trial) -> Iterator[Number]:
    """Measure figure 4.1: how far PriTop moves tags, for every ε, and what tag suppression deletes."""
    tagging, draws = tagging_of(bench.log), _draws(bench, trial)
    many = int(dict(trial.parameters)["topics"])
    model = fit_topics(tagging, many, int(draws.integers(0, 1 << 62)))
    for epsilon in LOSS_EPSILONS:
        done = replaced(tagging, model, float(epsilon), draws)
        yield Number(metric="SLoss", key=epsilon, value=semantic_loss(done.users, done.distances))
        if epsilon == "1":
            yield from theorems(tagging, done, many)
    if many == USUAL_TOPICS:
        yield Number(metric="SLoss", key=LISTS["suppression 0.8"], value=_deleted(tagging, 0.8))


def theorems(tagging: Tagging, done: Replaced, many: int) -> Iterator[Number]:
    """Measure what theorems 4.4.1 and 4.4.2 say at ε = 1, each where it is tried."""
    there = np.bincount(tagging.user, minlength=tagging.people) > 0
    if many == PERTURBED["topics"]:
        least = enough_tags(many, 1.0, PERTURBED["alpha"], PERTURBED["delta"])
        tags = np.bincount(np.unique(np.stack([tagging.user, tagging.tag]), axis=1)[0], minlength=tagging.people)
        lost = loss_by_user(done.users, (~done.stays).astype(np.float64), tagging.people)
        groups = {"users with many tags": there & (tags >= least), "users with fewer tags": there & (tags < least)}
        for name, group in groups.items():
            if group.any():
                yield Number(metric="loss in the perturbation", key=name, value=float(lost[group].mean()))
        if groups["users with many tags"].any():
            beyond = lost[groups["users with many tags"]] > PERTURBED["alpha"]
            yield Number(metric="share of users that lose more than α", value=float(beyond.mean()))
    if many == SELECTED["topics"]:
        # each of its terms is at least 1: Q is no less than the number of candidates
        most = np.zeros(tagging.people, dtype=np.int64)
        np.maximum.at(most, done.users, done.candidates[done.topics])
        meets_condition = most[there] <= largest_factor(1.0, SELECTED["alpha"], SELECTED["delta"])
        yield Number(metric="share of users that meet the condition on Q", value=float(meets_condition.mean()))


def lists(bench: Bench, trial: Trial) -> Iterator[Number]:
    """Measure figures 4.2 to 4.5: recall and precision of lists of 1 to 10 tags, for every method."""
    quick = bool(dict(trial.parameters)["quick"])
    draws = _draws(bench, trial)
    hidden = leave_one_out(tagging_of(bench.log), int(draws.integers(0, 1 << 62))).some(QUESTIONS)
    yield from _measured(LISTS["true"], hidden, by_folkrank(hidden))
    for kept, name in SUPPRESSED.items():
        yield from _measured(name, hidden, by_folkrank(hidden, hidden.left.where(most_used(hidden.left, kept))))
    yield from _ours(hidden, SeededNoise(int(draws.integers(0, 1 << 62))))
    model = fit_topics(hidden.left, USUAL_TOPICS, int(draws.integers(0, 1 << 62)))
    for epsilon in QUICK_EPSILONS if quick else EPSILONS:
        published = replaced(hidden.left, model, float(epsilon), draws).published(draws)
        yield from _measured(f"pritop-published (ε = {epsilon})", hidden, by_folkrank(hidden, published))


def _ours(hidden: Hidden, noise: SeededNoise) -> Iterator[Number]:
    """Measure what is private: the tag model, and the most popular tags, at the same ε and δ."""
    names = [str(place) for place in range(hidden.left.resources)]
    log = TagLog.listing([], resources=names, vocabulary=[str(place) for place in range(hidden.left.tags)])
    for epsilon in OURS:
        release = TagModel().release(log, Grant(epsilon, DELTA), noise, Assignments(hidden.left))
        for name, own in (("tag-model", True), ("tag-model without own tags", False)):
            yield from _measured(f"{name} (ε = {epsilon})", hidden, by_model(hidden, release, own=own))
        popular = add_noise(
            Assignments(hidden.left).measure(log, TagWeights("l2"), NO_SECRET), Grant(epsilon, DELTA), noise
        )
        yield from _measured(f"popularity (ε = {epsilon})", hidden, by_popularity(hidden, popular.counts))


def _measured(name: str, hidden: Hidden, best: NDArray[np.integer]) -> Iterator[Number]:
    for metric, values in zip(("recall", "precision"), recall_and_precision(hidden, best), strict=True):
        for longest, value in enumerate(values.tolist(), 1):
            yield Number(metric=metric, k=longest, key=name, value=value)


def _deleted(tagging: Tagging, kept: float) -> float:
    """Return the semantic loss of tag suppression: a deleted tag counts 1."""
    entries, of_entry = np.unique(np.stack([tagging.user, tagging.tag]), axis=1, return_inverse=True)
    is_deleted = np.ones(entries.shape[1])
    is_deleted[of_entry.ravel()[most_used(tagging, kept)]] = 0.0
    return semantic_loss(entries[0], is_deleted)


def derived(results: Results) -> Iterator[Row]:
    """Tell apart what runs measured at several ε, and return what claims and charts look for besides."""
    rows = results.table.to_pylist()
    yield from _of_losses([row for row in rows if row["experiment"] == "measured losses"])
    yield from _of_lists([row for row in rows if row["experiment"] == "measured lists"])


def _of_losses(rows: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """Return semantic losses by ε, beside those of tag suppression, and what belongs to the theorems."""
    rival, at_one = LISTS["suppression 0.8"], {}
    deleted = {(row["dataset"], row["run"]): row["value"] for row in rows if row["key"] == rival}
    for row in rows:
        where, key = (row["dataset"], row["run"]), row["key"]
        plain = dict(row) | {"key": None}
        if row["metric"] != "SLoss":
            yield Row(**plain | {"experiment": "theorems", "method": key or row["method"], "x": None})
        elif key == rival:
            plain |= {"method": key, "x": None}
            yield Row(**plain | {"experiment": "semantic loss of suppression"})
            yield Row(**plain | {"experiment": "losses drawn"})
        else:
            yield Row(**plain | {"experiment": "losses drawn", "method": f"{row['method']} (ε = {key})"})
            plain |= {"experiment": "semantic loss", "epsilon": float(key)}
            yield Row(**plain)
            if where in deleted:
                ratio = {"metric": "over suppression", "value": row["value"] / deleted[where]}
                yield Row(**plain | ratio)
            if key == "1":
                at_one[*where, row["x"]] = row["value"]
    for dataset, run in deleted:
        parts = {"K up to 60": (TOPICS[0], BEND), "K from 60 on": (BEND, TOPICS[-1])}
        for name, (few, many) in parts.items():
            fall = (at_one[dataset, run, few] - at_one[dataset, run, many]) / (many - few)
            yield Row("topics", dataset, name, "items", 1.0, None, "fall of SLoss per topic", None, run, fall)


def _of_lists(rows: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """Return recall and precision by method and by ε, ratios and t-tests."""
    values: dict[tuple[str, int, str, str], list[float]] = {}
    for row in rows:
        plain = dict(row) | {"key": None}
        yield Row(**plain | {"experiment": "lists", "method": row["key"]})
        method, _, epsilon = row["key"].removesuffix(")").partition(" (ε = ")
        if method == "pritop-published":
            plain |= {"epsilon": float(epsilon)}
            yield Row(**plain | {"experiment": "budget", "method": method})
            if row["x"] in DRAWN_LENGTHS:
                yield Row(**plain | {"experiment": "budget drawn", "method": f"N = {row['x']:g}", "x": None})
        values.setdefault((row["dataset"], row["run"], row["metric"], row["key"]), []).append(row["value"])
    for (dataset, run, metric, method), ours in values.items():
        if method != LISTS["pritop"]:
            continue
        rival, truth = (values[dataset, run, metric, LISTS[label]] for label in ("suppression 0.8", "true"))
        derived_rows = [("t-test", f"t of {metric}", _t(ours, rival))]
        if metric == "recall":
            derived_rows += [("ratios", "recall over suppression (0.8)", ours[-1] / rival[-1])]
            derived_rows += [("ratios", "recall over the true data", ours[-1] / truth[-1])]
        for experiment, what, value in derived_rows:
            yield Row(experiment, dataset, method, "items", None, None, what, None, run, float(value))


def _t(ours: Sequence[float], others: Sequence[float]) -> float:
    """Return the t of a paired test.

    >>> round(_t([0.5, 0.7, 0.6], [0.4, 0.5, 0.5]), 3)
    4.0
    """
    apart = np.subtract(ours, others)
    return float(apart.mean() / (apart.std(ddof=1) / np.sqrt(apart.size)))


def pairs_as_items(data: Dataset) -> EventLog:
    """Return a log whose items are pairs of resource and tag: there are far fewer than resources times tags."""
    batches = list(data.log.source.batches(["user", "item", "tag"]))
    table = pa.Table.from_batches(batches)
    resource, tag = (table[name].to_numpy().astype(np.int64) for name in ("item", "tag"))
    pair = (resource << _SHIFT) | tag
    pair_rows = pa.table({"user": table["user"], "item": pair})
    return replace(
        read_events(pair_rows, user="user", item="item", items=np.unique(pair).tolist()), counting="users"
    )


def tagging_of(log: EventLog) -> Tagging:
    """Read the assignments of a log whose items are pairs; resources and tags are those that occur."""
    rows = collect_rows(EncodedLog(log))
    pairs = np.array(log.catalogue.ids, dtype=np.int64)[rows.cells]
    resources, resource = np.unique(pairs >> _SHIFT, return_inverse=True)
    tags, tag = np.unique(pairs & ((1 << _SHIFT) - 1), return_inverse=True)
    users, user = np.unique(rows.users, return_inverse=True)
    return Tagging.from_codes(user, resource, tag, people=users.size, resources=resources.size, tags=tags.size)


def _draws(bench: Bench, trial: Trial) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed_of(bench.seed, trial.identity)))


PRITOP = Paper(
    name="pritop",
    methods={
        "PriTop": "pritop-published",
        "tag suppression": "suppression-published",
        "non-private": "FolkRank on what is left, as it is",
    },
    runs=5,
    quick_runs=2,
    pace=35.0,
    settings=settings,
    log_of=pairs_as_items,
    derived=derived,
)
