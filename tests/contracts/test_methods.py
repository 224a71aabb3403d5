"""Every method of counts keeps every contract."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from headcount.api import release as release_function
from headcount.bounding import Scale, Scored
from headcount.budget import Grant
from headcount.counts import FAMILY
from headcount.counts.request import ReleaseRequest
from headcount.curator import Curator
from headcount.engines.reference import ReferenceEngine
from headcount.errors import RefusedError, UsageError
from headcount.events.log import EventLog
from headcount.families import FAMILIES, build, describe
from headcount.family import example_of
from headcount.guarantee import Standing
from headcount.method import Method
from headcount.noise import NoiseSource, SeededNoise
from headcount.releases import Release, load
from tests.contracts import method_checks
from tests.contracts.method_checks import Subject, town
from tests.curating import planned, ran


def _forced(index: Callable[[Scored], int]) -> Callable[[Scored, Grant, NoiseSource], int]:
    """Return a choice that is paid for, and made without looking."""

    def choose(scored: Scored, grant: Grant, source: NoiseSource) -> int:
        grant.spend()
        return index(scored)

    return choose


def _theta(release: Release, table: str, cells: int) -> Fraction:
    chosen = release.chosen[table]
    return Fraction(chosen["theta"]) * Fraction(chosen.get("alpha", 1))


def _walsh(release: Release, table: str, cells: int) -> Fraction:
    """ρ · M or √ρ · √n · M, whichever is less, for M = 3 records that may hit one cell."""
    size, kept = 1 << (cells - 1).bit_length(), release.chosen[table]["coefficients"]
    return Fraction(min(kept * 3, math.isqrt(kept * size * 9 - 1) + 1))


def _fourier(release: Release, table: str, cells: int) -> Fraction:
    """√m · M in units of 2^-16, with √d of them for rounding, for M = 5."""
    reach = (5 << 16) + math.isqrt(cells - 1) + 1
    return Fraction(math.isqrt(release.chosen[table]["coefficients"] * reach**2 - 1) + 1, 1 << 16)


def _weighted(log: EventLog, release: Release, table: str) -> NDArray[np.float64]:
    """The counts of all records under the limit that was chosen, scaled up."""
    chosen = release.chosen[table]
    exact = getattr(ReferenceEngine().measure(log, Scale(chosen["theta"]), bytes(16)), table)
    values: NDArray[np.float64] = exact.sensitive_values.ravel() / exact.unit * float(chosen.get("alpha", 1))
    return values


def _limit(release: Release, table: str, cells: int) -> Fraction:
    return Fraction(release.chosen[table]["limit"])


HALF, MOST = Fraction(1, 2), Fraction(9, 10)
SMOOTH = {"reconciles": False}
SENSE = {"paying": MOST, "reach_of": _theta, "truth": _weighted, "reconciles": False}
STEERED = {"stages": ("activity", "items", "edges")}
TUNED = {"headcount.counts.tuned_groups.best_size": lambda *_: 2}

METHODS = FAMILY.kinds()

# What is special about a method: the most one user can add to a table of ``town`` if not 3, its stages, and more.
SPECIAL: Mapping[str, Mapping[str, Any]] = {
    "adaptive": STEERED,
    "hpa": {"stages": ("scores", "items", "edges")},
    "fpa": {
        **SMOOTH,
        "paying": MOST,
        "reach_of": _walsh,
        "forced": {"headcount.counts.walsh_hadamard.choose": _forced(lambda scored: scored.size - 1)},
    },
    "gs-r": SMOOTH,
    "gs-s": {**SMOOTH, "paying": HALF},
    "gs": {**SMOOTH, "paying": HALF, "forced": TUNED},
    "dpsense": {**SENSE, "forced": {"headcount.counts.dpsense.choose": _forced(lambda _: 2)}},
    "dpsense-s": {
        **SENSE,
        "forced": {"headcount.counts.dpsense_scaled.choose": _forced(lambda _: 2 * 101 + 25)},
    },
    "lpa-published": {"reach": 5},
    "hpa-published": {"stages": ("scores", "items", "edges")},
    "fpa-published": {
        **SMOOTH,
        "reach_of": _fourier,
        "forced": {"headcount.lab.published.smoothing.best_number": lambda transformed, _: transformed.size},
    },
    "gs-r-published": {**SMOOTH, "reach": 5},
    "gs-s-published": {**SMOOTH, "parameters": {"sampling": "column"}, "reach": 5, "paying": HALF},
    "gs-published": {**SMOOTH, "parameters": {"sampling": "none"}, "reach": 5, "paying": HALF, "forced": TUNED},
}

ENTRIES: Mapping[str, Mapping[str, Any]] = {
    name: {"parameters": example_of(kind), **SPECIAL.get(name, {})} for name, kind in METHODS.items()
}

GAUSS: Mapping[str, Any] = {"noise": "gaussian"}
WEIGHED_USERS: Mapping[str, Any] = {**STEERED, "counting": "users", "reconciles": False}

VARIANTS: Sequence[tuple[str, Mapping[str, Any]]] = (
    *ENTRIES.items(),
    (
        "adaptive",
        {
            **STEERED,
            "reach_of": _limit,
            "forced": {"headcount.counts.adaptive.chosen_limit": lambda *_: 3},
        },
    ),
    (
        "adaptive",
        {"parameters": {"limit": 3, "lean": 1.0}, "stages": ("activity", "scores", "items", "edges")},
    ),
    ("adaptive", {**WEIGHED_USERS, "parameters": {"limit": 3}}),
    ("adaptive", {**WEIGHED_USERS, "parameters": {"limit": 3, **GAUSS}, "delta": "1e-6"}),
    ("sra", {"parameters": {"limit": 3, **GAUSS}, "delta": "1e-6"}),
    ("lpa", {"parameters": {"limit": 4, **GAUSS}, "reach": 4, "delta": "3e-9"}),
    ("hpa", {**ENTRIES["hpa"], "parameters": {"limit": 3, "d": 2, **GAUSS}, "delta": "0.01"}),
    ("gs-s", {**SMOOTH, "parameters": {"limit": 3, "sampling": "row"}, "paying": HALF}),
    ("gs-s", {**SMOOTH, "parameters": {"limit": 3, "sampling": "none"}, "paying": HALF}),
    ("gs", {**SMOOTH, "parameters": {"limit": 3, "sampling": "row"}, "paying": HALF, "forced": TUNED}),
)


def test_what_is_special_is_about_methods_that_are_there() -> None:
    assert set(SPECIAL) <= set(METHODS)


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
    asked = release.to_json()["request"]
    assert ReleaseRequest.model_validate(asked["release"]) == request
    assert asked["events"] == town().describe()
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
    if name.endswith("-published") and name != "hpa-published":
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
    described = {each["name"]: each for each in describe()}
    known: dict[str, type[Method]] = {
        name: kind for family in FAMILIES.values() for name, kind in family.kinds().items()
    }
    assert list(described) == list(known)
    for name, each in described.items():
        kind = known[name]
        assert kind.name == name
        assert each["standing"] == kind.standing.value
        assert each["unit"] == "add-or-remove-user"
        assert each["reference"]
        assert each["reason"] == kind.reason
        assert name not in ENTRIES or set(ENTRIES[name]["parameters"]) <= set(each["parameters"])
    assert json.loads(json.dumps(describe())) == describe()
