"""Requests: what is asked, as typed data that round-trips through JSON; never where the data lies."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, Self, cast

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
from headcount.counts.totals import Totals
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.guarantee import Guarantee, Standing, in_short
from headcount.method import Method, What, tables_of
from headcount.noise_law import NoiseKind
from headcount.rankings.top_k import DirectTopK
from headcount.registry import DEFAULT_METHOD, build
from headcount.releases import EDGES_FIELDS, ITEMS_FIELDS, TOTALS_FIELDS
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
            check_delta(None, self.noise_kind)
        return self

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
        check_delta(self.delta, self.noise_kind, selecting=log.selects)
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


_COUNTED = ("count", "low", "high")


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

    def build(self, *, selecting: bool = False) -> Method:
        """Return the method that ranks."""
        shares = self.own_shares(selecting=selecting)
        return DirectTopK(k=self.k, per_context=self.per_context, with_counts=self.with_counts, shares=shares)

    def build_for(self, items: int) -> Method:
        """Return the method that ranks at most as many items as were selected."""
        return self.model_copy(update={"k": min(self.k, items)}).build(selecting=True)

    def columns(self, log: EventLog) -> dict[str, tuple[str, ...]]:
        """Return the columns of the ranking."""
        context = ("context",) if self.per_context and log.context is not None else ()
        return {"ranking": ("rank", "item", "label", *context, *(_COUNTED if self.with_counts else ()))}

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

    method: str | None = None
    limit: int | None = None
    what: Literal["items", "edges", "both", "totals"] | None = None
    noise: NoiseKind = "laplace"
    options: Mapping[str, Any] = Field(default_factory=dict)
    research: bool = False

    @field_validator("limit", mode="before")
    @classmethod
    def _whole(cls, value: Any) -> int | None:
        return None if value is None else whole_number(value, "limit")

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

    @property
    def uses_value(self) -> bool:
        """Totals do."""
        return self._is_totals

    @property
    def _is_totals(self) -> bool:
        return self.what == "totals" or (self.what is None and self.method == Totals.name)

    def cells(self, log: EventLog) -> dict[str, int]:
        """Return how many counts each table will hold."""
        if self._is_totals:
            return {"totals": 2 if log.roles.value is None else 4}
        width = {"items": 1, "edges": log.width}
        return {table: len(log.catalogue.ids) * width[table] for table in tables_of(_counted(self.what), log)}

    def columns(self, log: EventLog) -> dict[str, tuple[str, ...]]:
        """Return the columns of each table of counts."""
        if self._is_totals:
            return {"totals": TOTALS_FIELDS}
        columns = {"items": ITEMS_FIELDS, "edges": EDGES_FIELDS}
        return {table: columns[table] for table in tables_of(_counted(self.what), log)}

    def _totals(self) -> Method:
        """Return the one method for totals."""
        if self.method not in (None, Totals.name):
            raise UsageError(
                f"totals are released by one method alone, not by {self.method}", remedy="leave --method out"
            )
        for name in self.options:
            raise UsageError(f"totals cannot use {name}", remedy="they take --limit and --shares")
        if self.limit is None:
            raise UsageError("totals need --limit, the most records one person may add", remedy="try --limit 50")
        return Totals(limit=self.limit, shares=self.shares)

    def build(self, *, selecting: bool = False) -> Method:
        """Return the method asked for, refusing what it cannot use and research that is not declared."""
        if self._is_totals:
            return self._totals()
        own: dict[str, Any] = {
            "limit": self.limit,
            "what": self.what,
            "shares": self.own_shares(selecting=selecting),
            "noise": None if self.noise == "laplace" else self.noise,
        }
        parameters = {**self.options, **{name: value for name, value in own.items() if value is not None}}
        method = build(self.method or DEFAULT_METHOD, parameters)
        if method.standing is Standing.CLAIMED and not self.research:
            raise UsageError(
                f"{self.method} is kept for research: {method.reason}",
                remedy=f"use {method.name.removesuffix('-published')}, or add --research",
            )
        return method


def _counted(what: str | None) -> What | None:
    return cast("What | None", what)


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
