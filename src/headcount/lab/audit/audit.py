"""The fixed-size audit: runs on adjacent logs; outcome sets chosen on early runs and judged on later ones.

Why its bound holds
    Every look draws new runs of both logs. Outcomes are chosen on all runs before that look and counted on the
    look's own runs, so that the choice says nothing about them. Each count is enclosed by an exact interval whose
    chance to be wrong is the audit's risk divided by the numbers of pairs, looks, directions and outcomes. So all
    bounds of an audit hold together, but for the stated risk, whatever the target does.

    It can only find violations: that nothing is found does not prove a promise.

The lower bound on ε
    If an algorithm is (ε, δ)-differentially private, P(event | one log) ≤ e^ε P(event | its neighbour) + δ. Both
    probabilities are enclosed by Clopper and Pearson's exact interval, so that the bound on ε holds with the
    stated confidence, whatever the algorithm does.

Reference
    C. Clopper, E. Pearson. The use of confidence or fiducial limits illustrated in the case of the binomial.
    Biometrika 1934.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np

from headcount.lab.audit.adjacent_logs import Pair
from headcount.lab.audit.outcome_sets import Observations, careful, choose_outcomes
from headcount.lab.audit.targets_under_audit import Target
from headcount.noise import OperatingSystemNoise, SeededNoise

_ENOUGH = 1e-15
_WIDTH = 1e-10  # of the interval that a quantile is enclosed in, relatively
_MOST_TERMS = 20_000


def lower_probability(hits: int, runs: int, risk: float) -> float:
    """Return what a probability is at least, wrong with a chance of at most ``risk``.

    >>> f"{lower_probability(50, 100, 0.025):.4f}", lower_probability(0, 100, 0.025)
    ('0.3983', 0.0)
    """
    if not hits:
        return 0.0
    return _solved(hits, runs - hits + 1, risk, up=False)


def upper_probability(hits: int, runs: int, risk: float) -> float:
    """Return what a probability is at most, wrong with a chance of at most ``risk``.

    >>> f"{upper_probability(0, 100, 0.025):.4f}"
    '0.0362'
    """
    if hits >= runs:
        return 1.0
    return _solved(hits + 1, runs - hits, 1 - risk, up=True)


def least_epsilon(hits: tuple[int, int], runs: tuple[int, int], delta: float, risk: float) -> float:
    """Return what ε is at least, if an event happened that often with one log and with its neighbour.

    >>> round(least_epsilon((5000, 1500), (10_000, 10_000), 0.0, 0.001), 3)
    1.093
    >>> least_epsilon((10, 11), (100, 100), 0.0, 0.001)
    0.0
    """
    often = lower_probability(hits[0], runs[0], risk / 2) - delta
    rarely = upper_probability(hits[1], runs[1], risk / 2)
    return max(0.0, math.log(often / rarely)) if often > 0 else 0.0


def _solved(a: float, b: float, chance: float, *, up: bool) -> float:
    """Return the quantile of the beta law with parameters a and b, rounded to the safe side."""
    low, high = 0.0, 1.0
    while high - low > _WIDTH * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _beta_cdf(middle, a, b) < chance else (low, middle)
    return high if up else low


def _beta_cdf(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function, by its continued fraction."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    if x < (a + 1) / (a + b + 2):
        return math.exp(front) * _fraction(x, a, b) / a
    return 1 - math.exp(front) * _fraction(1 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    """Evaluate the continued fraction from its front (Lentz's way)."""
    tiny = 1e-300
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or tiny)
    value = d
    for m in range(1, _MOST_TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + term * d or tiny)
            c = 1 + term / c or tiny
            value *= c * d
        if abs(c * d - 1) < _ENOUGH:
            return value
    raise ArithmeticError(f"the beta law with {a:g} and {b:g} was not worked out")


CONFIDENCE = 0.999
LOOKS = (0.1, 0.3, 0.6)
"""Which part of the runs each look has; half of the first one's serve to choose outcomes."""

KEPT = (None, 4, 2)
"""How many pairs each look goes on with, the most promising ones; at first all."""

