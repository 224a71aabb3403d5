"""Synthetic logs for count methods, recorded intermediate results, and their errors.

Numbers of users, columns and records are parameters. Logs are made of whole arrays, so that thousands of users
cost milliseconds; they and all noise are seeded, so that a test comes out the same in every run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal
from unittest import mock

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import stats

from headcount.accounting.budget import Grant
from headcount.bounds import Bounded, BoundedCounts, CountBound, Noisy, SampleRecords
from headcount.bounds.counts.top_item_counts import BoundedTopItemCounts, TopItemCounts
from headcount.engines.local.engine import LocalEngine
from headcount.events.catalogue import Catalogue
from headcount.events.contexts import Context
from headcount.events.log import EventLog
from headcount.events.roles import Roles
from headcount.events.sources.source import TableSource
from headcount.methods.counts.smoothing.grouping import Groups
from headcount.methods.method import Method
from headcount.noise import SeededNoise
from headcount.releases.release import Release
from tests.reference.engine import ReferenceEngine
from tests.reference.engine_in_parts import InParts

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Counting = Literal["records", "users"]

CONTEXTS = ("AM", "PM")
ALL = 2**31 - 1


# Logs


def log_of(
    users: Integers, columns: Integers, d: int, contexts: Integers | None = None, counting: Counting = "records"
) -> EventLog:
    """A log of records, each of a user and one of d items, in a context if any; the third one is unknown."""
    data = {"user": pa.array(users, pa.int64()), "item": pa.array(columns, pa.int64())}
    if contexts is not None:
        data["context"] = pa.array([*CONTEXTS, "night"], pa.string()).take(pa.array(contexts))
    return EventLog(
        source=TableSource(pa.table(data)),
        roles=Roles("user", "item"),
        catalogue=Catalogue.of(range(d)),
        context=None if contexts is None else Context(("context",), (CONTEXTS,)),
        counting=counting,
    )


def town(users: int, d: int, most: int, *, counting: Counting = "records", seed: int = 1) -> EventLog:
    """Users with 1 to ``most`` records, of all items and in all contexts alike."""
    random = np.random.default_rng(seed)
    owners = np.repeat(np.arange(users), 1 + np.arange(users) % most)
    columns, contexts = random.integers(0, d, owners.size), random.integers(0, 3, owners.size)
    return log_of(owners, columns, d, contexts, counting)


def zipf(records: Integers, d: int, *, seed: int = 1) -> EventLog:
    """Users with so many records each, of items whose shares are as 1, 1/2, 1/3, …, in no order."""
    random = np.random.default_rng(seed)
    law = random.permutation(1 / np.arange(1, d + 1))
    columns = random.choice(d, int(records.sum()), p=law / law.sum())
    return log_of(np.repeat(np.arange(records.size), records), columns, d)


def columns_of(counts: Sequence[int]) -> EventLog:
    """A log in which every user has one record, and every column so many users."""
    columns = np.repeat(np.arange(len(counts)), counts)
    return log_of(np.arange(columns.size), columns, len(counts))


def truth(log: EventLog, table: str = "items") -> Floats:
    """The counts of all records, in the catalogue's order."""
    counts: Bounded = getattr(LocalEngine().measure(log, SampleRecords(ALL), bytes(16)), table)
    return counts.sensitive_values.ravel().astype(np.float64)


# What methods do


class Watching(InParts):
    """The reference engine, remembering what it was asked."""

    def __init__(self) -> None:
        self.measured_bounds: list[tuple[CountBound, bytes]] = []
        self.looked: list[TopItemCounts] = []

    def look(self, log: EventLog, bound: TopItemCounts, secret: bytes) -> BoundedTopItemCounts:
        self.looked.append(bound)
        return super().look(log, bound, secret)

    def count(self, log: EventLog, bound: CountBound, secret: bytes) -> BoundedCounts:
        self.measured_bounds.append((bound, secret))
        return super().count(log, bound, secret)


@dataclass(frozen=True)
class Call:
    """What a function was given, and what it gave."""

    given: tuple[Any, ...]
    result: Any


@contextmanager
def watched(name: str) -> Iterator[list[Call]]:
    """Remember all calls of a function of the product, named with its module as ``headcount.`` sees it."""
    module, function = f"headcount.{name}".rsplit(".", 1)
    real = getattr(import_module(module), function)
    calls: list[Call] = []

    def call(*given: Any, **named: Any) -> Any:
        result = real(*given, **named)
        calls.append(Call((*given, *named.values()), result))
        return result

    with mock.patch(f"headcount.{name}", call):
        yield calls


