"""Requests: what is asked, as typed data that round-trips through JSON; never where the data lies."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_serializer, field_validator

from headcount.budget import Grant, amount
from headcount.errors import UsageError
from headcount.guarantee import Guarantee, Standing
from headcount.method import Method
from headcount.registry import build


class ReleaseRequest(BaseModel):
    """A release of counts: by which method, at which price.

    >>> request = ReleaseRequest(epsilon="1", method="sra", limit=10)
    >>> ReleaseRequest.model_validate_json(request.model_dump_json()) == request
    True
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    epsilon: Decimal
    method: str | None = None
    limit: int | None = None
    what: Literal["items", "edges", "both"] | None = None
    shares: Mapping[str, Decimal] | None = None
    options: Mapping[str, Any] = Field(default_factory=dict)
    research: bool = False

    @field_validator("epsilon", mode="before")
    @classmethod
    def _exact(cls, value: Any) -> Decimal:
        return amount(value)

    @field_validator("shares", mode="before")
    @classmethod
    def _exact_shares(cls, value: Any) -> Any:
        if value is None:
            return None
        return {stage: amount(share, f"the share of {stage}") for stage, share in dict(value).items()}

    @field_serializer("epsilon")
    def _plain(self, value: Decimal) -> str:
        return f"{value:f}"

    def grant(self) -> Grant:
        """Return a fresh grant of the amount asked for."""
        return Grant(self.epsilon)

    def build(self) -> Method:
        """Return the method asked for, refusing what it cannot use and research that is not declared."""
        parameters: dict[str, Any] = dict(self.options)
        for name in ("limit", "what", "shares"):
            if getattr(self, name) is not None:
                parameters[name] = getattr(self, name)
        method = build(self.method, parameters)
        if method.standing is Standing.CLAIMED and not self.research:
            raise UsageError(
                f"{self.method} is kept for research: {method.reason}",
                remedy=f"use {str(self.method).removesuffix('-published')}, or add --research",
            )
        return method

    def guarantee(self) -> Guarantee:
        """Say what the release will promise; known without data."""
        return self.build().guarantee(self.grant())
