"""The OpenAPI document: access levels, token authentication and the one shape of errors."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from headcount.studio.access import AccessLevel, access_level_of
from headcount.studio.web.error_responses import Failure

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


class DocumentedFastAPI(FastAPI):
    """An application whose document knows doors and errors."""

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
    for path, operations in document.get("paths", {}).items():
        for method, operation in operations.items():
            operation["security"] = [] if levels_by_route[path, method] is AccessLevel.ANYONE else [{"token": []}]
            operation["responses"] |= {
                status: {"description": description, "content": shape} for status, description in _FAILURES.items()
            }
