"""Grants: amounts of privacy budget that can be split, and spent exactly once.

Nothing in Headcount draws protective noise without spending a grant. A method receives one, may split it
over its stages, and must spend all of it; :attr:`Grant.is_spent` lets a test check that for every method.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation, localcontext
from fractions import Fraction

from headcount.errors import GrantError, UsageError

Amount = str | int | float | Decimal

_DIGITS = 18  # a share of ε that does not terminate is cut here; the last stage gets the remainder


def amount(value: Amount, name: str = "epsilon") -> Decimal:
    """Read an amount exactly; a float counts as its shortest decimal form.

    >>> amount(0.1), amount("1.50"), amount(2)
    (Decimal('0.1'), Decimal('1.50'), Decimal('2'))
    >>> amount("plenty")
    Traceback (most recent call last):
    headcount.errors.UsageError: epsilon must be a positive number, not 'plenty'; for example 1 or 0.5
    """
    remedy = "for example 1e-6" if name == "delta" else "for example 1 or 0.5"
    try:
        number = Decimal(repr(value) if isinstance(value, float) else str(value).strip())
    except InvalidOperation:
        number = Decimal("NaN")
    if isinstance(value, bool) or not number.is_finite() or number <= 0:
        raise UsageError(f"{name} must be a positive number", given=value, remedy=remedy)
    if name == "epsilon" and not Decimal("1e-9") <= number <= Decimal("1e6"):
        raise UsageError("epsilon must lie between 1e-9 and 1e6", given=value, remedy=remedy)
    return number


def probability(value: Amount, name: str = "delta") -> Decimal:
    """Read a probability strictly between 0 and 1."""
    number = amount(value, name)
    if number >= 1:
        raise UsageError(f"{name} must lie strictly between 0 and 1", given=value, remedy="for example 1e-6")
    return number


@dataclass(frozen=True)
class Cost:
    """What a spent grant amounted to."""

    epsilon: Decimal
    delta: Decimal


def _divided(whole: Decimal, shares: Mapping[str, Decimal], step: Decimal) -> dict[str, Decimal]:
    """Divide an amount by shares, in whole multiples of a step; the last part is what is left of it."""
    names = list(shares)
    if not names:
        return {}
    with localcontext() as context:
        context.prec = 60 + len(whole.as_tuple().digits)  # enough to be exact
        amounts = [(whole * shares[name]).quantize(step).normalize() for name in names[:-1]]
        amounts.append((whole - sum(amounts)).normalize())
    return dict(zip(names, amounts, strict=True))


class Grant:
    """An amount of ε (and δ) that can be spent once, whole, or be split into smaller grants.

    >>> whole = Grant("1")
    >>> parts = whole.split({"items": Decimal("0.5"), "edges": Decimal("0.5")})
    >>> parts["items"].spend()
    Cost(epsilon=Decimal('0.5'), delta=Decimal('0'))
    >>> whole.is_spent
    False
    >>> parts["items"].spend()
    Traceback (most recent call last):
    headcount.errors.GrantError: this grant of ε = 0.5 is already spent
    """

    def __init__(self, epsilon: Amount, delta: Amount | None = None) -> None:
        self.epsilon = amount(epsilon)
        self.delta = Decimal(0) if delta is None else probability(delta)
        self._lock = threading.Lock()
        self._taken = False
        self._parts: tuple[Grant, ...] = ()

    def spend(self) -> Cost:
        """Spend the whole grant; a second time is an error."""
        self._take()
        return Cost(self.epsilon, self.delta)

    def split(self, shares: Mapping[str, Decimal], delta: Mapping[str, Decimal] | None = None) -> dict[str, Grant]:
        """Split the grant by positive shares that sum to 1; the parts sum to the whole exactly.

        ``delta`` names the shares of δ, of those parts that get any.

        >>> halves = {"selection": Decimal("0.5"), "rest": Decimal("0.5")}
        >>> Grant("1", "1e-6").split(halves, {"selection": Decimal(1)})["rest"]
        Grant(epsilon=0.5, spent=False)
        """
        if not shares or any(share <= 0 for share in shares.values()) or sum(shares.values()) != 1:
            raise GrantError("shares must be positive and sum to 1", given=dict(shares))
        if bool(self.delta) != bool(delta):
            raise GrantError("a grant with δ, and no other, is split by shares of δ as well as of ε")
        if delta and (
            not set(delta) <= set(shares)
            or any(share <= 0 for share in delta.values())
            or sum(delta.values()) != 1
        ):
            raise GrantError("shares of δ must be positive, sum to 1 and name parts of ε", given=dict(delta))
        epsilons = _divided(self.epsilon, shares, Decimal(10) ** -_DIGITS)
        deltas = _divided(self.delta, delta or {}, self.delta.scaleb(-_DIGITS))
        parts = {name: Grant(part, deltas.get(name)) for name, part in epsilons.items()}
        self._take()
        self._parts = tuple(parts.values())
        return parts

    def for_disjoint_people(self, groups: int) -> list[Grant]:
        """Return the whole amount once for each of several groups that no user is in two of.

        One user joining or leaving changes the outcome for one group alone, so the loss over all of them is that
        of a single one. Whoever calls this must hold values that were bounded so: as with ``--context-of user``.

        >>> parts = Grant("1").for_disjoint_people(2)
        >>> parts[0].epsilon, parts[1].epsilon
        (Decimal('1'), Decimal('1'))
        """
        if self.delta:
            raise GrantError("a grant with δ cannot be handed to several groups")
        parts = [Grant(self.epsilon) for _ in range(groups)]
        self._take()
        self._parts = tuple(parts)
        return parts

    @property
    def is_spent(self) -> bool:
        """Whether all of it is spent, through its parts if it was split."""
        return self._taken and all(part.is_spent for part in self._parts)

    @property
    def exact(self) -> Fraction:
        """ε as an exact fraction, for integer noise."""
        return Fraction(self.epsilon)

    def _take(self) -> None:
        with self._lock:
            if self._taken:
                raise GrantError(f"this grant of ε = {self.epsilon} is already spent")
            self._taken = True

    def __repr__(self) -> str:
        delta = f", delta={self.delta}" if self.delta else ""
        return f"Grant(epsilon={self.epsilon}{delta}, spent={self.is_spent})"

    def __copy__(self) -> Grant:
        raise GrantError("a grant cannot be copied")

    def __deepcopy__(self, memo: object) -> Grant:
        raise GrantError("a grant cannot be copied")

    def __reduce__(self) -> str:
        raise GrantError("a grant cannot be copied or sent to another process")
