"""A release of tags, as it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.events.tagged import TagLog
from headcount.guarantee import Standing
from headcount.method import Method
from headcount.registry import DEFAULT_TAG_METHOD, build
from headcount.request.spending import Spending, refuse_research

_LISTED = ("label", "weight", "stands_out")


class TagsRequest(Spending):
    """A release of tags: by which method, at which price; a δ allows for Gaussian noise.

    >>> request = TagsRequest(epsilon="1", delta="1e-6")
    >>> TagsRequest.model_validate_json(request.model_dump_json()) == request
    True
    """

    command: ClassVar[str] = "tags"

    method: str | None = None
    options: Mapping[str, Any] = Field(default_factory=dict)
    research: bool = False

    def check_delta(self, *, selecting: bool) -> None:
        """Refuse lists that are still to be selected, and a δ for a method that has no use for one."""
        if selecting or self.select_limit is not None:
            raise UsageError(
                "resources and tags cannot be selected", remedy="list them with --resources and --vocabulary"
            )
        if self.delta is not None and self.build().standing is Standing.CLAIMED:
            raise UsageError(f"{self.method} claims no δ", remedy="leave --delta out")

    def build(self, *, selecting: bool = False) -> Method:  # noqa: ARG002
        """Return the method asked for, refusing what it cannot use and research that is not declared."""
        parameters = {**self.options, **({} if self.shares is None else {"shares": self.shares})}
        method = build(self.method or DEFAULT_TAG_METHOD, parameters, family="tags")
        return refuse_research(method, research=self.research, instead=DEFAULT_TAG_METHOD)

    def columns(self, log: EventLog) -> dict[str, tuple[str, ...]]:  # noqa: ARG002
        """Return the columns of the tables that there always are."""
        if self.build().standing is Standing.CLAIMED:
            return {"model/assignments": ("user", "resource", "tag")}
        return {"model/tags": ("tag", *_LISTED), "model/resources": ("resource", *_LISTED)}

    def cells(self, log: EventLog) -> dict[str, int]:
        """Return how many weights are measured whatever the data."""
        if self.build().standing is Standing.CLAIMED:
            return {}
        return {"model/tags": len(TagLog.of_log(log).vocabulary.ids), "model/resources": len(log.catalogue.ids)}
