"""Noisy count tables: noise, reconciliation and intervals, shared by all count methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from headcount._internal.arrays import Floats
from headcount.accounting.budget import Cost, Grant
from headcount.accounting.noise_distributions import NoiseDistribution, NoiseKind
from headcount.adaptive.estimator import LEVEL
from headcount.bounds import BoundedCounts, Counting, CountTable, Noisy, SampleRecords
from headcount.bounds.counts.activity_histogram import BINS, UPPER_ENDS, lower_ends
from headcount.events.log import EventLog
from headcount.methods.counts import EDGES, ITEMS
from headcount.methods.method import (
    ONE_ID,
    PUBLIC_CATALOGUE,
    What,
    describe_cost,
    tables_of,
)
from headcount.noise import NoiseSource, add_noise
from headcount.noise.stages import Stage
from headcount.releases.intervals import Term, consistent_half_widths, half_width
from headcount.releases.reconcile import Weights, reconcile

Counts = Floats

NOUNS = {table.name: table.noun for table in (ITEMS, EDGES)}


def assumptions(declared: str) -> tuple[str, ...]:
    """Return what a count method takes for granted; ``declared`` names what the caller chose.

    >>> assumptions("the limit of 10 was")[1]
    'the limit of 10 was chosen without looking at the log'
    """
    return (PUBLIC_CATALOGUE, f"{declared} chosen without looking at the log", ONE_ID)


def at_most(limit: int, log: EventLog) -> str:
    """Say what one person may add: every display of a bounded count shows it."""
    unit = "record"
    if log.counting == "users":
        unit = "different item" if log.context is None else "different pair of item and context"
    unit = unit if limit == 1 else unit.replace("pair", "pairs") if "pair" in unit else f"{unit}s"
    return f"at most {limit:,} {unit} per person"


def table_stages(what: What | None, log: EventLog, limit: int, kind: NoiseKind, share: str) -> list[Stage]:
    """Return a stage for each table of kept records, with an equal share; with Gaussian noise they share ρ."""
    moved = SampleRecords(limit).sensitivity(log.counting)
    return [
        Stage(table, Decimal(share), gaussian=kind == "gaussian", sensitivity=moved, tells=(table,))
        for table in tables_of(what, log)
    ]


def were_kept(limit: int, log: EventLog) -> str:
    """Begin the sentence that says what was kept.

    >>> were_kept(1, EventLog.of([], items=["tea"]))
    'At most 1 record per person was kept'
    """
    return f"A{at_most(limit, log)[1:]} {'was' if limit == 1 else 'were'} kept"


def kept_up_to(limit: int, log: EventLog) -> str:
    """Say what was kept under a declared maximum."""
    return f"{were_kept(limit, log)}: everything of people within that maximum, a random choice of the others'."


@dataclass(frozen=True)
class NoisyTables:
    """Released tables, the laws of their noise, and sentences that say how they were made."""

    tables: Mapping[str, pa.Table]
    noise_distributions: Mapping[str, NoiseDistribution]
    steps: tuple[str, ...]
    chosen: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class NoisyCounts:
    """Noisy counts of each table, what was paid for them, and the steps before."""

    tables: Mapping[str, Noisy]
    costs: Mapping[str, Cost]
    steps: tuple[str, ...] = ()


def add_table_noise(
    counts: BoundedCounts, grants: Mapping[str, Grant], noise: NoiseSource, steps: Sequence[str] = ()
) -> NoisyCounts:
    """Spend each table's grant on its noise."""
    noisy = {name: add_noise(getattr(counts, name), grants[name], noise) for name in NOUNS if name in grants}
    return NoisyCounts(noisy, {name: grants[name].cost for name in noisy}, tuple(steps))


def estimate_tables(log: EventLog, noisy: NoisyCounts) -> NoisyTables:
    """Reconcile items with edges, and attach intervals: from released values alone."""
    values = {name: noisy_table.values.astype(np.float64) for name, noisy_table in noisy.tables.items()}
    distributions = {name: noisy_table.distribution for name, noisy_table in noisy.tables.items()}
    widths = {name: half_width([Term(1.0, law)], LEVEL) for name, law in distributions.items()}
    steps = [_noise_step(name, distributions[name], noisy.costs[name]) for name in values]
    if len(values) == 2 and log.counting == "records":
        weights = Weights.by_precision(
            items_variance=distributions["items"].variance,
            edges_variance=distributions["edges"].variance,
            contexts=log.width,
        )
        values["items"], values["edges"] = reconcile(values["items"], values["edges"], weights)
        widths["items"], widths["edges"] = consistent_half_widths(
            distributions["items"], distributions["edges"], weights, LEVEL
        )
        steps.append(
            "Both noisy tables were reconciled by weighted least squares, so that the edges of an item sum to "
            "its count; this uses released numbers alone and costs nothing."
        )
    tables = {name: table_of(log, name, values[name], widths[name]) for name in values}
    return NoisyTables(tables, distributions, (*noisy.steps, *steps))


def table_of(log: EventLog, name: str, counts: Counts, width: float | Counts) -> pa.Table:
    """Make one table of counts, from low to high that ``width`` around each; zeros and all."""
    return interval_table(log, name, counts, counts - width, counts + width)


def interval_table(log: EventLog, name: str, counts: Counts, low: Counts, high: Counts) -> pa.Table:
    """Make one table of counts with intervals, the whole catalogue in its order; the unknown context is null."""
    columns = {"count": counts.ravel(), "low": low.ravel(), "high": high.ravel()}
    if name == "items":
        return pa.table({"item": log.catalogue.column, "label": log.catalogue.label_column, **columns})
    labels: Sequence[str | None] = [*(log.context.labels if log.context else ()), None]
    rows = len(log.catalogue.ids)
    places = np.repeat(np.arange(rows), len(labels))
    contexts = pa.DictionaryArray.from_arrays(
        pa.array(np.tile(np.arange(len(labels), dtype=np.int32), rows)), pa.array(labels, pa.string())
    )
    return pa.table(
        {"item": log.catalogue.column.take(pa.array(places)), "context": contexts.cast(pa.string()), **columns}
    )


def activity_table(counting: Counting, histograms: Mapping[CountTable, Noisy]) -> pa.Table:
    """Make the table of released bins: of records, or of different items and of different pairs."""
    names = {"items": "items", "edges": "pairs"}
    return pa.concat_tables(
        [
            histogram_table(
                released.counts,
                released.distribution.half_width(LEVEL),
                "records" if counting == "records" else names[table],
            )
            for table, released in histograms.items()
        ]
    )


def histogram_table(users: Floats, width: float, scope: str) -> pa.Table:
    """Make the table of released bins: ``users`` with ``width`` around each, by their number of ``scope``.

    >>> histogram_table(np.zeros(BINS), 3.0, "records").slice(2, 1).to_pylist()
    [{'from': 3, 'to': 4, 'users': 0.0, 'low': -3.0, 'high': 3.0, 'of': 'records'}]
    """
    return pa.table(
        {
            "from": pa.array(lower_ends(), pa.int64()),
            "to": pa.array([*UPPER_ENDS.tolist(), None], pa.int64()),
            "users": users,
            "low": users - width,
            "high": users + width,
            "of": pa.array([scope] * BINS, pa.string()),
        }
    )


def _noise_step(name: str, distribution: NoiseDistribution, cost: Cost) -> str:
    return f"Every {NOUNS[name]}, zeros included, got {distribution.in_words()}, paid with {describe_cost(cost)}."
