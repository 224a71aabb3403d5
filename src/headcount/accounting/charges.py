"""The cost of one request (ε, δ, ρ, slack) and the amounts spent, with exact addition.

How much may be spent, and which costs fit into it, is :mod:`headcount.ledger.composition`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any

from headcount.accounting.guarantee import GROUP_UNIT, UNIT, Guarantee, Standing, format_delta
from headcount.accounting.zcdp import epsilon_for, pure_rho
from headcount.errors import HeadcountError, RefusedError, UsageError

ZERO = Decimal(0)
_PLACES = 160  # decimals that an amount may have
_MOST = Decimal("1e12")
EXACT = Context(prec=_PLACES + 60, traps=[Inexact, InvalidOperation])  # adds up more than 10^40 charges exactly


def plain(number: Decimal) -> str:
    """Write an amount exactly, in one way only.

    >>> plain(Decimal("1E+1")), plain(Decimal("0.10")), plain(Decimal("0E-7"))
    ('10', '0.1', '0')
    """
    text = f"{number:f}"
    return (text.rstrip("0").rstrip(".") or "0") if "." in text else text


@dataclass(frozen=True)
class Charge:
    """The cost of one request, known without data.

    ``epsilon`` and ``delta`` are what the request promises as a whole. ``rho`` is what it costs in zero-
    concentrated privacy where that is known better than from ε alone; ``slack`` is the part of δ that it does not
    cover.

    >>> Charge(Decimal("0.5"))
    Charge(epsilon=Decimal('0.5'), delta=Decimal('0'), rho=None, slack=Decimal('0'))
    """

    epsilon: Decimal
    delta: Decimal = ZERO
    rho: Decimal | None = None
    slack: Decimal = ZERO

    def __post_init__(self) -> None:
        for name, value in (("epsilon", self.epsilon), ("delta", self.delta), ("slack", self.slack)):
            check_amount(name, value)
        if self.rho is not None:
            check_amount("rho", self.rho)
        if self.epsilon <= 0:
            raise UsageError("a charge must have a positive epsilon", given=self.epsilon)
        if self.delta >= 1 or self.slack > self.delta:
            raise UsageError(
                f"a charge must have δ below 1 and slack within it, not δ = {self.delta}, slack = {self.slack}"
            )
        if self.rho == 0:
            raise UsageError("a charge must have a positive rho, or none", given=self.rho)

    @classmethod
    def of(cls, guarantee: Guarantee, *, rho: Decimal | None = None, slack: Decimal = ZERO) -> Charge:
        """Return the cost of what a guarantee promises; what is only claimed cannot be charged.

        >>> Charge.of(Guarantee(epsilon=Decimal("1"), standing=Standing.CLAIMED, reason="the limit is read off"))
        Traceback (most recent call last):
        headcount.errors.RefusedError: a ledger keeps account of proven promises alone, and this one is only \
claimed: the limit is read off; use a proven method, or no ledger
        """
        if guarantee.standing is not Standing.PROVEN:
            raise RefusedError(
                "a ledger keeps account of proven promises alone, and this one is only claimed: "
                f"{guarantee.reason}",
                remedy="use a proven method, or no ledger",
            )
        if guarantee.unit not in (UNIT, GROUP_UNIT):  # one person of a group loses no more than the group
            raise RefusedError(f"a ledger keeps account per person ({UNIT}) alone", given=guarantee.unit)
        return cls(guarantee.epsilon, guarantee.delta, rho, slack)

    @classmethod
    def of_stages(
        cls,
        *,
        pure: Iterable[Decimal] = (),
        gaussian: Iterable[tuple[Decimal, Decimal, Decimal]] = (),
        threshold: Iterable[tuple[Decimal, Decimal]] = (),
    ) -> Charge:
        """Return the cost of a request from its stages, which may each look at the answers of those before.

        ``pure`` stages have an ε; ``gaussian`` ones ε, δ and the ρ their noise was made for; ``threshold`` ones
        (selecting unknown items with Laplace noise) ε and δ, where δ is slack.

        >>> table = Decimal("0.5"), Decimal("5e-7"), Decimal("0.0061")
        >>> Charge.of_stages(gaussian=[table, table])  # by sum it would be ε = 1
        Charge(epsilon=Decimal('0.691193769447'), delta=Decimal('0.0000010'), rho=Decimal('0.0122'), \
slack=Decimal('0'))
        """
        pures, gaussians, thresholds = list(pure), list(gaussian), list(threshold)
        by_epsilon = pures + [epsilon for epsilon, _ in thresholds]
        by_rho = exact_sum(rho for _, _, rho in gaussians)
        rho = exact_sum([*map(pure_rho, by_epsilon), by_rho])
        delta = exact_sum(delta for _, delta, _ in gaussians)
        ways = [exact_sum([*by_epsilon, *(epsilon for epsilon, _, _ in gaussians)])]
        if gaussians:
            ways += [exact_sum([*by_epsilon, epsilon_for(by_rho, delta)]), epsilon_for(rho, delta)]
        slack = exact_sum(stage_slack for _, stage_slack in thresholds)
        return cls(min(ways), exact_sum([delta, slack]), rho, slack)

    @property
    def amounts(self) -> str:
        """What it costs, in a few words."""
        return format_amounts(self.epsilon, self.delta)

    def to_json(self) -> dict[str, str | None]:
        """Return the charge as plain data, exactly."""
        rho = None if self.rho is None else plain(self.rho)
        return {
            "epsilon": plain(self.epsilon),
            "delta": plain(self.delta),
            "rho": rho,
            "slack": plain(self.slack),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Charge:
        """Read back what :meth:`to_json` wrote."""
        rho = None if data["rho"] is None else Decimal(data["rho"])
        return cls(Decimal(data["epsilon"]), Decimal(data["delta"]), rho, Decimal(data["slack"]))


@dataclass(frozen=True)
class Spent:
    """What was spent so far, in the unit of a filter: ε and δ for ``sum``, ρ and slack for ``zcdp``."""

    loss: Decimal = ZERO
    delta: Decimal = ZERO

    def __add__(self, other: Spent) -> Spent:
        return Spent(exact_sum([self.loss, other.loss]), exact_sum([self.delta, other.delta]))

    def __sub__(self, other: Spent) -> Spent:
        rest = Spent(subtract(self.loss, other.loss), subtract(self.delta, other.delta))
        if rest.loss < 0 or rest.delta < 0:
            raise HeadcountError("more would be refunded than was ever spent; run `headcount ledger verify`")
        return rest


def format_amounts(epsilon: Decimal, delta: Decimal) -> str:
    """Say an amount of ε and δ in a few words."""
    return f"ε = {plain(epsilon)}" + (f", δ = {format_delta(delta)}" if delta else "")


def exact_sum(amounts: Iterable[Decimal]) -> Decimal:
    """Add up exactly."""
    result = ZERO
    for number in amounts:
        result = EXACT.add(result, number)
    return result


def subtract(whole: Decimal, taken: Decimal) -> Decimal:
    """Subtract exactly."""
    return EXACT.subtract(whole, taken)


def check_amount(name: str, value: Decimal) -> None:
    """Refuse an amount that cannot be added up exactly."""
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or value < 0 or value > _MOST or exponent < -_PLACES:
        raise UsageError(
            f"{name} must be a number from 0 to {_MOST:f} with at most {_PLACES} decimals", given=str(value)[:40]
        )
