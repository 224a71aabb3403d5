"""Numba's doorway: how kernels are compiled, and where the compiled code is kept.

``HEADCOUNT_CACHE`` names the folder for compiled kernels (never for events); without it Numba keeps them beside
the package, or in the user's own cache where that cannot be written.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

if "HEADCOUNT_CACHE" in os.environ:
    os.environ.setdefault("NUMBA_CACHE_DIR", os.environ["HEADCOUNT_CACHE"])

import numba
from numba import uint32, uint64
from numba.core import event
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys

__all__ = ["Kernel", "Word", "compiled", "inlined", "uint32", "uint64"]

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
Word = Any
"""A machine integer inside a kernel: Numba, not Python, knows its width and sign."""


class _Parts(CompileResultCacheImpl):  # type: ignore[misc]
    """What of a compiled kernel goes to disk: not the surroundings of Numba's own functions, which hold nothing.

    Numba would import the modules that those come from, its array library with SciPy's, when the code is loaded.
    """

    def reduce(self, cres: Any) -> Any:
        *parts, surroundings = super().reduce(cres)
        return *parts, tuple(each for each in surroundings if each.consts)


class _KeptCode(FunctionCache):  # type: ignore[misc]
    """The compiled code of a kernel on disk, loaded without the modules that only compiling needs."""

    _impl_class = _Parts

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        rtsys.initialize(target_context)  # what code needs to run; Numba would prepare all that compiling needs
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


class _Undisturbed(event.Listener):  # type: ignore[misc]
    """Nobody looks for garbage while a kernel is compiled: that makes many objects, and all of them are needed."""

    def __init__(self) -> None:
        self._depth, self._collecting = 0, False

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002
        if self._depth == 0:
            self._collecting = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, event: event.Event) -> None:  # noqa: ARG002
        self._depth -= 1
        if self._depth == 0 and self._collecting:
            gc.enable()


event.register("numba:compile", _Undisturbed())  # under Numba's lock, one compilation at a time


class _Kernel(CPUDispatcher):  # type: ignore[misc]
    """A compiled function; where it is a part of another one, without what makes it callable from Python.

    What nobody calls from Python needs no code that takes Python's values, and no machine code of its own: that is
    half of the time it takes to compile.
    """

    @cached_property
    def _part(self) -> Any:
        options = {**self.targetoptions, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        return CPUDispatcher(self.py_func, targetoptions=options)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return self._part.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        return self._part.get_overload(sig)

    def enable_caching(self) -> None:
        self._cache = _KeptCode(self.py_func)


def compiled(function: Kernel) -> Kernel:
    """Compile a function when it is first called; it then runs without holding the interpreter."""
    return _kernel(function)


def inlined(function: Kernel) -> Kernel:
    """Compile a small function into every kernel that calls it."""
    return _kernel(function, forceinline=True)


def _kernel(function: Kernel, **options: bool) -> Kernel:
    kernel: Any = _Kernel(function, targetoptions={"nopython": True, "nogil": True, **options})
    kernel.enable_caching()
    return kernel
