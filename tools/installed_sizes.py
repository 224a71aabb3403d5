"""Print what is installed and how large it is, by extras: ``python tools/installed_sizes.py``.

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

ROOT = Path(__file__).parents[1]
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
    found = {}
    for name, requirements in declared().items():
        names = _closure(requirements) if name == DEFAULT else _closure(requirements) - default
        sizes = {each: _size(each) for each in names}
        here = {each: size for each, size in sizes.items() if size is not None}
        found[name] = Brought(here, tuple(sorted(each for each, size in sizes.items() if size is None)))
    return found


def _closure(requirements: list[str]) -> set[str]:
    """Return the packages that some requirements come to, those that they require included."""
    found: set[str] = set()
    waiting = [Requirement(each) for each in requirements]
    while waiting:
        wanted = waiting.pop()
        extras = wanted.extras or {""}
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": ""}):
            continue
        name = canonicalize_name(wanted.name)
        known = name in found
        found.add(name)
        if known and not wanted.extras:
            continue
        try:
            below = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        for text in below:
            each = Requirement(text)
            if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in extras):
                each.marker = None
                waiting.append(each)
    return found


def _size(name: str) -> float | None:
    """Return how large a package is in MB (of 2^20 bytes), None if it is not installed."""
    try:
        files = metadata.distribution(name).files or []
    except metadata.PackageNotFoundError:
        return None
    paths = [Path(str(each.locate())) for each in files if each.suffix != ".pyc"]
    return sum(path.stat().st_size for path in paths if path.is_file()) / 2**20


def table() -> list[str]:
    """Return the table of docs/performance.md."""
    lines = ["| | MB | the largest |", "|---|---:|---|"]
    for name, each in brought().items():
        largest = sorted(each.sizes.items(), key=lambda size: -size[1])[:_NAMED]
        told = ", ".join(f"{package} {size:.0f}" for package, size in largest if size >= 0.5)
        missing = f"; not installed here: {', '.join(each.missing)}" if each.missing else ""
        label = name if name == DEFAULT else f"`.[{name}]` adds"
        lines.append(f"| {label} | {each.total:.0f} | {told}{missing} |")
    return lines


if __name__ == "__main__":
    print("\n".join(table()))
    sys.exit(0)
