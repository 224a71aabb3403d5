"""Paths, folders, patterns and addresses: the event files they stand for, and names without credentials.

A pattern (``*``, ``**``, ``[a-c]``, and ``?`` on this machine) is matched against names alone, never against rows.

Addresses are taken apart without trust in their form: a password may hold ``@``, ``/`` or ``?`` as it is, although
it should not. Where the secret part is unclear, messages show only the kind of source.
"""

from __future__ import annotations

import glob
import itertools
import os
import re
from collections.abc import Sequence
from functools import partial
from pathlib import PurePosixPath
from urllib.parse import unquote, unquote_plus

import pyarrow as pa
import pyarrow.fs as pafs

from headcount.errors import DataError, SurroundingsError, UsageError
from headcount.events.sources.files.formats import format_from_name, reading
from headcount.events.sources.files.packed_store import DESCRIPTION, is_store
from headcount.releases.folder_integrity import refuse_special


def files_at(paths: Sequence[str]) -> tuple[pafs.FileSystem, list[str]]:
    """Return the files that paths, patterns, folders and addresses stand for, and where they lie."""
    opened = [_from_uri(path) if "://" in path else (pafs.LocalFileSystem(), path) for path in paths]
    pairs = [(path, redact(given)) for (_, path), given in zip(opened, paths, strict=True)]
    filesystem = opened[0][0]
    if any(not opened_filesystem.equals(filesystem) for opened_filesystem, _ in opened):
        raise UsageError("the files lie in several stores", remedy="give paths of one store")
    local = isinstance(filesystem, pafs.LocalFileSystem)
    listed = _local_files if local else partial(_remote_files, filesystem)
    files = [file for path, given in pairs for file in listed(path, given)]
    if len(set(files)) < len(files):
        twice = next(path for path in files if files.count(path) > 1)
        raise UsageError(f"{twice if twice in paths else 'a file'} is given twice", remedy="name every file once")
    return filesystem, files


def _from_uri(uri: str) -> tuple[pafs.FileSystem, str]:
    escaped = uri.replace("[", "%5B").replace("]", "%5D")  # a pattern passes as a part of an address
    try:
        filesystem, path = pafs.FileSystem.from_uri(escaped)
    except (pa.ArrowException, ValueError) as error:
        raise UsageError(
            f"{redact(uri)} cannot be opened ({scrub(str(error), uri)})", remedy="check the address"
        ) from None
    except OSError as error:
        raise SurroundingsError(f"{redact(uri)} cannot be reached ({scrub(str(error), uri)})") from None
    return filesystem, path


def _local_files(path: str, given: str) -> list[str]:
    if os.path.isdir(path):
        return _event_files_in(pafs.LocalFileSystem(), path, given)
    if not os.path.exists(path):
        matches = sorted(glob.glob(path, recursive=True)) if glob.has_magic(path) and "\0" not in path else []
        matches = [match for match in matches if match.encode(errors="ignore").decode() == match]
        if not matches:
            raise _no_file_error(given)
        return [file for match in matches for file in _local_files(match, given)]
    refuse_special(path, given)
    return [path]


def _remote_files(filesystem: pafs.FileSystem, path: str, given: str) -> list[str]:
    """Return the files of a store that a path stands for; a pattern is tried only if no file has that name."""
    if not glob.has_magic(path):
        return _event_files_in(filesystem, path, given)
    folder = str(
        PurePosixPath(*itertools.takewhile(lambda part: not glob.has_magic(part), PurePosixPath(path).parts))
    )
    pattern = re.compile(pattern_of(path))
    with reading(given, remote=True, path=path):
        if filesystem.get_file_info(path).type == pafs.FileType.File:
            return [path]
        selector = pafs.FileSelector(folder, recursive=True, allow_not_found=True)
        matches = sorted(file.path for file in filesystem.get_file_info(selector) if pattern.fullmatch(file.path))
    if not matches:
        raise _no_file_error(given)
    inside = [match for match in matches if not any(match.startswith(f"{other}/") for other in matches)]
    return [file for match in inside for file in _event_files_in(filesystem, match, given)]


def pattern_of(path: str) -> str:
    r"""Return a pattern as a regular expression: a star stops at a slash, two stars do not.

    >>> re.fullmatch(pattern_of("b/**/*.csv"), "b/x/y/1.csv") is not None
    True
    >>> re.fullmatch(pattern_of("b/*.csv"), "b/x/1.csv") is None
    True
    """
    regular_expressions = {"**/": r"(?:[^/]+/)*", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]/]+\])", path)
    return "".join(
        regular_expressions.get(part)
        or (f"[{part[1:-1].replace('!', '^', 1)}]" if part[:1] == "[" and part[-1:] == "]" else re.escape(part))
        for part in parts
    )


