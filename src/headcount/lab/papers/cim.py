"""Zhu, chapter 5: CIM and Laplace noise on coupled records, 10,000 random queries, ε from 0.1 to 1.

Queries take each cell with probability 1/2, and answers are shares of all records. Laplace noise for every query
gets ε / 10,000 of it, since queries are answered one after the other. The thesis declares no couplings and says
only how many there are; so groups like that are drawn at random. Beside CIM stand the methods of Headcount, at the
same ε and for whole groups of so many records.

Departures
    See :mod:`headcount.lab.published.cim`. The thesis does not say how Adult is binned. Figure 5.5 runs
    100,000 queries, here 10,000: what is measured is the number of updates in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount.bounding import LinearQueries
from headcount.budget import Grant
from headcount.events.grid import Grid
from headcount.events.log import EventLog
from headcount.events.people import read_people
from headcount.families import build
from headcount.lab.comparing.trials import Bench, Number, Trial
from headcount.lab.datasets.by_name import Dataset
from headcount.lab.papers.coupling import by_pearson, declared
from headcount.lab.papers.paper import Effort, Paper, Setting
from headcount.lab.published.cim import CoupledIteration, laplace, round_epsilon
from headcount.queries.asked import Asked

QUERIES = 10_000
EPSILONS = tuple(f"{tenths / 10:g}" for tenths in range(1, 11))
QUICK_EPSILONS = ("0.1", "0.4", "0.7", "1")
THRESHOLDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.31, 0.4, 0.7, 1.0)
QUICK_THRESHOLDS = (0.01, 0.1, 0.31, 1.0)
STEPS = (0.1, 0.5, 1.0, 2.0, 4.0, 6.0, 7.0, 8.0, 10.0)
QUICK_STEPS = (0.1, 1.0, 8.0)
GROUPS = {"Adult": 15, "NLTCS": 10, "NetTrace": 10}
"""Table 5.2."""

SHAPES = {"Adult": (16,) * 4, "NLTCS": (2,) * 16, "NetTrace": (4096,)}
"""How many bins each column has."""

METHODS = {"CIM&CS": "cim", "LM&CS": "laplace", "LM&GS": "laplace"}
OURS = ("histogram", "mwem", "pmw")
_HERE = "headcount.lab.papers.cim"


def settings(effort: Effort, datasets: Mapping[str, Dataset]) -> Iterator[Setting]:
    """Return everything that is run."""
    for name in datasets:
        common: dict[str, Any] = {"dataset": name, "function": f"{_HERE}:answered"}
        if name != "NetTrace":  # its records have one attribute: no coefficient can be had from that
            yield Setting(
                experiment="couplings", dataset=name, method="Pearson", function=f"{_HERE}:couplings", runs=1
            )
        yield Setting(experiment="privacy", dataset=name, method="CIM&CS", function=f"{_HERE}:rounds", runs=1)
        for epsilon in QUICK_EPSILONS if effort.quick else EPSILONS:
            for method in (*METHODS, *OURS):
                yield Setting(
                    experiment="budget",
                    method=method,
                    epsilon=float(epsilon),
                    spend=epsilon,
                    parameters={"threshold": 0.3, "eta": 7.0},
                    **common,
                )
        for threshold in QUICK_THRESHOLDS if effort.quick else THRESHOLDS:
            parameters = {"threshold": threshold, "eta": 7.0}
            yield Setting(
                experiment="threshold", method="CIM&CS", epsilon=1.0, x=threshold, parameters=parameters, **common
            )
        for eta in QUICK_STEPS if effort.quick else STEPS:
            parameters = {"threshold": 0.3, "eta": eta}
            yield Setting(experiment="step", method="CIM&CS", epsilon=1.0, x=eta, parameters=parameters, **common)


def answered(bench: Bench, trial: Trial) -> Iterator[Number]:
    """Answer 10,000 queries, and measure the errors of their shares."""
    given = dict(trial.parameters)
    counts = bench.truth.items.astype(np.int64)
    queries = random_queries(counts.size)
    exact = queries.counts(counts) / counts.sum()
    if trial.method in OURS:
        answers = _ours(bench, trial, queries) / counts.sum()
    else:
        answers, updates = _published(bench, trial, counts, queries, given)
        if trial.method == "CIM&CS":
            yield Number(metric="updates", table="items", value=float(updates))
    errors = answers - exact
    yield Number(metric="MSE", table="items", value=float(np.mean(errors**2)))
    yield Number(metric="mean error", table="items", value=float(np.mean(np.abs(errors))))


def _published(
    bench: Bench, trial: Trial, counts: NDArray[np.int64], queries: LinearQueries, given: Mapping[str, Any]
) -> tuple[NDArray[np.float64], int]:
    """Run CIM, or add Laplace noise to every answer."""
    noise, epsilon = bench.noise(trial), float(trial.epsilon)
    largest = GROUPS[trial.dataset]
    draw = np.random.default_rng(noise.words(4).astype(np.uint64).tolist())
    records = declared(places_of(bench), counts.size, largest, draw)
    if trial.method == "CIM&CS":
        asked = Asked(grid=grid_of(SHAPES[trial.dataset]), rows=queries)
        method = CoupledIteration(asked=asked, **given)
        each = round_epsilon(epsilon, method.eta, method.delta0, counts.size)
        return method.iterated(records, queries, each, noise)
    scale = largest / records.size if trial.method == "LM&GS" else records.sensitivities(queries)
    exact = queries.counts(counts) / counts.sum()
    return exact + scale * (queries.size / epsilon) * laplace(noise, queries.size), 0


def _ours(bench: Bench, trial: Trial, queries: LinearQueries) -> NDArray[np.float64]:
    """Run a method of Headcount, for groups as large as the thesis has."""
    shape = SHAPES[trial.dataset]
    asked = Asked(grid=grid_of(shape), rows=queries, max_records=GROUPS[trial.dataset])
    method = build(trial.method, {"asked": asked})
    people = people_of(places_of(bench), shape)
    release = method.release(people, Grant(trial.epsilon), bench.noise(trial), bench.engine)
    return np.asarray(release.answers["answer"].to_numpy(), dtype=np.float64)


def couplings(bench: Bench, trial: Trial) -> Iterator[Number]:
    """Find couplings by Pearson's coefficient over the attributes of the records."""
    shape = SHAPES[trial.dataset]
    bins = np.stack(np.unravel_index(places_of(bench), shape), axis=1)
    found = by_pearson(bins / (np.array(shape) - 1))  # from 0 to 1, so that no column outweighs the others
    yield Number(metric="share of coupled records", table="items", value=found.share)
    yield Number(metric="largest group", table="items", value=float(found.largest))


