"""Whole mechanisms, run many times on two logs that differ by one user: the log-ratio of no event exceeds ε.

The test is :func:`tests.support.distributions.loses_more_than`: exact binomial tails over all outcomes and
one-sided sets of them, corrected for their number. Its false-alarm rate is ``laws.LEVEL`` = 1e-7 a comparison,
and the seeds are fixed. The same test rejects the same mechanism with half its noise.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from unittest import mock

import pytest

from headcount.accounting.budget import Grant
from headcount.bounds import BoundedCounts, CountBound
from headcount.engines.engine import Engine
from headcount.events.log import EventLog
from headcount.methods.counts import tables
from headcount.methods.counts.hand_picked import HandPicked
from headcount.methods.counts.laplace import LaplacePerturbation
from headcount.methods.counts.simple_random import SimpleRandom
from headcount.methods.method import Method
from headcount.noise import SeededNoise, laplace
from headcount.releases.intervals import consistent_half_widths
from tests.mutants.methods import HalfNoise
from tests.reference.engine import ReferenceEngine
from tests.reference.engine_in_parts import InParts
from tests.support.distributions import LEVEL, loses_more_than

BYSTANDERS = [("bob", "tea", "AM"), ("eve", "rye", "PM"), ("eve", "tea", "PM")]
ANN = [("ann", "tea", "AM"), ("ann", "tea", "AM")]


def neighbours(*, contexts: bool = False) -> tuple[EventLog, EventLog]:
    """Two logs, with Ann, whose two records are about one item, and without her."""
    logs = []
    for rows in ([*BYSTANDERS, *ANN], BYSTANDERS):
        given = rows if contexts else [row[:2] for row in rows]
        logs.append(EventLog.of(given, items=["rye", "tea"], contexts=["AM", "PM"] if contexts else None))
    return logs[0], logs[1]


class WithinLimit(InParts):
    """Counts once what the secret cannot change: nobody has more records than the limit."""

    def __init__(self) -> None:
        self._counted: dict[tuple[int, CountBound], BoundedCounts] = {}

    def count(self, log: EventLog, bound: CountBound, secret: bytes) -> BoundedCounts:
        assert bound.ranks is None
        assert bound.limit >= 2  # the most anybody has here
        if (id(log), bound) not in self._counted:
            self._counted[id(log), bound] = ReferenceEngine().measure(log, bound, secret)
        return self._counted[id(log), bound]


def outcomes(
    method: Method, log: EventLog, runs: int, *, seed: int, epsilon: str = "1", engine: Engine | None = None
) -> list[int]:
    """Return the count of tea in many releases, whole and with pooled tails."""
    engine = engine or ReferenceEngine()
    counts = []
    for run in range(runs):
        release = method.release(log, Grant(epsilon), SeededNoise(seed * 10**6 + run), engine)
        counts.append(max(-8, min(12, round(release.items["count"][1].as_py()))))
    return counts


@contextmanager
def remembered() -> Iterator[None]:
    """Work out once what is the same in every run: pure functions of public numbers, none of them noise."""
    widths = functools.cache(consistent_half_widths)
    confirm = functools.cache(laplace.confirm)
    with (
        mock.patch.object(laplace, "confirm", confirm),
        mock.patch.object(tables, "consistent_half_widths", widths),
    ):
        yield


def compare(method: Method, runs: int, *, contexts: bool = False, engine: Engine | None = None) -> float:
    """Return the p-value of "the loss between the two logs is at most ε = 1"."""
    with_ann, without = neighbours(contexts=contexts)
    with remembered():
        return loses_more_than(
            1.0,
            outcomes(method, with_ann, runs, seed=1, engine=engine),
            outcomes(method, without, runs, seed=2, engine=engine),
        )


@contextmanager
def half_noise() -> Iterator[None]:
    """Halve every scale, and let nobody confirm it."""
    real = laplace.scale_for

    def half(l1: int, epsilon: Fraction) -> Fraction:
        return real(l1, epsilon) / 2

    with mock.patch.object(laplace, "scale_for", half), mock.patch.object(laplace, "confirm"):
        yield


SHARES = {"scores": "0.1", "items": "0.9"}


@pytest.mark.slow
def test_sra_over_twenty_thousand_runs() -> None:
    assert compare(SimpleRandom(limit=2, what="items"), 20_000, engine=WithinLimit()) > LEVEL


def test_sra_with_half_its_noise_is_rejected() -> None:
    assert compare(HalfNoise(limit=2, what="items"), 700) < LEVEL
    with half_noise():
        assert compare(SimpleRandom(limit=2, what="items"), 1_000, engine=WithinLimit()) < LEVEL


@pytest.mark.slow
def test_sra_at_a_limit_that_cuts() -> None:
    assert compare(SimpleRandom(limit=1, what="items"), 1_000) > LEVEL
    with half_noise():
        assert compare(SimpleRandom(limit=1, what="items"), 700) < LEVEL


@pytest.mark.slow
def test_hpa() -> None:
    assert compare(HandPicked(limit=1, what="items", shares=SHARES), 1_000) > LEVEL
    with half_noise():
        assert compare(HandPicked(limit=1, what="items", shares=SHARES), 800) < LEVEL


def test_the_loss_is_really_spent() -> None:
    """The promise is tight: ε = 0.8 would be a wrong promise for what is spent as 1, and is rejected."""
    with_ann, without = neighbours()
    method, engine = SimpleRandom(limit=2, what="items"), WithinLimit()
    with remembered():
        here = outcomes(method, with_ann, 8_000, seed=3, engine=engine)
        there = outcomes(method, without, 8_000, seed=4, engine=engine)
    assert loses_more_than(1.0, here, there) > LEVEL
    assert loses_more_than(0.8, here, there) < LEVEL


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "contexts"),
    [
        (SimpleRandom(limit=1), True),
        (SimpleRandom(limit=2), True),
        (LaplacePerturbation(limit=3, what="items"), False),
        (HandPicked(limit=1, what="items", shares=SHARES), False),
        (HandPicked(limit=2, d=2), True),
    ],
    ids=repr,
)
def test_whole_releases_over_twenty_thousand_runs(method: Method, contexts: bool) -> None:
    assert compare(method, 20_000, contexts=contexts) > LEVEL
