"""Web source: files at ``https://`` and ``http://``, downloaded once to a private temporary folder.

A web server neither lists its files nor promises that a second look sees the same, so one copy serves all passes.
What an address says in front of ``@`` is sent as a password to that server alone, never to where it redirects.
"""

from __future__ import annotations

import base64
import shutil
import urllib.error
import urllib.request
from collections.abc import Sequence
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from headcount.errors import DataError, HeadcountError, SurroundingsError, UsageError
from headcount.events.sources.naming import redact, scrub
from headcount.events.sources.spool import Spool

_SILENCE = 60  # seconds without a byte after which a server is taken for gone


def fetched(addresses: Sequence[str]) -> tuple[Spool, list[str]]:
    """Copy files from the web; return what keeps them, and their paths."""
    for place, address in enumerate(addresses):
        if "*" in redact(address):
            raise UsageError(
                f"{redact(address)} is a pattern", remedy="a web server lists no files: name each of them"
            )
        if address in addresses[:place]:
            raise UsageError(f"{redact(address)} is given twice", remedy="name every file once")
    spool = Spool(redact(addresses[0]))
    paths = [spool.folder / str(number) / _path(address) for number, address in enumerate(addresses)]
    for address, path in zip(addresses, paths, strict=True):
        try:
            _fetch(address, path)
        except HeadcountError:
            spool.delete()
            raise
    return spool, [str(path) for path in paths]


def _path(address: str) -> Path:
    """Return the path of an address, with its ``key=value`` folders, as one that lies below another."""
    parts = [unquote(part) for part in urlsplit(redact(address)).path.split("/")]
    return Path(*(part.replace("/", "_") for part in parts if part not in ("", ".", "..")))


def _fetch(address: str, path: Path) -> None:
    """Copy one file; a copy that is shorter than announced is no copy."""
    try:
        with _opened(address) as answer:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as out:
                shutil.copyfileobj(answer, out, 1 << 20)
                length = answer.headers.get("Content-Length")
                if length is not None and out.tell() != int(length):
                    raise OSError(f"it ended after {out.tell():,} of {int(length):,} bytes")
        return
    except urllib.error.HTTPError as error:
        missing = error.code in (404, 410)
        reasons = {401: "it asks for a password", 403: "it refuses to hand it over"}
        reason = reasons.get(error.code, f"the server says {error.code}")
        kind = DataError if missing or error.code in reasons else SurroundingsError
        fetch_error = kind(
            f"{redact(address)} {'does not exist' if missing else f'cannot be read ({reason})'}",
            remedy="check the address",
        )
    except (OSError, HTTPException, ValueError) as error:
        fetch_error = SurroundingsError(
            f"{redact(address)} cannot be fetched ({scrub(str(error), address)})", remedy="try again"
        )
    raise fetch_error from None


def _opened(address: str) -> HTTPResponse:
    parts = urlsplit(address)
    credentials, at, place = parts.netloc.rpartition("@")
    request = urllib.request.Request(  # noqa: S310 - the scheme was looked at
        urlunsplit(parts._replace(netloc=place, fragment="")), headers={"User-Agent": "headcount"}
    )
    if at:
        secret = base64.b64encode(unquote(credentials).encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {secret}")
    answer: HTTPResponse = urllib.request.urlopen(request, timeout=_SILENCE)  # noqa: S310
    return answer
