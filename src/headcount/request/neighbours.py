"""A model of ratings, or of which items people have together, as it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, field_validator

from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.method import Method
from headcount.neighbours.related import CoCountRelease
from headcount.noise_law import NoiseKind
from headcount.registry import build
from headcount.request.spending import Spending, refuse_research, whole_number

FAMILY, DEFAULT = "neighbours", "private"


class NeighboursRequest(Spending):
    """A model that predicts ratings and finds related items; with a δ its noise is Gaussian.

    >>> request = NeighboursRequest(epsilon="4", delta="1e-6")
    >>> NeighboursRequest.model_validate_json(request.model_dump_json()) == request
    True
    """

    command: ClassVar[str] = "neighbours"

    method: str = DEFAULT
    limit: int | None = None
    options: Mapping[str, Any] = Field(default_factory=dict)
    research: bool = False

    @field_validator("limit", mode="before")
    @classmethod
    def _whole(cls, value: Any) -> int | None:
        return None if value is None else whole_number(value, "limit")

    @property
    def noise_kind(self) -> NoiseKind | None:
        """Gaussian with δ."""
        return None if self.delta is None else "gaussian"

    @property
    def uses_value(self) -> bool:
        """All methods but co-counts learn from ratings, and co-counts say themselves that they cannot."""
        return True

    def check_delta(self, *, selecting: bool) -> None:
        """Any δ is of use; selecting items needs one."""
        if self.delta is None and selecting:
            raise UsageError("--select-items needs --delta", remedy="for example --delta 1e-6")

    def build(self, *, selecting: bool = False) -> Method:
        """Return the method asked for, refusing what it cannot use and research that is not declared."""
        own = {"limit": self.limit, "shares": self.own_shares(selecting=selecting)}
        parameters = {**self.options, **{name: value for name, value in own.items() if value is not None}}
        return refuse_research(build(self.method, parameters, FAMILY), research=self.research)

    def columns(self, log: EventLog) -> dict[str, tuple[str, ...]]:  # noqa: ARG002
        """Return the columns of the model's table of items."""
        counted = self.method == CoCountRelease.name
        return {
            "model/items": ("item", "label", *(("count", "low", "high") if counted else ("offset", "support")))
        }

    def cells(self, log: EventLog) -> dict[str, int]:
        """Return how many items the model is about."""
        return {"model/items": len(log.catalogue.ids)}
