"""Sensitivity and cost of each mechanism call in a replay, checked against what was declared and spent.

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
from headcount.bounds import Bounded, Scored
from headcount.bounds.counts.users_per_column import SparseScored
from headcount.bounds.keys.key_support import BoundedKeySupport
from headcount.bounds.keys.key_weights import BoundedKeyWeights
from headcount.bounds.scores.joint_quantile_scores import ScoredJointly
from headcount.bounds.scores.quantile_scores import ScoredTogether
from headcount.noise.partition_selection import single_key, threshold

_SLACK = 1e-9  # of what is worked out in floats
_ROWS = 60  # of very many, that are looked at

Exact = Bounded | Scored | ScoredTogether | SparseScored | BoundedKeySupport | BoundedKeyWeights
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
class MechanismCall:
    """One place where exact numbers met noise: what was declared, asked for, paid, drawn, and what came out.

    ``declared``, ``parameters`` and ``drawn`` must be the same for two neighbours.
    """

    mechanism: str
    exact: Exact | None
    grant: Grant
    parameters: tuple[Any, ...]
    drawn: list[Any] = field(default_factory=list)
    result: Any = None

    @property
    def declared(self) -> tuple[Any, ...]:
        """What is said of the exact numbers, which is public."""
        exact = self.exact
        paid = (self.grant.cost,)
        if isinstance(exact, Bounded):
            return (*paid, exact.shape, exact.sensitivity, exact.unit, exact.admission)
        if isinstance(exact, Scored):
            return (*paid, exact.size, exact.spread, exact.rise)
        if isinstance(exact, SparseScored):
            return (*paid, exact.size, exact.rise)
        if isinstance(exact, ScoredTogether):
            return (*paid, *((part.size, part.spread) for part in exact.parts))
        if isinstance(exact, BoundedKeyWeights):
            return (*paid, exact.rule, exact.bound.most, exact.bound.ceilings)
        return (*paid, exact.limit) if isinstance(exact, BoundedKeySupport) else paid


@dataclass(frozen=True)
class SensitivityUse:
    """How far numbers moved, as a share of what was declared, and what that costs.

    Of what costs ρ it is what was granted that counts: of a part of ρ, that part of ε and δ; but where nothing
    moved, nothing.
    """

    mechanism: str
    ratio: float
    epsilon: float = 0.0
    delta: float = 0.0
    step: int = 0


def check_call(call: MechanismCall, other: MechanismCall) -> SensitivityUse:
    """Return how far two neighbours are apart where both met the same noise; refuse more than is allowed."""
    if isinstance(call.exact, ScoredTogether) and isinstance(other.exact, ScoredTogether):
        return _check_parallel_selection(call.exact, other.exact, call)
    if not call.drawn:
        raise Violation(f"{call.mechanism}: exact numbers came out, and nothing was drawn")
    first, second = call.exact, other.exact
    if isinstance(first, Bounded) and isinstance(second, Bounded):
        if call.mechanism == "compare":
            return _check_comparison(first, second, call)
        return _check_additive_noise(first, second, call)
    if isinstance(first, Scored | SparseScored) and isinstance(second, Scored | SparseScored):
        return _check_selection(first, second, call)
    if isinstance(first, BoundedKeySupport) and isinstance(second, BoundedKeySupport):
        return _check_partition_selection(first, second, call)
    if isinstance(first, BoundedKeyWeights) and isinstance(second, BoundedKeyWeights):
        return _check_weighted_selection(first, second, call)
    return _check_start(call)


def _check_additive_noise(first: Bounded, second: Bounded, call: MechanismCall) -> SensitivityUse:
    """L1 over the scale is what Laplace noise costs; half the square of L2 over sigma is the ρ of Gaussian."""
    by, allowed = _apart(first, second), first.sensitivity
    l1, squares, most = int(by.sum()), sum(int(change) ** 2 for change in by[by > 0]), int(by.max(initial=0))
    for norm, moved, declared in (
        ("L1", l1, allowed.l1),
        ("squared L2", squares, allowed.l2_squared),
        ("L∞", most, allowed.linf),
    ):
        if moved > declared:
            raise Violation(f"{call.mechanism}: one person moves {moved} in {norm}, where {declared} is declared")
    (law, size), grant = call.drawn[0], call.grant
    if size != by.size:
        raise Violation(f"{call.mechanism}: {by.size} numbers met {size} draws")
    if isinstance(law, DiscreteGaussian):
        rho = Fraction(squares) / (2 * law.sigma**2)
        _check_cost(call, rho, Fraction(grant.cost.rho), "ρ")
        ratio = math.sqrt(squares / max(allowed.l2_squared, 1))
        return SensitivityUse(call.mechanism, ratio, *_part(call, squares > 0))
    loss = Fraction(l1) / law.scale
    if first.admission == 1:
        _check_cost(call, loss, grant.exact, "ε")
        return SensitivityUse(call.mechanism, l1 / max(allowed.l1, 1), epsilon=float(loss))
    # who is taken is drawn by lot; it is the worst that could happen to somebody who is
    worst = float(Fraction(allowed.l1) / law.scale)
    cost = math.log1p(float(first.admission) * math.expm1(worst))
    _check_cost(call, cost, float(grant.exact), "ε")
    return SensitivityUse(call.mechanism, l1 / max(allowed.l1, 1), epsilon=cost)


def _check_comparison(first: Bounded, second: Bounded, call: MechanismCall) -> SensitivityUse:
    """Each comparison of the sparse vector technique; what all of them cost was settled at its beginning."""
    reach, positives, around = call.parameters
    by = int(_apart(first, second).max(initial=0))
    if by > reach:
        raise Violation(f"compare: one person moves a distance by {by}, where {reach} is declared")
    law = call.drawn[0][0]
    _check_cost(call, reach / around + 2 * positives * reach / law.scale, call.grant.exact, "ε")
    return SensitivityUse("compare", by / reach)


def _check_start(call: MechanismCall) -> SensitivityUse:
    """Count the whole of what the sparse vector technique may cost."""
    return SensitivityUse(call.mechanism, 0.0, epsilon=float(call.grant.exact))


def _check_selection(
    first: Scored | SparseScored, second: Scored | SparseScored, call: MechanismCall
) -> SensitivityUse:
    """What all candidates gain alike cancels, so that the spread of what they gain is what a choice costs."""
    gained = _gaps(first) - _gaps(second)
    spread = int(gained.max() - gained.min())
    rounds, scale = call.parameters[0], call.drawn[0][0]
    allowed = first.rise if call.mechanism == "peel" or isinstance(first, SparseScored) else first.spread
    if allowed is None or spread > allowed:
        raise Violation(
            f"{call.mechanism}: one person spreads candidates by {spread}, where {allowed} is declared"
        )
    if call.grant.delta:
        return _check_permute_and_flip(
            spread / max(allowed, 1), rounds, rounds * (Fraction(spread) / scale) ** 2 / 8, call
        )
    loss = rounds * Fraction(spread) / scale
    _check_cost(call, loss, call.grant.exact, "ε")
    return SensitivityUse(call.mechanism, spread / max(allowed, 1), epsilon=float(loss))


def _check_permute_and_flip(ratio: float, rounds: int, rho: Fraction, call: MechanismCall) -> SensitivityUse:
    """Picks of the exponential mechanism cost ρ; permute-and-flip has no such cost that anybody knows."""
    if call.drawn[0][2:] != (True,):
        raise Violation(f"{call.mechanism}: permute-and-flip is paid with ρ")
    _check_cost(call, rho, Fraction(call.grant.cost.rho_of_rounds(rounds)), "ρ")
    return SensitivityUse("picks", ratio, *_part(call, rho > 0))


def _part(call: MechanismCall, moved: bool) -> tuple[float, float]:
    """Return the part of ε and δ that a part of ρ stands for."""
    share = call.grant.cost.share_of_rho
    part = (1.0 if share is None else float(share)) if moved else 0.0
    return part * float(call.grant.epsilon), part * float(call.grant.delta)


def _check_parallel_selection(
    first: ScoredTogether, second: ScoredTogether, call: MechanismCall
) -> SensitivityUse:
    """Each part costs what its candidates spread by; the shares of what is declared sum to 1 at most."""
    if len(call.drawn) != len(first.parts):
        raise Violation(f"{call.mechanism}: {len(first.parts)} parts met {len(call.drawn)} draws")
    loss, share = Fraction(0), Fraction(0)
    for mine, other, (scale, rounds) in zip(first.parts, second.parts, call.drawn, strict=True):
        spread = _spread_of(mine, other)
        loss += rounds * spread / scale
        share += spread / mine.spread
    if share > 1:
        raise Violation(f"{call.mechanism}: one person spreads {float(share):.6g} of what is declared")
    _check_cost(call, loss, call.grant.exact, "ε")
    return SensitivityUse(call.mechanism, float(share), epsilon=float(loss))


def _spread_of(first: Scored | ScoredJointly, other: Scored | ScoredJointly) -> Fraction:
    """Return how differently candidates moved; of rows, no more than ``_ROWS`` are looked at, evenly spread."""
    if isinstance(first, ScoredJointly) and isinstance(other, ScoredJointly):
        alike = np.stack([*first.sensitive_singles, *other.sensitive_singles])
        _, cells = np.unique(alike, axis=1, return_index=True)
        rows = list(itertools.combinations_with_replacement(sorted(cells.tolist()), len(first.sensitive_singles)))
        moved = [
            first.sensitive_gap_of_row(row) - other.sensitive_gap_of_row(row)
            for row in rows[:: -(-len(rows) // _ROWS)]
        ]
        return max(moved) - min(moved)
    if isinstance(first, Scored) and isinstance(other, Scored):
        gained = _gaps(first) - _gaps(other)
        return Fraction(int(gained.max() - gained.min()))
    raise Violation("neighbours choose among other candidates")


def _check_partition_selection(
    first: BoundedKeySupport, second: BoundedKeySupport, call: MechanismCall
) -> SensitivityUse:
    """Items that both neighbours have are counts with noise; an item of one of them alone may show with δ."""
    users = [
        dict(zip(support.sensitive_ids.to_pylist(), support.sensitive_users.tolist(), strict=True))
        for support in (first, second)
    ]
    changed = {item for item in users[0].keys() | users[1].keys() if users[0].get(item) != users[1].get(item)}
    alone = users[0].keys() ^ users[1].keys()
    by = [abs(users[0].get(item, 0) - users[1].get(item, 0)) for item in changed]
    if len(changed) > first.limit or max(by, default=0) > 1:
        raise Violation(f"select: one person changes {len(changed)} items, where {first.limit} are declared: {by}")
    shown = set(call.result)
    if not shown <= users[0].keys() & users[1].keys():
        raise Violation(f"select: {shown - users[1].keys()} came out, which one of two neighbours does not have")
    law, enough = call.drawn[0][0], threshold.threshold_for(first.limit, call.grant.cost).users_needed
    alpha = math.exp(-1 / float(law.scale))
    _check_cost(call, len(alone) * alpha ** (enough - 1) / (1 + alpha), float(call.grant.delta), "δ")
    loss = Fraction(len(changed - alone)) / law.scale
    _check_cost(call, loss, call.grant.exact, "ε")
    return SensitivityUse("select", len(changed) / first.limit, float(loss), float(call.grant.delta))


_TWENTIETHS = {5: 2, 4: 3, 3: 4, 2: 5, 1: 6}  # of μ², by the rounds that are left


def _check_weighted_selection(
    first: BoundedKeyWeights, second: BoundedKeyWeights, call: MechanismCall
) -> SensitivityUse:
    """Weights of one unit in L1, or in L2; or one item named. What one neighbour alone has is released with δ."""
    weights = [
        dict(zip(weights_of_log.sensitive_ids.to_pylist(), weights_of_log.sensitive_weights.tolist(), strict=True))
        for weights_of_log in (first, second)
    ]
    items = weights[0].keys() | weights[1].keys()
    by = [abs(weights[0].get(item, 0) - weights[1].get(item, 0)) for item in items]
    grant, unit = call.grant, first.unit
    if call.mechanism == "sift":
        share = Fraction(_TWENTIETHS[call.parameters[0]], 20)
        squares, law = sum(change**2 for change in by), call.drawn[0][0]
        if squares > unit**2:
            raise Violation(f"sift: one person moves weights by {math.sqrt(squares) / unit} in L2")
        alone = [weights[item not in weights[0]][item] for item in weights[0].keys() ^ weights[1].keys()]
        ceilings = [weight for items, weight in first.bound.ceilings if items >= len(alone)]
        if max(alone, default=0) > max(ceilings, default=0):
            raise Violation(f"sift: one person gives {max(alone)} to an item of nobody else")
        mu = mu_for(grant.epsilon, grant.delta * 7 / 10)
        _check_cost(
            call,
            Fraction(unit**2) / (law.sigma**2 - 16),
            Fraction(mu) ** 2 * share * (1 + Fraction(1, 10**12)),
            "μ²",
        )
        part = float(share)
        return SensitivityUse(
            "sift", math.sqrt(squares) / unit, part * float(grant.epsilon), part * float(grant.delta)
        )
    if sum(by) > unit:
        raise Violation(f"{call.mechanism}: one person moves weights by {sum(by)} in L1, where {unit} is declared")
    if call.mechanism == "glance":
        loss = Fraction(sum(by)) / call.drawn[0][0].scale
        _check_cost(call, loss, grant.exact, "ε")
        return SensitivityUse("glance", sum(by) / unit, epsilon=float(loss))
    if not set(call.result) <= weights[0].keys() & weights[1].keys():
        raise Violation("named: an item came out that one of two neighbours does not have")
    _check_inclusion_chances(call)
    return SensitivityUse("named", sum(by) / unit, float(grant.epsilon), float(grant.delta))


def _check_inclusion_chances(call: MechanismCall) -> None:
    """See that one person more or fewer changes no chance by more than is paid for."""
    chance_table, growth, delta = (
        single_key.release_probabilities_for(call.grant.cost),
        math.exp(float(call.grant.epsilon)),
        float(call.grant.delta),
    )
    chances = [chance / (1 << chance_table.bits) for chance in chance_table.values]
    for few_people, more in itertools.pairwise(chances):
        for low, high in ((few_people, more), (1 - more, 1 - few_people)):
            if max(high - growth * low, low - growth * high) > delta + _SLACK:
                raise Violation(f"named: chances {few_people} and {more} are further apart than is paid for")


def _check_cost(call: MechanismCall, cost: Fraction | float, allowed: Fraction | float, unit: str) -> None:
    more = cost > allowed if isinstance(cost, Fraction) else cost > allowed * (1 + _SLACK)
    if more:
        raise Violation(
            f"{call.mechanism}: one person costs {unit} = {float(cost):.6g}, where {float(allowed):.6g} is paid"
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