def _no_file_error(given: str) -> DataError:
    missing = "matches no file" if glob.has_magic(given) else "does not exist"
    return DataError(f"{given or 'the empty path'} {missing}", remedy="check the path")


def _event_files_in(filesystem: pafs.FileSystem, path: str, given: str) -> list[str]:
    """Return the event files in a folder, in order; what starts with a dot or underscore is not one.

    Errors name what the caller gave: a folder that was listed may be named after a user.
    """
    with reading(given, path=path, remote=not isinstance(filesystem, pafs.LocalFileSystem)):
        info = filesystem.get_file_info(path)
        if info.type != pafs.FileType.Directory:
            return [path]
        listing = list(filter(_has_name, filesystem.get_file_info(pafs.FileSelector(path, recursive=True))))
    for store in (os.path.dirname(file.path) for file in listing if file.base_name == DESCRIPTION):
        if is_store(store):
            held = "is" if store == path else "holds"
            raise UsageError(f"{given} {held} a packed store", remedy="give it alone, by its own name")
    files = sorted(
        file.path
        for file in listing
        if file.type == pafs.FileType.File
        and format_from_name(file.path)
        and not file.path.lower().endswith(".txt")
        and not any(
            part.startswith((".", "_")) and "=" not in part
            for part in PurePosixPath(file.path[len(info.path) :]).parts
        )
    )
    if not files:
        raise DataError(f"{given} holds no event files", remedy="files end in .parquet, .csv, .jsonl or .arrow")
    return files


def _has_name(file: pafs.FileInfo) -> bool:
    """Whether a path is UTF-8. Arrow opens no other, so its rows are missing: it may be named after a user."""
    try:
        return bool(file.path)
    except UnicodeDecodeError:
        return False


_PUBLIC = {
    "host", "hostaddr", "port", "dbname", "user", "service", "sslmode", "region", "scheme", "endpoint_override",
    "application_name", "connect_timeout", "target_session_attrs",
}  # fmt: skip
_ADBC = re.compile(r"(adbc\+\w+):(.*)", re.DOTALL)
_LONG_ENOUGH = 4  # to be replaced in a sentence without making it unreadable


def redact(address: str) -> str:
    """Name a source without credentials, and without what stands behind a question mark.

    >>> redact("postgresql://ann:s3cret@db.example:5432/shop?password=x")
    'postgresql://db.example:5432/shop'
    >>> redact("postgresql://ann:what?@db.example/shop"), redact("adbc+snowflake:ann:s3cret@acme"), redact("b.csv")
    ('postgresql://…', 'adbc+snowflake', 'b.csv')
    """
    adbc = _ADBC.fullmatch(address)
    if adbc is not None:
        return adbc[1]
    scheme, colon, rest = address.partition("://")
    if not colon:
        return address
    head = re.split(r"[?#]", rest, maxsplit=1)[0]
    if "@" in rest and "@" not in head:
        return f"{scheme}://…"
    return f"{scheme}://{head.rpartition('@')[2]}"


def secrets_of(address: str) -> set[str]:
    """Return every part of an address that may be secret, as it is written and as it is meant.

    >>> sorted(secrets_of("postgresql://ann:s3%20cret@h/db?sslmode=require&sslpassword=hush"))
    ['hush', 's3 cret', 's3%20cret']
    """
    adbc = _ADBC.fullmatch(address)
    if adbc is not None:
        return {adbc[2]} | secrets_of(adbc[2] if "://" in adbc[2] else f"adbc://{adbc[2]}")
    rest = address.partition("://")[2]
    written = {rest.rpartition("@")[0].partition(":")[2]} if "@" in rest else set()
    written.add(re.split(r"[?#]", rest, maxsplit=1)[0].rpartition("@")[0].partition(":")[2])
    for pair in re.split(r"[?&#;]", rest)[1:]:
        name, _, value = pair.partition("=")
        written |= {value} if name.lower() not in _PUBLIC else set()
    return {meant for text in written if text for meant in (text, unquote(text), unquote_plus(text))}


def scrub(text: str, address: str) -> str:
    """Return the message of a library, on one line, shortened, and without the secrets of an address.

    >>> scrub("bad URI: postgresql://ann:s3cret@h/db", "postgresql://ann:s3cret@h/db")
    'bad URI: postgresql://h/db'
    """
    secrets = secrets_of(address) | {os.environ.get("PGPASSWORD", "")} - {""}
    text = text.replace(address, redact(address))
    for secret in sorted(secrets, key=len, reverse=True):
        if secret in text and len(secret) < _LONG_ENOUGH:
            return "what the driver said is left out, since it may hold a password"
        text = text.replace(secret, "…")
    words = " ".join(text.split())
    return words if len(words) <= 200 else words[:199] + "…"
