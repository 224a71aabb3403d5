"""Base models of JSON request and response bodies of the API, and their validation."""

from __future__ import annotations

import json
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, model_validator

JsonObject = dict[str, Any]
"""What is told as it is: plans, accounts and raw rows have shapes of their own, which their modules describe."""


class ResponseBody(BaseModel):
    """What a program gets."""

    @classmethod
    def from_object(cls, held: Any) -> Self:
        """Return what is told of something: those of its fields that the shape has, and no other."""
        return cls.model_validate({name: getattr(held, name) for name in cls.model_fields})


class Body(BaseModel):
    """What a program sends.

    >>> class Named(Body):
    ...     name: str
    >>> Named.model_validate({"name": "a" + chr(0)})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    pydantic_core._pydantic_core.ValidationError: 1 validation error for Named
      Value error, a text holds what no database keeps [type=value_error, ...
    """

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _sound(cls, sent: Any) -> Any:
        try:
            written = json.dumps(sent, ensure_ascii=False, allow_nan=False, default=str)
            written.encode()
        except (ValueError, RecursionError) as error:
            raise ValueError("a text or a number is none that JSON has") from error
        if "\\u0000" in written:
            raise ValueError("a text holds what no database keeps")
        return sent
