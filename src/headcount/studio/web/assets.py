"""Static files of the pages (styles, scripts, vendored libraries) under content-hashed names.

A browser may keep such a file for ever, and still never has an old one.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
from dataclasses import dataclass
from importlib import resources
from pathlib import PurePosixPath

TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
"""What is served at all, by the ends of names."""


@dataclass(frozen=True)
class Asset:
    """A file as it is sent."""

    content: bytes
    packed: bytes
    """The same, gzipped."""
    media_type: str


def address(name: str) -> str:
    """Return where a file is found.

    >>> address("studio.css").startswith("/static/studio."), address("studio.css").endswith(".css")
    (True, True)
    """
    return f"/static/{_addresses()[name]}"


def asset(hashed: str) -> Asset | None:
    """Return the file of a hashed name, None if there is none: nothing is opened because of the name.

    >>> asset("../settings.py") is None
    True
    """
    return _assets().get(hashed)


@functools.cache
def _addresses() -> dict[str, str]:
    return {name: _hashed(name, content) for name, content in _files().items()}


@functools.cache
def _assets() -> dict[str, Asset]:
    names = _addresses()
    return {
        names[name]: Asset(content, gzip.compress(content, mtime=0), TYPES[PurePosixPath(name).suffix])
        for name, content in _files().items()
    }


@functools.cache
def _files() -> dict[str, bytes]:
    root = resources.files("headcount.studio").joinpath("static")
    places = [("", root), ("vendor/", root.joinpath("vendor"))]
    return {
        f"{prefix}{file.name}": file.read_bytes()
        for prefix, folder in places
        for file in folder.iterdir()
        if PurePosixPath(file.name).suffix in TYPES
    }


def _hashed(name: str, content: bytes) -> str:
    path = PurePosixPath(name)
    return str(path.with_suffix(f".{hashlib.sha256(content).hexdigest()[:16]}{path.suffix}"))
