"""Requests: what is asked, as typed data that round-trips through JSON; never where the data lies."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    field_serializer,
    field_validator,
    model_validator,
)  # fmt: skip

from headcount.budget import Grant, amount, probability
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.guarantee import Guarantee, Standing, in_short
from headcount.method import Method, tables_of
from headcount.noise_law import NoiseKind
from headcount.rankings.top_k import DirectTopK
from headcount.registry import DEFAULT_METHOD, build

Delta = Annotated[Decimal, PlainSerializer(in_short, when_used="json")]


class Spending(BaseModel, ABC):
    """What every charged request has: an exact ε, a δ where one is used, and a method built from the rest."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    command: ClassVar[str]

    epsilon: Decimal
    delta: Delta | None = None

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
    def _delta_is_used(self) -> Self:
        check_delta(self.delta, self.noise_kind)
        return self

    @property
    def noise_kind(self) -> NoiseKind | None:
        """Which noise is asked for, or None where there is no choice."""
        return None

    def grant(self) -> Grant:
        """Return a fresh grant of the amounts asked for."""
        return Grant(self.epsilon, self.delta)

    @abstractmethod
    def build(self) -> Method:
        """Return the method asked for."""

    @abstractmethod
    def cells(self, log: EventLog) -> dict[str, int]:
        """Return how many numbers each table will hold."""

    def guarantee(self) -> Guarantee:
        """Say what the release will promise; known without data."""
        return self.build().guarantee(self.grant())


class RankRequest(Spending):
    """A direct ranking of the best items.

    >>> request = RankRequest(epsilon="0.5", k=10)
    >>> RankRequest.model_validate_json(request.model_dump_json()) == request
    True
    """

    command: ClassVar[str] = "rank"

    k: int
    per_context: bool = False
    with_counts: bool = False

    @field_validator("k", mode="before")
    @classmethod
    def _whole(cls, value: Any) -> int:
        return whole_number(value, "k")

    def build(self) -> Method:
        """Return the method that ranks."""
        return DirectTopK(k=self.k, per_context=self.per_context, with_counts=self.with_counts)

    def cells(self, log: EventLog) -> dict[str, int]:
        """Return how many places the ranking has, in all contexts."""
        return {"ranking": self.k * (log.width - 1 if self.per_context else 1)}


class ReleaseRequest(Spending):
    """A release of counts: by which method, at which price.

    >>> request = ReleaseRequest(epsilon="1", method="sra", limit=10)
    >>> ReleaseRequest.model_validate_json(request.model_dump_json()) == request
    True
    """

    command: ClassVar[str] = "release"

    method: str = DEFAULT_METHOD
    limit: int | None = None
    what: Literal["items", "edges", "both"] | None = None
    shares: Mapping[str, Decimal] | None = None
    noise: NoiseKind = "laplace"
    options: Mapping[str, Any] = Field(default_factory=dict)
    research: bool = False

    @field_validator("method", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        return DEFAULT_METHOD if value is None else value

    @field_validator("limit", mode="before")
    @classmethod
    def _whole(cls, value: Any) -> int | None:
        return None if value is None else whole_number(value, "limit")

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

    @field_validator("options", mode="after")
    @classmethod
    def _no_flags(cls, value: Mapping[str, Any]) -> Mapping[str, Any]:
        for name in value:
            if name in cls.model_fields:
                raise UsageError(
                    f"{name} is no option of a method but a parameter of its own", remedy=f"use --{name}"
                )
        return value

    @property
    def noise_kind(self) -> NoiseKind | None:
        """Which noise is asked for."""
        return self.noise

    def cells(self, log: EventLog) -> dict[str, int]:
        """Return how many counts each table will hold."""
        width = {"items": 1, "edges": log.width}
        return {table: len(log.catalogue.ids) * width[table] for table in tables_of(self.what, log)}

    def build(self) -> Method:
        """Return the method asked for, refusing what it cannot use and research that is not declared."""
        parameters: dict[str, Any] = dict(self.options)
        for name in ("limit", "what", "shares"):
            if getattr(self, name) is not None:
                parameters[name] = getattr(self, name)
        if self.noise != "laplace":
            parameters["noise"] = self.noise
        method = build(self.method, parameters)
        if method.standing is Standing.CLAIMED and not self.research:
            raise UsageError(
                f"{self.method} is kept for research: {method.reason}",
                remedy=f"use {self.method.removesuffix('-published')}, or add --research",
            )
        return method


def check_delta(delta: Decimal | None, noise: NoiseKind | None) -> None:
    """Refuse a δ that nothing would use, and Gaussian noise without one; ``noise`` is None where it has no choice.

    >>> check_delta(Decimal("1e-6"), "laplace")
    Traceback (most recent call last):
    headcount.errors.UsageError: --delta needs --noise gaussian; leave it out, or add that
    """
    if noise == "gaussian" and delta is None:
        raise UsageError("--noise gaussian needs --delta", remedy="for example --delta 1e-6")
    if delta is not None and noise is None:
        raise UsageError("--delta is of no use here: a ranking is pure ε", remedy="leave it out")
    if delta is not None and noise != "gaussian":
        raise UsageError("--delta needs --noise gaussian", remedy="leave it out, or add that")


def whole_number(value: Any, name: str) -> int:
    """Read a whole number of at least 1, of any integer type."""
    whole = -1 if isinstance(value, bool) or not hasattr(value, "__index__") else operator.index(value)
    if whole < 1:
        raise UsageError(f"{name} must be a whole number of at least 1", given=value, remedy="try 10")
    return whole
