"""Numba's doorway: how kernels are compiled, and where the compiled code is kept.

``HEADCOUNT_CACHE`` names the folder for compiled kernels (never for events); without it Numba keeps them beside
the package, or in the user's own cache where that cannot be written.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

if "HEADCOUNT_CACHE" in os.environ:
    os.environ.setdefault("NUMBA_CACHE_DIR", os.environ["HEADCOUNT_CACHE"])

import numba
from numba import uint32, uint64

__all__ = ["Kernel", "Word", "compiled", "inlined", "uint32", "uint64"]

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
Word = Any
"""A machine integer inside a kernel: Numba, not Python, knows its width and sign."""


def compiled(function: Kernel) -> Kernel:
    """Compile a function when it is first called; it then runs without holding the interpreter."""
    kernel: Kernel = numba.njit(cache=True, nogil=True)(function)
    return kernel


def inlined(function: Kernel) -> Kernel:
    """Compile a small function into every kernel that calls it."""
    kernel: Kernel = numba.njit(cache=True, nogil=True, inline="always")(function)
    return kernel
