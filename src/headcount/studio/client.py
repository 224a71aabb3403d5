"""HTTP client of a studio: list datasets, read releases, request new ones within your budget.

Everything goes through the API of a studio (``headcount serve``), with a token that one makes on one's account
page there. What is refused is raised as the error that the same would raise here.
"""

from __future__ import annotations

import io
import json
import re
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any

from headcount import errors
from headcount.errors import (
    DataError,
    HeadcountError,
    RefusedError,
    SurroundingsError,
    UnknownNameError,
    UsageError,
)
from headcount.releases.release import Release, load
from headcount.version import __version__

Json = dict[str, Any]

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_FILE = re.compile(r"release\.json|(model/)?[a-z][a-z_]*\.parquet")
_BY_STATUS: Mapping[int, type[HeadcountError]] = {
    401: RefusedError,
    403: RefusedError,
    404: UnknownNameError,
    409: RefusedError,
    429: RefusedError,
}
"""What an answer is raised as whose error is not known by name."""

_OVER = ("done", "failed", "cancelled", "interrupted")


@dataclass(frozen=True)
class Client:
    """Somebody who uses a studio, by a token of theirs.

    Datasets are named by their name or id, and requests take the same parameters as the functions of this package:
    ``client.ask("visits", "rankings", k=10, epsilon="0.5")``. Plain ``http`` is for this machine alone, since
    whoever reads a token can use it, unless ``allow_http`` says otherwise.

    >>> Client("https://studio.example", "secret")
    Client(url='https://studio.example', timeout=60.0, allow_http=False)
    """

    url: str
    token: str = field(repr=False)
    timeout: float = 60.0
    allow_http: bool = False

    def __post_init__(self) -> None:
        parts = urllib.parse.urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError("a studio has an address such as http://127.0.0.1:8000", given=self.url)
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK and not self.allow_http:
            raise UsageError(
                f"a token would travel unprotected to {self.url}", remedy="use https, or say allow_http=True"
            )

    def datasets(self) -> list[Json]:
        """Return the datasets that one may ask."""
        return list(self._get("datasets"))

    def budget(self, dataset: str) -> Json:
        """Return what one has spent on a dataset, and what is left."""
        return dict(self._get(f"datasets/{self._dataset(dataset)}/budget"))

    def releases(self) -> list[Json]:
        """Return the releases that one sees, the newest first."""
        return list(self._get("releases"))

    def release(self, release: str | Mapping[str, Any]) -> Release:
        """Return a release, by its id or as :meth:`releases` lists it: a value as any other."""
        key = release if isinstance(release, str) else str(release["id"])
        packed = self._send("GET", f"releases/{_quoted(key)}/folder")
        with tempfile.TemporaryDirectory() as folder:
            _unpack(packed, Path(folder))
            return load(folder)

    def plan(self, dataset: str, family: str = "counts", **fields: Any) -> Json:
        """Return what a request would promise and cost, and how far off it would be; it costs nothing."""
        body = {"family": family, "asked": fields}
        return dict(self._json("POST", f"datasets/{self._dataset(dataset)}/plan", body))

    def ask(self, dataset: str, family: str = "counts", *, title: str = "", **fields: Any) -> Json:
        """Ask for a release, which is charged to one's own budget, and return the job that makes it."""
        body = {"dataset": self._dataset(dataset), "family": family, "asked": fields, "title": title}
        return dict(self._json("POST", "jobs", body))

    def job(self, job: str | Mapping[str, Any]) -> Json:
        """Return how far a job is."""
        return dict(self._get(f"jobs/{_quoted(job if isinstance(job, str) else str(job['id']))}"))

    def wait(self, job: str | Mapping[str, Any], *, seconds: float = 3600.0, every: float = 1.0) -> Release:
        """Wait for a job, and return what it released; one that did not end well is raised as its error."""
        until = time.monotonic() + seconds
        while (status := self.job(job))["state"] not in _OVER:
            if time.monotonic() >= until:
                raise SurroundingsError(f"the job has not ended after {seconds:g} seconds", remedy="wait longer")
            time.sleep(every)
        outcome = status.get("outcome") or {}
        if status["state"] != "done" or "release" not in outcome:
            raise _error(outcome, 0)
        return self.release(str(outcome["release"]))

    def _dataset(self, given: str) -> str:
        ids_by_name = {dataset["name"]: str(dataset["id"]) for dataset in self.datasets()}
        if given in ids_by_name.values():
            return given
        if given not in ids_by_name:
            raise UnknownNameError.among("dataset", given, ids_by_name)
        return ids_by_name[given]

    def _get(self, path: str) -> Any:
        return self._json("GET", path)

    def _json(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        answer = self._send(method, path, body)
        try:
            return json.loads(answer)
        except ValueError as error:
            raise SurroundingsError(f"{self.url} does not answer as a studio does") from error

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> bytes:
        sent = None if body is None else json.dumps(body, default=str).encode()
        request = urllib.request.Request(  # noqa: S310 - the scheme was looked at
            f"{self.url.rstrip('/')}/api/v1/{path}",
            data=sent,
            method=method,
            headers={
                "Authorization": f"Bearer {self.token}",
                "User-Agent": f"headcount/{__version__}",
                **({} if sent is None else {"Content-Type": "application/json"}),
            },
        )
        opener = _DIRECT if urllib.parse.urlsplit(self.url).hostname in _LOOPBACK else _OPENER
        try:
            with opener.open(request, timeout=self.timeout) as answer:
                content: bytes = answer.read()
                return content
        except urllib.error.HTTPError as error:
            with error:
                raise _error(_parse_json_object(error.read()), error.code) from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise SurroundingsError(
                f"{self.url} cannot be reached ({reason})", remedy="see that it runs"
            ) from error


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Goes nowhere else: a token is for the studio alone."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)
_DIRECT = urllib.request.build_opener(_NoRedirects, urllib.request.ProxyHandler({}))
"""For this machine: a proxy would read the token, which travels unprotected."""


def _quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="")


def _parse_json_object(content: bytes) -> Mapping[str, Any]:
    try:
        data = json.loads(content)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _error(answer: Mapping[str, Any], status: int) -> HeadcountError:
    """Return the error that an answer tells of.

    >>> _error({"error": "UsageError", "problem": "k is missing", "remedy": "give one"}, 400)
    UsageError('k is missing; give one')
    """
    usual = SurroundingsError if status >= 500 else _BY_STATUS.get(status, UsageError if status else RefusedError)
    kind = getattr(errors, str(answer.get("error")), usual)
    kind = kind if isinstance(kind, type) and issubclass(kind, HeadcountError) else usual
    silent = f"the studio answered with {status}" if status else "the job did not end well"
    error: HeadcountError = kind(
        answer.get("problem") or silent, given=answer.get("given"), remedy=answer.get("remedy")
    )
    return error


def _unpack(packed: bytes, folder: Path) -> None:
    """Unpack a release, and nothing that has no place in one."""
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as held:
            for name in held.namelist():
                if not _FILE.fullmatch(name):
                    raise DataError(f"{name!r} has no place in a release")
                (folder / name).parent.mkdir(exist_ok=True)
                (folder / name).write_bytes(held.read(name))
    except zipfile.BadZipFile as error:
        raise DataError("what arrived is no release", remedy="try again") from error