@dataclass(frozen=True)
class Grouped:
    """A release of one table by groups: what was grouped, how, and the noisy sums."""

    release: Release
    counts: Bounded
    groups: Groups
    sums: Noisy
    table: str

    @property
    def members(self) -> list[list[int]]:
        """The columns of each group, along the order; what remains joins the last one."""
        order, size = self.groups.order.tolist(), self.groups.size
        cuts = [size * group for group in range(len(order) // size)]
        return [order[cut : end or None] for cut, end in zip(cuts, [*cuts[1:], 0], strict=True)]

    @property
    def averages(self) -> Floats:
        """The average of the bounded counts over each group."""
        values = self.counts.sensitive_values.ravel()
        return np.array([values[members].mean() for members in self.members])

    def of(self, column: str) -> list[Floats]:
        """What the release says of the columns in each group."""
        values = np.asarray(self.release.tables[self.table][column].to_numpy(), dtype=np.float64)
        return [values[members] for members in self.members]

    def covered(self, narrowed: float = 1.0) -> float:
        """How many of the groups' averages lie in the interval, made narrower if asked."""
        count, high = (np.array([values[0] for values in self.of(column)]) for column in ("count", "high"))
        return float((np.abs(count - self.averages) <= narrowed * (high - count) + 1e-9).mean())


def grouped(method: Method, log: EventLog, epsilon: str, *, table: str = "items", seed: int = 1) -> Grouped:
    """Release one table with GS-R, GS-S or GS, and see how."""
    module = "random_groups" if method.name == "gs-r" else "sampled_groups"
    with (
        watched(f"methods.counts.smoothing.{module}.smoothed") as smoothed,
        watched("methods.counts.smoothing.random_groups.add_noise") as added,
    ):
        release = method.release(log, Grant(epsilon), SeededNoise(seed), ReferenceEngine())
    at = list(release.tables).index(table)
    return Grouped(release, smoothed[at].given[0], smoothed[at].given[1], added[at].result, table)


def check_averages(grouped_counts: Grouped) -> None:
    """Every count is its group's noisy sum divided by the group's size, put back on the group's columns."""
    assert sorted(column for members in grouped_counts.members for column in members) == list(
        range(grouped_counts.counts.size)
    )
    assert len(grouped_counts.members) == grouped_counts.sums.values.size
    for at, members in enumerate(grouped_counts.members):
        assert grouped_counts.of("count")[at].tolist() == [grouped_counts.sums.values[at] / len(members)] * len(
            members
        )
        low, count, high = (grouped_counts.of(column)[at] for column in ("low", "count", "high"))
        width = grouped_counts.sums.distribution.half_width(0.95) / len(members)
        assert np.allclose(count - low, width)
        assert np.allclose(high - count, width)


def check_coverage(grouped_counts: Grouped) -> None:
    """low and high enclose the average of the group's bounded counts 95 times in 100, and not more widely.

    Of 2,000 groups, 95 % are covered with a deviation of 0.49 %: a shortfall of 3 % is a false alarm once in a
    billion (and the seeds are fixed). Intervals of 0.7 times the width would cover 1 - 0.05^0.7 = 88 % with a
    deviation of 0.73 %: they are seen as surely.
    """
    assert len(grouped_counts.members) == 2_000
    assert grouped_counts.release.interval.covers == "smoothed"
    assert 0.92 < grouped_counts.covered() < 0.98
    assert grouped_counts.covered(narrowed=0.7) < 0.92


# How far off they are


def counts_of(release: Release, table: str = "items") -> Floats:
    """The released counts, in the catalogue's order."""
    return np.asarray(release.tables[table]["count"].to_numpy(), dtype=np.float64)


def errors(method: Method, log: EventLog, exact: Floats, *, epsilon: str, runs: int = 10) -> Floats:
    """The mean absolute error of each of some seeded releases."""
    engine = LocalEngine()
    releases = (method.release(log, Grant(epsilon), SeededNoise(run), engine) for run in range(runs))
    return np.array([np.abs(counts_of(release) - exact).mean() for release in releases])


def by_chance(smaller: Floats, larger: Floats) -> float:
    """Return how likely averages as far apart as these come out in this order if they are not (Welch's test)."""
    return float(stats.ttest_ind(smaller, larger, equal_var=False, alternative="less").pvalue)
