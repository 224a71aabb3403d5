"""Costs and grants: exact amounts of ε, δ and ρ; a grant is a cost that can be spent once.

Plans are made of prices, which are plain values. Nothing in Headcount draws protective noise without spending a
grant: a method receives one, may split it over its stages as it would split its price, and must spend all of it;
:attr:`Grant.is_spent` lets a test check that for every method.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal, InvalidOperation, localcontext
from fractions import Fraction
from typing import NamedTuple

from headcount._internal.parameters import read_decimal
from headcount.accounting.exclusive import ExclusiveResource
from headcount.accounting.zcdp import rho_for
from headcount.errors import GrantError, UsageError

Amount = str | int | float | Decimal

_DIGITS = 18  # a share of ε that does not terminate is cut here; the last stage gets the remainder


def amount(value: Amount, name: str = "epsilon") -> Decimal:
    """Read an amount exactly; a float counts as its shortest decimal form.

    >>> amount(0.1), amount("1.50"), amount(2.0)
    (Decimal('0.1'), Decimal('1.50'), Decimal('2'))
    >>> amount("plenty")
    Traceback (most recent call last):
    headcount.errors.UsageError: epsilon must be a positive number, not 'plenty'; for example 1 or 0.5
    """
    number = _positive(value, name)
    if name == "epsilon" and number < Decimal("1e-9"):
        raise _absurd(value)
    return number


def _absurd(value: Amount) -> UsageError:
    return UsageError("epsilon must lie between 1e-9 and 1e6", given=value, remedy="for example 1 or 0.5")


def _positive(value: Amount, name: str) -> Decimal:
    """Read an amount that may be a part of one that was asked for, and so be smaller."""
    remedy = "for example 1e-6" if name == "delta" else "for example 1 or 0.5"
    try:
        number = read_decimal(repr(float(value)).removesuffix(".0") if isinstance(value, float) else value)
    except InvalidOperation:
        number = Decimal("NaN")
    if isinstance(value, bool) or not number.is_finite() or number <= 0:
        raise UsageError(f"{name} must be a positive number", given=value, remedy=remedy, parameter=name)
    if name == "epsilon" and number > Decimal("1e6"):
        raise _absurd(value)
    return number


def probability(value: Amount, name: str = "delta") -> Decimal:
    """Read a probability strictly between 0 and 1."""
    number = amount(value, name)
    if number >= 1:
        raise UsageError(
            f"{name} must lie strictly between 0 and 1", given=value, remedy="for example 1e-6", parameter=name
        )
    return number


class Picks(NamedTuple):
    """So many rounds of picks, and the ρ that all of them cost."""

    rounds: int
    rho: Decimal


@dataclass(frozen=True)
class Cost:
    """An amount of ε and δ, or ``part`` of the ρ that these allow for; or that part, for ``picks`` alone.

    >>> Cost.of("1", "1e-6").split({"scores": Decimal("0.5"), "items": Decimal("0.5")}, {"items": Decimal(1)})
    {'scores': Cost(epsilon=Decimal('0.5'), delta=Decimal('0'), part=None, picks=None), \
'items': Cost(epsilon=Decimal('0.5'), delta=Decimal('0.000001'), part=None, picks=None)}
    """

    epsilon: Decimal
    delta: Decimal = Decimal(0)
    part: Decimal | None = None
    picks: Picks | None = None

    @classmethod
    def of(cls, epsilon: Amount, delta: Amount | None = None) -> Cost:
        """Read amounts exactly."""
        return cls(_positive(epsilon, "epsilon"), Decimal(0) if delta is None else probability(delta))

    @property
    def exact(self) -> Fraction:
        """ε as an exact fraction, for integer noise."""
        return Fraction(self.epsilon)

    @property
    def rho(self) -> Decimal:
        """The ρ that Gaussian noise may spend: what ε and δ allow for, or the part of it that this is.

        >>> f"{Cost.of('1', '1e-6').rho:.6f}"
        '0.024356'
        """
        if not self.delta:
            raise GrantError("Gaussian noise needs δ, and this grant has none")
        return rho_for(self.epsilon, self.delta) if self.part is None else self.part

    @property
    def share_of_rho(self) -> Decimal | None:
        """Which share of what ε and δ allow for this is, None if it is all of it."""
        return None if self.part is None else self.part / rho_for(self.epsilon, self.delta)

    def split(self, shares: Mapping[str, Decimal], delta: Mapping[str, Decimal] | None = None) -> dict[str, Cost]:
        """Split by positive shares that sum to 1; the parts sum to the whole exactly.

        ``delta`` gives the shares of δ, which some of the stages may go without. A price with δ needs them.
        """
        self.check_whole()
        _check_shares(shares, "shares")
        if self.delta and not delta:
            raise GrantError(f"this grant has δ = {self.delta}, and no shares of δ are given")
        if delta and not self.delta:
            raise GrantError("this grant has no δ that could be shared", given=dict(delta))
        if delta:
            _check_shares(delta, "shares of δ")
            if not delta.keys() <= shares.keys():
                raise GrantError(f"shares of δ must name stages that run: {', '.join(shares)}", given=dict(delta))
        epsilons = _divided(self.epsilon, shares, _DIGITS)
        # δ may be tiny: its digits are counted from the first one that is not zero
        deltas = _divided(self.delta, delta or {}, _DIGITS - self.delta.adjusted())
        return {name: Cost.of(epsilons[name], deltas.get(name)) for name in shares}

    def split_rho(self, shares: Mapping[str, Decimal]) -> dict[str, Cost]:
        """Split a price with δ among stages with Gaussian noise, by ρ: they cost less together than by ε.

        Stages that are ρ₁- and ρ₂-zero-concentrated, the second knowing what the first released, are so for
        ρ₁ + ρ₂ together, which is what ε and δ of this price allow for. A part is no amount of ε of its own: it
        can be spent on Gaussian noise, and on picks (:mod:`headcount.noise.selection.exponential_zcdp`), alone.

        >>> parts = Cost.of("1", "1e-6").split_rho({"offsets": Decimal("0.8"), "relations": Decimal("0.2")})
        >>> f"{parts['relations'].rho:.6f}"
        '0.004871'
        """
        _check_shares(shares, "shares")
        whole, picks = self.rho, self._picks_of(shares)
        with localcontext() as context:
            context.prec, context.rounding = 25, ROUND_FLOOR
            return {
                name: Cost(self.epsilon, self.delta, whole * share, picks.get(name))
                for name, share in shares.items()
            }

    def for_picks(self, rounds: int, *, instead: bool) -> Cost:
        """Return the price at which it pays for so many picks, and for nothing else.

        Picks compose better than their ρ tells (:mod:`headcount.accounting.bounded_range`), so that they may cost
        more of it: where nothing but Gaussian noise comes before them, for what else of ρ this price's ε and δ
        allow for, and nothing comes after. ``instead`` says that what came before may decide to spend the price
        on Gaussian noise.

        >>> price = Cost.of("0.5", "1e-6")
        >>> round(float(price.for_picks(100, instead=False).rho_of_rounds(100) / price.rho), 2)
        1.14
        """
        from headcount.accounting.bounded_range import rho_of_picks

        rho, all_of_it = self.rho, rho_for(self.epsilon, self.delta)
        rho_of_all_picks = rho_of_picks(rounds, self.epsilon, self.delta, rho, all_of_it - rho, instead=instead)
        return replace(self, part=rho, picks=Picks(rounds, rho_of_all_picks))

    def rho_of_rounds(self, rounds: int) -> Decimal:
        """Return the ρ that so many picks may cost: all of what this pays for, and for no other number of them."""
        if self.picks is None:
            return self.rho
        if self.picks.rounds != rounds:
            raise GrantError(f"this grant pays for {self.picks.rounds} picks, not for {rounds}")
        return self.picks.rho

    def _picks_of(self, shares: Mapping[str, Decimal]) -> dict[str, Picks]:
        """Divide picks as their price is divided; the ρ of a pick is the same for all but for rounding."""
        if self.picks is None:
            return {}
        rounds = {name: round(self.picks.rounds * share) for name, share in shares.items()}
        distances = [abs(rounds[name] - self.picks.rounds * share) for name, share in shares.items()]
        if max(distances) > Decimal("1e-10") or sum(rounds.values()) != self.picks.rounds:
            raise GrantError(f"{self.picks.rounds} picks cannot be shared so", given=dict(shares))
        with localcontext() as context:
            context.prec, context.rounding = 25, ROUND_FLOOR
            return {name: Picks(rounds[name], self.picks.rho * share) for name, share in shares.items()}

    def for_disjoint_users(self, groups: Iterable[str]) -> dict[str, Cost]:
        """Return the whole amount once for each of several groups that no user is in two of.

        One user joining or leaving changes the outcome for one group alone, so the loss over all of them is that
        of a single one: in ε, in δ, and in ρ, since Rényi divergences of independent outcomes add up, and all but
        one are 0. Whoever calls this must hold values that were bounded so: as with ``--context-of user``.

        >>> parts = Cost.of("1").for_disjoint_users(["north", "south"])
        >>> parts["north"].epsilon, parts["south"].epsilon
        (Decimal('1'), Decimal('1'))
        """
        return dict.fromkeys(groups, self)

    def check_pure(self, what: str) -> None:
        """Refuse δ for something that uses none: it must neither be wasted nor be spent unseen.

        >>> Cost.of("1", "1e-6").check_pure("permute-and-flip")
        Traceback (most recent call last):
        headcount.errors.GrantError: permute-and-flip uses no δ, but this grant has δ = 0.000001
        """
        if self.delta:
            raise GrantError(f"{what} uses no δ, but this grant has δ = {self.delta}")

    def check_no_picks(self) -> None:
        """Refuse what pays for picks alone for Gaussian noise."""
        if self.picks is not None:
            raise GrantError(f"this grant pays for {self.picks.rounds} picks, and not for noise")

    def check_whole(self) -> None:
        """Refuse a part of ρ for something that is paid with ε and δ: it has none of its own."""
        if self.part is not None:
            raise GrantError(
                "a part of ρ has no ε and δ of its own: it pays for what costs ρ, Gaussian noise or picks"
            )


class Grant(ExclusiveResource):
    """A price that can be spent once, whole, or be split into smaller grants.

    >>> whole = Grant("1")
    >>> parts = whole.split({"items": Decimal("0.5"), "edges": Decimal("0.5")})
    >>> parts["items"].spend().epsilon
    Decimal('0.5')
    >>> whole.is_spent
    False
    >>> parts["items"].spend()
    Traceback (most recent call last):
    headcount.errors.GrantError: this grant of ε = 0.5 is already spent
    """

    noun = "a grant"

    def __init__(self, epsilon: Amount | Cost, delta: Amount | None = None) -> None:
        super().__init__()
        self.cost = epsilon if isinstance(epsilon, Cost) else Cost.of(epsilon, delta)
        self._taken = False
        self._parts: tuple[Grant, ...] = ()

    @property
    def epsilon(self) -> Decimal:
        """The ε of its price."""
        return self.cost.epsilon

    @property
    def delta(self) -> Decimal:
        """The δ of its price."""
        return self.cost.delta

    @property
    def exact(self) -> Fraction:
        """Its ε as an exact fraction."""
        return self.cost.exact

    def spend(self) -> Cost:
        """Spend the whole grant; a second time is an error."""
        self._take()
        return self.cost

    def forgo(self) -> Cost:
        """Leave the whole grant for good: nothing is drawn for it, and nothing ever will be."""
        self._take()
        return self.cost

    def split(self, shares: Mapping[str, Decimal], delta: Mapping[str, Decimal] | None = None) -> dict[str, Grant]:
        """Split the grant as its price is split."""
        return self._among(self.cost.split(shares, delta))

    def split_rho(self, shares: Mapping[str, Decimal]) -> dict[str, Grant]:
        """Split the grant by ρ, as its price is split."""
        return self._among(self.cost.split_rho(shares))

    def for_picks(self, rounds: int, *, instead: bool) -> Grant:
        """Grant so many picks, and nothing else, for all of it."""
        return self._among({"picks": self.cost.for_picks(rounds, instead=instead)})["picks"]

    def for_disjoint_users(self, groups: Iterable[str]) -> dict[str, Grant]:
        """Grant the whole amount once for each of several groups that no user is in two of."""
        return self._among(self.cost.for_disjoint_users(groups))

    @property
    def is_spent(self) -> bool:
        """Whether all of it is spent or left, through its parts if it was split."""
        return self._taken and all(part.is_spent for part in self._parts)

    def _among(self, costs: Mapping[str, Cost]) -> dict[str, Grant]:
        parts = {name: Grant(cost) for name, cost in costs.items()}
        self._take(parts.values())
        return parts

    def _take(self, parts: Iterable[Grant] = ()) -> None:
        with self.exclusively():
            if self._taken:
                raise GrantError(f"this grant of ε = {self.epsilon} is already spent")
            self._taken, self._parts = True, tuple(parts)

    def __repr__(self) -> str:
        delta = f", delta={self.delta}" if self.delta else ""
        return f"Grant(epsilon={self.epsilon}{delta}, spent={self.is_spent})"


CostOrGrant = Cost | Grant
"""What a plan is made for: a price, or a grant, which it does not touch."""


def cost_of(cost: CostOrGrant) -> Cost:
    """Return the price itself."""
    return cost.cost if isinstance(cost, Grant) else cost


def _check_shares(shares: Mapping[str, Decimal], name: str) -> None:
    if not shares or any(share <= 0 for share in shares.values()) or sum(shares.values()) != 1:
        raise GrantError(f"{name} must be positive and sum to 1", given=dict(shares))


def _divided(whole: Decimal, shares: Mapping[str, Decimal], places: int) -> dict[str, Decimal]:
    """Return each share of an amount, cut after so many decimals; the last one gets what is left."""
    if not shares:
        return {}
    *names, last = shares
    with localcontext() as context:
        context.prec = 60 + places + len(whole.as_tuple().digits)  # enough to be exact
        parts = {name: (whole * shares[name]).quantize(Decimal(10) ** -places).normalize() for name in names}
        parts[last] = (whole - sum(parts.values())).normalize()
    return parts
