"""Start-up and exit of the process: signals, garbage collection, idle imports, passwords among the arguments."""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

_ENDINGS = ("SIGTERM", "SIGHUP")
"""Signals that end the program as Ctrl-C does: it cleans up, and what a ledger has reserved stays charged."""
_received: list[int] = []
_OBJECTS = 250_000  # more than the imports of a command make; Python looks for garbage after 700

_FIRST, _LAST = 45, 46  # of ``/proc/self/stat``, behind the name of the program: where arguments begin and end

_IDLE = {
    "scipy": ("numba", "numba.np.arraymath", "numba.np.linalg"),
    "cffi": ("numba.core.typing.cffi_utils",),
    "yaml": ("numba.core.config",),
}
"""What modules of Numba import to see whether it is there: kernels use none of it."""


class _Hiding:
    """Hides what libraries import in case it is needed, and the program does not need.

    PyArrow imports pandas with the first array it makes, to see whether it was made of a series. The program makes
    none of those; PySpark, its one library that uses pandas itself, finds it. Numba does not find SciPy, cffi and
    YAML, and all others do.
    """

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas" and "pyspark" not in sys.modules:
            raise ModuleNotFoundError("headcount's program does without pandas", name=fullname)
        if any(_is_being_imported(module) for module in _IDLE.get(fullname, ())):
            raise ModuleNotFoundError(f"Numba does without {fullname} in headcount's program", name=fullname)


def _is_being_imported(module: str) -> bool:
    return getattr(getattr(sys.modules.get(module), "__spec__", None), "_initializing", False)


def start() -> None:
    """Handle signals, and spare a process libraries and garbage collection that no command needs."""
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
    sys.meta_path.insert(0, _Hiding())
    for number in [getattr(signal, name) for name in _ENDINGS if hasattr(signal, name)]:
        if signal.getsignal(number) == signal.SIG_DFL:  # `nohup` and others may ignore one on purpose
            signal.signal(number, _interrupt)


def _interrupt(number: int, _: object) -> None:
    _received.append(number)
    raise KeyboardInterrupt


def end(code: int) -> NoReturn:
    """End the process, without taking apart all that was imported: that takes a quarter of a second.

    What asks to be told of the end is told, and what was printed is written. Where more is to be done, as other
    threads, Spark or a profiler may have to, Python ends it in its own way. SIGTERM turns 130 into 143.
    """
    if code == 130 and _received:
        code = 128 + _received[0]
    watched = sys.gettrace() is not None or sys.getprofile() is not None
    if watched or threading.active_count() > 1 or "pyspark" in sys.modules:
        sys.exit(code)
    try:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):  # nobody reads any more: Python knows what to say
        sys.exit(code)
    os._exit(code)


def hide_secrets(arguments: Sequence[str]) -> None:
    """Overwrite the passwords of database URLs in this process's command line, so that ``ps`` does not show them.

    Linux shows the arguments of every process to all users. They lie in memory that the process itself may change.
    Elsewhere nothing happens: with ``PGPASSWORD`` or a service file no password stands among the arguments.
    """
    from headcount.events.sources.files.paths import secrets_of

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
