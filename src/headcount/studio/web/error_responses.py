"""Errors as HTTP responses: JSON for programs, pages for browsers, and the status of each error class."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from headcount.errors import (
    CallerError,
    HeadcountError,
    RefusedError,
    SurroundingsError,
    UnknownNameError,
    UsageError,
)
from headcount.studio.access import ForgeryError, NotAllowedError, NotSignedInError
from headcount.studio.forms import FormError
from headcount.studio.forms.labels import in_words
from headcount.studio.store.throttling import TooManyError
from headcount.studio.uploads import TooLargeError
from headcount.studio.web import templates

STATUS: dict[type[Exception], int] = {
    CallerError: 400,
    NotSignedInError: 401,
    NotAllowedError: 403,
    ForgeryError: 403,
    UnknownNameError: 404,
    RefusedError: 409,
    TooLargeError: 413,
    TooManyError: 429,
    SurroundingsError: 503,
}
"""The status of each error; a class that is not here has that of its base, and any other error 500."""


class Failure(BaseModel):
    """What went wrong, and what to do."""

    error: str
    problem: str
    given: str | None
    remedy: str | None
    message: str


class UnexpectedError(HeadcountError):
    """An unforeseen error: the log of the server has it, and the visitor does not see it."""


class RequestError(HeadcountError):
    """A request that is not as it must be."""


def error_response(request: Request, error: Exception) -> Response:
    """Answer a request that failed."""
    status, reported = _status_and_error(error)
    if isinstance(reported, NotSignedInError) and not _is_program(request):
        return _to_sign_in(request)
    return _render_error(request, reported, status)


def unknown_host_response() -> Response:
    """Answer a request for a host that is not ours, without looking at the request."""
    remedy = "open the address that the server was started with, or start it with --public-url"
    error = RequestError("this server is not known by that name", remedy=remedy)
    return JSONResponse(error.to_json(), 421)


def install(app: FastAPI) -> None:
    """Let an application answer every error of a route so."""

    def handle(request: Request, error: Exception) -> Response:
        return error_response(request, error)

    for kind in (HeadcountError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, handle)


def unknown_address() -> UnknownNameError:
    """Return the error of an address without a page."""
    return UnknownNameError("there is nothing at this address", remedy="begin at /")


def form_page(request: Request, name: str, error: HeadcountError | None, **values: Any) -> HTMLResponse:
    """Return a page with a form, refused or not: an error of single fields is shown beside these alone."""
    by_field = error.by_field if isinstance(error, FormError) else {}
    shown = error if not by_field or "" in by_field else None
    status = 200 if error is None else status_of(error)
    return templates.page(request, name, status=status, error=shown, **values)


def status_of(error: Exception) -> int:
    """Return what an error answers with.

    >>> status_of(UsageError("ε must be above 0")), status_of(ZeroDivisionError())
    (400, 500)
    """
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


def _status_and_error(error: Exception) -> tuple[int, HeadcountError]:
    if isinstance(error, HTTPException):
        return error.status_code, _of_http(error)
    if isinstance(error, RequestValidationError):
        return 422, _of_fields(error)
    status = status_of(error)
    if not isinstance(error, HeadcountError) or status == 500:
        return 500, UnexpectedError("something went wrong here", remedy="try again; the server's log says more")
    error.render(in_words)
    return status, error


def _of_http(error: HTTPException) -> HeadcountError:
    if error.status_code == 404:
        return unknown_address()
    if error.status_code == 405:
        return UsageError("this address does not take that", remedy="see /api/v1/openapi.json")
    if error.status_code == 413:
        return RequestError(str(error.detail), remedy="send less at once")
    return RequestError(HTTPStatus(error.status_code).phrase.lower())


def _of_fields(error: RequestValidationError) -> HeadcountError:
    """Name the wrong fields; never their values, which may be passwords."""
    wrong = [(".".join(map(str, detail["loc"][1:])), str(detail["msg"])) for detail in error.errors()[:5]]
    summary = "; ".join(f"{name}: {problem}" if name else problem for name, problem in wrong)
    return RequestError(f"not as it must be: {summary}", remedy="mend this, and send it again")


def _is_program(request: Request) -> bool:
    return request.url.path.startswith("/api/")


def _to_sign_in(request: Request) -> Response:
    next_path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    place = f"/sign-in?next={quote(next_path, safe='/')}" if request.method == "GET" else "/sign-in"
    if "hx-request" in request.headers:  # a part of a page: the whole page goes there
        return Response(status_code=401, headers={"HX-Redirect": "/sign-in"})
    return RedirectResponse(place, 303)


def _render_error(request: Request, error: HeadcountError, status: int) -> Response:
    if _is_program(request):
        response: Response = JSONResponse(error.to_json(), status)
    elif "hx-request" in request.headers:
        response = templates.part(request, "failure_part.html.jinja", status=status, error=error)
    else:
        response = templates.page(request, "failure.html.jinja", status=status, error=error)
    if _is_program(request) and status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, TooManyError):
        response.headers["Retry-After"] = f"{error.seconds:.0f}"
    return response
