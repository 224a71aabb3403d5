"""The privacy guarantee of a release: unit, ε, δ, proven or unproven, assumptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any

UNIT = "add-or-remove-user"
GROUP_UNIT = "add-or-remove-group"
"""A whole group of people. Bounds see to it that one person alone moves no further than the group may."""


LARGE = Decimal(20)
"""Above this ε hardly anything is promised: see docs/epsilon.md."""


def large_epsilon_warning(epsilon: Decimal) -> str | None:
    """Say that an ε protects hardly anyone, None where it is not as large as that.

    >>> large_epsilon_warning(Decimal(20)) is None, large_epsilon_warning(Decimal(25))[:58]
    (True, 'ε = 25 lets one person change probabilities by a factor of')
    """
    if epsilon <= LARGE:
        return None
    digits = int(epsilon * Decimal("0.4342944819"))
    return (
        f"ε = {epsilon} lets one person change probabilities by a factor of 10^{digits} or more: above "
        f"ε = {LARGE} hardly anything is promised to anyone (docs/epsilon.md)."
    )


class Standing(StrEnum):
    """Whether the promise is proven, or only claimed by the paper a method comes from."""

    PROVEN = "proven"
    CLAIMED = "claimed"

    @property
    def words(self) -> str:
        """Say what is proven, since it is not that numbers are right.

        >>> Standing.PROVEN.words, Standing.CLAIMED.words
        ('privacy: proven', 'claimed, not established')
        """
        return "privacy: proven" if self is Standing.PROVEN else "claimed, not established"


def format_delta(delta: Decimal) -> str:
    """Write a δ so that its size can be seen.

    >>> format_delta(Decimal("0.0000005")), format_delta(Decimal("0.010"))
    ('5e-7', '0.01')
    """
    return f"{delta.normalize():{'f' if delta >= Decimal('0.001') else 'e'}}"


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """The promise: for whom, how strong, how well founded, and what it takes for granted.

    >>> print(Guarantee(epsilon=Decimal("1")).sentence())
    Adding or removing one person, with everything they ever did, changes the probability of any output by a \
factor of at most e^1 ≈ 2.72 (pure ε-differential privacy).
    """

    epsilon: Decimal
    delta: Decimal = Decimal(0)
    standing: Standing = Standing.PROVEN
    unit: str = UNIT
    assumes: tuple[str, ...] = ()
    reason: str | None = None
    group: str | None = None
    """For groups, the column that says who belongs together; at most ``members`` people of each are counted."""
    members: int | None = None
    window: str | None = None
    """How long a window of event time is, where it was charged to a budget that comes back with each."""

    def sentence(self) -> str:
        """Say the promise in one plain sentence."""
        if self.standing is Standing.CLAIMED:
            return (
                f"As published: ε = {self.epsilon} is claimed, but the claim is not established: "
                f"{self.reason}. Treat this output as not private."
            )
        factor = f"e^{self.epsilon} ≈ {float(self.epsilon.exp()):.3g}"
        kind = "pure ε-differential privacy"
        extra = ""
        if self.delta:
            kind = "(ε, δ)-differential privacy"
            extra = f", except with probability δ = {format_delta(self.delta)}"
        who = "one person"
        if self.group is not None:
            most = f"of whom at most {self.members:,} are counted"
            who = f"one whole group, all people with the same {self.group!r} ({most})"
        return (
            f"Adding or removing {who}, with everything they ever did, changes the probability of any "
            f"output by a factor of at most {factor}{extra} ({kind}).{self._comes_back}"
        )

    @property
    def _comes_back(self) -> str:
        """What is promised of all releases together, where their budget comes back."""
        if self.window is None:
            return ""
        return (
            f" What all releases together tell of a person is limited within each window of {self.window} of "
            "events, and adds up over the windows that the person has events in."
        )

    def short(self) -> str:
        """Say the promise in a few words, for a table cell or a badge."""
        if self.standing is Standing.CLAIMED:
            return f"{self.amounts} {self.standing.words}"
        return f"{self.amounts}, {self.standing.words}, {self.per}"

    @property
    def per(self) -> str:
        """For whom it holds, in a few words."""
        who = "per person" if self.group is None else f"per group of at most {self.members:,} people"
        return who if self.window is None else f"{who} within each window of {self.window}"

    @property
    def amounts(self) -> str:
        """What it costs."""
        return f"ε = {self.epsilon}" + (f", δ = {format_delta(self.delta)}" if self.delta else "")

    def assuming(self, *more: str) -> Guarantee:
        """Return the same promise, with more taken for granted."""
        return replace(self, assumes=tuple(dict.fromkeys((*self.assumes, *more))))

    def within(self, window: object) -> Guarantee:
        """Return the same promise, charged to a budget that comes back with each window of this length, if any.

        >>> Guarantee(epsilon=Decimal("1")).within("30 days").short()
        'ε = 1, privacy: proven, per person within each window of 30 days'
        """
        return self if window is None else replace(self, window=str(window))

    def to_json(self) -> dict[str, Any]:
        """Return the guarantee as plain data."""
        return {
            "unit": self.unit,
            "standing": self.standing.value,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "assumes": list(self.assumes),
            "reason": self.reason,
            **({} if self.group is None else {"group": self.group, "members": self.members}),
            **({} if self.window is None else {"window": self.window}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Guarantee:
        """Read back what :meth:`to_json` wrote."""
        return cls(
            unit=data["unit"],
            standing=Standing(data["standing"]),
            epsilon=Decimal(data["epsilon"]),
            delta=Decimal(data["delta"]),
            assumes=tuple(data["assumes"]),
            reason=data["reason"],
            group=data.get("group"),
            members=data.get("members"),
            window=data.get("window"),
        )
