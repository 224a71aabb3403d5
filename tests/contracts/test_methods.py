"""Every method of counts keeps every contract."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from headcount.accounting.guarantee import Standing
from headcount.api.functions import release as release_function
from headcount.errors import RefusedError, UsageError
from headcount.events.log import EventLog
from headcount.methods.counts import FAMILY
from headcount.methods.counts.request import ReleaseRequest
from headcount.methods.family import example_of
from headcount.methods.method import Method
from headcount.methods.registry import FAMILIES, build, describe
from headcount.noise import SeededNoise
from headcount.releases.release import Release, load
from headcount.run.curator import Curator
from tests.contracts.support import method_checks
from tests.contracts.support.method_checks import Subject, town
from tests.contracts.support.method_facts import special_of
from tests.contracts.support.recording_engine import check_engine_validates_before_reading
from tests.reference.engine import ReferenceEngine
from tests.support.curator_runs import planned, ran


def _limit(release: Release, table: str, cells: int) -> Fraction:
    return Fraction(release.chosen[table]["limit"])


METHODS = FAMILY.kinds()

ENTRIES: Mapping[str, Mapping[str, Any]] = {
    name: {"parameters": example_of(kind), **special_of(kind).subject} for name, kind in METHODS.items()
}

STEERED = special_of(METHODS["adaptive"]).subject
GAUSS: Mapping[str, Any] = {"noise": "gaussian"}
WEIGHED_USERS: Mapping[str, Any] = {**STEERED, "counting": "users", "reconciles": False}

VARIANTS: Sequence[tuple[str, Mapping[str, Any]]] = (
    *ENTRIES.items(),
    (
        "adaptive",
        {
            **STEERED,
            "reach_of": _limit,
            "forced": {**STEERED["forced"], "headcount.adaptive.threshold_choice.choose_threshold": lambda *_: 3},
        },
    ),
    ("adaptive", {**WEIGHED_USERS, "parameters": {"limit": 3}}),
    ("adaptive", {**WEIGHED_USERS, "parameters": {"limit": 3, **GAUSS}, "delta": "1e-6"}),
    ("adaptive", {**STEERED, "parameters": {"limit": 3, **GAUSS}, "delta": "1e-6"}),
    ("adaptive", {**STEERED, "parameters": {"limit": 3, "at_most": 9}}),
    ("sra", {"parameters": {"limit": 3, **GAUSS}, "delta": "1e-6"}),
    ("lpa", {"parameters": {"limit": 4, **GAUSS}, "reach": 4, "delta": "3e-9"}),
    ("hpa", {**ENTRIES["hpa"], "parameters": {"limit": 3, "d": 2, **GAUSS}, "delta": "0.01"}),
    ("hpa", {"parameters": {"limit": 3, "scores": {"i3": 2, "i0": "1.5"}}}),
    ("gs-s", {**ENTRIES["gs-s"], "parameters": {"limit": 3, "sampling": "row"}}),
    ("gs-s", {**ENTRIES["gs-s"], "parameters": {"limit": 3, "sampling": "none"}}),
    ("gs", {**ENTRIES["gs"], "parameters": {"limit": 3, "sampling": "row"}}),
)


@pytest.mark.parametrize(
    ("name", "entry"), VARIANTS, ids=[f"{name}-{at}" for at, (name, _) in enumerate(VARIANTS)]
)
@pytest.mark.parametrize("check", method_checks.CHECKS, ids=lambda check: str(check.__name__))
def test_contract(check: Callable[[Subject], None], name: str, entry: Mapping[str, Any]) -> None:
    check(Subject(METHODS[name], **entry))


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
    release = ran(request, town(), engine=ReferenceEngine())
    request_json = release.to_json()["request"]
    assert ReleaseRequest.model_validate(request_json["release"]) == request
    assert request_json["events"] == town().describe()
    assert load(release.save(tmp_path / "out")).to_json() == json.loads(json.dumps(release.to_json()))


@pytest.mark.parametrize("name", METHODS)
def test_nothing_in_the_file_of_a_proven_release_depends_on_the_log(name: str) -> None:
    def described(users: int, seed: int) -> dict[str, Any]:
        log = town(users=users, seed=seed)
        with Subject(METHODS[name], **ENTRIES[name]).choosing_alike():
            release = ran(request_for(name, research=True), log, engine=ReferenceEngine())
        return release.to_json() | {"created": ""}

    same = described(20, 1) == described(300, 2) == described(0, 1)
    assert same or METHODS[name].standing is Standing.CLAIMED
    if METHODS[name].standing is Standing.CLAIMED and name != "hpa-published":
        assert not same  # what is wrong with it: M, read from the data, is there to see


@pytest.mark.parametrize("name", METHODS)
def test_claims_run_only_where_the_caller_says_research(name: str) -> None:
    if METHODS[name].standing is Standing.PROVEN:
        assert ran(request_for(name), town(), engine=ReferenceEngine()).is_private
        return
    request = request_for(name)
    with pytest.raises(UsageError, match="research"):
        ran(request, town(), engine=ReferenceEngine())
    with pytest.raises(UsageError, match="research"):
        planned(request, town(), engine=ReferenceEngine())
    with pytest.raises(UsageError, match="research"):
        release_function(town(), epsilon="0.7", method=name, **ENTRIES[name]["parameters"])
    release = release_function(town(), epsilon="0.7", method=name, research=True, **ENTRIES[name]["parameters"])
    assert release.guarantee.standing is Standing.CLAIMED
    assert not release.is_private


@pytest.mark.parametrize("name", METHODS)
def test_an_engine_that_cannot_is_refused_before_anything_is_reserved(name: str) -> None:
    check_engine_validates_before_reading(request_for(name, research=True), town())


def test_so_is_one_that_cannot_select_items() -> None:
    request = ReleaseRequest(epsilon=Decimal("0.7"), delta=Decimal("1e-6"), method="sra", limit=3)
    check_engine_validates_before_reading(request, EventLog.of([("ann", "tea")], items=None))


def test_the_curator_refuses_a_seeded_source() -> None:
    with pytest.raises(RefusedError, match="seeded"):
        Curator(noise=SeededNoise(1))


@pytest.mark.parametrize("name", METHODS)
def test_options_a_method_cannot_use_are_errors(name: str) -> None:
    own = {field.name: field for field in dataclasses.fields(METHODS[name])}  # type: ignore[arg-type]
    for option in {"limit", "d", "theta", "random_state", "seed"} - set(own):
        with pytest.raises(UsageError, match=f"cannot use {option}"):
            build(name, {**ENTRIES[name]["parameters"], option: 1})
    optional = {option for option, field in own.items() if field.default is None}
    for needed in ENTRIES[name]["parameters"]:
        assert needed in own
        for bad in (0, -1, 2.5, "3", True, 2**31, *(() if needed in optional else (None,))):
            with pytest.raises(UsageError, match=needed):
                build(name, {**ENTRIES[name]["parameters"], needed: bad})
    if "limit" in optional:
        assert build(name, {}) == build(name, {"limit": None})
    elif "limit" in own:
        with pytest.raises(UsageError, match="needs --limit"):
            build(name, {})


@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_no_seed(name: str) -> None:
    """Protective noise comes from ``noise/`` alone."""
    names = {field.name for field in dataclasses.fields(METHODS[name])}  # type: ignore[arg-type]
    assert not names & {"seed", "random_state", "rng", "generator"}


def test_the_families_describe_every_method() -> None:
    described = {method["name"]: method for method in describe()}
    method_kinds: dict[str, type[Method]] = {
        name: kind for family in FAMILIES.values() for name, kind in family.kinds().items()
    }
    assert list(described) == list(method_kinds)
    for name, description in described.items():
        kind = method_kinds[name]
        assert kind.name == name
        assert description["standing"] == kind.standing.value
        assert description["unit"] == "add-or-remove-user"
        assert description["reference"]
        assert description["reason"] == kind.reason
        assert name not in ENTRIES or set(ENTRIES[name]["parameters"]) <= set(description["parameters"])
    assert json.loads(json.dumps(describe())) == describe()
