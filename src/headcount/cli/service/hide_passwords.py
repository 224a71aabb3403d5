"""Overwrite passwords of database URLs in this process's command line, so that ``ps`` does not show them.

Linux shows the arguments of every process to everybody. They lie in memory that the process itself may change, so
that what is secret in the address of a source is overwritten there. Elsewhere nothing happens: whoever leaves the
password to ``PGPASSWORD`` or a service file need not rely on this.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from headcount.events.sources.files.paths import secrets_of

_FIRST, _LAST = 45, 46  # where arguments begin and end, among the fields behind the name of the program


def hide_secrets(arguments: Sequence[str]) -> None:
    """Overwrite what is secret in the addresses among the arguments."""
    secrets = {secret.encode() for argument in arguments for secret in secrets_of(argument)}
    if secrets and sys.platform == "linux":
        with suppress(OSError, ValueError, IndexError):
            fields = (
                Path("/proc/self/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
            )
            _overwrite(int(fields[_FIRST]), int(fields[_LAST]), secrets)


def _overwrite(first: int, last: int, secrets: set[bytes]) -> None:
    shown = ctypes.string_at(first, last - first) if 0 < first < last else b""
    for secret in sorted(secrets, key=len, reverse=True):
        place = shown.find(secret)
        while place >= 0:
            ctypes.memset(first + place, ord("x"), len(secret))
            place = shown.find(secret, place + len(secret))
