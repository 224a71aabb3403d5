"""Replication of Zhu, chapter 5: CIM and Laplace noise on coupled records, 10,000 random queries, ε 0.1 to 1.

Queries take each cell with probability 1/2, and answers are shares of all records. Laplace noise for every query
gets ε / 10,000 of it, since queries are answered one after the other. The thesis declares no couplings and says
only how many there are; so groups like that are drawn at random, the same for all methods of a run. Beside CIM
stand the methods of Headcount, at the same ε and for whole groups of so many records.

Which cells
    The thesis makes a cell of every combination of attributes. That is 65,536 of NLTCS; of all attributes of Adult
    it would be more than there are records by far, so it must have taken fewer, and does not say which. Over many
    cells random queries all have about half of the records, the uniform table answers them at once, and T and η
    change nothing. Figure 5.4 of Adult ends at 0.0594 where hardly anything is updated, which is then near the
    error of the uniform table: 0.0582 by hours a week, 0.0500 and 0.1047 by the next columns on either side, and
    0.0003 over 65,536 cells of four columns. So Adult is taken by hours a week: a guess by one number, which the
    noise that figures imply does not confirm (it ends at 0.137).

What the figures imply
    Laplace noise of scale b has the MSE 2 b². The figures of LM&CS on Adult, 0.8906, 0.5171 and 0.0850 at ε = 0.3,
    0.4 and 1, all give b = 0.2 / ε, and 5.5350 of CIM at ε = 0.1, where all is noise, gives 0.166 / ε. By the text
    it would be about 3.3 / ε for LM, and 0.0001 / ε for CIM. The experiment "implied" runs CIM with 0.166 / ε.

Departures
    See :mod:`headcount.lab.as_published.cim`. The 100,000 iterations of figure 5.5 ask the 10,000 queries
    ten times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa

from headcount._internal.arrays import Floats, Integers
from headcount.accounting.budget import Grant
from headcount.bounds import LinearQueries
from headcount.events.grid import Grid
from headcount.events.log import EventLog
from headcount.events.user_table import read_people
from headcount.lab.as_published.cim import (
    CoupledRecords,
    Iterated,
    QueryTable,
    accuracy,
    bins_of,
    iterated,
    laplace,
    most_updates,
    round_epsilon,
    update_probabilities,
)
from headcount.lab.as_published.coupled_degrees import CoupledDegrees, pearson_blocks
from headcount.lab.compare.trials import Bench, Number, Trial
from headcount.lab.datasets.by_name import Dataset
from headcount.lab.replicate.paper import Effort, Paper, Setting
from headcount.methods.queries.workload import TableQueries
from headcount.methods.registry import build


@dataclass(frozen=True)
class Couplings:
    """How many others each record is coupled to."""

    others: Integers

    @property
    def share(self) -> float:
        """Which share of the records is coupled to another one."""
        return float((self.others > 0).mean())

    @property
    def largest(self) -> int:
        """How many records are in the largest group: one and those it is coupled to."""
        return int(self.others.max(initial=0)) + 1


def by_pearson(attributes: Floats, delta0: float = 0.6) -> Couplings:
    """Count records whose attributes are correlated by δ₀ or more, either way; all pairs would fill the memory.

    >>> by_pearson(np.array([[1.0, 2, 3], [2, 4, 6], [1, 5, 1], [7, 7, 7]])).others.tolist()
    [1, 1, 0, 0]
    """
    others = [np.empty(0, dtype=np.int64)]
    for start, block in pearson_blocks(attributes):
        rows = np.arange(len(block))
        block[rows, start + rows] = 0  # itself
        others.append(np.count_nonzero(np.abs(block) >= delta0 - 1e-6, axis=1))
    return Couplings(np.concatenate(others))


def declared(size: int, largest: int, draw: np.random.Generator, delta0: float = 0.6) -> CoupledDegrees:
    """Couple a quarter of all records at random, in groups of 2 to ``largest``, each pair by δ₀ to 1."""
    coupled = draw.permutation(size)[: size // 4]
    groups = np.full(size, -1, dtype=np.int64)
    sizes = [largest, *draw.integers(2, largest + 1, coupled.size)]
    groups[coupled] = np.repeat(np.arange(len(sizes)), sizes)[: coupled.size]
    fully = CoupledDegrees.of_groups(groups)
    return CoupledDegrees(size, fully.first, fully.second, draw.uniform(delta0, 1, fully.first.size))


QUERIES = 10_000
ITERATIONS = 100_000
"""Of figure 5.5."""

EPSILONS = tuple(f"{tenths / 10:g}" for tenths in range(1, 11))
QUICK_EPSILONS = ("0.1", "0.3", "0.4", "0.7", "1")
THRESHOLDS = (0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.31, 0.36, 0.4, 0.5, 0.6, 0.71, 0.85, 1.0)
QUICK_THRESHOLDS = (0.01, 0.25, 0.31, 0.36, 0.4, 0.5, 1.0)
STEPS = (0.1, 0.5, 1.0, 2.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0)
QUICK_STEPS = (0.1, 6.0, 8.0)
GROUPS = {"Adult": 15, "NLTCS": 10, "NetTrace": 10}
"""Table 5.2."""

COLUMNS = "Adult, 4 columns"
SHAPES = {"Adult": (99,), COLUMNS: (16,) * 4, "NLTCS": (2,) * 16, "NetTrace": (4096,)}
"""How many bins each column has."""

METHODS = {"CIM&CS": "cim", "LM&CS": "laplace", "LM&GS": "laplace"}
OURS = ("histogram", "mwem", "pmw")
THRESHOLD, ETA, DELTA0 = 0.3, 7.0, 0.6
BETA = 0.05
"""How often theorem 5.5.1 may be wrong: the thesis leaves it open."""

IMPLIED = 0.166
"""The scale of noise, times ε, that the MSE of CIM on Adult at ε = 0.1 implies."""

_HERE = "headcount.lab.replicate.cim"
_OUR_RUNS = 3  # they stand beside, and no claim is about them


def settings(effort: Effort, datasets: Mapping[str, Dataset]) -> Iterator[Setting]:
    """Return everything that is run."""
    for name in datasets:
        if len(SHAPES[name]) > 1:  # of one attribute no coefficient can be had
            yield Setting(
                experiment="couplings", dataset=name, method="Pearson", function=f"{_HERE}:couplings", runs=1
            )
        if name in GROUPS:
            yield Setting(experiment="privacy", dataset=name, method="CIM&CS", function=f"{_HERE}:rounds", runs=1)
            yield from _answering(effort, name)


def _answering(effort: Effort, name: str) -> Iterator[Setting]:
    """Return the settings of figures 5.1 to 5.5 on a data set."""
    common: dict[str, Any] = {"dataset": name, "function": f"{_HERE}:answered"}
    usual = {"threshold": THRESHOLD, "eta": ETA}
    epsilons = QUICK_EPSILONS if effort.quick else EPSILONS
    for epsilon in epsilons:
        at = {"epsilon": float(epsilon), "spend": epsilon, **common}
        for method in METHODS:
            yield Setting(experiment="budget", method=method, parameters=usual, **at)
        if epsilon in QUICK_EPSILONS:
            for method in OURS:
                yield Setting(
                    experiment="budget", method=method, parameters=usual, runs=min(effort.runs, _OUR_RUNS), **at
                )
        if name == "Adult":
            yield Setting(experiment="implied", method="CIM&CS", parameters={**usual, "scale": IMPLIED}, **at)
    for threshold in QUICK_THRESHOLDS if effort.quick else THRESHOLDS:
        given: dict[str, Any] = {**usual, "threshold": threshold}
        yield Setting(
            experiment="threshold", method="CIM&CS", epsilon=1.0, x=threshold, parameters=given, **common
        )
        if name == "Adult":
            given = {**given, "scale": IMPLIED}
            yield Setting(
                experiment="implied by T", method="CIM&CS", epsilon=1.0, x=threshold, parameters=given, **common
            )
    for eta in QUICK_STEPS if effort.quick else STEPS:
        given = {**usual, "eta": eta, "rounds": ITERATIONS}
        yield Setting(experiment="step", method="CIM&CS", epsilon=1.0, x=eta, parameters=given, **common)


def answered(bench: Bench, trial: Trial) -> Iterator[Number]:
    """Answer 10,000 queries, and measure the errors of their shares."""
    counts = bench.truth.items.astype(np.int64)
    table = query_table(counts.tobytes())
    if trial.method == "CIM&CS":
        yield from _iterated(bench, trial, coupled_records(counts.tobytes(), trial.dataset, trial.run))
        return
    if trial.method in OURS:
        answers = _ours(bench, trial, table.queries) / table.size
    else:
        scale = np.full(table.exact.size, GROUPS[trial.dataset] / table.size)
        if trial.method == "LM&CS":
            scale = coupled_records(counts.tobytes(), trial.dataset, trial.run).sensitivities
        epsilon_per_query = float(trial.epsilon) / table.queries.size
        answers = table.exact + scale / epsilon_per_query * laplace(bench.noise(trial), table.exact.size)
    yield from _errors(answers - table.exact)


def _iterated(bench: Bench, trial: Trial, records: CoupledRecords) -> Iterator[Number]:
    """Run CIM, and hold what came out against what its lemmas and its theorem say."""
    given, exact = dict(trial.parameters), records.table.exact
    threshold, eta, rounds = given["threshold"], given["eta"], given.get("rounds", exact.size)
    cells = records.table.queries.cells
    scales = records.sensitivities / round_epsilon(float(trial.epsilon), eta, DELTA0, cells)
    if "scale" in given:
        scales = np.full(exact.size, given["scale"] / float(trial.epsilon))
    scales, exact = np.resize(scales, rounds), np.resize(exact, rounds)
    noisy = exact + scales * laplace(bench.noise(trial), rounds)
    done = iterated(records, noisy, threshold=threshold, step=eta * DELTA0)
    errors = done.answers - exact
    yield from _errors(errors)
    yield from _held_against(
        done, float(np.abs(errors).max()), scales, threshold, most_updates(eta, DELTA0, cells)
    )


def _errors(errors: Floats) -> Iterator[Number]:
    yield Number(metric="MSE", table="items", value=float(np.mean(errors**2)))
    yield Number(metric="mean error", table="items", value=float(np.mean(np.abs(errors))))


def _held_against(
    done: Iterated, largest: float, scales: Floats, threshold: float, most: float
) -> Iterator[Number]:
    """Measure updates and the largest error, by themselves and against what the thesis proves of them."""
    expected = float(update_probabilities(threshold, done.furthest, scales).sum())
    bound = accuracy(threshold, BETA, float(scales.max()), scales.size)
    for metric, value in {
        "updates": done.updates,
        "updates over those of lemma 4": done.updates / most,
        "updates beyond corollary 2": done.updates - expected,
        "largest error over that of theorem 5.5.1": largest / bound,
    }.items():
        yield Number(metric=metric, table="items", value=float(value))


@lru_cache(maxsize=3)
def query_table(counts: bytes) -> QueryTable:
    """Return a table with what is asked of it: all trials on a data set share it."""
    held = np.frombuffer(counts, dtype=np.int64)
    return QueryTable(held, random_queries(held.size))


@lru_cache(maxsize=32)
def coupled_records(counts: bytes, dataset: str, run: int) -> CoupledRecords:
    """Return the records of a table with the couplings of a run, which all of its trials share."""
    table = query_table(counts)
    places = places_of(table.counts)
    draw = np.random.default_rng([20140331, crc32(dataset.encode()), run])
    return CoupledRecords(table, places, declared(places.size, GROUPS[dataset], draw, DELTA0))


def _ours(bench: Bench, trial: Trial, queries: LinearQueries) -> Floats:
    """Run a method of Headcount, for groups as large as the thesis has."""
    shape = SHAPES[trial.dataset]
    table_queries = TableQueries(grid=grid_of(shape), rows=queries, max_records=GROUPS[trial.dataset])
    method = build(trial.method, {"table_queries": table_queries})
    users = people_of(places_of(bench.truth.items.astype(np.int64)), shape)
    release = method.release(users, Grant(trial.epsilon), bench.noise(trial), bench.engine)
    return np.asarray(release.answers["answer"].to_numpy(), dtype=np.float64)


def couplings(bench: Bench, trial: Trial) -> Iterator[Number]:
    """Find couplings by Pearson's coefficient over the attributes of the records."""
    places = places_of(bench.truth.items.astype(np.int64))
    coupling = by_pearson(bins_of(places, grid_of(SHAPES[trial.dataset])), DELTA0)
    yield Number(metric="share of coupled records", table="items", value=coupling.share)
    yield Number(metric="largest group", table="items", value=float(coupling.largest))


