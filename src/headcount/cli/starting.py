"""What makes a process of the program start and end quickly; a process of somebody else's is left alone."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from typing import NoReturn

_OBJECTS = 250_000  # more than the imports of a command make; Python looks for garbage after 700


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
    """Spare a process what no command needs: libraries, and looking for garbage among all that is imported."""
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
    sys.meta_path.insert(0, _Hiding())


def end(code: int) -> NoReturn:
    """End the process, without taking apart all that was imported: that takes a quarter of a second.

    What asks to be told of the end is told, and what was printed is written. Where more is to be done, as other
    threads, Spark or a profiler may have to, Python ends it in its own way.
    """
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
