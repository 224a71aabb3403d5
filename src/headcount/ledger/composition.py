"""Privacy filters over adaptively chosen requests: the budget of a dataset and the composition of costs.

A dataset has one of two filters, fixed when its budget is created. A filter takes requests as long as their total
stays within the budget, and refuses the first one that does not fit; whoever asks may choose each request, its
price included, after seeing all earlier answers.

``sum``
    ε and δ add up. A budget without δ takes requests of pure ε alone.
``zcdp``
    Each request counts as ρ of zero-concentrated differential privacy: Gaussian noise with its own ρ, a part of
    pure ε with ε²/2. What ρ does not cover (the δ of a threshold for unknown items) adds up beside it as *slack*.
    Half of the budget's δ is for slack; at the other half the budget's ε is converted to the ρ that may be spent.
    Both are fixed when the budget is created.

Why it is private
    ``sum``: a filter that adds up ε and δ is valid under fully adaptive composition (Rogers et al., section 3).

    ``zcdp``: if each request is, given all earlier answers, γᵢ-approximately ρᵢ-zCDP, and no request is run that
    would lift Σρᵢ above ρ or Σγᵢ above γ, then all answers together are γ-approximately ρ-zCDP, although ρᵢ and γᵢ
    are chosen adaptively (the filter for approximate zCDP of Whitehouse et al.; for γ = 0 it is the Rényi filter
    of Feldman and Zrnic, at every order at once). If ρ-zCDP implies (ε, δ')-DP
    (:mod:`headcount.accounting.zcdp`), that is (ε, δ' + γ)-DP. The limits ρ and γ must not depend on what is
    asked: a filter that gave slack and ρ whatever the other leaves would choose its α after seeing the answers,
    and the theorem says nothing of that.

    Inside one request the noise of every stage is fixed beforehand. There the ρ of all Gaussian stages is added up
    and converted once, at the δ of all of them, instead of stage by stage; stages of pure ε, which shift the
    privacy loss by at most ε, are added to that, or count as ρ, too, whatever is less.

    What was reserved and is refunded never looked at the data: its answer is a constant, which costs nothing.

    A request whose first stage tells whether there is anything to do for the others is two requests, the second
    chosen after seeing the answer of the first. If it is not run, what was reserved for it is given back: a filter
    would have taken the first one alone, and may be asked for more afterwards.

Not done
    Parallel composition across requests, and privacy loss distributions (PLD) across requests: their parameters
    would have to be fixed beforehand. Inside one request a PLD would be a few per cent tighter for continuous
    Gaussian noise; for discrete noise on many counts at once, zCDP is what is proven.

Reference
    R. Rogers, A. Roth, J. Ullman, S. Vadhan. Privacy Odometers and Filters. NeurIPS 2016.
    J. Whitehouse, A. Ramdas, R. Rogers, Z. S. Wu. Fully-Adaptive Composition in Differential Privacy. ICML 2023.
    V. Feldman, T. Zrnic. Individual Privacy Accounting via a Rényi Filter. NeurIPS 2021.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal, cast, get_args

from headcount.accounting.budget import Amount, amount, probability
from headcount.accounting.charges import EXACT, ZERO, Charge, Spent, check_amount, format_amounts, plain
from headcount.accounting.guarantee import format_delta
from headcount.accounting.zcdp import epsilon_for, pure_rho, rho_for
from headcount.errors import RefusedError, UsageError, param
from headcount.ledger.event_time_windows import Span, Windows

Filter = Literal["sum", "zcdp"]


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How much may be spent on a dataset, and by each analyst; and by which filter costs add up.

    With ``windows`` that is how much may be spent on each of them; ``lifetime`` is then how much on all, if that
    has a limit.

    >>> budget = Budget.of("3", delta="1e-6", filter="zcdp")
    >>> spent = budget.cost_of(Charge(Decimal("0.1")))
    >>> spent, budget.epsilon_of(spent)
    (Spent(loss=Decimal('0.005'), delta=Decimal('0')), Decimal('0.445197520966'))
    >>> print(budget.slack, f"{budget.most_rho:.4f}")
    5E-7 0.1757
    """

    epsilon: Decimal
    delta: Decimal = ZERO
    per_analyst: Decimal | None = None
    filter: Filter = "sum"
    windows: Windows | None = None
    lifetime: Budget | None = None

    @classmethod
    def of(
        cls,
        epsilon: Amount,
        *,
        delta: Amount | None = None,
        per_analyst: Amount | None = None,
        filter: str = "sum",  # noqa: A002
        windows: Windows | None = None,
        lifetime: Budget | None = None,
    ) -> Budget:
        """Read a budget, refusing what makes no sense."""
        if filter not in get_args(Filter):
            raise UsageError("filter must be sum or zcdp", given=filter)
        if filter == "zcdp" and delta is None:
            raise UsageError(
                "the filter zcdp needs a δ, at which what was spent is converted to ε",
                remedy=f"try {param.delta('1e-6')}",
            )
        whole, analyst_cap = amount(epsilon), None if per_analyst is None else amount(per_analyst)
        if analyst_cap is not None and analyst_cap > whole:
            raise UsageError(
                f"an analyst cannot spend more than the whole ε = {plain(whole)}", given=plain(analyst_cap)
            )
        small = ZERO if delta is None else probability(delta)
        for name, value in (("epsilon", whole), ("delta", small), ("per_analyst", analyst_cap or ZERO)):
            check_amount(name, value)
        kind = cast("Filter", filter)
        budget = cls(
            epsilon=whole, delta=small, per_analyst=analyst_cap, filter=kind, windows=windows, lifetime=lifetime
        )
        budget._check_lifetime()
        if filter == "zcdp" and min(budget.most_rho, budget.analyst_rho) <= 0:
            raise UsageError(
                f"with δ = {format_delta(small)} so small an ε takes no request", remedy="use filter sum"
            )
        return budget

    def allowing(self, epsilon: Amount) -> Budget:
        """Return the budget as it is for one analyst, who may spend so much of it: it may be nothing at all.

        >>> Budget.of("3", per_analyst="1").allowing("2").per_analyst
        Decimal('2')
        >>> Budget.of("3").allowing("4")
        Traceback (most recent call last):
        headcount.errors.UsageError: an analyst cannot spend more than the whole ε = 3, not '4'
        """
        analyst_cap = ZERO if str(epsilon).strip() == "0" else amount(epsilon)
        if analyst_cap > self.epsilon:
            raise UsageError(
                f"an analyst cannot spend more than the whole ε = {plain(self.epsilon)}", given=plain(analyst_cap)
            )
        check_amount("epsilon", analyst_cap)
        return replace(self, per_analyst=analyst_cap)

    def _check_lifetime(self) -> None:
        """Refuse a lifetime that one window could not be spent in, or that has no δ for the windows'."""
        most = self.lifetime
        if most is None:
            return
        if self.windows is None:
            raise UsageError(
                f"{param.lifetime} is given without {param.window}",
                remedy=f"leave it out, or add {param.window('30d')}",
            )
        if bool(most.delta) != bool(self.delta):
            raise UsageError(
                f"{param.lifetime} needs a δ of its own where each window has one, and none otherwise",
                remedy=f"add or leave out {param.lifetime_delta}",
            )
        if most.epsilon < self.epsilon or most.delta < self.delta:
            raise UsageError(
                "the lifetime is smaller than the budget of one window",
                given=most.amounts,
                remedy=f"give at least {self.amounts}",
            )

    @property
    def amounts(self) -> str:
        """How much it is, in a few words."""
        return format_amounts(self.epsilon, self.delta)

    def touched(self, span: Span | None) -> range:
        """Return the windows that a request is charged to: none if the budget is one for all time."""
        return range(0) if self.windows is None else self.windows.touched(span)

    def cost_of(self, charge: Charge) -> Spent:
        """Return what a charge adds to what was spent; refuse one that the filter cannot judge."""
        if self.filter == "sum":
            if charge.delta and not self.delta:
                raise RefusedError(
                    f"this budget is one of pure ε, and the request needs δ = {format_delta(charge.delta)}",
                    remedy="ask for Laplace noise and a public catalogue",
                )
            return Spent(charge.epsilon, charge.delta)
        if charge.rho is not None:
            return Spent(charge.rho, charge.slack)
        return Spent(pure_rho(charge.epsilon), charge.delta)  # (ε, δ)-DP is δ-approximately ε²/2-zCDP

    def left_of(self, reserved: Charge, spent: Charge | None) -> Spent:
        """Return what is given back of a reserved charge if less was spent: nothing if all was.

        >>> Budget.of("3").left_of(Charge(Decimal("1")), Charge(Decimal("0.2")))
        Spent(loss=Decimal('0.8'), delta=Decimal('0'))
        """
        return Spent() if spent is None else self.cost_of(reserved) - self.cost_of(spent)

    @cached_property
    def slack(self) -> Decimal:
        """The part of δ that may be spent beside ρ."""
        return EXACT.divide(self.delta, Decimal(2))

    @cached_property
    def most_rho(self) -> Decimal:
        """The ρ that implies ε, at the δ that is not for slack."""
        return rho_for(self.epsilon, self.slack)

    @cached_property
    def analyst_rho(self) -> Decimal:
        """The ρ that implies the ε of one analyst."""
        analyst_cap = self.epsilon if self.per_analyst is None else self.per_analyst
        return rho_for(analyst_cap, self.slack) if analyst_cap else ZERO

    @property
    def analyst_loss(self) -> Decimal:
        """What one analyst may spend, in the unit of the filter."""
        if self.filter == "zcdp":
            return self.analyst_rho
        return self.epsilon if self.per_analyst is None else self.per_analyst

    def epsilon_of(self, spent: Spent) -> Decimal:
        """Return the ε that everything spent so far amounts to."""
        if self.filter == "sum" or not spent.loss:
            return spent.loss
        return epsilon_for(spent.loss, self.slack)

    def check(self, spent: Spent, by_analyst: Spent, charge: Charge, *, dataset: str, analyst: str) -> None:
        """Refuse a charge that does not fit into what is left, for the dataset or for the analyst."""
        cost = self.cost_of(charge)
        most, what = (self.delta, "δ") if self.filter == "sum" else (self.slack, "slack δ")
        if (spent + cost).delta > most:
            raise RefusedError(
                f"{dataset} has spent {what} = {format_delta(spent.delta)} of {format_delta(most)}, and this "
                f"request adds {format_delta(cost.delta)}",
                remedy="ask for a smaller delta",
            )
        by_sum = self.filter == "sum"
        self._check_loss(spent, cost, self.epsilon if by_sum else self.most_rho, self.epsilon, dataset, charge)
        if self.per_analyst is not None:
            self._check_loss(
                by_analyst, cost, self.analyst_loss, self.per_analyst, f"{analyst} on {dataset}", charge
            )

    def _check_loss(
        self, spent: Spent, cost: Spent, loss: Decimal, most: Decimal, who: str, charge: Charge
    ) -> None:
        if (spent + cost).loss <= loss:
            return
        after = plain(self.epsilon_of(spent + cost))
        as_spent = "" if self.filter == "sum" else f", which would make it {after}"
        raise RefusedError(
            f"{who} has spent ε = {plain(self.epsilon_of(spent))} of {plain(most)}, and this request costs "
            f"{charge.amounts}{as_spent}",
            remedy="ask for less, or use what is published already"
            + ("" if self.windows is None else ", or read other windows"),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the budget as plain data, exactly; one without windows says nothing of them, as it ever did."""
        analyst_cap = None if self.per_analyst is None else plain(self.per_analyst)
        numbers = {"epsilon": plain(self.epsilon), "delta": plain(self.delta)}
        written = {**numbers, "per_analyst": analyst_cap, "filter": self.filter}
        if self.windows is None:
            return written
        most = None if self.lifetime is None else self.lifetime.to_json()
        return {**written, "window": self.windows.to_json(), "lifetime": most}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Budget:
        """Read back what :meth:`to_json` wrote."""
        delta = None if Decimal(data["delta"]) == 0 else data["delta"]
        most = data.get("lifetime")
        return cls.of(
            data["epsilon"],
            delta=delta,
            per_analyst=data["per_analyst"],
            filter=data["filter"],
            windows=Windows.from_json(data.get("window")),
            lifetime=None if most is None else cls.from_json(most),
        )
