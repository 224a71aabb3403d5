"""CSRF protection: the origin and token checks of requests that change something.

A session rides on a cookie, which a browser adds by itself. So whatever changes something must name our own
origin, and show the token of the session, which no other site can read. A program's token is never sent by itself,
and needs none of this.
"""

from __future__ import annotations

import hmac

from fastapi import Request

from headcount.errors import HeadcountError

HEADER = "X-CSRF-Token"
FIELD = "csrf"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class ForgeryError(HeadcountError):
    """A request that may come from another site."""


async def check_origin(request: Request, token: str) -> None:
    """Refuse what another site may have sent; ``token`` is that of the session, empty if there is none."""
    origin = request.headers.get("origin")
    if origin is None and not token:  # no browser: they all name an origin here
        return
    host = request.headers.get("host", "")
    ours = {f"{request.url.scheme}://{host}", request.app.state.origin}
    if origin not in ours:
        raise ForgeryError("this request comes from another site", remedy="open the page anew, and try again")
    if token and not hmac.compare_digest((await _sent_token(request)).encode(), token.encode()):
        raise ForgeryError("this page is too old", remedy="open it anew, and try again")


async def _sent_token(request: Request) -> str:
    sent_token = request.headers.get(HEADER)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if sent_token is not None or kind not in _FORMS:
        return sent_token or ""
    length, most = request.headers.get("content-length"), request.app.state.studio.settings.limits.form_bytes
    if length is None or int(length) > most:
        return ""  # who sends a large file, or does not say how large, shows it in the header
    await request.body()  # held, so that the route may read it as a stream
    field = (await request.form()).get(FIELD, "")
    return field if isinstance(field, str) else ""
