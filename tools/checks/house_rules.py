"""Check names, folder sizes and module sizes: ``python tools/checks/house_rules.py [--sizes] [PATH …]``.

The rules have no exceptions. ``--sizes`` leaves names out: ``make check`` does so until the public names change.

- a folder of ``src`` has at most 15 modules beside its ``__init__``, and a module at most 400 lines;
- no identifier is, or contains, a word that says nothing of its content.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
MAX_MODULES = 15
MAX_LINES = 400
WHOLE_NAMES = frozenset({"one", "thing", "things", "off", "has", "way", "these", "those"})
"""Words that are no name by themselves."""

WORDS = frozenset({"each", "found", "told", "asked", "made", "known", "seen", "met", "said", "gone"})
"""Words that no name contains."""


class Violation(NamedTuple):
    """A rule that a file or folder breaks, and where."""

    place: str
    rule: str


def is_vague(name: str) -> bool:
    """Say whether a name, or a word of it, says nothing of its content.

    >>> [name for name in ("each", "row", "found_items", "HasOne", "made_up", "known") if is_vague(name)]
    ['each', 'found_items', 'made_up', 'known']
    """
    words = set(re.split(r"_|(?<=[a-z])(?=[A-Z])", name.lower()))
    return name.strip("_").lower() in WHOLE_NAMES or bool(WORDS & words)


def bound_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of everything that a module binds."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name


def violations_of(path: str, text: str) -> Iterator[Violation]:
    """Yield what one module breaks.

    >>> list(violations_of("a.py", "each = 1"))
    [Violation(place='a.py:1', rule="the name 'each' says nothing of its content")]
    """
    lines = text.count("\n")
    if lines > MAX_LINES:
        yield Violation(path, f"has {lines} lines, and {MAX_LINES} is the limit: split it by ideas")
    for line, name in bound_names(ast.parse(text)):
        if is_vague(name):
            yield Violation(f"{path}:{line}", f"the name {name!r} says nothing of its content")


def full_folders(paths: Sequence[str]) -> Iterator[Violation]:
    """Yield the folders that hold too many modules.

    >>> [violation.place for violation in full_folders([f"src/a/m{n}.py" for n in range(16)])]
    ['src/a']
    """
    modules = Counter(str(Path(path).parent) for path in paths if not path.endswith("__init__.py"))
    for folder, size in sorted(modules.items()):
        if size > MAX_MODULES:
            yield Violation(folder, f"has {size} modules, and {MAX_MODULES} is the limit: make subfolders")


def tracked(paths: Sequence[str]) -> list[str]:
    """Return the Python files below some paths that git tracks."""
    command = ["git", "ls-files", "--", *paths]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [path for path in listed if path.endswith(".py") and (ROOT / path).exists()]


def main(arguments: Sequence[str]) -> int:
    paths = [argument for argument in arguments if argument != "--sizes"]
    files = tracked(paths or ["src"])
    violations = list(full_folders(files))
    for path in files:
        violations += violations_of(path, (ROOT / path).read_text(encoding="utf-8"))
    if "--sizes" in arguments:
        violations = [violation for violation in violations if not violation.rule.startswith("the name")]
    for violation in violations:
        print(f"{violation.place}: {violation.rule}")
    print(f"{len(files)} modules, {len(violations)} violations of the house rules")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
