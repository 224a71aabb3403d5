"""What makes a process of the program start quickly; a process of somebody else's is left alone."""

from __future__ import annotations

import gc
import sys

_OBJECTS = 100_000  # as many as the imports of a command make; Python looks for garbage after 700


class _NoPandas:
    """Hides pandas, which PyArrow imports with the first array it makes, to see whether it was made of a series.

    The program makes none of those. PySpark, its one library that uses pandas itself, finds it.
    """

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas" and "pyspark" not in sys.modules:
            raise ModuleNotFoundError("headcount's program does without pandas", name=fullname)


def start() -> None:
    """Spare a process what no command needs: pandas, and looking for garbage among all that is imported."""
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
    sys.meta_path.insert(0, _NoPandas())
