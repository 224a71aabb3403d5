"""How far one person moved what met noise: within what was declared, and what the noise that was drawn pays for.

Every figure here is worked out from the numbers themselves and from the scale that was drawn with, by the textbook
rule of the mechanism. Of what the product says of itself only the claim is taken, to be held against it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.bounding import Bounded, Scored, SparseScored, SupportCounts
from headcount.budget import Grant
from headcount.noise import threshold
from headcount.noise_law import DiscreteGaussian

_SLACK = 1e-9  # of what is worked out in floats

Exact = Bounded | Scored | SparseScored | SupportCounts
Integers = NDArray[np.int64]


class Violation(AssertionError):
    """Two neighbours can be told apart by more than was promised."""


@dataclass
class Meeting:
    """One place where exact numbers met noise: what was declared, asked for, paid, drawn, and what came out.

    ``declared``, ``asked`` and ``drawn`` must be the same for two neighbours.
    """

    mechanism: str
    exact: Exact | None
    grant: Grant
    asked: tuple[Any, ...]
    drawn: list[Any] = field(default_factory=list)
    result: Any = None

    @property
    def declared(self) -> tuple[Any, ...]:
        """What is said of the exact numbers, which is public."""
        exact = self.exact
        paid = (self.grant.price,)
        if isinstance(exact, Bounded):
            return (*paid, exact.shape, exact.sensitivity, exact.unit, exact.admission)
        if isinstance(exact, Scored):
            return (*paid, exact.size, exact.spread, exact.rise)
        if isinstance(exact, SparseScored):
            return (*paid, exact.size, exact.rise)
        return (*paid, exact.limit) if isinstance(exact, SupportCounts) else paid


@dataclass(frozen=True)
class Move:
    """How far numbers moved, as a share of what was declared, and what that costs.

    Of Gaussian noise it is what was granted that counts: of a part of ρ, that part of ε and δ.
    """

    mechanism: str
    ratio: float
    epsilon: float = 0.0
    delta: float = 0.0
    step: int = 0


def move(one: Meeting, other: Meeting) -> Move:
    """Return how far two neighbours are apart where both met the same noise; refuse more than is allowed."""
    if not one.drawn:
        raise Violation(f"{one.mechanism}: exact numbers came out, and nothing was drawn")
    first, second = one.exact, other.exact
    if isinstance(first, Bounded) and isinstance(second, Bounded):
        if one.mechanism == "compare":
            return _compared(first, second, one)
        return _added(first, second, one)
    if isinstance(first, Scored | SparseScored) and isinstance(second, Scored | SparseScored):
        return _chosen(first, second, one)
    if isinstance(first, SupportCounts) and isinstance(second, SupportCounts):
        return _selected(first, second, one)
    return _began(one)


def _added(first: Bounded, second: Bounded, one: Meeting) -> Move:
    """L1 over the scale is what Laplace noise costs; half the square of L2 over sigma is the ρ of Gaussian."""
    by, allowed = _apart(first, second), first.sensitivity
    l1, squares, most = int(by.sum()), sum(int(each) ** 2 for each in by[by > 0]), int(by.max(initial=0))
    for norm, moved, declared in (
        ("L1", l1, allowed.l1),
        ("squared L2", squares, allowed.l2_squared),
        ("L∞", most, allowed.linf),
    ):
        if moved > declared:
            raise Violation(f"{one.mechanism}: one person moves {moved} in {norm}, where {declared} is declared")
    (law, size), grant = one.drawn[0], one.grant
    if size != by.size:
        raise Violation(f"{one.mechanism}: {by.size} numbers met {size} draws")
    if isinstance(law, DiscreteGaussian):
        rho = Fraction(squares) / (2 * law.sigma**2)
        _paid(one, rho, Fraction(grant.price.rho), "ρ")
        share = grant.price.share_of_rho
        part = 1.0 if share is None else float(share)
        ratio = math.sqrt(squares / max(allowed.l2_squared, 1))
        return Move(one.mechanism, ratio, part * float(grant.epsilon), part * float(grant.delta))
    loss = Fraction(l1) / law.scale
    if first.admission == 1:
        _paid(one, loss, grant.exact, "ε")
        return Move(one.mechanism, l1 / max(allowed.l1, 1), epsilon=float(loss))
    # who is taken is drawn by lot; it is the worst that could happen to somebody who is
    worst = float(Fraction(allowed.l1) / law.scale)
    cost = math.log1p(float(first.admission) * math.expm1(worst))
    _paid(one, cost, float(grant.exact), "ε")
    return Move(one.mechanism, l1 / max(allowed.l1, 1), epsilon=cost)


def _compared(first: Bounded, second: Bounded, one: Meeting) -> Move:
    """Each comparison of the sparse vector technique; what all of them cost was settled at its beginning."""
    reach, positives, around = one.asked
    by = int(_apart(first, second).max(initial=0))
    if by > reach:
        raise Violation(f"compare: one person moves a distance by {by}, where {reach} is declared")
    law = one.drawn[0][0]
    _paid(one, reach / around + 2 * positives * reach / law.scale, one.grant.exact, "ε")
    return Move("compare", by / reach)


def _began(one: Meeting) -> Move:
    """Count the whole of what the sparse vector technique may cost."""
    return Move(one.mechanism, 0.0, epsilon=float(one.grant.exact))


def _chosen(first: Scored | SparseScored, second: Scored | SparseScored, one: Meeting) -> Move:
    """What all candidates gain alike cancels, so that the spread of what they gain is what a choice costs."""
    gained = _gaps(first) - _gaps(second)
    spread = int(gained.max() - gained.min())
    rounds, scale = one.asked[0], one.drawn[0][0]
    allowed = first.rise if one.mechanism == "peel" or isinstance(first, SparseScored) else first.spread
    if allowed is None or spread > allowed:
        raise Violation(f"{one.mechanism}: one person spreads candidates by {spread}, where {allowed} is declared")
    loss = rounds * Fraction(spread) / scale
    _paid(one, loss, one.grant.exact, "ε")
    return Move(one.mechanism, spread / max(allowed, 1), epsilon=float(loss))


def _selected(first: SupportCounts, second: SupportCounts, one: Meeting) -> Move:
    """Items that both neighbours have are counts with noise; an item of one of them alone may show with δ."""
    people = [
        dict(zip(each.sensitive_ids.to_pylist(), each.sensitive_people.tolist(), strict=True))
        for each in (first, second)
    ]
    changed = {item for item in people[0].keys() | people[1].keys() if people[0].get(item) != people[1].get(item)}
    alone = people[0].keys() ^ people[1].keys()
    by = [abs(people[0].get(item, 0) - people[1].get(item, 0)) for item in changed]
    if len(changed) > first.limit or max(by, default=0) > 1:
        raise Violation(f"select: one person changes {len(changed)} items, where {first.limit} are declared: {by}")
    shown = set(one.result)
    if not shown <= people[0].keys() & people[1].keys():
        raise Violation(f"select: {shown - people[1].keys()} came out, which one of two neighbours does not have")
    law, enough = one.drawn[0][0], threshold.threshold_for(first.limit, one.grant.price).people
    alpha = math.exp(-1 / float(law.scale))
    _paid(one, len(alone) * alpha ** (enough - 1) / (1 + alpha), float(one.grant.delta), "δ")
    loss = Fraction(len(changed - alone)) / law.scale
    _paid(one, loss, one.grant.exact, "ε")
    return Move("select", len(changed) / first.limit, float(loss), float(one.grant.delta))


def _paid(one: Meeting, cost: Fraction | float, allowed: Fraction | float, unit: str) -> None:
    more = cost > allowed if isinstance(cost, Fraction) else cost > allowed * (1 + _SLACK)
    if more:
        raise Violation(
            f"{one.mechanism}: one person costs {unit} = {float(cost):.6g}, where {float(allowed):.6g} is paid"
        )


def _apart(first: Bounded, second: Bounded) -> Integers:
    by: Integers = np.abs(first.sensitive_values - second.sensitive_values).ravel()
    return by


def _gaps(scored: Scored | SparseScored) -> Integers:
    if isinstance(scored, Scored):
        return scored.sensitive_gaps.astype(np.int64)
    gaps = np.full(scored.size, scored.sensitive_gap_of_zeros, dtype=np.int64)
    gaps[scored.sensitive_columns] = scored.sensitive_gaps
    return gaps
