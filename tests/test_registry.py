"""The registry: every method by its name, and nothing that a method cannot use."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from headcount.errors import UnknownNameError, UsageError
from headcount.guarantee import Standing
from headcount.registry import METHODS, TAG_METHODS, build, describe, summary


def parameters_of(name: str) -> dict[str, Any]:
    fields = dataclasses.fields(METHODS[name])  # type: ignore[arg-type]
    return {field.name: 3 for field in fields if field.default is dataclasses.MISSING}


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_built_by_its_name_and_described(name: str) -> None:
    method = build(name, parameters_of(name))
    assert type(method) is METHODS[name]
    assert method.name == name
    described = next(each for each in describe() if each["name"] == name)
    assert list(described) == ["name", "family", "standing", "unit", "parameters", "reference", "reason"]
    assert described["reference"]
    assert (method.standing is Standing.CLAIMED) == name.endswith("-published") == bool(described["reason"])
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


@pytest.mark.parametrize("name", TAG_METHODS)
def test_methods_for_tags_are_built_and_described_as_all_others(name: str) -> None:
    method = build(name, {}, family="tags")
    assert type(method) is TAG_METHODS[name]
    described = next(each for each in describe() if each["name"] == name)
    assert described["family"] == "tags"
    assert described["reference"]
    assert (method.standing is Standing.CLAIMED) == name.endswith("-published") == bool(described["reason"])
    assert summary(name).endswith(".")
    with pytest.raises(UnknownNameError):
        build(name, {})
