"""Group totals: users, records and distinct items of each context or item, with noise.

Each person counts once in each of their groups, in at most ``limit`` of them. Their records weigh ``limit`` in
all, over all groups together. Of the different items of a person, in their contexts, at most ``limit`` random ones
count, and an item is there if somebody's choice has it.

Why it is private
    One user who joins adds 1 to the people of at most min(l, groups) groups, at most l to the records of all
    groups together, and at most l items: :func:`headcount.bounds.count_distinct`. Discrete Laplace noise for each
    of these is paid with its own part of the grant, and they sum to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from headcount.accounting.budget import Grant
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.adaptive.estimator import LEVEL
from headcount.bounds import Bounded, SampleRecords, Sensitivity
from headcount.bounds.bound import NO_SECRET
from headcount.bounds.keys.key_support import KeySupport
from headcount.bounds.linear_maps import count_distinct
from headcount.bounds.values.value_histograms import By, UserGroups, UserValues
from headcount.engines.engine import Engine
from headcount.events.log import EventLog
from headcount.methods.totals import GROUPS
from headcount.noise import NoiseSource, add_noise
from headcount.noise.stages import Stage, normalize_split, split_among_stages

GroupNumbers = dict[str, tuple[list[float], NoiseDistribution]]
"""The numbers of each kind, by group, and their noise."""


def group_stages(log: EventLog, limit: int, by: By, *, count_items: bool) -> tuple[Stage, ...]:
    """Return a stage for each kind of number."""
    weighed = UserValues(limit, by=by)
    most = min(limit, weighed.groups(log))
    stages = [
        Stage("users", sensitivity=Sensitivity.of_l1(most), tells=("users of groups",)),
        Stage(
            "records", sensitivity=Sensitivity.of_l1(weighed.most), unit=weighed.unit, tells=("records of groups",)
        ),
    ]
    if count_items:
        stages.append(Stage("items", sensitivity=Sensitivity.of_l1(limit), tells=("items of groups",)))
    return normalize_split(stages)


def group_totals(
    log: EventLog, limit: int, by: By, grant: Grant, noise: NoiseSource, engine: Engine, *, count_items: bool
) -> GroupNumbers:
    """Spend the grant on the numbers of each group."""
    grants = split_among_stages(group_stages(log, limit, by, count_items=count_items), grant)
    measured: dict[str, Bounded] = {
        "users": engine.measure(log, UserGroups(limit, by), NO_SECRET),
        "records": engine.measure(log, UserValues(limit, by=by), NO_SECRET),
    }
    if count_items:
        measured["items"] = distinct_items(log, limit, noise, engine, by=by)
    noisy = {kind: add_noise(entry, grants[kind], noise) for kind, entry in measured.items()}
    return {kind: (entry.counts.ravel().tolist(), entry.distribution) for kind, entry in noisy.items()}


def distinct_items(
    log: EventLog, limit: int, noise: NoiseSource, engine: Engine, *, by: By | None = None
) -> Bounded:
    """Return how many different items there are, of at most ``limit`` random ones of each person.

    Records without a value are about items as well.
    """
    log = replace(log, roles=replace(log.roles, value=None), value_range=None)
    if not log.has_catalogue:
        return count_distinct(engine.measure(log, KeySupport(limit), noise.key()))
    counts = engine.measure(replace(log, counting="users"), SampleRecords(limit), noise.key())
    return count_distinct(counts.edges if by == "contexts" else counts.items)


def group_names(log: EventLog, by: By | None) -> list[str | None]:
    """Return what groups are called: contexts, or items; the unknown context and the whole log have no name."""
    if by == "items":
        return [str(item_id) for item_id in log.catalogue.ids]
    if by is None or log.context is None:
        return [None]
    return [*log.context.labels, None]


def group_table(names: list[str | None], numbers_by_kind: GroupNumbers) -> pa.Table:
    """Return the numbers of all groups, one kind after the other."""
    columns = list(zip(*_rows(names, numbers_by_kind), strict=True))
    kinds = (pa.string(), pa.string(), pa.float64(), pa.float64(), pa.float64())
    return pa.table(
        {name: pa.array(column, kind) for name, column, kind in zip(GROUPS.columns, columns, kinds, strict=True)}
    )


def _rows(
    names: list[str | None], numbers_by_kind: GroupNumbers
) -> Iterator[tuple[str | None, str, float, float, float]]:
    for kind, (numbers, distribution) in numbers_by_kind.items():
        wide = distribution.half_width(LEVEL)
        for name, number in zip(names, np.asarray(numbers).tolist(), strict=True):
            yield name, kind, number, number - wide, number + wide
