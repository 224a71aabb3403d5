"""Applies the recipes of docs/extending.md to a copy of the repository."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.docs.test_blocks import Block, blocks

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "extending.md"


def recipes() -> dict[str, list[Block]]:
    """Return the blocks of every section of the page, by its heading."""
    _, *sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {section.partition("\n")[0]: list(blocks(section)) for section in sections}


def changed(text: str, change: str) -> str:
    r"""Do what a block of changes says: its lines are found one below the other.

    >>> changed("a\nb\nc\n", " a\n+x\n-c\n+y\n")
    'a\nx\nb\ny\n'
    """
    lines, at = text.splitlines(), 0
    for changed_line in change.splitlines():
        sign, line = changed_line[:1], changed_line[1:]
        if sign == "+":
            lines.insert(at, line)
            at += 1
            continue
        at = lines.index(line, at)
        if sign == "-":
            del lines[at]
        else:
            at += 1
    return "".join(f"{line}\n" for line in lines)


def broken(parts: list[Block], instead: Mapping[str, str]) -> list[Block]:
    """Put other text in the place of some of a recipe's."""
    for old, new in instead.items():
        assert any(old in block.text for block in parts), f"no recipe says {old}"
        parts = [replace(block, text=block.text.replace(old, new)) for block in parts]
    return parts


def run_in_place(parts: list[Block]) -> dict[str, Any]:
    """Run the Python blocks of a recipe that adds no files, and return what they define."""
    names: dict[str, Any] = {"__name__": "__recipe__"}
    for block in parts:
        if block.kind == "python" and not block.mark:
            exec(
                compile(
                    block.text, f"{PAGE.name}, {block.line} lines below its heading", "exec", dont_inherit=True
                ),
                names,
            )
    return names


@dataclass(frozen=True)
class Copy:
    """A copy of the package, its tests and pages, with the compiled kernels, to which a recipe can be added."""

    root: Path

    @classmethod
    def in_folder(cls, root: Path) -> Copy:
        """Copy what runs; times are kept, by which compiled kernels are known."""
        for name in ("src", "tests", "docs", "tools", "benchmarks"):
            shutil.copytree(ROOT / name, root / name)
        for name in ("pyproject.toml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile"):
            shutil.copy(ROOT / name, root)
        return cls(root)

    def follow(self, parts: list[Block]) -> list[Path]:
        """Write and change the files that a recipe names, and return them."""
        touched = []
        for block in parts:
            what, _, name = block.mark.partition(": ")
            path = self.root / name
            if what == "file":
                path.parent.mkdir(exist_ok=True)
                path.write_text(block.text, encoding="utf-8")
            elif what == "change":
                path.write_text(changed(path.read_text(encoding="utf-8"), block.text), encoding="utf-8")
            else:
                continue
            touched.append(path)
        return touched

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run Python in the copy, on the copy."""
        environment = {**os.environ, "PYTHONPATH": str(self.root / "src"), "PYTHONIOENCODING": "utf-8"}
        command = [sys.executable, *words]
        return subprocess.run(
            command, cwd=self.root, env=environment, capture_output=True, encoding="utf-8", check=False
        )

    def headcount(self, line: str) -> str:
        """Run the program in the copy, and return what it printed."""
        done = self.run("-c", "from headcount.cli.main import run; run()", *shlex.split(line))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def test(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run tests in the copy."""
        return self.run("-m", "pytest", "-n", "0", "-x", "-p", "no:cacheprovider", *words)
