"""A direct ranking of the best items, as it is asked for."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import field_validator

from headcount.events.log import EventLog
from headcount.method import Method
from headcount.rankings.top_k import DirectTopK
from headcount.request.spending import Spending, whole_number

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
