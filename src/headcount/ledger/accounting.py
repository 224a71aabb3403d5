"""What a request costs, and how costs add up over requests that are chosen one after another.

A dataset has one of two filters, fixed when its budget is created. A filter takes requests as long as their total
stays within the budget, and refuses the first one that does not fit; whoever asks may choose each request, its
price included, after seeing all earlier answers.

``sum``
    ε and δ add up. A budget without δ takes requests of pure ε alone.
``zcdp``
    Each request counts as ρ of zero-concentrated differential privacy: Gaussian noise with its own ρ, a part of
    pure ε with ε²/2. What ρ does not cover (the δ of a threshold for unknown items) adds up beside it as *slack*.
    The total ρ is converted to ε at the δ that the slack leaves, and must stay within ε.

Why it is private
    ``sum``: a filter that adds up ε and δ is valid under fully adaptive composition (Rogers et al., section 3).

    ``zcdp``: if each request is, given all earlier answers, γᵢ-approximately ρᵢ-zCDP, and no request is run that
    would lift Σρᵢ above ρ or Σγᵢ above γ, then all answers together are γ-approximately ρ-zCDP, although ρᵢ and γᵢ
    are chosen adaptively (the filter for approximate zCDP of Whitehouse et al.; for γ = 0 it is the Rényi filter
    of Feldman and Zrnic, at every order at once). ε-DP implies ε²/2-zCDP (Bun and Steinke, proposition 1.4). For
    every α > 1, ρ-zCDP implies (ε, δ')-DP with

        ε = α ρ + (ln(1/δ') + (α - 1) ln(1 - 1/α) - ln α) / (α - 1)     (Canonne et al., proposition 12),

    and the slack adds to δ: δ = δ' + γ. Any α is safe; what the best one gives is computed with many digits and
    rounded up.

    What was reserved and is refunded never looked at the data: its answer is a constant, which costs nothing.

Not done
    Parallel composition across requests, and tight accounting (PLD) across requests: their parameters would have
    to be fixed beforehand.

Reference
    R. Rogers, A. Roth, J. Ullman, S. Vadhan. Privacy Odometers and Filters. NeurIPS 2016.
    J. Whitehouse, A. Ramdas, R. Rogers, Z. S. Wu. Fully-Adaptive Composition in Differential Privacy. ICML 2023.
    V. Feldman, T. Zrnic. Individual Privacy Accounting via a Rényi Filter. NeurIPS 2021.
    M. Bun, T. Steinke. Concentrated Differential Privacy: Simplifications, Extensions, and Lower Bounds. TCC 2016.
    C. Canonne, G. Kamath, T. Steinke. The Discrete Gaussian for Differential Privacy. NeurIPS 2020.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal, Inexact, InvalidOperation, localcontext
from typing import Any, Literal, cast, get_args

from headcount.budget import Amount, amount, probability
from headcount.errors import HeadcountError, RefusedError, UsageError
from headcount.guarantee import UNIT, Guarantee, Standing, in_short

Filter = Literal["sum", "zcdp"]

_ZERO = Decimal(0)
_PLACES = 160  # decimals that an amount may have
_MOST = Decimal("1e12")
_EXACT = Context(prec=_PLACES + 60, traps=[Inexact, InvalidOperation])  # adds up more than 10^40 charges exactly
_UP = Context(prec=60, rounding=ROUND_CEILING)
_DIGITS = 50
_RHO_STEP = Decimal("1e-40")
_EPSILON_STEP = Decimal("1e-12")


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
    delta: Decimal = _ZERO
    rho: Decimal | None = None
    slack: Decimal = _ZERO

    def __post_init__(self) -> None:
        for name, value in (("epsilon", self.epsilon), ("delta", self.delta), ("slack", self.slack)):
            _check_amount(name, value)
        if self.rho is not None:
            _check_amount("rho", self.rho)
        if self.epsilon <= 0:
            raise UsageError("a charge must have a positive epsilon", given=self.epsilon)
        if self.delta >= 1 or self.slack > self.delta:
            raise UsageError(
                f"a charge must have δ below 1 and slack within it, not δ = {self.delta}, slack = {self.slack}"
            )
        if self.rho == 0:
            raise UsageError("a charge must have a positive rho, or none", given=self.rho)

    @classmethod
    def of(cls, guarantee: Guarantee, *, rho: Decimal | None = None, slack: Decimal = _ZERO) -> Charge:
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
        if guarantee.unit != UNIT:
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

        >>> Charge.of_stages(pure=[Decimal("0.1")], gaussian=[(Decimal("0.9"), Decimal("1e-6"), Decimal("0.02"))])
        Charge(epsilon=Decimal('1.0'), delta=Decimal('0.000001'), rho=Decimal('0.025'), slack=Decimal('0'))
        """
        pures, gaussians, thresholds = list(pure), list(gaussian), list(threshold)
        by_epsilon = pures + [epsilon for epsilon, _ in thresholds]
        return cls(
            total([*by_epsilon, *(epsilon for epsilon, _, _ in gaussians)]),
            total([*(delta for _, delta, _ in gaussians), *(delta for _, delta in thresholds)]),
            total([*map(pure_rho, by_epsilon), *(rho for _, _, rho in gaussians)]),
            total([delta for _, delta in thresholds]),
        )

    @property
    def amounts(self) -> str:
        """What it costs, in a few words."""
        return f"ε = {plain(self.epsilon)}" + (f", δ = {in_short(self.delta)}" if self.delta else "")

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

    loss: Decimal = _ZERO
    delta: Decimal = _ZERO

    def __add__(self, other: Spent) -> Spent:
        return Spent(total([self.loss, other.loss]), total([self.delta, other.delta]))

    def __sub__(self, other: Spent) -> Spent:
        rest = Spent(less(self.loss, other.loss), less(self.delta, other.delta))
        if rest.loss < 0 or rest.delta < 0:
            raise HeadcountError("more would be refunded than was ever spent; run `headcount ledger verify`")
        return rest


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How much may be spent on a dataset, and by each analyst; and by which filter costs add up.

    >>> budget = Budget.of("3", delta="1e-6", filter="zcdp")
    >>> spent = budget.price(Charge(Decimal("0.1")))
    >>> spent, budget.epsilon_of(spent)
    (Spent(loss=Decimal('0.005'), delta=Decimal('0')), Decimal('0.429941468837'))
    """

    epsilon: Decimal
    delta: Decimal = _ZERO
    per_analyst: Decimal | None = None
    filter: Filter = "sum"

    @classmethod
    def of(
        cls,
        epsilon: Amount,
        *,
        delta: Amount | None = None,
        per_analyst: Amount | None = None,
        filter: str = "sum",  # noqa: A002
    ) -> Budget:
        """Read a budget, refusing what makes no sense."""
        if filter not in get_args(Filter):
            raise UsageError("filter must be sum or zcdp", given=filter)
        if filter == "zcdp" and delta is None:
            raise UsageError(
                "the filter zcdp needs a δ, at which what was spent is converted to ε", remedy="try --delta 1e-6"
            )
        whole, each = amount(epsilon), None if per_analyst is None else amount(per_analyst)
        if each is not None and each > whole:
            raise UsageError(f"an analyst cannot spend more than the whole ε = {plain(whole)}", given=plain(each))
        small = _ZERO if delta is None else probability(delta)
        for name, value in (("epsilon", whole), ("delta", small), ("per_analyst", each or _ZERO)):
            _check_amount(name, value)
        return cls(epsilon=whole, delta=small, per_analyst=each, filter=cast("Filter", filter))

    def price(self, charge: Charge) -> Spent:
        """Return what a charge adds to what was spent; refuse one that the filter cannot judge."""
        if self.filter == "sum":
            if charge.delta and not self.delta:
                raise RefusedError(
                    f"this budget is one of pure ε, and the request needs δ = {in_short(charge.delta)}",
                    remedy="ask for Laplace noise and a public catalogue",
                )
            return Spent(charge.epsilon, charge.delta)
        if charge.rho is not None:
            return Spent(charge.rho, charge.slack)
        return Spent(pure_rho(charge.epsilon), charge.delta)  # (ε, δ)-DP is δ-approximately ε²/2-zCDP

    def epsilon_of(self, spent: Spent) -> Decimal:
        """Return the ε that everything spent so far amounts to, at the budget's δ."""
        if self.filter == "sum" or not spent.loss:
            return spent.loss
        left = less(self.delta, spent.delta)
        return epsilon_for(spent.loss, left) if left > 0 else Decimal("Infinity")

    def check(self, spent: Spent, by_analyst: Spent, charge: Charge, *, dataset: str, analyst: str) -> None:
        """Refuse a charge that does not fit into what is left, for the dataset or for the analyst."""
        price = self.price(charge)
        left = less(self.delta, (spent + price).delta)
        if left < 0 or (self.filter == "zcdp" and left == 0):  # some δ is needed to convert at
            raise RefusedError(
                f"{dataset} has spent δ = {in_short(spent.delta)} of {in_short(self.delta)}, and this request "
                f"adds δ = {in_short(price.delta)}",
                remedy="ask for a smaller delta",
            )
        self._check_epsilon(spent, price, self.epsilon, dataset, charge)
        if self.per_analyst is not None:
            self._check_epsilon(by_analyst, price, self.per_analyst, f"{analyst} on {dataset}", charge)

    def _check_epsilon(self, spent: Spent, price: Spent, most: Decimal, who: str, charge: Charge) -> None:
        after = self.epsilon_of(spent + price)
        if after <= most:
            return
        as_spent = "" if self.filter == "sum" else f", which would make it {plain(after)}"
        raise RefusedError(
            f"{who} has spent ε = {plain(self.epsilon_of(spent))} of {plain(most)}, and this request costs "
            f"{charge.amounts}{as_spent}",
            remedy="ask for less, or use what is published already",
        )

    def to_json(self) -> dict[str, str | None]:
        """Return the budget as plain data, exactly."""
        each = None if self.per_analyst is None else plain(self.per_analyst)
        numbers = {"epsilon": plain(self.epsilon), "delta": plain(self.delta)}
        return {**numbers, "per_analyst": each, "filter": self.filter}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Budget:
        """Read back what :meth:`to_json` wrote."""
        delta = None if Decimal(data["delta"]) == 0 else data["delta"]
        return cls.of(data["epsilon"], delta=delta, per_analyst=data["per_analyst"], filter=data["filter"])


