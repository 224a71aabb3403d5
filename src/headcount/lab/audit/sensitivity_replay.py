"""How far one person moved what met noise: within what was declared, and what the noise that was drawn pays for.

Every figure here is worked out from the numbers themselves and from the scale that was drawn with, by the textbook
rule of the mechanism. Of what the product says of itself only the claim is taken, to be held against it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.accounting.budget import Grant
from headcount.accounting.gdp import mu_for
from headcount.accounting.noise_distributions import DiscreteGaussian
from headcount.bounds import (
    Bounded,
    Scored,
    ScoredJointly,
    ScoredTogether,
    SparseScored,
    SpreadWeights,
    SupportCounts,
)
from headcount.noise.partition_selection import single_key, threshold

_SLACK = 1e-9  # of what is worked out in floats
_ROWS = 60  # of very many, that are looked at

Exact = Bounded | Scored | ScoredTogether | SparseScored | SupportCounts | SpreadWeights
Integers = NDArray[np.int64]


class Violation(AssertionError):  # noqa: N818 - it is what was found, not what went wrong
    """Two neighbours can be told apart by more than was promised."""


class Key(bytes):
    """A key that a source of noise gave, with everything that an engine measured with it."""

    measured: tuple[tuple[Any, ...], ...] = ()

    def take_lot(self, exact: Bounded) -> bool:
        """Say whether this key drew these numbers and nothing else; it never says so again."""
        fresh = len(self.measured) == 1 and any(part is exact for part in self.measured[0])
        self.measured += ((),) * fresh
        return fresh


def noting(measure: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the verb of an engine, so that each key keeps the measurements that it served."""

    def measured(self: Any, log: Any, bound: Any, secret: bytes) -> Any:
        result = measure(self, log, bound, bytes(secret))
        if isinstance(secret, Key):
            secret.measured += (tuple(getattr(result, "__dict__", {}).values()),)
        return result

    return measured


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
        if isinstance(exact, ScoredTogether):
            return (*paid, *((part.size, part.spread) for part in exact.parts))
        if isinstance(exact, SpreadWeights):
            return (*paid, exact.rule, exact.bound.most, exact.bound.ceilings)
        return (*paid, exact.limit) if isinstance(exact, SupportCounts) else paid


@dataclass(frozen=True)
class Move:
    """How far numbers moved, as a share of what was declared, and what that costs.

    Of what costs ρ it is what was granted that counts: of a part of ρ, that part of ε and δ; but where nothing
    moved, nothing.
    """

    mechanism: str
    ratio: float
    epsilon: float = 0.0
    delta: float = 0.0
    step: int = 0


def move(one: Meeting, other: Meeting) -> Move:
    """Return how far two neighbours are apart where both met the same noise; refuse more than is allowed."""
    if isinstance(one.exact, ScoredTogether) and isinstance(other.exact, ScoredTogether):
        return _chosen_together(one.exact, other.exact, one)
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
    if isinstance(first, SpreadWeights) and isinstance(second, SpreadWeights):
        return _spread(first, second, one)
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
        ratio = math.sqrt(squares / max(allowed.l2_squared, 1))
        return Move(one.mechanism, ratio, *_part(one, squares > 0))
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
    if one.grant.delta:
        return _picked(spread / max(allowed, 1), rounds, rounds * (Fraction(spread) / scale) ** 2 / 8, one)
    loss = rounds * Fraction(spread) / scale
    _paid(one, loss, one.grant.exact, "ε")
    return Move(one.mechanism, spread / max(allowed, 1), epsilon=float(loss))


def _picked(ratio: float, rounds: int, rho: Fraction, one: Meeting) -> Move:
    """Picks of the exponential mechanism cost ρ; permute-and-flip has no such cost that anybody knows."""
    if one.drawn[0][2:] != (True,):
        raise Violation(f"{one.mechanism}: permute-and-flip is paid with ρ")
    _paid(one, rho, Fraction(one.grant.price.rho_of_rounds(rounds)), "ρ")
    return Move("picks", ratio, *_part(one, rho > 0))


def _part(one: Meeting, moved: bool) -> tuple[float, float]:
    """Return the part of ε and δ that a part of ρ stands for."""
    share = one.grant.price.share_of_rho
    part = (1.0 if share is None else float(share)) if moved else 0.0
    return part * float(one.grant.epsilon), part * float(one.grant.delta)


