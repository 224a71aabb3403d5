"""A model of ratings, or of which items people have together, as it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast

from pydantic import field_validator

from headcount.errors import UsageError
from headcount.flags import Flag
from headcount.neighbours import FAMILY, ITEMS, PREDICTIONS
from headcount.neighbours.pair_files import pairs_in
from headcount.request import ChoosingRequest, MaybeWhole

if TYPE_CHECKING:
    from headcount.events.log import EventLog
    from headcount.method import Method


def _asked(given: Any, flag: str) -> Any:  # noqa: ARG001 - as all that is read
    """Read the file of what is asked; a configuration, or the request of a release, may list it instead."""
    return given if isinstance(given, list | tuple) else pairs_in(given, "user", "item")


class NeighboursRequest(ChoosingRequest):
    """A model that predicts ratings and finds related items; with a δ its noise is Gaussian.

    >>> request = NeighboursRequest(epsilon="4", delta="1e-6")
    >>> NeighboursRequest.model_validate_json(request.model_dump_json()) == request
    True
    """

    command: ClassVar[str] = "neighbours"

    method: Annotated[str, Flag("private, co-counts, or one for research.", "NAME")] = FAMILY.default
    limit: Annotated[MaybeWhole, Flag("How much one person's pairs of items may add, for co-counts.", "L")] = None
    asked: Annotated[
        tuple[tuple[str, str], ...],
        Flag(
            "Ratings to predict, by pncf-predictions-published: people and items in a CSV file.",
            "FILE",
            raw=True,
            read=_asked,
        ),
    ] = ()

    @field_validator("asked", mode="before")
    @classmethod
    def _as_texts(cls, value: Any) -> tuple[tuple[str, str], ...]:
        rows = [tuple(map(str, each)) for each in value or () if not isinstance(each, str)]
        if any(len(each) != 2 for each in rows) or len(rows) != len(value or ()):
            raise UsageError("asked must name a person and an item each", remedy="for example [('ann', 'tea')]")
        return cast("tuple[tuple[str, str], ...]", tuple(rows))

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
        own = {"limit": self.limit, "asked": self.asked or None, "shares": self.own_shares(selecting=selecting)}
        return self.chosen(FAMILY, self.method, own, instead=FAMILY.default)

    def columns(self, log: EventLog) -> dict[str, tuple[str, ...]]:  # noqa: ARG002
        """Return the columns of the model's table of items, or of what it predicts."""
        from headcount.neighbours.related import CoCountRelease

        if self.asked:
            return {PREDICTIONS.name: PREDICTIONS.columns}
        counted = self.method == CoCountRelease.name
        numbers = ("count", "low", "high") if counted else ("offset", "support")
        return {ITEMS.name: ("item", "label", *numbers)}

    def cells(self, log: EventLog) -> dict[str, int]:
        """Return how many items the model is about, or how many ratings are predicted."""
        if self.asked:
            return {PREDICTIONS.name: len(self.asked)}
        return {ITEMS.name: len(log.catalogue.ids)}