def total(amounts: Iterable[Decimal]) -> Decimal:
    """Add up exactly."""
    result = _ZERO
    for each in amounts:
        result = _EXACT.add(result, each)
    return result


def less(whole: Decimal, taken: Decimal) -> Decimal:
    """Subtract exactly."""
    return _EXACT.subtract(whole, taken)


def pure_rho(epsilon: Decimal) -> Decimal:
    """Return ε²/2, rounded up where it has very many digits.

    >>> pure_rho(Decimal("0.1"))
    Decimal('0.005')
    """
    exact = _UP.divide(_UP.multiply(epsilon, epsilon), Decimal(2))
    return exact if exact.as_tuple().exponent >= -40 else exact.quantize(_RHO_STEP, context=_UP)  # type: ignore[operator]


def epsilon_for(rho: Decimal, delta: Decimal) -> Decimal:
    """Return an ε such that ρ-zCDP implies (ε, δ)-DP: the least one known, rounded up.

    >>> epsilon_for(Decimal("0.024356"), Decimal("1e-6"))
    Decimal('1.000000651632')
    """
    if rho == 0:
        return _ZERO
    with localcontext() as context:
        context.prec = _DIGITS
        log_delta = delta.ln()
        more = Decimal(_best_more(float(rho), float(log_delta)))  # α - 1
        for _ in range(2):  # Newton's steps, so that what was converted to ρ and is converted back fits its budget
            more -= (rho * more * more + (1 + more).ln() + log_delta) / (2 * rho * more + 1 / (1 + more))
        log_alpha = (1 + more).ln()
        epsilon = (1 + more) * rho - (log_delta + log_alpha) / more + more.ln() - log_alpha
        if epsilon <= 0:
            return _ZERO
        context.rounding = ROUND_CEILING
        return (epsilon + Decimal("1e-30") * (1 + rho)).quantize(_EPSILON_STEP)


def _best_more(rho: float, log_delta: float) -> float:
    """Return nearly the best α - 1: where the derivative of ε, ρ + (ln δ + ln α) / (α - 1)², is 0."""
    low, high = 0.0, math.sqrt(-log_delta / rho)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rho * middle * middle + math.log1p(middle) + log_delta < 0 else (low, middle)
    return high


def _check_amount(name: str, value: Decimal) -> None:
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or value < 0 or value > _MOST or exponent < -_PLACES:
        raise UsageError(
            f"{name} must be a number from 0 to {_MOST:f} with at most {_PLACES} decimals", given=str(value)[:40]
        )
