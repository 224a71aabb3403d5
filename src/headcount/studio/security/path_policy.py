"""Path policy: which files and database addresses a request may name, resolved below ``settings.files``.

A name is one of a file or folder below ``settings.files``. Processes that open it have that folder as their own,
so what is returned is relative to it, and no path of this machine gets into an error or a release.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from headcount.errors import RefusedError, UnknownNameError, UsageError, param
from headcount.events.sources.files.formats import format_from_name
from headcount.events.sources.files.paths import redact
from headcount.studio.settings import Settings

_FILE_SCHEMES = ("sqlite", "duckdb")
"""Addresses that are files of this machine."""
_REMOTE_SCHEMES = ("postgresql", "postgres", "s3", "gs", "gcs", "abfs", "abfss", "hdfs", "http", "https")
_ADBC = re.compile(r"adbc\+(?:postgresql|flightsql|snowflake|bigquery):(?!(?i:\s*profile:))")
"""ADBC drivers that reach other machines. Others, and a profile, could name a library of this machine to run."""
LIST_FLAGS = ("items", "resources", "vocabulary")
"""Flags that name a public list: a file of it, or the list itself."""


def resolve_inside(settings: Settings, name: object) -> str:
    """Return a name as a path below the files of the studio, or refuse it as if there were nothing.

    What lies in a folder must lie in it, too: a link that leads out of the files is refused wherever it is met.
    """
    root = settings.files.resolve()
    text = name if isinstance(name, str) else ""
    plain = PurePosixPath(text)
    strange = not text or len(text) > 500 or "\\" in text or not text.isprintable() or ":" in plain.parts[:1]
    if strange or plain.is_absolute() or ".." in plain.parts or re.match(r"[A-Za-z]:", text):
        raise _no_such_file(name)
    path = root.joinpath(*plain.parts)
    try:
        paths = [path, *path.rglob("*")] if path.is_dir() else [path]
        if not all(candidate.resolve(strict=True).is_relative_to(root) for candidate in paths):
            raise _no_such_file(name)
    except (OSError, RuntimeError) as error:
        raise _no_such_file(name) from error
    return plain.as_posix()


def event_sources(settings: Settings, source: Mapping[str, Any]) -> list[str]:
    """Return what a dataset is read from: names of files, or one address."""
    address = source.get("address")
    if address is not None:
        return [_address(settings, str(address))]
    files = source.get("files") or []
    if not isinstance(files, list) or not files:
        raise UsageError("no file is named", remedy="upload one, or name one of the files of the studio")
    return [resolve_inside(settings, file) for file in files]


def describe_source(source: Mapping[str, Any]) -> str:
    """Say where a dataset comes from, never with a password.

    >>> describe_source({"address": "postgresql://ann:s3cret@db.example/shop"})
    'postgresql://db.example/shop'
    >>> describe_source({"files": ["a.csv"]})
    'a.csv'
    """
    if source.get("address") is not None:
        return redact(str(source["address"]))
    return ", ".join(str(file) for file in source.get("files") or [])


def resolve_read_flags(settings: Settings, flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a log is read, with every list that it names as a file inside, or as the list that it is."""
    return {
        name: _resolve_list(settings, value) if name in LIST_FLAGS and value is not None else value
        for name, value in flags.items()
    }


def resolve_request_files(settings: Settings, fields: Mapping[str, Any], *, by_curator: bool) -> dict[str, Any]:
    """Return the fields of a request, with files that they name inside: bins, and options of a method.

    Files are for curators to name: an analyst could name a log, and read it in errors or in what is released.
    """
    resolved = dict(fields)
    named = {name: resolved[name] for name in ("bins", "asked") if isinstance(resolved.get(name), str)}
    options = dict(resolved["options"]) if isinstance(resolved.get("options"), Mapping) else {}
    chosen = {name: value for name, value in options.items() if _is_file(settings, value)}
    if (named or chosen) and not by_curator:
        raise RefusedError(f"{min(named | chosen)} names a file, which is for curators", remedy="write it out")
    resolved |= {name: resolve_inside(settings, value) for name, value in named.items()}
    if options:
        resolved["options"] = options | {name: resolve_inside(settings, value) for name, value in chosen.items()}
    return resolved


def _is_file(settings: Settings, value: Any) -> bool:
    """Whether an option of a method says a file: it reads like one, or there is one."""
    if not isinstance(value, str):
        return False
    like_one = "/" in value or "\\" in value or ":" in value or bool(format_from_name(value))
    return like_one or _is_there(settings, value)


def _resolve_list(settings: Settings, given: Any) -> Any:
    """Tell a file from a list as the catalogue does, but among the files of the studio alone."""
    if not isinstance(given, str):
        return given
    if _is_there(settings, given) or ("," not in given and format_from_name(given)):
        return resolve_inside(settings, given)
    head, colon, columns = given.rpartition(":")
    if colon and (_is_there(settings, head) or format_from_name(head)):
        return f"{resolve_inside(settings, head)}:{columns}"
    return [item.strip() for item in given.split(",")] if given.strip() else []


def _is_there(settings: Settings, name: str) -> bool:
    """Tell whether there is such a file here; of what leads out, nothing is told."""
    if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
        return False
    try:
        return settings.files.joinpath(name).exists()
    except (OSError, ValueError):
        return False


def _address(settings: Settings, address: str) -> str:
    scheme, _, rest = address.partition("://")
    if scheme in _FILE_SCHEMES:
        name = resolve_inside(settings, rest.lstrip("/"))
        return f"sqlite:///{name}" if scheme == "sqlite" else f"duckdb://{name}"
    if scheme not in _REMOTE_SCHEMES and not _ADBC.match(address):
        raise UsageError(
            "this is no address that can be read from here",
            given=redact(address),
            remedy="name a file of the studio, a database or an object store",
        )
    if not settings.remote:
        raise UsageError(
            f"{redact(address)} lies elsewhere, and this studio reads the files of its own folder alone",
            remedy=f"upload the data, or let whoever runs the studio start it with {param.remote}",
        )
    return address


def _no_such_file(name: object) -> UnknownNameError:
    return UnknownNameError(
        f"there is no file {str(name)[:80]!r} in this studio", remedy="upload it, or put it into its folder"
    )
