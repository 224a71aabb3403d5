"""A release of counts, as it is asked for: by which method, at which price."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, cast

from pydantic import Field, field_validator

from headcount.counts.totals import Totals
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.method import Method, What, tables_of
from headcount.noise_law import NoiseKind
from headcount.registry import DEFAULT_METHOD, build
from headcount.releases import EDGES_FIELDS, ITEMS_FIELDS, TOTALS_FIELDS
from headcount.request.spending import Spending, refuse_research, whole_number


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
        return refuse_research(method, research=self.research)


def _counted(what: str | None) -> What | None:
    return cast("What | None", what)
