"""Print how large the package is by layers, and what privacy rests on: ``python tools/docs/package_sizes.py``."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "headcount"
RESTS_ON = ("events", "bounds", "noise", "engines", "accounting", "run", "ledger")
"""What must be right for a promise to hold, whatever the rest does; the methods have proofs of their own."""


class Size(NamedTuple):
    """How many modules, and how many lines they have."""

    modules: int
    lines: int


def layers() -> list[list[str]]:
    """Return the parts of the package, the topmost first; those of one layer stand together."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [contract] = [
        candidate for candidate in project["tool"]["importlinter"]["contracts"] if candidate["type"] == "layers"
    ]
    return [re.split(r" [:|] ", layer) for layer in contract["layers"]]


def size_of(parts: Iterable[str]) -> Size:
    """Return the size of some modules and packages, given by their names."""
    return _size(file for part in parts for file in (*PACKAGE.glob(f"{part}.py"), *(PACKAGE / part).rglob("*.py")))


def whole() -> Size:
    """Return the size of the package."""
    return _size(PACKAGE.rglob("*.py"))


def _size(files: Iterable[Path]) -> Size:
    lines = [len(file.read_text(encoding="utf-8").splitlines()) for file in files]
    return Size(len(lines), sum(lines))


def main() -> int:
    sizes = {"all of it": whole()}
    sizes |= {", ".join(parts): size_of(parts) for parts in layers()}
    sizes["what privacy rests on"] = size_of(RESTS_ON)
    sizes |= {f"  {part}": size_of([part]) for part in RESTS_ON}
    width = max(map(len, sizes))
    print(f"{'':{width}} {'modules':>8} {'lines':>8}")
    for name, size in sizes.items():
        print(f"{name:{width}} {size.modules:8,} {size.lines:8,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
