"""GS-S, GS and DPSense, run many times on two logs that differ by one user: the log-ratio of no event exceeds ε.

As :mod:`tests.statistical.test_privacy_loss`: exact binomial tails over all outcomes and one-sided sets of them,
false-alarm rate ``laws.LEVEL`` = 1e-7 a comparison, fixed seeds. The same test rejects broken twins: a lot that
takes 8 times too many users, a choice that costs 10 times what is paid, a maximum that is not enforced.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any
from unittest import mock

import pytest

from headcount.accounting.budget import Grant
from headcount.bounds import (
    ALL_USERS,
    Bounded,
    BoundedCounts,
    CountBound,
    CountTable,
    Noisy,
    SampleRecords,
    Scored,
)
from headcount.engines.engine import Engine
from headcount.engines.local.encoded_rows import collect_rows
from headcount.events.encode.passes import EncodedLog
from headcount.events.log import EventLog
from headcount.methods.counts.dpsense import SensitivityControl
from headcount.methods.counts.smoothing import sampled_groups
from headcount.methods.counts.smoothing.sampled_groups import SampledGroups
from headcount.methods.counts.smoothing.tuned_groups import TunedGroups
from headcount.methods.method import Method
from headcount.noise import NoiseSource, SeededNoise, laplace, mechanisms
from headcount.noise.selection import exponential
from headcount.noise.selection.exponential import choose_candidate
from tests.reference import engine as reference
from tests.reference.engine_in_parts import InParts
from tests.support.distributions import LEVEL, loses_more_than

ITEMS = ["rye", "tea", "oat", "fig"]
BYSTANDERS = [("bob", "rye"), ("eve", "oat"), ("eve", "tea")]
TEA = 1

Outcome = Callable[[Any], Hashable]


def neighbours(anns: int) -> tuple[EventLog, EventLog]:
    """Two logs, with Ann, whose records are all about tea, and without her."""
    ann = [("ann", "tea")] * anns
    return EventLog.of([*BYSTANDERS, *ann], items=ITEMS), EventLog.of(BYSTANDERS, items=ITEMS)


class Remembering(InParts):
    """The reference engine, which counts once what the secret cannot change: what takes everything."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._counted: dict[tuple[int, Any], Any] = {}

    def count(self, log: EventLog, bound: CountBound, secret: bytes) -> BoundedCounts:
        real = super().count
        if bound.admission != ALL_USERS or (bound.unit == 1 and bound.limit < self._most):
            return real(log, bound, secret)
        measured: BoundedCounts = self._once((id(log), bound), lambda: real(log, bound, secret))
        return measured

    def activity(self, log: EventLog, table: CountTable, most: int, secret: bytes) -> Bounded:
        real = super().activity
        measured: Bounded = self._once((id(log), (table, most)), lambda: real(log, table, most, secret))
        return measured

    def _once(self, key: tuple[int, Any], work: Callable[[], Any]) -> Any:
        if key not in self._counted:
            self._counted[key] = work()
        return self._counted[key]


class NotEnforced(Remembering):
    """Counts everything, whatever the maximum, and declares the maximum all the same."""

    def count(self, log: EventLog, bound: CountBound, secret: bytes) -> BoundedCounts:
        everything = super().count(log, SampleRecords(self._most), secret)
        items, edges = everything.items.sensitive_values.copy(), everything.edges.sensitive_values.copy()
        return bound.seal(log.counting, items, edges)


@contextmanager
def remembered() -> Iterator[None]:
    """Work out once what is the same in every run: logs as they are read, and functions of public numbers."""
    encoded: dict[int, Any] = {}
    records: dict[int, Any] = {}
    real_log, real_records = EncodedLog, collect_rows

    def read(log: EventLog) -> Any:
        if id(log) not in encoded:
            encoded[id(log)] = real_log(log)
        return encoded[id(log)]

    def listed(log: Any) -> Any:
        if id(log) not in records:
            records[id(log)] = real_records(log)
        return records[id(log)]

    with ExitStack() as stack:
        for owner, name, replacement in (
            (laplace, "confirm", functools.cache(laplace.confirm)),
            (exponential, "confirm", functools.cache(exponential.confirm)),
            (sampled_groups, "admission", functools.cache(sampled_groups.admission)),
            (reference, "EncodedLog", read),
            (reference, "collect_rows", listed),
        ):
            stack.enter_context(mock.patch.object(owner, name, replacement))
        yield


@dataclass(frozen=True)
class Trial:
    """A method, how many records Ann has, what of a run is looked at, and how many runs there are."""

    method: Method
    anns: int
    outcome: Outcome
    runs: int
    grant: str = "1"
    promised: float = 1.0
    engine: type[Remembering] = Remembering

    def p_value(self) -> float:
        """Return the p-value of "the loss between the two logs is at most what is promised"."""
        engine = self.engine(self.anns)
        with remembered():
            sides = [self._outcomes(log, seed, engine) for seed, log in enumerate(neighbours(self.anns), start=1)]
        return loses_more_than(self.promised, *sides)

    def _outcomes(self, log: EventLog, seed: int, engine: Engine) -> list[Hashable]:
        runs = (
            self.method.release(log, Grant(self.grant), SeededNoise(seed * 10**6 + run), engine)
            for run in range(self.runs)
        )
        return [self.outcome(release) for release in runs]


