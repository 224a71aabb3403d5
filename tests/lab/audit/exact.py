"""Exact checks of sensitivity and output distributions over all neighbouring logs of a small domain.

Sensitivity
    Every log of a few people, each with a few records of a few items, is compared with every log that has one
    person more, under the same secret of a run. So the differences are those that the proofs speak of: what one
    person moves while everybody else's choices stay. Random runs cannot see that choices hang on other people, if
    their law stays the same; this does.

Exact loss
    Discrete noise has probabilities that can be added up. For methods that keep random records of each person and
    add Laplace noise to their counts, the law of the output is a finite mixture, and beyond the largest and
    smallest exact counts the ratio of two such laws no longer changes: the largest ratio is found in a finite box.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from headcount.accounting.budget import Cost
from headcount.accounting.noise_distributions import DiscreteLaplace
from headcount.bounds import CountBound, Sensitivity
from headcount.engines.engine import Engine
from headcount.lab.audit.adjacent_logs import History, Pair
from headcount.lab.audit.targets_under_audit import log_of
from headcount.methods.registry import build

Counts = tuple[int, ...]
Law = Mapping[Counts, Fraction]


@dataclass(frozen=True)
class Moved:
    """The most that one person moved bounded counts, what was declared, and the pair on which L1 was largest."""

    sensitivity: Sensitivity
    declared: Sensitivity
    pair: Pair | None

    @property
    def violation(self) -> bool:
        """Whether somebody moved more than was declared."""
        measured, most = self.sensitivity, self.declared
        return measured.l1 > most.l1 or measured.l2_squared > most.l2_squared or measured.linf > most.linf


def histories(items: int, most: int) -> list[History]:
    """Return everything that a person may have done, at most so many records of so many items.

    >>> histories(2, 2)
    [(), (0,), (1,), (0, 0), (0, 1), (1, 1)]
    """
    sizes = range(most + 1)
    return [history for size in sizes for history in itertools.combinations_with_replacement(range(items), size)]


def adjacent_pairs(people: int, items: int, most: int) -> Iterator[Pair]:
    """Return every pair of a small world: all crowds, and all people who may join them."""
    everything = histories(items, most)[1:]
    for size in range(people + 1):
        for crowd in itertools.combinations_with_replacement(everything, size):
            for person in everything:
                yield Pair("exhaustive", "every log of a small world, and every person", items, crowd, person)


def exact_sensitivity(engine: Engine, bound: CountBound, pairs: Iterable[Pair], secrets: Iterable[bytes]) -> Moved:
    """Return the most that any person moves the item counts, over all pairs and secrets."""
    keys, worst, where = list(secrets), Sensitivity(0, 0, 0), None
    declared = worst
    for pair in pairs:
        for key in keys:
            here, there = (
                engine.measure(log_of(pair, present=present), bound, key).items for present in (True, False)
            )
            moved = np.abs(here.sensitive_values - there.sensitive_values)
            l1, declared = int(moved.sum()), here.sensitivity
            where = pair if l1 > worst.l1 else where
            worst = Sensitivity(
                max(worst.l1, l1), max(worst.l2_squared, int((moved**2).sum())), max(worst.linf, int(moved.max()))
            )
    return Moved(worst, declared, where)


def kept_distribution(history: History, items: int, limit: int) -> Law:
    """Return the law of the counts that one person keeps: so many random records, all sets of them alike.

    >>> kept_distribution((0, 1), 2, 1)
    {(1, 0): Fraction(1, 2), (0, 1): Fraction(1, 2)}
    """
    sets = list(itertools.combinations(history, min(limit, len(history))))
    counts = Counter(tuple(kept.count(item) for item in range(items)) for kept in sets)
    return {counts: Fraction(times, len(sets)) for counts, times in counts.items()}


def counts_distribution(people: Iterable[History], items: int, limit: int) -> Law:
    """Return the law of everybody's kept counts together."""
    law: dict[Counts, Fraction] = {(0,) * items: Fraction(1)}
    for history in people:
        added: dict[Counts, Fraction] = defaultdict(Fraction)
        for (before, p), (kept, q) in itertools.product(
            law.items(), kept_distribution(history, items, limit).items()
        ):
            added[tuple(a + b for a, b in zip(before, kept, strict=True))] += p * q
        law = added
    return law


def exact_loss(name: str, limit: int, epsilon: Decimal, pair: Pair) -> float:
    """Return the exact ε of lpa or sra on a pair: the largest log-ratio of any output, in either direction.

    >>> pair = Pair("at the limit", "", 2, (), (0, 0))
    >>> round(exact_loss("sra", 2, Decimal(1), pair), 9)
    1.0
    """
    method = build(name, {"limit": limit, "what": "items"})
    law = method.noise_distributions(log_of(pair, present=True), Cost.of(epsilon))["items"]
    if not isinstance(law, DiscreteLaplace):
        raise TypeError(f"the exact loss is worked out for Laplace noise, and {name} has {law.in_words()}")
    return worst_ratio(
        counts_distribution([pair.person, *pair.crowd], pair.items, limit),
        counts_distribution(pair.crowd, pair.items, limit),
        float(law.scale),
    )


def worst_ratio(here: Law, there: Law, scale: float) -> float:
    """Return the largest absolute log-ratio of two mixtures of vectors with Laplace noise of one scale.

    Outside of the box of all exact counts both laws fall by the same factor, so nothing is missed there.
    """
    centres = [*here, *there]
    sides = [range(min(axis), max(axis) + 1) for axis in zip(*centres, strict=True)]
    worst = 0.0
    for output in itertools.product(*sides):
        ours, theirs = (_density(output, law, scale) for law in (here, there))
        worst = max(worst, abs(math.log(ours / theirs)))
    return worst


def _density(output: Counts, law: Law, scale: float) -> float:
    """Return the probability of an output, up to a factor that is the same for all laws."""
    return math.fsum(
        float(p) * math.exp(-sum(abs(a - b) for a, b in zip(output, counts, strict=True)) / scale)
        for counts, p in law.items()
    )
