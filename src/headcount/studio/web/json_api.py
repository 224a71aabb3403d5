"""The JSON side: base models of bodies, and the OpenAPI document with access levels and errors."""

from __future__ import annotations

import json
from typing import Any, Self

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, model_validator

from headcount.studio.access import AccessLevel, access_level_of
from headcount.studio.web.error_responses import Failure

JsonObject = dict[str, Any]
"""Plans, accounts and raw rows have shapes of their own, which their modules describe."""
SCHEMES = {
    "token": {"type": "http", "scheme": "bearer", "description": "A token that a person made on their account."},
}
_FAILURES = {
    "400": "Something that who asks can mend.",
    "401": "Nobody who is known asks.",
    "403": "This is for others.",
    "404": "There is no such thing, or it is somebody else's.",
    "409": "Refused: a budget that is exhausted, or a name that is taken.",
    "413": "Too large.",
    "422": "A field is missing, or not as it must be.",
    "429": "Too many tries.",
    "503": "A disk or a database failed.",
}


class ResponseBody(BaseModel):
    """What a program gets."""

    @classmethod
    def from_object(cls, held: Any) -> Self:
        """Return the fields of an object that the body has, and no other."""
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


class DocumentedFastAPI(FastAPI):
    """An application whose document has access levels and errors."""

    def openapi(self) -> dict[str, Any]:
        """Return the document."""
        if self.openapi_schema is None:
            document = get_openapi(title=self.title, version=self.version, routes=self.routes)
            _complete(document, _access_levels(self))
            self.openapi_schema = document
        return self.openapi_schema


def _access_levels(app: FastAPI) -> dict[tuple[str, str], AccessLevel]:
    levels_by_route: dict[tuple[str, str], AccessLevel] = {}
    for route in app.state.routes:
        if isinstance(route, APIRoute) and (level := access_level_of(route)) is not None:
            levels_by_route |= {(route.path_format, method.lower()): level for method in route.methods or ()}
    return levels_by_route


def _complete(document: dict[str, Any], levels_by_route: dict[tuple[str, str], AccessLevel]) -> None:
    parts = document.setdefault("components", {})
    parts.setdefault("schemas", {})["Failure"] = Failure.model_json_schema()
    for unused in ("HTTPValidationError", "ValidationError"):
        parts["schemas"].pop(unused, None)
    parts["securitySchemes"] = SCHEMES
    shape = {"application/json": {"schema": {"$ref": "#/components/schemas/Failure"}}}
    failures = {status: {"description": words, "content": shape} for status, words in _FAILURES.items()}
    for path, operations in document.get("paths", {}).items():
        for method, operation in operations.items():
            operation["security"] = [] if levels_by_route[path, method] is AccessLevel.ANYONE else [{"token": []}]
            operation["responses"] |= failures
