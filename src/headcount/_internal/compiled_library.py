"""The prebuilt library of kernels: lookup by argument types, and calls through ctypes.

``tools/packaging/prebuild.py`` makes it, of the kernels and types in ``kernels.txt``: machine code that needs
neither Numba nor LLVM. A kernel is looked for by its name and the types of what it is given; what is not there is
compiled by Numba, from the same source and with the same results.

A library that is not of this very source is left alone: it tells the digests of the files it was made of. So is a
damaged one, which would end the process: a third file holds the digest of the other two.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

LIBRARY, CONTENTS, DIGEST = "kernels.so", "kernels.json", "kernels.sha256"
WITHOUT = "HEADCOUNT_WITHOUT_PREBUILT"
"""Set this to have all kernels compiled by Numba."""

_PACKAGE = Path(__file__).parents[1]
_FOLDER = _PACKAGE / "prebuilt_kernels"
_NAMES = {np.dtype(name): name for name in (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "bool",
)}  # fmt: skip
"""Types in the machine's own byte order; all others are for Numba."""
_AXES = ("", "[:]", "[:,:]")
_OTHER = "other"
_HALF = 1 << 63
_LEAVES = re.compile(r"(?:u?int\d+|float\d+|bool)(?:\[[:,]+\])?(?![\w.(])")


class Entry:
    """A kernel for some types; it is given what :func:`flatten_arguments` makes of its arguments."""

    def __init__(self, entry: Any, types: str, returns: Sequence[str] | None) -> None:
        entry.restype = ctypes.c_int32
        entry.argtypes = [ctypes.c_void_p] * 3 + [
            kind_of_word for kind in _LEAVES.findall(types) for kind_of_word in _passed(kind)
        ]
        self._entry, self._returns = entry, returns
        self._results = ctypes.c_int64 * len(returns or ())

    def __call__(self, values: list[Any]) -> Any:
        """Call the kernel, and return what it returns."""
        results, nothing, failure = self._results(), ctypes.c_int64(), ctypes.c_void_p()
        if self._entry(ctypes.byref(nothing), ctypes.byref(failure), results, *values) != 0:
            raise MemoryError("there is not enough memory for what a kernel puts aside")
        if self._returns is None:
            return None
        values_returned = tuple(_as(kind, value) for kind, value in zip(self._returns, results, strict=True))
        return values_returned[0] if len(values_returned) == 1 else values_returned


def _passed(kind: str) -> list[Any]:
    """Return how something of a type is passed: an array as its address and sizes."""
    name, *axes = kind.split("[")
    if axes:
        return [ctypes.c_void_p] + [ctypes.c_int64] * axes[0].count(":")
    return [{"uint64": ctypes.c_uint64, "float64": ctypes.c_double}.get(name, ctypes.c_int64)]


def _as(kind: str, word: int) -> int | bool:
    if kind == "bool":
        return word != 0
    return word % (2 * _HALF) if kind == "uint64" else word


def flatten_arguments(arguments: Sequence[Any]) -> tuple[str, list[Any]]:
    """Return the types of arguments as a text, and what is passed for them: addresses, sizes and numbers.

    >>> flatten_arguments((np.zeros((2, 3), np.uint8), None, 7, np.uint64(8), True))[0]
    'uint8[:,:],None,int64,uint64,bool'
    >>> flatten_arguments((np.arange(6)[::2],))[0]
    'other'
    """
    values: list[Any] = []
    return ",".join([_flatten(argument, values) for argument in arguments]), values


def _flatten(value: Any, values: list[Any]) -> str:
    if isinstance(value, np.ndarray):
        name = _NAMES.get(value.dtype)
        flags = value.flags
        if name is None or not 1 <= value.ndim < len(_AXES) or not (flags.c_contiguous and flags.aligned):
            return _OTHER
        values.append(value.__array_interface__["data"][0])
        values.extend(value.shape)
        return name + _AXES[value.ndim]
    if value is None:
        return "None"
    if isinstance(value, (bool, np.bool_)):
        values.append(int(value))
        return "bool"
    if isinstance(value, (int, np.int64)):
        values.append(int(value))
        return "int64" if -_HALF <= values[-1] < _HALF else _OTHER
    if isinstance(value, np.uint64):
        values.append(int(value))
        return "uint64"
    if isinstance(value, float):
        values.append(value)
        return "float64"
    if isinstance(value, tuple):
        kind = type(value)
        inside = ",".join([_flatten(member, values) for member in value])
        return f"{kind.__module__}.{kind.__qualname__}({inside})"
    return _OTHER


def entries_for(kernel: str) -> dict[str, Entry]:
    """Return what there is of a kernel, by the types it is for.

    >>> entries_for("headcount.bounds.kernels.none.such")
    {}
    """
    library, contents = _opened()
    described_entries = contents.get(kernel, {})
    return {
        types: Entry(library[described_entry["symbol"]], types, described_entry["returns"])
        for types, described_entry in described_entries.items()
    }


@functools.cache
def _opened() -> tuple[Any, dict[str, dict[str, Any]]]:
    """Return the library and what it holds; nothing if there is none of this source, for this machine."""
    description = None if WITHOUT in os.environ else described()
    try:
        if description is not None and description["sources"] == digests(description["sources"]):
            library = ctypes.CDLL(str(_FOLDER / LIBRARY))
            if library.runs_here():
                return library, description["kernels"]
    except OSError:
        pass
    return None, {}


def described() -> dict[str, Any] | None:
    """Return the description of the library; None if there is no library, or with a warning if it is damaged."""
    try:
        digest = (_FOLDER / DIGEST).read_bytes()
    except OSError:
        return None
    try:
        contents = (_FOLDER / CONTENTS).read_bytes()
        if digest == digest_of(contents, (_FOLDER / LIBRARY).read_bytes()):
            return dict(json.loads(contents))
    except OSError:
        pass
    import logging

    logging.getLogger("headcount").warning(
        "warning: the compiled kernels in %s are damaged, so Numba compiles them, which takes longer; "
        "install headcount again",
        _FOLDER,
    )
    return None


def digest_of(contents: bytes, library: bytes) -> bytes:
    """Return the digest of a library and its description."""
    return hashlib.sha256(contents + library).hexdigest().encode()


def digests(sources: Sequence[str]) -> dict[str, str]:
    """Return the digests of some files of the package."""
    return {name: hashlib.sha256((_PACKAGE / name).read_bytes()).hexdigest() for name in sources}
