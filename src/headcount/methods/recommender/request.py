"""The request of a recommender release, and the small CSV files of items, ratings or pairs that it reads."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, cast

from pydantic import field_validator

from headcount._internal.parameters import Flag
from headcount.errors import DataError, Parameter, UsageError, param
from headcount.methods.recommender import EDGES, FAMILY, ITEMS, PREDICTIONS, VISITS
from headcount.methods.request import MaybeWhole, MethodRequest

if TYPE_CHECKING:
    from headcount.events.log import EventLog
    from headcount.methods.method import Method


def read_pairs(path: str, first: str, second: str) -> list[tuple[str, str]]:
    """Return the first two columns of a file with a header, each value as text."""
    rows = _read_rows(path, f"{first}s and {second}s")
    if not rows or any(len(row) < 2 for row in rows):
        raise DataError(
            f"{path} must have a header and at least two columns, {first} and {second}",
            remedy=f"for example the line {first},{second} and one for each {first}",
        )
    return [(row[0], row[1]) for row in rows[1:]]


def read_items(path: str) -> list[str]:
    """Return the first column of a file with a header, each item as text."""
    rows = _read_rows(path, "items")
    if not rows:
        raise DataError(f"{path} must have a header", remedy="for example the line item, and one for each item")
    return [row[0] for row in rows[1:]]


def _read_rows(path: str, what: str) -> list[list[str]]:
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as lines:
            return [row for row in csv.reader(lines) if row]
    except (OSError, UnicodeError) as error:
        raise DataError(f"{path} cannot be read ({error})", remedy=f"give a CSV file of {what}") from error


def _read_predictions(given: Any, parameter: Parameter) -> Any:  # noqa: ARG001 - as all that is read
    """Read the file of what is asked; a configuration, or the request of a release, may list it instead."""
    return given if isinstance(given, list | tuple) else read_pairs(given, "user", "item")


class RecommenderRequest(MethodRequest):
    """A model that predicts ratings and finds related items; with a δ its noise is Gaussian.

    >>> request = RecommenderRequest(epsilon="4", delta="1e-6")
    >>> RecommenderRequest.model_validate_json(request.model_dump_json()) == request
    True
    """

    command: ClassVar[str] = "neighbours"

    method: Annotated[
        str | None,
        Flag(
            f"private, visits, co-counts, or one for research.  [default: private with {param.value}, else "
            "visits]",
            "NAME",
        ),
    ] = None
    limit: Annotated[MaybeWhole, Flag("How much one person's pairs of items may add, for co-counts.", "L")] = None
    asked: Annotated[
        tuple[tuple[str, str], ...],
        Flag(
            "Ratings to predict, by pncf-predictions-published: people and items in a CSV file.",
            "FILE",
            raw=True,
            read=_read_predictions,
        ),
    ] = ()

    @field_validator("asked", mode="before")
    @classmethod
    def _as_texts(cls, value: Any) -> tuple[tuple[str, str], ...]:
        rows = [tuple(map(str, pair)) for pair in value or () if not isinstance(pair, str)]
        if any(len(pair) != 2 for pair in rows) or len(rows) != len(value or ()):
            raise UsageError("asked must name a person and an item each", remedy="for example [('ann', 'tea')]")
        return cast("tuple[tuple[str, str], ...]", tuple(rows))

    @property
    def noise_kind(self) -> str | None:
        """Gaussian with δ."""
        return None if self.delta is None else "gaussian"

    @property
    def uses_value(self) -> bool:
        """Some methods learn from ratings, and the others say themselves that they have no use for them."""
        return True

    def for_log(self, log: EventLog) -> Self:
        """Where no method is named, ratings are learnt from where there are any, and else visits."""
        if self.method is not None:
            return self
        method = VISITS if log.roles.value is None else FAMILY.default
        return self.model_validate({**self.model_dump(), "method": method})

    def check_delta(self, *, selecting: bool) -> None:
        """Any δ is of use; a selection needs one."""
        if self.delta is None and selecting:
            raise UsageError(f"a selection needs {param.delta}", remedy=f"for example {param.delta('1e-6')}")

    def build(self, *, selecting: bool = False) -> Method:
        """Build the method asked for, refusing what it cannot use and research that is not declared."""
        own = {"limit": self.limit, "asked": self.asked or None, "shares": self.own_shares(selecting=selecting)}
        return self.chosen(FAMILY, self.method, own, instead=FAMILY.default)

    def columns(self, log: EventLog) -> dict[str, tuple[str, ...]]:
        """Return the columns of the model's tables of items and contexts, or of what it predicts."""
        from headcount.methods.recommender.co_occurrence import CoOccurrence

        if self.asked:
            return {PREDICTIONS.name: PREDICTIONS.columns}
        counted = self.method in (CoOccurrence.name, VISITS)
        numbers = ("count", "low", "high") if counted else ("offset", "support")
        tables = {ITEMS.name: ("item", "label", *numbers)}
        return tables | ({EDGES.name: ("item", "context", *numbers)} if self._by_context(log) else {})

    def cells(self, log: EventLog) -> dict[str, int]:
        """Return how many items the model is about, and how many pairs with contexts; or what is predicted."""
        if self.asked:
            return {PREDICTIONS.name: len(self.asked)}
        items = {ITEMS.name: len(log.catalogue.ids)}
        return items | ({EDGES.name: log.cells} if self._by_context(log) else {})

    def _by_context(self, log: EventLog) -> bool:
        return self.method == VISITS and log.context is not None
