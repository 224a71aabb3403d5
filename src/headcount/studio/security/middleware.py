"""Middleware and session cookies: host check, authentication, security headers of every response."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from itsdangerous import BadSignature, Signer, TimestampSigner
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headcount.errors import SurroundingsError
from headcount.studio.access import Visitor
from headcount.studio.security.secrets import digest_of, fresh_secret
from headcount.studio.settings import EVERYWHERE, Settings
from headcount.studio.web import error_responses

if TYPE_CHECKING:
    from headcount.studio.studio import Studio

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with no-referrer, a browser names no origin when a form is sent
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
"""What every answer says; an answer may say something else, as static files do of how long they are kept."""
_KEY = 43
_YEAR = 365 * 24 * 3600
_REMEMBERED = 180 * 24 * 3600
"""Seconds for which a browser is known."""
_LOG = logging.getLogger(__name__)


class Cookies:
    """The cookie of a session: a random secret, signed, so that a forged one costs no query of the database."""

    def __init__(self, settings: Settings) -> None:
        self.secure = settings.base_url.startswith("https://")
        # of two studios on one machine each has its own: cookies do not know ports
        self.name = "__Host-headcount" if self.secure else f"headcount-{settings.port}"
        key = _signing_key(settings.data / "session.key")
        method: dict[str, Any] = {"key_derivation": "hmac", "digest_method": hashlib.sha256}
        self._signer = Signer(key, salt="headcount.studio.session", **method)
        self._browsers = TimestampSigner(key, salt="headcount.studio.browser", **method)

    def read(self, request: HTTPConnection) -> str | None:
        """Return the secret of a session, None if there is none or its signature is not ours."""
        try:
            return self._signer.unsign(request.cookies.get(self.name, "")).decode()
        except (BadSignature, UnicodeDecodeError):
            return None

    def set(self, response: Response, secret: str) -> None:
        """Give a browser the session, which ends when the browser is closed."""
        self._set(response, self.name, self.signed(secret))

    def signed(self, secret: str) -> str:
        """Return what the cookie of a session holds."""
        return self._signer.sign(secret).decode()

    def remember_browser(self, response: Response, name: str) -> None:
        """Give a browser a cookie that names its account: tries of other browsers do not count for it."""
        value = self._browsers.sign(f"{_account(name)}.{fresh_secret()}").decode()
        self._set(response, f"{self.name}-browser", value, max_age=_REMEMBERED)

    def browser_of(self, request: HTTPConnection, name: str) -> str | None:
        """Return the cookie of a browser that signed in with a name before, None if it did not."""
        try:
            cookie = request.cookies.get(f"{self.name}-browser", "")
            value = self._browsers.unsign(cookie, max_age=_REMEMBERED).decode()
        except (BadSignature, UnicodeDecodeError):
            return None
        return value if value.startswith(f"{_account(name)}.") else None

    def clear(self, response: Response) -> None:
        """Take the session from a browser."""
        response.delete_cookie(self.name, path="/", secure=self.secure, httponly=True, samesite="lax")

    def _set(self, response: Response, name: str, value: str, max_age: int | None = None) -> None:
        response.set_cookie(
            name, value, max_age=max_age, path="/", secure=self.secure, httponly=True, samesite="lax"
        )


def _account(name: str) -> str:
    return digest_of(name.strip().casefold())


def _signing_key(path: Path) -> bytes:
    """Return what cookies are signed with, made when it is not there."""
    try:
        held = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        kept = path.read_bytes()
        if len(kept) < _KEY:  # a disk that was full
            raise SurroundingsError(f"{path} is not whole", remedy="remove it; everybody signs in again") from None
        return kept
    with os.fdopen(held, "wb") as file:
        key = fresh_secret().encode()
        file.write(key)
    return key


def is_ours(host: str, settings: Settings) -> bool:
    """Whether a request's Host names this studio: a name that an attacker points at it does not.

    >>> local = Settings(Path("desk"))
    >>> is_ours("localhost:8000", local), is_ours("evil.example:8000", local), is_ours("10.0.0.7", local)
    (True, False, False)
    >>> is_ours("10.0.0.7", Settings(Path("desk"), host="0.0.0.0"))
    True
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    ours = {"localhost", "127.0.0.1", "::1", settings.host.lower(), urlsplit(settings.base_url).hostname}
    return name in ours or (_is_address(name) and settings.host in EVERYWHERE)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class SecurityMiddleware:
    """Authenticates each request before its route runs, and puts security headers on each answer."""

    def __init__(self, app: ASGIApp, studio: Studio) -> None:
        self._app = app
        self._studio = studio

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def headed(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                self._head(MutableHeaders(scope=message))
            await send(message)

        request = Request(scope, receive)
        request.state.visitor = Visitor()
        try:
            if not is_ours(request.headers.get("host", ""), self._studio.settings):
                await error_responses.unknown_host_response()(scope, receive, headed)
                return
            if "\0" in scope["path"] or b"%00" in scope["query_string"]:  # PostgreSQL has no such text
                raise error_responses.unknown_address()
            request.state.visitor = await run_in_threadpool(self._who, request)
            await self._app(scope, receive, headed)
        except asyncio.CancelledError:  # the server ends, and does not wait any longer
            if begun:
                raise
            ended = SurroundingsError("the studio was stopped", remedy="open the page anew when it is back")
            await error_responses.error_response(request, ended)(scope, receive, headed)
        except Exception as error:
            if error_responses.status_of(error) == 500:
                _LOG.exception("%s %s failed", request.method, request.url.path)
            if begun:
                raise
            await error_responses.error_response(request, error)(scope, receive, headed)

    def _who(self, request: Request) -> Visitor:
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        accounts = self._studio.accounts
        if kind.lower() == "bearer":
            return accounts.of_token(token.strip()) or Visitor()
        secret = self._studio.cookies.read(request)
        return (accounts.of_session(secret) if secret else None) or Visitor()

    def _head(self, headers: MutableHeaders) -> None:
        for name, value in HEADERS.items():
            headers.setdefault(name, value)
        if self._studio.cookies.secure:
            headers["strict-transport-security"] = f"max-age={_YEAR}"
        del headers["server"]


def place_within(given: str) -> str:
    r"""Return where to go next, within the studio: nothing else is ever gone to.

    >>> [place_within(each) for each in ("/releases/7?k=3", "//evil.example", "https://evil.example", "/\\evil")]
    ['/releases/7?k=3', '/', '/', '/']
    """
    sound = given.startswith("/") and given.isprintable() and given.isascii() and "\\" not in given
    try:
        parts = urlsplit(given)
    except ValueError:
        return "/"
    return given if sound and not given.startswith("//") and not parts.netloc and not parts.scheme else "/"
