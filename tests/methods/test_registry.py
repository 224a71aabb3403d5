"""Families list every method once, and nothing that a method cannot use is ignored."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headcount.accounting.guarantee import Standing
from headcount.errors import UnknownNameError, UsageError
from headcount.events.grid import Grid
from headcount.methods.family import example_of
from headcount.methods.queries.workload import TableQueries
from headcount.methods.registry import (
    FAMILIES,
    build,
    describe,
    family_of,
    family_releasing,
    method_names,
    summary,
    table,
)
from headcount.methods.request import ChargedRequest
from tests.support import town

NAMES = method_names()
HOME = Path(__file__).parents[2] / "src" / "headcount"


DECLARED_QUERIES = TableQueries(
    grid=Grid.from_mapping({"age": {"edges": [0, 18, 120]}}),
    statements=("SELECT COUNT(*) FROM people WHERE age < 18",),
)


def parameters_of(name: str) -> dict[str, Any]:
    kind = family_of(name).kind(name)
    queries = {"table_queries": town.linear_queries()} if family_of(name).reads == "people" else {}
    return example_of(kind) | queries


@pytest.mark.parametrize("name", NAMES)
def test_every_method_is_built_by_its_name_and_described(name: str) -> None:
    kind = family_of(name).kind(name)
    method = build(name, parameters_of(name))
    assert type(method) is kind
    assert method.name == name
    described = next(method for method in describe() if method["name"] == name)
    assert list(described) == ["name", "family", "standing", "unit", "parameters", "reference", "reason"]
    assert described["family"] == family_of(name).name
    assert described["reference"]
    assert (method.standing is Standing.CLAIMED) == bool(described["reason"])
    assert name.endswith("-published") == (name not in family_of(name).methods)
    assert name.endswith("-published") or method.standing is Standing.PROVEN
    assert summary(name).endswith(".")
    with pytest.raises(UsageError, match=f"method {name} cannot use colour"):
        build(name, {**parameters_of(name), "colour": 1})


def test_names_are_sought_and_suggested() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'hpa'"):
        build("hpaa", {})
    with pytest.raises(UsageError, match="cannot use limt; did you mean limit"):
        build("sra", {"limt": 3})
    with pytest.raises(UsageError, match="method hpa needs --limit"):
        build("hpa", {"d": 1})
    with pytest.raises(UnknownNameError, match="tag-model"):
        FAMILIES["counts"].build("tag-model", {})


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_family_is_whole(family: Any) -> None:
    assert family.kind(family.default).standing is Standing.PROVEN
    assert issubclass(family.request_kind(), ChargedRequest)
    for released_table in family.tables:
        assert table(released_table.name) is released_table
        assert released_table.beside or family_releasing({released_table.name: None}) is family
        assert released_table.noun


def test_names_of_methods_and_tables_are_one_familys_own() -> None:
    assert len(set(NAMES)) == len(NAMES)
    tables = [released_table.name for family in FAMILIES.values() for released_table in family.tables]
    assert len(set(tables)) == len(tables)


def test_families_import_methods_lazily() -> None:
    """``headcount --help`` lists the commands from them, and must be quick."""
    code = (
        "import sys, headcount.methods.registry as f;print(*(m for m in sys.modules if m.startswith('headcount')))"
    )
    environment = {"PYTHONPATH": str(HOME.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    packages = {family.package for family in FAMILIES.values()}
    light = {
        "headcount",
        "headcount.methods.totals",
        "headcount.methods.registry",
        "headcount.methods.family",
        "headcount.errors",
        "headcount.version",
        *packages,
    }
    assert set(done.stdout.split()) == light