OUTCOMES = 3
"""So many sets of outcomes are judged in each direction at each look."""

_FEWEST = 40  # runs of a look
_CHUNK = 64  # runs of one task, where runs are made one by one
_COPIED_CHUNK = 16_384

Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class Evidence:
    """How often runs were in a set of outcomes, on the log where that is the more likely and on the other."""

    outcome: str
    likelier: str
    hits: tuple[int, int]
    runs: tuple[int, int]
    lower_bound: float

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "event": self.outcome,
            "likelier": self.likelier,
            "hits": list(self.hits),
            "runs": list(self.runs),
            "lower_bound": self.lower_bound,
        }


@dataclass
class Attempt:
    """What was tried on one pair; ``promise`` is a guess at its ε, to decide which pairs to go on with."""

    pair: Pair
    evidence: Evidence | None = None
    runs: int = 0
    promise: float = 0.0
    past: dict[bool, list[Observations]] = field(default_factory=lambda: {True: [], False: []}, repr=False)

    @property
    def lower_bound(self) -> float:
        """What ε is at least on this pair."""
        return 0.0 if self.evidence is None else self.evidence.lower_bound

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        evidence = None if self.evidence is None else self.evidence.to_json()
        return {**self.pair.to_json(), "runs": self.runs, "lower_bound": self.lower_bound, "evidence": evidence}


@dataclass(frozen=True)
class Finding:
    """What an audit found out about a target."""

    target: Target
    attempts: tuple[Attempt, ...]
    confidence: float = CONFIDENCE

    @property
    def best(self) -> Attempt:
        """The pair with the largest bound."""
        return max(self.attempts, key=lambda attempt: attempt.lower_bound)

    @property
    def lower_bound(self) -> float:
        """What ε is at least."""
        return self.best.lower_bound

    @property
    def releases(self) -> int:
        """How many releases were made, of both logs of all pairs."""
        return 2 * sum(attempt.runs for attempt in self.attempts)

    @property
    def violation(self) -> bool:
        """Whether ε is larger than what is claimed."""
        return Decimal(self.lower_bound) > self.target.epsilon

    def __repr__(self) -> str:
        return f"<{self.target.shown}: {self.sentence()}>"

    def sentence(self) -> str:
        """Say it in one sentence."""
        sure, claimed = f"{100 * self.confidence:.8g} %", self.target.epsilon
        if self.violation:
            return (
                f"VIOLATION: ε ≥ {self.lower_bound:.2f} > {claimed} on the pair {self.best.pair.name!r}, with "
                f"{sure} confidence."
            )
        if not self.lower_bound:
            return (
                f"No violation found, and no bound on ε above 0: that takes more than {self.releases:,} releases."
            )
        return (
            f"No violation found: with {sure} confidence the ε of this configuration on the tried neighbours is "
            f"at least {self.lower_bound:.2f}, and nothing exceeded {claimed}."
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "method": self.target.shown,
            "parameters": dict(self.target.parameters),
            "epsilon": str(self.target.epsilon),
            "delta": str(self.target.delta),
            "violation": self.violation,
            "lower_bound": self.lower_bound,
            "confidence": self.confidence,
            "releases": self.releases,
            "pairs": [attempt.to_json() for attempt in self.attempts],
        }