def rounds(bench: Bench, trial: Trial) -> Iterator[Number]:
    """Say which part of ε each round of CIM has, and how much all rounds together."""
    del trial
    each = round_epsilon(1.0, 7.0, 0.6, bench.truth.items.size)
    yield Number(metric="ε₀ / ε", table="items", value=each)
    yield Number(metric="true ε of all rounds, over ε", table="items", value=each * QUERIES)


def places_of(bench: Bench) -> NDArray[np.int64]:
    """Return the cell of each record."""
    counts = bench.truth.items.astype(np.int64)
    return np.repeat(np.arange(counts.size), counts)


def people_of(places: NDArray[np.int64], shape: tuple[int, ...]) -> EventLog:
    """Return a table of people, one a record, with the columns that their cells are made of."""
    bins = dict(zip(grid_of(shape).columns, np.unravel_index(places, shape), strict=True))
    return read_people(pa.table({"person": np.arange(places.size), **bins}), user="person")


@lru_cache(maxsize=2)
def random_queries(cells: int) -> LinearQueries:
    """Return 10,000 queries that take each cell with probability 1/2, the same for every run."""
    bits = np.random.default_rng(20140331).integers(0, 256, (QUERIES, cells // 8), dtype=np.uint8)
    return LinearQueries.from_bits(bits, cells)


def grid_of(shape: tuple[int, ...]) -> Grid:
    """Return a grid of so many bins in each column."""
    return Grid.of({f"c{place}": {"from": 0, "to": size, "bins": size} for place, size in enumerate(shape)})


CIM = Paper(
    name="cim",
    about="Answering 10,000 queries on records that hang together, while only updates are charged.",
    setup=(
        "Queries take each cell with probability ½; answers are shares of all records. T = 0.3 and η = 7 unless a "
        "figure varies them.",
        "A quarter of the records is coupled at random, in groups of up to as many as table 5.2 says, by degrees "
        "between 0.6 and 1: the thesis says no more of the couplings it used.",
        "LM adds Laplace noise to every answer with ε / 10,000 each; CS is the coupled sensitivity, GS the "
        "largest group times the global one.",
        "CIM is not private: each round alone has more than ε, and 200 rounds without an update tell more than ε "
        "allows; see `headcount audit cim-published`.",
        "histogram, mwem and pmw are Headcount's own, beside: their ε holds, for whole groups as large as table "
        "5.2 says.",
        "Figure 5.5 is run with 10,000 queries in place of 100,000.",
        "The search log is left out on purpose: it was derived in part from the AOL search logs.",
    ),
    methods=METHODS,
    runs=5,
    quick_runs=2,
    pace=0.85,
    settings=settings,
)
