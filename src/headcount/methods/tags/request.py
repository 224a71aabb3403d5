"""The request of a tag release."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, ClassVar

from headcount._internal.parameters import Flag
from headcount.accounting.guarantee import Standing
from headcount.errors import UsageError, param
from headcount.methods.request import MethodRequest, shares_flag
from headcount.methods.tags import ASSIGNMENTS, FAMILY, RESOURCES, TAGS

if TYPE_CHECKING:
    from headcount.events.log import EventLog
    from headcount.methods.method import Method


class TagsRequest(MethodRequest):
    """A release of tags: by which method, at which price; a δ allows for Gaussian noise.

    >>> request = TagsRequest(epsilon="1", delta="1e-6")
    >>> TagsRequest.model_validate_json(request.model_dump_json()) == request
    True
    """

    command: ClassVar[str] = "tags"

    method: Annotated[
        str | None, Flag(f"How to release; see `headcount methods`.  [default: {FAMILY.default}]", "NAME")
    ] = None
    shares: Annotated[Mapping[str, Decimal] | None, shares_flag("marginals=0.4,pairs=0.55,people=0.05")] = None

    @property
    def noise_kind(self) -> str | None:
        """Gaussian with δ."""
        return None if self.delta is None else "gaussian"

    def check_delta(self, *, selecting: bool) -> None:
        """Any δ is of use, but for a method that claims none; a selection needs one."""
        if selecting and self.delta is None:
            raise UsageError(f"a selection needs {param.delta}", remedy=f"for example {param.delta('1e-6')}")
        if self.delta is not None and self._is_claimed:
            raise UsageError(f"{self.method} claims no δ", remedy=f"leave {param.delta} out")

    @property
    def _is_claimed(self) -> bool:
        return FAMILY.kind(self.method or FAMILY.default).standing is Standing.CLAIMED

    def build(self, *, selecting: bool = False) -> Method:
        """Build the method asked for, refusing what it cannot use and research that is not declared."""
        return self.chosen(
            FAMILY, self.method, {"shares": self.own_shares(selecting=selecting)}, instead=FAMILY.default
        )

    def columns(self, log: EventLog) -> dict[str, tuple[str, ...]]:  # noqa: ARG002
        """Return the columns of the tables that there always are."""
        return {table.name: table.columns for table in ((ASSIGNMENTS,) if self._is_claimed else (TAGS, RESOURCES))}

    def cells(self, log: EventLog) -> dict[str, int]:
        """Return how many weights are measured whatever the data."""
        from headcount.events.tag_log import TagLog

        if self._is_claimed:
            return {}
        return {TAGS.name: len(TagLog.of_log(log).vocabulary.ids), RESOURCES.name: len(log.catalogue.ids)}