def audit(
    target: Target,
    pairs: Sequence[Pair],
    runs: int,
    *,
    seed: int | None = 1,
    pool: Executor | None = None,
    progress: Progress | None = None,
    on_finding: Callable[[Finding], object] | None = None,
) -> Finding:
    """Attack a target with ``runs`` runs of each log of the most promising pairs.

    Without a ``seed`` the operating system's randomness is used, as in real releases. ``on_finding`` gets the
    finding after each look, which holds just as the last one does.

    >>> from headcount.lab.audit.adjacent_logs import crafted
    >>> finding = audit(Target("sra", {"limit": 2}, copies=True), crafted(2)[:1], 20_000)
    >>> finding.violation, finding.lower_bound > 0.8
    (False, True)
    """
    attempts = [Attempt(pair) for pair in pairs]
    risk = (1 - CONFIDENCE) / (len(pairs) * len(LOOKS) * 2 * OUTCOMES)
    sources = itertools.repeat(None) if seed is None else itertools.count(seed << 32)
    done, expected = 0, expected_runs(len(pairs), runs)
    for look, size in enumerate(_sizes(runs)):
        for attempt in _promising(attempts, look):
            fresh = observed(target, attempt.pair, size, sources, pool)
            _judge(attempt, fresh, float(target.delta), risk)
            attempt.runs += size
            done += size
            if progress is not None:
                progress(f"auditing {target.shown}", done, expected)
        finding = Finding(target, tuple(attempts))
        if on_finding is not None:
            on_finding(finding)
        if finding.violation:
            break
    return finding


def _promising(attempts: Sequence[Attempt], look: int) -> list[Attempt]:
    """Return the pairs that a look goes on with: the best so far."""
    return sorted(attempts, key=lambda attempt: -attempt.promise)[: KEPT[look]]


def _sizes(runs: int) -> list[int]:
    return [max(_FEWEST, int(runs * part)) for part in LOOKS]


def expected_runs(pairs: int, runs: int) -> int:
    """Return how many runs of each log there will be in all."""
    return sum(size * min(pairs, kept or pairs) for size, kept in zip(_sizes(runs), KEPT, strict=True))


def _judge(attempt: Attempt, fresh: dict[bool, Observations], delta: float, risk: float) -> None:
    """Choose outcomes on the runs of earlier looks, and judge them on the fresh ones."""
    earlier, judged = attempt.past, fresh
    if not earlier[True]:  # the first look: one half chooses, the other judges
        half = len(fresh[True]) // 2
        earlier = {present: [_part(runs, slice(None, half))] for present, runs in fresh.items()}
        judged = {present: _part(runs, slice(half, None)) for present, runs in fresh.items()}
    before = {present: Observations.joined(parts) for present, parts in earlier.items()}
    attempt.promise = 0.0
    for present in (True, False):
        here, there = judged[present], judged[not present]
        for outcome in choose_outcomes(before[present], before[not present], OUTCOMES):
            hits = int(outcome.contains(here).sum()), int(outcome.contains(there).sum())
            runs = len(here), len(there)
            guess = careful(np.array(hits[:1]), runs[0], np.array(hits[1:]), runs[1])
            attempt.promise = max(attempt.promise, float(guess[0]))
            bound = least_epsilon(hits, runs, delta, risk)
            if bound > attempt.lower_bound:
                who = "with the person" if present else "without the person"
                attempt.evidence = Evidence(outcome.in_words(), who, hits, runs, bound)
    for present, observations in fresh.items():
        attempt.past[present].append(observations)


def _part(runs: Observations, places: slice) -> Observations:
    return Observations(runs.kinds[places], runs.numbers[places], runs.names)


def observed(
    target: Target, pair: Pair, runs: int, sources: Iterator[int | None], pool: Executor | None
) -> dict[bool, Observations]:
    """Run with the person and without, in processes if there are some; the same whatever their number."""
    chunk = _COPIED_CHUNK if target.copies else _CHUNK
    sizes = [min(chunk, runs - start) for start in range(0, runs, chunk)]
    tasks = [(target, pair, next(sources), size, present) for present in (True, False) for size in sizes]
    if pool is None:
        parts = [_task(*task) for task in tasks]
    else:
        waiting: list[Future[Observations]] = [pool.submit(_task, *task) for task in tasks]
        parts = [task.result() for task in waiting]
    if all(part.all_failed for part in parts):  # the error says why, and is none of anybody's records
        target.run(pair, SeededNoise(0), present=True)
    return {True: Observations.joined(parts[: len(sizes)]), False: Observations.joined(parts[len(sizes) :])}


def _task(target: Target, pair: Pair, seed: int | None, runs: int, present: bool) -> Observations:
    source = OperatingSystemNoise() if seed is None else SeededNoise(seed)
    return target.observe(pair, source, runs, present=present)