def _chosen_together(first: ScoredTogether, second: ScoredTogether, one: Meeting) -> Move:
    """Each part costs what its candidates spread by; the shares of what is declared sum to 1 at most."""
    if len(one.drawn) != len(first.parts):
        raise Violation(f"{one.mechanism}: {len(first.parts)} parts met {len(one.drawn)} draws")
    loss, share = Fraction(0), Fraction(0)
    for mine, other, (scale, rounds) in zip(first.parts, second.parts, one.drawn, strict=True):
        spread = _spread_of(mine, other)
        loss += rounds * spread / scale
        share += spread / mine.spread
    if share > 1:
        raise Violation(f"{one.mechanism}: one person spreads {float(share):.6g} of what is declared")
    _paid(one, loss, one.grant.exact, "ε")
    return Move(one.mechanism, float(share), epsilon=float(loss))


def _spread_of(one: Scored | ScoredJointly, other: Scored | ScoredJointly) -> Fraction:
    """Return how differently candidates moved; of rows, no more than ``_ROWS`` are looked at, evenly spread."""
    if isinstance(one, ScoredJointly) and isinstance(other, ScoredJointly):
        alike = np.stack([*one.sensitive_singles, *other.sensitive_singles])
        _, cells = np.unique(alike, axis=1, return_index=True)
        rows = list(itertools.combinations_with_replacement(sorted(cells.tolist()), len(one.sensitive_singles)))
        moved = [one.sensitive_off(row) - other.sensitive_off(row) for row in rows[:: -(-len(rows) // _ROWS)]]
        return max(moved) - min(moved)
    if isinstance(one, Scored) and isinstance(other, Scored):
        gained = _gaps(one) - _gaps(other)
        return Fraction(int(gained.max() - gained.min()))
    raise Violation("neighbours choose among other candidates")


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


_TWENTIETHS = {5: 2, 4: 3, 3: 4, 2: 5, 1: 6}  # of μ², by the rounds that are left


def _spread(first: SpreadWeights, second: SpreadWeights, one: Meeting) -> Move:
    """Weights of one unit in L1, or in L2; or one item named. What one neighbour alone has is released with δ."""
    weights = [
        dict(zip(each.sensitive_ids.to_pylist(), each.sensitive_weights.tolist(), strict=True))
        for each in (first, second)
    ]
    items = weights[0].keys() | weights[1].keys()
    by = [abs(weights[0].get(item, 0) - weights[1].get(item, 0)) for item in items]
    grant, unit = one.grant, first.unit
    if one.mechanism == "sift":
        share = Fraction(_TWENTIETHS[one.asked[0]], 20)
        squares, law = sum(each**2 for each in by), one.drawn[0][0]
        if squares > unit**2:
            raise Violation(f"sift: one person moves weights by {math.sqrt(squares) / unit} in L2")
        alone = [weights[item not in weights[0]][item] for item in weights[0].keys() ^ weights[1].keys()]
        ceilings = [weight for items, weight in first.bound.ceilings if items >= len(alone)]
        if max(alone, default=0) > max(ceilings, default=0):
            raise Violation(f"sift: one person gives {max(alone)} to an item of nobody else")
        mu = mu_for(grant.epsilon, grant.delta * 7 / 10)
        _paid(
            one,
            Fraction(unit**2) / (law.sigma**2 - 16),
            Fraction(mu) ** 2 * share * (1 + Fraction(1, 10**12)),
            "μ²",
        )
        part = float(share)
        return Move("sift", math.sqrt(squares) / unit, part * float(grant.epsilon), part * float(grant.delta))
    if sum(by) > unit:
        raise Violation(f"{one.mechanism}: one person moves weights by {sum(by)} in L1, where {unit} is declared")
    if one.mechanism == "glance":
        loss = Fraction(sum(by)) / one.drawn[0][0].scale
        _paid(one, loss, grant.exact, "ε")
        return Move("glance", sum(by) / unit, epsilon=float(loss))
    if not set(one.result) <= weights[0].keys() & weights[1].keys():
        raise Violation("named: an item came out that one of two neighbours does not have")
    _paid_by_chances(one)
    return Move("named", sum(by) / unit, float(grant.epsilon), float(grant.delta))


def _paid_by_chances(one: Meeting) -> None:
    """See that one person more or fewer changes no chance by more than is paid for."""
    made, growth, delta = (
        single_key.chances_for(one.grant.price),
        math.exp(float(one.grant.epsilon)),
        float(one.grant.delta),
    )
    chances = [each / (1 << made.bits) for each in made.values]
    for few_people, more in itertools.pairwise(chances):
        for low, high in ((few_people, more), (1 - more, 1 - few_people)):
            if max(high - growth * low, low - growth * high) > delta + _SLACK:
                raise Violation(f"named: chances {few_people} and {more} are further apart than is paid for")


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
