"""Print what is installed and how large it is, by extras: ``python tools/docs/installed_sizes.py``.

Sizes are those of the files of each package in this environment, without what Python compiles of them. An extra is
told with what it brings beyond the default; packages that are not installed here are named and not counted.
"""

from __future__ import annotations

import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
DEFAULT = "the default"
_NAMED = 6


class Brought(NamedTuple):
    """What is installed: the size of each package in MB, and those that are not here."""

    sizes: dict[str, float]
    missing: tuple[str, ...]

    @property
    def total(self) -> float:
        return sum(self.sizes.values())


def declared() -> dict[str, list[str]]:
    """Return the requirements of the package, and those of each extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {DEFAULT: project["dependencies"], **project["optional-dependencies"]}


def brought() -> dict[str, Brought]:
    """Return what the default brings, and what each extra adds to it."""
    default = _closure(declared()[DEFAULT])
    brought_by_extra = {}
    for name, requirements in declared().items():
        names = _closure(requirements) if name == DEFAULT else _closure(requirements) - default
        sizes = {package: _size(package) for package in names}
        here = {package: size for package, size in sizes.items() if size is not None}
        brought_by_extra[name] = Brought(
            here, tuple(sorted(package for package, size in sizes.items() if size is None))
        )
    return brought_by_extra


def _closure(requirements: list[str]) -> set[str]:
    """Return the packages that some requirements come to, those that they require included."""
    closure: set[str] = set()
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        wanted = waiting.pop()
        extras = wanted.extras or {""}
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": ""}):
            continue
        name = canonicalize_name(wanted.name)
        is_included = name in closure
        closure.add(name)
        if is_included and not wanted.extras:
            continue
        try:
            below = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        for text in below:
            requirement = Requirement(text)
            if requirement.marker is None or any(
                requirement.marker.evaluate({"extra": extra}) for extra in extras
            ):
                requirement.marker = None
                waiting.append(requirement)
    return closure


def _size(name: str) -> float | None:
    """Return how large a package is in MB (of 2^20 bytes), None if it is not installed."""
    try:
        files = metadata.distribution(name).files or []
    except metadata.PackageNotFoundError:
        return None
    paths = [Path(str(file.locate())) for file in files if file.suffix != ".pyc"]
    return sum(path.stat().st_size for path in paths if path.is_file()) / 2**20


def table() -> list[str]:
    """Return the table of docs/performance.md."""
    lines = ["| | MB | the largest |", "|---|---:|---|"]
    for name, addition in brought().items():
        largest = sorted(addition.sizes.items(), key=lambda size: -size[1])[:_NAMED]
        largest_packages = ", ".join(f"{package} {size:.0f}" for package, size in largest if size >= 0.5)
        missing = f"; not installed here: {', '.join(addition.missing)}" if addition.missing else ""
        label = name if name == DEFAULT else f"`.[{name}]` adds"
        lines.append(f"| {label} | {addition.total:.0f} | {largest_packages}{missing} |")
    return lines


if __name__ == "__main__":
    print("\n".join(table()))
    sys.exit(0)
