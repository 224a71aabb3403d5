"""The doorway to Numba: how kernels are compiled and cached if the prebuilt library does not fit.

``HEADCOUNT_CACHE`` names the folder for compiled kernels (never for events); without it Numba keeps them beside
the package, or in the user's own cache where that cannot be written.

Compiling takes seconds, and loading Numba's compiler a good part of one. So a kernel is compiled as one whole, its
parts inside it and nowhere else, and what is stored loads without the compiler. That goes through inner classes of
Numba's: ``tests/_internal/test_compiled.py`` sees that they do what is said here, whatever its version.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

if "HEADCOUNT_CACHE" in os.environ:
    os.environ.setdefault("NUMBA_CACHE_DIR", os.environ["HEADCOUNT_CACHE"])

from numba import types
from numba.core import event
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.extending import typeof_impl

__all__ = ["dispatcher_of"]


class Kernel(Protocol):
    """A function to compile, and whether it is small enough to be a part of every kernel that calls it."""

    py_func: Callable[..., Any]
    small: bool

    @property
    def jitted(self) -> Any:
        """What :func:`dispatcher_of` made of it."""


class _Storing(CompileResultCacheImpl):  # type: ignore[misc]
    """What goes to disk of a kernel: not the surroundings of Numba's own functions in it, which hold nothing.

    To make those again Numba would import the modules they are of: its array library, and SciPy with it.
    """

    def reduce(self, cres: Any) -> Any:
        *stored, environments = super().reduce(cres)
        return *stored, tuple(environment for environment in environments if environment.consts)


class _Stored(FunctionCache):  # type: ignore[misc]
    """Kernels on disk, which are loaded without what only compiling needs: most of Numba's modules."""

    _impl_class = _Storing

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        rtsys.initialize(target_context)  # all that loaded code needs; Numba would ready its compiler here
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


class _NoGarbageCollection(event.Listener):  # type: ignore[misc]
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


event.register(
    "numba:compile", _NoGarbageCollection()
)  # Numba compiles under a lock, so that one listener is enough


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


_kinds: set[type] = set()
_making = threading.Lock()


def dispatcher_of(kernel: Kernel) -> Any:
    """Return what compiles a kernel for what it is called with; it then runs without holding the interpreter."""
    with _making:
        if type(kernel) not in _kinds:
            _kinds.add(type(kernel))
            typeof_impl.register(type(kernel))(_type_of)
    options = {"nopython": True, "nogil": True, "no_cfunc_wrapper": True, "forceinline": kernel.small}
    return _Kernel(kernel.py_func, targetoptions=options)


def _type_of(kernel: Kernel, _: Any) -> Any:
    """What a kernel is to Numba where another one calls it."""
    return types.Dispatcher(kernel.jitted)
