"""Every registered method keeps every contract."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pytest

from headcount.api import release as release_function
from headcount.curator import Curator
from headcount.engines.reference import ReferenceEngine
from headcount.errors import RefusedError, UsageError
from headcount.guarantee import Standing
from headcount.method import Method
from headcount.noise import SeededNoise
from headcount.registry import METHODS, build, describe
from headcount.releases import load
from headcount.request import ReleaseRequest
from tests.contracts import method_checks
from tests.contracts.method_checks import Subject, town

# The parameters of each method, and the most one user can add to a table of ``town``.
ENTRIES: Mapping[str, Mapping[str, Any]] = {
    "lpa": {"parameters": {"limit": 4}, "reach": 4},
    "sra": {"parameters": {"limit": 3}, "reach": 3},
    "hpa": {"parameters": {"limit": 3, "d": 2}, "reach": 3, "stages": ("scores", "items", "edges")},
    "lpa-published": {"parameters": {}, "reach": 5},
    "hpa-published": {"parameters": {"limit": 3}, "reach": 3, "stages": ("scores", "items", "edges")},
}


def test_every_registered_method_has_an_entry_here() -> None:
    assert set(ENTRIES) == set(METHODS)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("check", method_checks.CHECKS, ids=lambda check: str(check.__name__))
def test_contract(check: Callable[[Subject], None], name: str) -> None:
    check(Subject(METHODS[name], **ENTRIES[name]))


def request_for(name: str, **more: Any) -> ReleaseRequest:
    parameters = dict(ENTRIES[name]["parameters"])
    limit = parameters.pop("limit", None)
    return ReleaseRequest(epsilon=Decimal("0.7"), method=name, limit=limit, options=parameters, **more)


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_frozen_values(name: str) -> None:
    method: Any = METHODS[name](**ENTRIES[name]["parameters"])
    assert method == METHODS[name](**ENTRIES[name]["parameters"])
    with pytest.raises(dataclasses.FrozenInstanceError):
        method.what = "items"


@pytest.mark.parametrize("name", METHODS)
def test_requests_round_trip_and_release(name: str, tmp_path: Any) -> None:
    request = request_for(name, research=True)
    assert ReleaseRequest.model_validate_json(request.model_dump_json()) == request
    assert request.guarantee() == request.build().guarantee(request.grant())
    release = Curator(engine=ReferenceEngine()).run(request, town())
    asked = release.to_json()["request"]
    assert ReleaseRequest.model_validate(asked["release"]) == request
    assert asked["events"] == town().describe()
    assert load(release.save(tmp_path / "out")).to_json() == json.loads(json.dumps(release.to_json()))


@pytest.mark.parametrize("name", METHODS)
def test_nothing_in_the_file_of_a_proven_release_depends_on_the_log(name: str) -> None:
    def described(users: int, seed: int) -> dict[str, Any]:
        log = town(users=users, seed=seed)
        return Curator(engine=ReferenceEngine()).run(request_for(name, research=True), log).to_json() | {
            "created": ""
        }

    same = described(20, 1) == described(300, 2) == described(0, 1)
    assert same or METHODS[name].standing is Standing.CLAIMED
    if name == "lpa-published":
        assert not same  # what is wrong with it: M, read from the data, is there to see


@pytest.mark.parametrize("name", METHODS)
def test_claims_run_only_where_the_caller_says_research(name: str) -> None:
    if METHODS[name].standing is Standing.PROVEN:
        assert Curator(engine=ReferenceEngine()).run(request_for(name), town()).is_private
        return
    request = request_for(name)
    with pytest.raises(UsageError, match="research"):
        Curator(engine=ReferenceEngine()).run(request, town())
    with pytest.raises(UsageError, match="research"):
        Curator(engine=ReferenceEngine()).plan(request, town())
    with pytest.raises(UsageError, match="research"):
        release_function(town(), epsilon="0.7", method=name, **ENTRIES[name]["parameters"])
    release = release_function(town(), epsilon="0.7", method=name, research=True, **ENTRIES[name]["parameters"])
    assert release.guarantee.standing is Standing.CLAIMED
    assert not release.is_private


def test_the_curator_refuses_a_seeded_source() -> None:
    with pytest.raises(RefusedError, match="seeded"):
        Curator(noise=SeededNoise(1))


@pytest.mark.parametrize("name", METHODS)
def test_options_a_method_cannot_use_are_errors(name: str) -> None:
    own = {field.name for field in dataclasses.fields(METHODS[name])}  # type: ignore[arg-type]
    for option in {"limit", "d", "theta", "random_state", "seed"} - own:
        with pytest.raises(UsageError, match=f"cannot use {option}"):
            build(name, {**ENTRIES[name]["parameters"], option: 1})
    for needed in ENTRIES[name]["parameters"]:
        for bad in (0, -1, 2.5, "3", True, None, 2**31):
            with pytest.raises(UsageError, match=needed):
                build(name, {**ENTRIES[name]["parameters"], needed: bad})
    if "limit" in own:
        with pytest.raises(UsageError, match="needs --limit"):
            build(name, {})


@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_no_seed(name: str) -> None:
    """Protective noise comes from ``noise/`` alone."""
    names = {field.name for field in dataclasses.fields(METHODS[name])}  # type: ignore[arg-type]
    assert not names & {"seed", "random_state", "rng", "generator", "noise"}


def test_the_registry_describes_every_method() -> None:
    described = {each["name"]: each for each in describe()}
    assert list(described) == list(METHODS)
    for name, each in described.items():
        kind: type[Method] = METHODS[name]
        assert each["standing"] == kind.standing.value
        assert each["unit"] == "add-or-remove-user"
        assert each["reference"]
        assert each["reason"] == kind.reason
        assert set(ENTRIES[name]["parameters"]) <= set(each["parameters"])
    assert json.loads(json.dumps(describe())) == describe()
