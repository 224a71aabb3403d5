"""Requests, plans and the curator: everything is refused before anything is read or spent."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import headcount as hc
from headcount.errors import GrantError, HeadcountError, RefusedError, UnknownNameError, UsageError
from headcount.events.sources.source import Source
from headcount.methods.counts import FAMILY
from headcount.methods.counts.request import ReleaseRequest
from headcount.methods.family import Listed
from headcount.methods.method import section, tables_of
from headcount.methods.request import request_of
from headcount.noise import SeededNoise
from headcount.run.curator import Curator
from tests.contracts.support.method_checks import town
from tests.mutants.methods import LeavesAPart
from tests.support.curator_runs import planned, ran

METHODS = FAMILY.kinds()


@dataclass(frozen=True)
class Unreadable:
    """A source that knows its columns and must not be read."""

    inner: Source
    name: str = "the source"
    rows: int | None = 100

    def type_of(self, column: str) -> pa.DataType | None:
        return self.inner.type_of(column)

    @property
    def names(self) -> list[str]:
        return self.inner.names

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        raise AssertionError("an event was read")

    def whole_range(self, column: str) -> tuple[int, int] | None:
        raise AssertionError("the events were looked at")


def unreadable(*, contexts: bool = True) -> hc.EventLog:
    log = town(contexts=contexts)
    return replace(log, source=Unreadable(log.source))


BAD_REQUESTS: list[tuple[Mapping[str, Any], str]] = [
    ({"epsilon": "0", "method": "sra", "limit": 1}, "epsilon"),
    ({"epsilon": "nan", "method": "sra", "limit": 1}, "epsilon"),
    ({"epsilon": True, "method": "sra", "limit": 1}, "epsilon"),
    ({"epsilon": 1, "method": "sr", "limit": 1}, "did you mean 'sra'"),
    ({"epsilon": 1, "method": "sra"}, "needs --limit"),
    ({"epsilon": 1, "method": "sra", "limit": 0}, "limit"),
    ({"epsilon": 1, "method": "sra", "limit": True}, "limit"),
    ({"epsilon": 1, "method": "sra", "limit": 2.5}, "limit"),
    ({"epsilon": 1, "method": "sra", "limit": 1, "what": "everything"}, "what"),
    ({"epsilon": 1, "method": "sra", "limit": 1, "options": {"d": 1}}, "cannot use d"),
    ({"epsilon": 1, "method": "sra", "limit": 1, "options": {"limitt": 1}}, r"did you mean limit\? It takes"),
    ({"epsilon": 1, "method": "sra", "limit": 1, "seed": 1}, "seed"),
    ({"epsilon": 1, "method": "sra", "limit": 1, "shares": {"items": 1}}, "shares"),
    ({"epsilon": 1, "method": "sra", "limit": 1, "shares": {"items": 0.5, "edges": 0.6}}, "sum to 1"),
    ({"epsilon": 1, "method": "sra", "limit": 1, "shares": {"items": -1, "edges": 2}}, "share of items"),
    ({"epsilon": 1, "method": "hpa", "limit": 1, "options": {"d": 0}}, "d must be"),
    ({"epsilon": 1, "method": "lpa-published", "limit": 1, "research": True}, "cannot use limit"),
    ({"epsilon": 1, "method": "hpa-published", "limit": 1}, "research"),
    ({"epsilon": "1e-10", "method": "sra", "limit": 1}, "between 1e-9 and 1e6"),
    ({"epsilon": "1e-9", "method": "sra", "limit": 2}, "more than can be drawn"),
    ({"epsilon": "1e-6", "method": "sra", "limit": 10**6}, "more than can be drawn"),
]


@pytest.mark.parametrize(("fields", "message"), BAD_REQUESTS, ids=repr)
def test_invalid_fields_are_refused_before_reading(fields: Mapping[str, Any], message: str) -> None:
    with pytest.raises(HeadcountError, match=message) as caught:
        ran(request_of(ReleaseRequest, **fields), unreadable())
    assert isinstance(caught.value, UsageError | UnknownNameError)


@pytest.mark.parametrize("name", METHODS)
def test_a_plan_reads_no_event(name: str) -> None:
    fields = {field.name for field in dataclasses.fields(METHODS[name])}  # type: ignore[arg-type]
    limit = 3 if "limit" in fields else None
    request = ReleaseRequest(epsilon=Decimal("0.5"), method=name, limit=limit, research=True)
    plan = planned(request, unreadable())
    written = json.loads(json.dumps(plan.to_json()))
    assert written["guarantee"]["epsilon"] == "0.5"
    assert plan.guarantee == request.guarantee()
    if limit is not None and name != "fpa":  # else the noise depends on what the data will say
        assert list(plan.noise) == ["items", "edges", *(["activity"] if name == "adaptive" else [])]
        assert written["noise"]["items"]["half_width_95"] == plan.noise["items"].half_width(0.95)


@pytest.mark.parametrize("what", [None, "items", "edges"])
def test_a_plan_foresees_what_is_released(what: Any) -> None:
    log = hc.EventLog.of([("ann", "tea", "AM")], items=["rye", "tea"], contexts=["AM", "PM"])
    request = request_of(ReleaseRequest, epsilon="0.7", method="hpa", limit=3, what=what)
    plan, release = planned(request, log), ran(request, log)
    assert plan.noise == release.noise
    assert plan.guarantee == release.guarantee
    assert plan.cells == {name: table.num_rows for name, table in release.tables.items()}
    assert plan.to_json()["price"] == {"epsilon": "0.7", "delta": "0"}


def test_seeded_noise_is_refused() -> None:
    with pytest.raises(RefusedError, match="a seeded noise source protects nobody"):
        Curator(noise=SeededNoise(1))


def test_item_contexts_without_a_context_are_refused_in_the_plan() -> None:
    for what in ("edges", "both"):
        with pytest.raises(UsageError, match="needs a context"):
            planned(
                request_of(ReleaseRequest, epsilon=1, method="sra", limit=1, what=what), unreadable(contexts=False)
            )


def test_a_method_that_leaves_a_part_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    name = LeavesAPart.name
    listed = FAMILY._replace(package="tests.mutants", methods={name: Listed("methods:LeavesAPart")})
    monkeypatch.setattr("headcount.methods.counts.request.FAMILY", listed)
    with pytest.raises(GrantError, match="left a part of its grant unspent"):
        ran(ReleaseRequest(epsilon=Decimal(1), method=name, limit=2), town())


def test_a_release_states_its_request() -> None:
    shares = {"items": "0.25", "edges": "0.75"}
    release = hc.release(town(), epsilon=0.1, method="sra", limit=2, shares=shares)
    request = release.to_json()["request"]["release"]
    assert request == {"epsilon": "0.1", "method": "sra", "limit": 2, "shares": shares}
    assert ReleaseRequest.model_validate(request).build() == request_of(ReleaseRequest, **request).build()
    assert "visits.csv" not in json.dumps(release.to_json())


def test_two_releases_differ() -> None:
    first, other = (hc.release(town(), epsilon="0.1", method="sra", limit=2) for _ in range(2))
    assert first.items["count"].to_pylist() != other.items["count"].to_pylist()


# Tables


def test_tables_by_default_are_those_there_are_contexts_for() -> None:
    assert tables_of(None, town()) == ("items", "edges")
    assert tables_of(None, town(contexts=False)) == ("items",)
    assert tables_of("edges", town()) == ("edges",)


def test_sections_of_a_docstring_are_one_paragraph() -> None:
    reference = section(METHODS["sra"], "Reference")
    assert reference.startswith("L. Fan, H. Jin.")
    assert "\n" not in reference
    assert section(METHODS["sra"], "No such section") == ""
