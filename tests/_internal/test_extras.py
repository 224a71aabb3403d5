"""What need not be installed: imported where somebody is told how to get it, and declared where that gets it."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement

from headcount._internal.extras import remedy, require_package
from headcount.errors import UsageError

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
OPTIONAL = {"adbc_driver_manager", "adbc_driver_postgresql", "duckdb", "psycopg", "py4j", "pyspark", "scipy"}
SPARK = "engines/spark/"  # which nothing imports before Spark was found


def packages(requirements: list[str]) -> set[str]:
    return {requirement.split(">")[0].split("=")[0].split("[")[0] for requirement in requirements}


def tool(name: str) -> ModuleType:
    described = importlib.util.spec_from_file_location(name, ROOT / "tools" / "docs" / f"{name}.py")
    assert described is not None
    assert described.loader is not None
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    return module


def needing(tree: ast.AST) -> Iterator[tuple[ast.With, list[str]]]:
    """Yield the blocks in which something may be missing: what is needed, its package, and the extra."""
    for node in ast.walk(tree):
        call = node.items[0].context_expr if isinstance(node, ast.With) else None
        if (
            isinstance(node, ast.With)
            and isinstance(call, ast.Call)
            and getattr(call.func, "id", "") == "require_package"
        ):
            yield node, [str(argument.value) for argument in call.args[1:] if isinstance(argument, ast.Constant)]


def imported(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name.split(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node, node.module.split(".")[0]


def test_optional_packages_are_imported_where_their_absence_is_reported() -> None:
    sources = ROOT / "src" / "headcount"
    for file in sources.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if SPARK in file.as_posix() or not any(name in text for name in (*OPTIONAL, "needed(")):
            continue
        tree = ast.parse(text)
        guarded = {id(node_in_block) for block, _ in needing(tree) for node_in_block in ast.walk(block)}
        for node, name in imported(tree):
            assert name not in OPTIONAL or id(node) in guarded, f"{file.name} imports {name}"
        for _, (package, extra) in needing(tree):
            assert package in packages(EXTRAS[extra]), f"{file.name}: extra {extra} does not bring {package}"


def test_the_default_brings_nothing_of_the_extras_and_developers_have_all() -> None:
    default, own = packages(PROJECT["project"]["dependencies"]), packages(PROJECT["dependency-groups"]["dev"])
    for name, requirements in EXTRAS.items():
        assert not packages(requirements) & default, name
        assert packages(requirements) <= own, name


def brought(requirements: list[str]) -> set[str]:
    """Return what an installer gets for requirements: these packages, and those that their extras need."""
    names = set()
    for requirement in map(Requirement, requirements):
        names.add(requirement.name)
        for inner in map(Requirement, importlib.metadata.requires(requirement.name) or []):
            environments = [{"extra": extra} for extra in ("", *requirement.extras)]
            if inner.marker is None or any(map(inner.marker.evaluate, environments)):
                names.add(inner.name)
    return names


def test_the_extra_for_spark_brings_what_pyspark_declares_for_the_parts_that_the_engine_imports() -> None:
    sources = [*(ROOT / "src" / "headcount" / SPARK).glob("*.py"), *(ROOT / "src").rglob("spark_frames.py")]
    texts = [file.read_text(encoding="utf-8") for file in sources]
    parts = {name for text in texts for name in re.findall(r"(?:from|import) pyspark\.(sql|ml|pandas)\b", text)}
    assert parts == {"sql"}
    needed_by_parts = brought([f"pyspark[{','.join(parts)}]"])
    assert "pandas" in needed_by_parts
    assert needed_by_parts <= brought([*PROJECT["project"]["dependencies"], *EXTRAS["spark"]])


def test_a_missing_package_is_named_with_what_works_from_a_clone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with (
        pytest.raises(UsageError, match=r"needs the package scipy; run pip install '\.\[lab\]' in your clone"),
        require_package("this", "scipy", "lab"),
    ):
        import scipy  # noqa: F401
    for extra in EXTRAS:
        assert f"pip install '.[{extra}]'" in remedy("it", extra)


def test_no_install_advice_names_a_missing_index() -> None:
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    assert [file.name for file in files if "headcount[" in file.read_text(encoding="utf-8")] == []


def test_the_table_of_sizes_is_what_the_tool_prints() -> None:
    """Within a fifth, for wheels differ between systems."""
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    for line in tool("installed_sizes").table()[2:]:
        label, size = (cell.strip() for cell in line.split("|")[1:3])
        stated_sizes = [
            line_of_page.split("|")[2].strip()
            for line_of_page in page.splitlines()
            if line_of_page.startswith(f"| {label} |")
        ]
        assert len(stated_sizes) == 1, label
        assert 0.8 < int(stated_sizes[0]) / int(size) < 1.25, label
