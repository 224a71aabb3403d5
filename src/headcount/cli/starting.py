"""What makes a process of the program start quickly; a process of somebody else's is left alone."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_OBJECTS = 100_000  # as many as the imports of a command make; Python's own threshold is 700


class _NoPandas(MetaPathFinder):
    """Hides pandas, which PyArrow imports with the first array it makes, to see whether it was made of a series.

    The program makes none of those. PySpark, its one library that uses pandas itself, finds it.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == "pandas" and "pyspark" not in sys.modules:
            raise ModuleNotFoundError("headcount's program does without pandas", name=fullname)
        return None


def start() -> None:
    """Spare a process what no command needs: pandas, and looking for garbage among all that is imported."""
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
    sys.meta_path.insert(0, _NoPandas())
