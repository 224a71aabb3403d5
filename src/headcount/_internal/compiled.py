"""Compiled functions (kernels): from the prebuilt library if it fits, otherwise by Numba on first call.

What releases mostly call was compiled when the package was built, and lies beside it in a library
(:mod:`headcount._internal.compiled_library`). All else is compiled by Numba
(:mod:`headcount._internal.numba_compiler`) when it is first called, and Numba is imported then and not before:
with LLVM it takes a third of the time and of the memory of a small release.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np

from headcount._internal import compiled_library

__all__ = ["Function", "Kernel", "Word", "compiled", "inlined", "uint32", "uint64"]

Function = TypeVar("Function", bound=Callable[..., Any])
Word = Any
"""A machine integer inside a kernel: Numba, not Python, knows its width and sign."""
uint32: Any = np.uint32
uint64: Any = np.uint64


class Kernel:
    """A function that is compiled; inside another kernel it is a part of that."""

    def __init__(self, function: Callable[..., Any], *, small: bool) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self.small = function, small

    def __reduce__(self) -> str:
        """Let another process find it by its name."""
        return self.py_func.__qualname__

    def __call__(self, *arguments: Any) -> Any:
        """Run it as machine code."""
        if self._prebuilt:
            types, values = compiled_library.flatten_arguments(arguments)
            entry = self._prebuilt.get(types)
            if entry is not None:
                return entry(values)
        return self.jitted(*arguments)

    @cached_property
    def _prebuilt(self) -> dict[str, compiled_library.Entry]:
        return compiled_library.entries_for(f"{self.py_func.__module__}.{self.py_func.__name__}")

    @cached_property
    def jitted(self) -> Any:
        """What Numba makes of it."""
        from headcount._internal import numba_compiler

        return numba_compiler.dispatcher_of(self)


def compiled(function: Function) -> Function:
    """Have a function run as machine code, without holding the interpreter."""
    return cast("Function", Kernel(function, small=False))


def inlined(function: Function) -> Function:
    """Have a small function be a part of every kernel that calls it."""
    return cast("Function", Kernel(function, small=True))
