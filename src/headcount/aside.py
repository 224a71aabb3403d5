"""A second process that compiles one kernel while this one compiles the others: a first release is quicker so.

It is started where nothing has been compiled yet, by the program alone and not in a process of somebody else's. It
readies the compiler until it is told what to compile. What it makes goes to the folder of compiled kernels, and is
looked for there; whatever becomes of it, what is not there is compiled here. It ends with its pipe, which closes
when this process ends, however it does.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

_CODE = "from headcount.cli.starting import start; start(); from headcount.aside import help_out; help_out()"
_MOST_SECONDS = 60.0  # to wait for it: a kernel takes a few, on a busy machine some more


class Wanted(NamedTuple):
    """A kernel, by its module and name, and the types it is compiled for."""

    module: str
    name: str
    types: tuple[Any, ...]


class _Helper:
    """The other process, and what it was asked for."""

    def __init__(self) -> None:
        import subprocess

        path = os.pathsep.join(each for each in sys.path if each)
        self.process = subprocess.Popen(  # noqa: S603  this very Python
            [sys.executable, "-P", "-c", _CODE], env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.wanted: Wanted | None = None

    def ask(self, wanted: Wanted) -> None:
        import pickle

        self.wanted = wanted
        with contextlib.suppress(OSError):  # it has ended already: nobody waits long for it
            os.write(self._pipe, pickle.dumps(wanted))

    def end(self, seconds: float) -> None:
        """Wait for it so long; then it ends, if it has not."""
        import subprocess

        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        self.process.kill()
        self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()

    @property
    def _pipe(self) -> int:
        return -1 if self.process.stdin is None else self.process.stdin.fileno()


_allowed = False
_helper: _Helper | None = None


def allow() -> None:
    """Let this process, which is the program's own, start another one."""
    global _allowed  # noqa: PLW0603  it is so for the whole process
    _allowed = True


@contextlib.contextmanager
def at_hand(*, wanted: bool) -> Iterator[None]:
    """Have a second process at hand if it is wanted, nothing is compiled yet, and there is a processor for it."""
    global _helper  # noqa: PLW0603  there is one for a process, whichever kernel it calls first
    if wanted and _allowed and _is_worth_it():
        with contextlib.suppress(OSError):
            _helper = _Helper()
    try:
        yield
    finally:
        if _helper is not None:
            _helper.end(0.0)
            _helper = None


def _is_worth_it() -> bool:
    if not sys.executable or not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2:
        return False
    beside = os.path.join(os.path.dirname(__file__), "engines", "kernels")
    kernels = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("HEADCOUNT_CACHE") or beside
    if not os.path.exists(kernels):
        return True
    files = (name for _, _, names in os.walk(kernels) for name in names)
    return os.access(kernels, os.W_OK) and not any(name.endswith(".nbi") for name in files)


def prepare(kernel: Callable[..., None], example: Callable[[], tuple[Any, ...]]) -> None:
    """Have a kernel compiled meanwhile, for arguments like those of an example, if there is anybody to do it."""
    if _helper is not None and _helper.wanted is None and hasattr(kernel, "typeof_pyval"):
        types = tuple(kernel.typeof_pyval(each) for each in example())
        _helper.ask(Wanted(kernel.__module__, kernel.__name__, types))


def meanwhile(do: Callable[[], None]) -> None:
    """Do something if another process is still at what was asked for."""
    if _helper is not None and _helper.wanted is not None and _helper.process.poll() is None:
        do()


def wait_for(wanted: Wanted) -> None:
    """Return when a kernel is compiled, if another process is at it."""
    if _helper is not None and _helper.wanted == wanted:
        _helper.end(_MOST_SECONDS)


def help_out() -> None:
    """Be the other process: ready the compiler, and compile what is asked for."""
    import importlib
    import pickle
    import threading

    importlib.import_module("headcount.compiling").ready()
    try:
        wanted = pickle.load(sys.stdin.buffer)  # noqa: S301  it comes from who started this process
    except EOFError:
        return
    threading.Thread(target=_end_with_the_pipe, daemon=True).start()
    getattr(importlib.import_module(wanted.module), wanted.name).compile(wanted.types)
    os._exit(0)


def _end_with_the_pipe() -> None:
    os.read(sys.stdin.fileno(), 1)  # nothing more is ever sent
    os._exit(1)