def rounds(bench: Bench, trial: Trial) -> Iterator[Number]:
    """Say which part of ε each round of CIM has, and how much all rounds together."""
    del trial
    epsilon_share = round_epsilon(1.0, ETA, DELTA0, bench.truth.items.size)
    yield Number(metric="ε₀ / ε", table="items", value=epsilon_share)
    yield Number(metric="true ε of all rounds, over ε", table="items", value=epsilon_share * QUERIES)


def places_of(counts: Integers) -> Integers:
    """Return the cell of each record."""
    return np.repeat(np.arange(counts.size), counts)


def people_of(places: Integers, shape: tuple[int, ...]) -> EventLog:
    """Return a table of people, one a record, with the columns that their cells are made of."""
    bins = dict(zip(grid_of(shape).columns, np.unravel_index(places, shape), strict=True))
    return read_people(pa.table({"person": np.arange(places.size), **bins}), user="person")


@lru_cache(maxsize=2)
def random_queries(cells: int) -> LinearQueries:
    """Return 10,000 queries that take each cell with probability 1/2, the same for every run."""
    bits = np.random.default_rng(20140331).integers(0, 256, (QUERIES, -(-cells // 8)), dtype=np.uint8)
    if cells % 8:
        bits[:, -1] &= (1 << cells % 8) - 1
    return LinearQueries.from_bits(bits, cells)


def grid_of(shape: tuple[int, ...]) -> Grid:
    """Return a grid of so many bins in each column."""
    return Grid.from_mapping(
        {f"c{place}": {"from": 0, "to": size, "bins": size} for place, size in enumerate(shape)}
    )


CIM = Paper(name="cim", methods=METHODS, runs=10, quick_runs=2, pace=0.85, settings=settings)
