"""A model of ratings, or of which items people have together, as it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from headcount.errors import UsageError
from headcount.flags import Flag
from headcount.neighbours import FAMILY, ITEMS
from headcount.request import ChoosingRequest, MaybeWhole

if TYPE_CHECKING:
    from headcount.events.log import EventLog
    from headcount.method import Method


class NeighboursRequest(ChoosingRequest):
    """A model that predicts ratings and finds related items; with a δ its noise is Gaussian.

    >>> request = NeighboursRequest(epsilon="4", delta="1e-6")
    >>> NeighboursRequest.model_validate_json(request.model_dump_json()) == request
    True
    """

    command: ClassVar[str] = "neighbours"

    method: Annotated[str, Flag("private, co-counts, or one for research.", "NAME")] = FAMILY.default
    limit: Annotated[MaybeWhole, Flag("How much one person's pairs of items may add, for co-counts.", "L")] = None

    @property
    def noise_kind(self) -> str | None:
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

    def make(self, *, selecting: bool) -> Method:
        """Make the method asked for, refusing what it cannot use and research that is not declared."""
        own = {"limit": self.limit, "shares": self.own_shares(selecting=selecting)}
        return self.chosen(FAMILY, self.method, own)

    def columns(self, log: EventLog) -> dict[str, tuple[str, ...]]:  # noqa: ARG002
        """Return the columns of the model's table of items."""
        from headcount.neighbours.related import CoCountRelease

        counted = self.method == CoCountRelease.name
        numbers = ("count", "low", "high") if counted else ("offset", "support")
        return {ITEMS.name: ("item", "label", *numbers)}

    def cells(self, log: EventLog) -> dict[str, int]:
        """Return how many items the model is about."""
        return {ITEMS.name: len(log.catalogue.ids)}
