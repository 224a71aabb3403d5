"""What every charged request has: an exact ε, a δ where one is used, and a method built from the rest."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    PlainSerializer,
    field_serializer,
    field_validator,
    model_validator,
)  # fmt: skip

from headcount.budget import Grant, amount, probability
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.guarantee import Guarantee, Standing, in_short
from headcount.method import Method
from headcount.noise_law import NoiseKind
from headcount.selection import DEFAULT_LIMIT, Selection, divided_shares

Delta = Annotated[Decimal, PlainSerializer(in_short, when_used="json")]


class Spending(BaseModel, ABC):
    """What every charged request has: an exact ε, a δ where one is used, and a method built from the rest.

    ``select_limit`` and the share ``selection`` say how the items of a log without a catalogue are selected.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    command: ClassVar[str]

    epsilon: Decimal
    delta: Delta | None = None
    shares: Mapping[str, Decimal] | None = None
    select_limit: int | None = None

    @field_validator("shares", mode="before")
    @classmethod
    def _exact_shares(cls, value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise UsageError(
                "shares must name each stage's share", given=value, remedy="such as items=0.5,edges=0.5"
            )
        return {stage: amount(share, f"the share of {stage}") for stage, share in value.items()}

    @field_validator("select_limit", mode="before")
    @classmethod
    def _whole_select_limit(cls, value: Any) -> int | None:
        return None if value is None else whole_number(value, "select_limit")

    @field_validator("epsilon", mode="before")
    @classmethod
    def _exact(cls, value: Any) -> Decimal:
        return Decimal(f"{amount(value):f}")  # 1e3 is echoed as 1000

    @field_validator("delta", mode="before")
    @classmethod
    def _exact_delta(cls, value: Any) -> Decimal | None:
        return None if value is None else probability(value).normalize()

    @field_serializer("epsilon")
    def _plain(self, value: Decimal) -> str:
        return f"{value:f}"

    @model_validator(mode="after")
    def _gaussian_has_delta(self) -> Self:
        if self.delta is None:  # whether a δ is of use hangs on the log
            self.check_delta(selecting=False)
        return self

    def check_delta(self, *, selecting: bool) -> None:
        """Refuse a δ that nothing could use, and the lack of one that is needed."""
        check_delta(self.delta, self.noise_kind, selecting=selecting)

    @property
    def noise_kind(self) -> NoiseKind | None:
        """Which noise is asked for, or None where there is no choice."""
        return None

    def grant(self) -> Grant:
        """Return a fresh grant of the amounts asked for."""
        return Grant(self.epsilon, self.delta)

    @property
    def uses_value(self) -> bool:
        """Whether the method has a use for a value column."""
        return False

    def selection(self, log: EventLog) -> Selection | None:
        """Say how the items of a log are selected, None if its catalogue is public; refuse what does not fit."""
        if log.roles.value is not None and not self.uses_value:
            raise UsageError("--value is of no use here", remedy="leave it out, or release --what totals")
        self.check_delta(selecting=log.selects)
        if log.selects:
            limit = DEFAULT_LIMIT if self.select_limit is None else self.select_limit
            share = divided_shares(self.shares)[0]
            return Selection(limit=limit, share=share, halves_delta=self.noise_kind == "gaussian")
        if self.select_limit is not None:
            raise UsageError(
                "--select-limit is given, but no items are selected", remedy="leave it out, or add --select-items"
            )
        return None

    def own_shares(self, *, selecting: bool) -> Mapping[str, Decimal] | None:
        """Return the shares of the method's own stages."""
        return divided_shares(self.shares)[1] if selecting else self.shares

    @abstractmethod
    def build(self, *, selecting: bool = False) -> Method:
        """Return the method asked for, as it runs after a selection of items if there is one."""

    def build_for(self, items: int) -> Method:  # noqa: ARG002
        """Return the method for so many selected items."""
        return self.build(selecting=True)

    @abstractmethod
    def columns(self, log: EventLog) -> dict[str, tuple[str, ...]]:
        """Return the columns of each table."""

    @abstractmethod
    def cells(self, log: EventLog) -> dict[str, int]:
        """Return how many numbers each table will hold."""

    def guarantee(self) -> Guarantee:
        """Say what the release will promise; known without data."""
        return self.build().guarantee(self.grant())


def check_delta(delta: Decimal | None, noise: NoiseKind | None, *, selecting: bool = False) -> None:
    """Refuse a δ that nothing could use, and the lack of one that is needed; a ranking has no ``noise`` to choose.

    >>> check_delta(Decimal("1e-6"), "laplace")
    Traceback (most recent call last):
    headcount.errors.UsageError: --delta needs --noise gaussian or --select-items; leave it out, or add one of them
    """
    if delta is None and noise == "gaussian":
        raise UsageError("--noise gaussian needs --delta", remedy="for example --delta 1e-6")
    if delta is None and selecting:
        raise UsageError(
            "--select-items needs --delta: with some small probability an item that one person alone has is "
            "released, and delta limits it",
            remedy="give one far below 1 in the number of people, such as --delta 1e-6",
        )
    if delta is not None and not selecting and noise is None:
        raise UsageError(
            "--delta is of no use here: a ranking is pure ε, but for --select-items", remedy="leave it out"
        )
    if delta is not None and not selecting and noise != "gaussian":
        raise UsageError(
            "--delta needs --noise gaussian or --select-items", remedy="leave it out, or add one of them"
        )


def whole_number(value: Any, name: str) -> int:
    """Read a whole number of at least 1, of any integer type."""
    whole = -1 if isinstance(value, bool) or not hasattr(value, "__index__") else operator.index(value)
    if whole < 1:
        raise UsageError(f"{name} must be a whole number of at least 1", given=value, remedy="try 10")
    return whole


def refuse_research(method: Method, *, research: bool, instead: str | None = None) -> Method:
    """Return a method, but one whose claim is not established only where research is declared.

    ``instead`` is what to use in its place, if that has another name.
    """
    if method.standing is Standing.CLAIMED and not research:
        raise UsageError(
            f"{method.name} is kept for research: {method.reason}",
            remedy=f"use {instead or method.name.removesuffix('-published')}, or add --research",
        )
    return method