def pooled(value: float) -> int:
    """Whole numbers with pooled tails."""
    return max(-8, min(12, round(value)))


def tea(release: Any) -> Hashable:
    """How many columns share the count of tea, which shows the groups, and that count in halves."""
    counts = release.items["count"].to_pylist()
    return counts.count(counts[TEA]), pooled(2 * counts[TEA])


def theta_and_tea(release: Any) -> Hashable:
    return release.chosen["items"]["theta"], pooled(release.items["count"][TEA].as_py())


# Whole releases


@pytest.mark.parametrize("sampling", ["column", "row", "none"])
def test_gs_s(sampling: Any) -> None:
    assert Trial(SampledGroups(limit=2, sampling=sampling), 2, tea, 1_200).p_value() > LEVEL


def test_gs() -> None:
    assert Trial(TunedGroups(limit=2), 2, tea, 800).p_value() > LEVEL


@pytest.mark.slow
def test_dpsense() -> None:
    """Ann has as many records as there are columns, and more."""
    assert Trial(SensitivityControl(), 4, theta_and_tea, 2_500).p_value() > LEVEL
    assert Trial(SensitivityControl(), 12, theta_and_tea, 2_500).p_value() > LEVEL


@pytest.mark.slow
def test_an_unenforced_maximum_is_rejected() -> None:
    """Ann has 12 records and 2 are declared: sums move by 12, with noise for 2."""
    assert Trial(SampledGroups(limit=2), 12, tea, 400).p_value() > LEVEL
    assert Trial(SampledGroups(limit=2), 12, tea, 400, engine=NotEnforced).p_value() < LEVEL
    assert Trial(TunedGroups(limit=2), 12, tea, 300).p_value() > LEVEL
    assert Trial(TunedGroups(limit=2), 12, tea, 300, engine=NotEnforced).p_value() < LEVEL


# Stages: what is promised of the sample and of the choice by themselves


@contextmanager
def recorded_samples() -> Iterator[list[int]]:
    """Remember tea in every noisy sample."""
    samples: list[int] = []

    def add(bounded: Bounded, grant: Grant, noise: NoiseSource, *, at_least: int = 0) -> Noisy:
        sample = mechanisms.add_noise(bounded, grant, noise, at_least=at_least)
        samples.append(pooled(float(sample.values[TEA])))
        return sample

    with mock.patch.object(sampled_groups, "add_noise", add):
        yield samples


def sample_p_value(sampling: Any, runs: int) -> float:
    """Ann has 4 records, and of ε = 1 the sample may lose half. The outcome is tea in the sample."""
    with recorded_samples() as samples:

        def last(release: Any) -> Hashable:
            return samples[-1]

        method = SampledGroups(limit=4, sampling=sampling)
        return Trial(method, 4, last, runs, promised=0.5).p_value()


@contextmanager
def larger_lot(times: int) -> Iterator[None]:
    """Take so many times more users than the noise pays for, and let nobody notice."""
    real_admission, real_within = sampled_groups.admission, laplace.epsilon_within

    def admission(epsilon: Fraction, limit: int) -> int:
        return min(ALL_USERS, times * real_admission(epsilon, limit))

    def within(epsilon: Fraction, share: Fraction) -> Fraction:
        return real_within(epsilon, share / times if share < 1 else share)

    with (
        mock.patch.object(sampled_groups, "admission", admission),
        mock.patch.object(laplace, "epsilon_within", within),
    ):
        yield


@pytest.mark.parametrize("sampling", ["column", "row", "none"])
def test_the_sample_loses_half(sampling: Any) -> None:
    assert sample_p_value(sampling, 1_000) > LEVEL


def test_an_eightfold_tie_breaking_bias_is_rejected() -> None:
    with larger_lot(1):
        assert sample_p_value("row", 500) > LEVEL
    with larger_lot(8):
        assert sample_p_value("row", 500) < LEVEL


@contextmanager
def choice_paid(times: int) -> Iterator[None]:
    """Choose as if so many times more had been paid."""

    def dearer(scored: Scored, grant: Grant, noise: NoiseSource) -> int:
        grant.spend()
        return choose_candidate(scored, Grant(grant.epsilon * Decimal(times)), noise)

    with mock.patch("headcount.methods.counts.dpsense.choose_candidate", dearer):
        yield


def test_a_selection_costing_ten_times_its_budget_is_rejected() -> None:
    """ε = 5, of which the choice may lose 0.5; the outcome is θ. Ann, with 4 records, moves θ = 4 the most."""

    def theta(release: Any) -> Hashable:
        return int(release.chosen["items"]["theta"])

    trial = Trial(SensitivityControl(), 4, theta, 1_500, grant="5", promised=0.5)
    with choice_paid(1):
        assert trial.p_value() > LEVEL
    with choice_paid(10):
        assert trial.p_value() < LEVEL
