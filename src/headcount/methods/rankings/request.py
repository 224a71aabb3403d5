"""Request for a private ranking: number of items, contexts, counts and privacy parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast

from headcount._internal.parameters import Flag
from headcount.methods.rankings import FAMILY, RANKING
from headcount.methods.request import ChargedRequest, Delta, Whole, check_delta, shares_flag

if TYPE_CHECKING:
    from headcount.events.log import EventLog
    from headcount.methods.method import Method

_COUNTED = ("count", "low", "high")


class RankRequest(ChargedRequest):
    """A direct ranking of the best items.

    >>> request = RankRequest(epsilon="0.5", delta="1e-6", k=100)
    >>> RankRequest.model_validate_json(request.model_dump_json()) == request
    True
    """

    command: ClassVar[str] = "rank"

    delta: Annotated[
        Delta | None,
        Flag(
            "How likely the promise may fail, such as 1e-6: long rankings have less noise. Or to select.",
            "D",
        ),
    ] = None
    k: Annotated[Whole, Flag("How many items.", "K")]
    per_context: Annotated[bool, Flag("One ranking for each context.")] = False
    with_counts: Annotated[bool, Flag("Spend half of ε on noisy counts of the chosen items.")] = False
    shares: Annotated[Mapping[str, Decimal] | None, shares_flag("ranking=0.7,counts=0.3")] = None

    def check_delta(self, *, selecting: bool) -> None:
        """Any δ is of use; a selection needs one, all of it."""
        check_delta(self.delta, "laplace" if self.delta is None else "gaussian", selecting=selecting)

    def build(self, *, selecting: bool = False) -> Method:
        """Build the method that ranks."""
        own = {"k": self.k, "per_context": self.per_context, "with_counts": self.with_counts}
        return FAMILY.build(FAMILY.default, {**own, "shares": self.own_shares(selecting=selecting)})

    def adapt(self, method: Method, items: int) -> Method:
        """Return the method that ranks at most as many items as were selected."""
        return method if items >= self.k else replace(cast("Any", method), k=items)

    def columns(self, log: EventLog) -> dict[str, tuple[str, ...]]:
        """Return the columns of the ranking."""
        context = ("context",) if self.per_context and log.context is not None else ()
        return {RANKING.name: (*RANKING.columns, *context, *(_COUNTED if self.with_counts else ()))}

    def cells(self, log: EventLog) -> dict[str, int]:
        """Return how many places the ranking has, in all contexts."""
        return {RANKING.name: self.k * (log.width - 1 if self.per_context else 1)}
