"""Notebook display: charts as SVG values, and lazy import of the report functions.

A release lies below the pages that are made of it. So what it shows itself by is found by name, when it is asked
for; until then neither charts nor templates are loaded.
"""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headcount._internal.python_surface import class_errors_in_python
from headcount.errors import SurroundingsError, UsageError, param

_MAKERS = "headcount.reports"


@class_errors_in_python
@dataclass(frozen=True)
class Picture:
    """A chart as SVG, which needs no script and no network, and its content in words for those who cannot see it.

    >>> Picture("<svg></svg>", "Bar chart, 1 bar.")
    <Picture: Bar chart, 1 bar.>
    """

    svg: str = field(repr=False)
    words: str

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Picture: {self.words}>"

    def save(self, file: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write it as a file of SVG."""
        target = Path(file)
        if target.suffix.lower() != ".svg":
            raise UsageError(
                "a picture is written as SVG", given=str(target), remedy="give a name that ends in .svg"
            )
        if target.exists() and not force:
            raise UsageError.taken(target, param.report)
        try:
            target.write_text(self.svg, encoding="utf-8")
        except OSError as error:
            raise SurroundingsError.writing(target, error, "file") from error
        return target


def report_function(module: str, name: str) -> Any:
    """Return the function of a module of reports that makes something to be shown."""
    return getattr(importlib.import_module(f"{_MAKERS}.{module}"), name)
