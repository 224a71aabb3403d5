"""Numba's doorway: how kernels are compiled, and where the compiled code is kept.

``HEADCOUNT_CACHE`` names the folder for compiled kernels (never for events); without it Numba keeps them beside
the package, or in the user's own cache where that cannot be written.

Compiling takes seconds, and loading Numba's compiler a good part of one. So a kernel is compiled as one whole, its
parts inside it and nowhere else, and what is stored loads without the compiler. That goes through inner classes of
Numba's: ``tests/test_compiling.py`` sees that they do what is said here, whatever its version.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

if "HEADCOUNT_CACHE" in os.environ:
    os.environ.setdefault("NUMBA_CACHE_DIR", os.environ["HEADCOUNT_CACHE"])

from numba import types, uint32, uint64
from numba.core import event
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.runtime import rtsys

from headcount import aside

__all__ = ["Kernel", "Word", "compiled", "inlined", "ready", "uint32", "uint64"]

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
Word = Any
"""A machine integer inside a kernel: Numba, not Python, knows its width and sign."""


class _Storing(CompileResultCacheImpl):  # type: ignore[misc]
    """What goes to disk of a kernel: not the surroundings of Numba's own functions in it, which hold nothing.

    To make those again Numba would import the modules they are of: its array library, and SciPy with it.
    """

    def reduce(self, cres: Any) -> Any:
        *stored, surroundings = super().reduce(cres)
        return *stored, tuple(each for each in surroundings if each.consts)


class _Stored(FunctionCache):  # type: ignore[misc]
    """Kernels on disk, which are loaded without what only compiling needs: most of Numba's modules."""

    _impl_class = _Storing

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        aside.wait_for(aside.Wanted(self._py_func.__module__, self._py_func.__name__, tuple(sig)))
        rtsys.initialize(target_context)  # all that loaded code needs; Numba would ready its compiler here
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


class _Undisturbed(event.Listener):  # type: ignore[misc]
    """Nobody looks for garbage while a kernel is compiled: what that makes is many objects, all of them in use."""

    def __init__(self) -> None:
        self._depth, self._collecting = 0, False

    def on_start(self, _: Any) -> None:
        if self._depth == 0:
            self._collecting = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, _: Any) -> None:
        self._depth -= 1
        if self._depth == 0 and self._collecting:
            gc.enable()


event.register("numba:compile", _Undisturbed())  # Numba compiles under a lock, so that one listener is enough


class _PartOfCode(JITCodeLibrary):  # type: ignore[misc]
    """The code of a part: it is optimised, and becomes machine code, with the kernel that it is a part of."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _PartCompiler(Compiler):  # type: ignore[misc]
    def __init__(
        self, typing: Any, target: Any, library: Any, args: Any, result: Any, flags: Any, names: Any
    ) -> None:
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        super().__init__(typing, target, library, args, result, flags, names)
        self.state.library = _PartOfCode(target.codegen(), "part")


class _Part(CPUDispatcher):  # type: ignore[misc]
    """A function inside kernels: nothing of it can be called from Python, and it cannot call itself."""

    def add_overload(self, cres: Any) -> None:
        self.overloads[tuple(cres.signature.args)] = cres
        self.targetctx.insert_user_function(cres.library, cres.fndesc, [cres.library])

    def get_overload(self, sig: Any) -> Any:
        return self.overloads[tuple(sig)].library


class _Kernel(CPUDispatcher):  # type: ignore[misc]
    """A compiled function; what it calls are parts of it."""

    _cache: Any

    @cached_property
    def _part(self) -> Any:
        return _Part(self.py_func, targetoptions=self.targetoptions, pipeline_class=_PartCompiler)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        plain = {name: types.unliteral(kind) for name, kind in kws.items()}
        return self._part.get_call_template(tuple(types.unliteral(kind) for kind in args), plain)

    def get_overload(self, sig: Any) -> Any:
        return self._part.get_overload(sig)

    def compile(self, sig: Any) -> Any:
        if isinstance(self._cache, NullCache):  # those that are called look up where they are stored, not all
            self._cache = _Stored(self.py_func)
        return super().compile(sig)


def compiled(function: Kernel) -> Kernel:
    """Compile a function when it is first called; it then runs without holding the interpreter."""
    return _kernel(function)


def inlined(function: Kernel) -> Kernel:
    """Compile a small function into every kernel that calls it."""
    return _kernel(function, forceinline=True)


def ready() -> None:
    """Load all that compiling needs."""
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()


def _kernel(function: Kernel, **options: bool) -> Kernel:
    options = {"nopython": True, "nogil": True, "no_cfunc_wrapper": True, **options}
    kernel: Kernel = _Kernel(function, targetoptions=options)
    return kernel
