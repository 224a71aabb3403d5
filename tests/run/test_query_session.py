"""Requests and sessions: what is asked round-trips, what is charged is charged before anything is read."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import headcount as hc
from headcount.accounting.guarantee import GROUP_UNIT
from headcount.errors import RefusedError, UsageError
from headcount.events.log import EventLog
from headcount.methods.queries.request import QueryRequest, SessionRequest
from headcount.run.prepare import prepare_request
from tests.support.town import BINS, GRID, STATEMENTS, halves, log_of, plain_cells, table

PEOPLE = table(2_000)
LOG = log_of(PEOPLE)


def request(**more: Any) -> QueryRequest:
    return QueryRequest(**{"epsilon": "1", "bins": BINS, "queries": STATEMENTS, **more})


def test_requests_round_trip_through_json() -> None:
    sent = request(groups="household", max_group=3, max_records=2, method="mwem", options={"rounds": 2})
    again = QueryRequest.model_validate_json(sent.model_dump_json())
    assert again == sent
    assert again.build() == sent.build()
    assert prepare_request(again, LOG).identity() == prepare_request(sent, LOG).identity()
    for other in (request(), request(queries=STATEMENTS[:1]), request(max_records=2)):
        assert prepare_request(other, LOG).identity() != prepare_request(sent, LOG).identity()


def test_rows_are_identified_by_their_digest() -> None:
    rows = halves(5)
    sent = QueryRequest(epsilon=Decimal(1), bins=BINS, rows=rows)
    assert sent.rows_digest
    assert "rows_digest" in sent.model_dump_json()
    assert len(sent.model_dump_json()) < 1_000
    assert sent.cells(LOG) == {"answers": 5}
    again = QueryRequest.model_validate_json(sent.model_dump_json())
    with pytest.raises(UsageError, match="does not hold"):
        again.build()
    assert prepare_request(sent, LOG).identity() != (
        prepare_request(QueryRequest(epsilon=Decimal(1), bins=BINS, rows=halves(5, seed=3)), LOG).identity()
    )
    with pytest.raises(UsageError, match="both as statements and as rows"):
        QueryRequest(epsilon=Decimal(1), bins=BINS, rows=rows, queries=STATEMENTS)
    with pytest.raises(UsageError, match="cells"):
        QueryRequest(epsilon=Decimal(1), bins=BINS, rows=halves(5, 8)).build()


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"delta": "1e-6", "method": "mwem"}, "--delta is of no use here: mwem"),
        ({"max_group": 3}, "go together"),
        ({"method": "sra"}, "sra"),
        ({"method": "histogram", "options": {"rounds": 3}}, "cannot use rounds"),
        ({"queries": ()}, "no query is asked"),
        ({"bins": {"age": {}}}, "must have edges"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_charged(fields: dict[str, Any], complaint: str) -> None:
    def planned() -> object:
        sent = request(**fields)
        return sent.selections(LOG), sent.build().noise_distributions(LOG, sent.grant())

    with pytest.raises(hc.HeadcountError, match=complaint):
        planned()


def test_queries_in_python() -> None:
    truth = plain_cells(PEOPLE)
    release = hc.query(LOG, list(STATEMENTS), epsilon="100000", bins=BINS, method="histogram")
    assert release.answers["answer"].to_pylist()[2:] == truth.reshape(GRID.shape).sum(axis=(0, 2)).tolist()
    rows = halves(4)
    release = hc.query(LOG, rows, epsilon="100000", bins=BINS)
    assert np.allclose(release.answers["answer"].to_numpy(), rows.astype(int) @ truth, atol=3)
    assert release.request["query"]["rows_digest"]
    grouped = hc.query(LOG, STATEMENTS[0], epsilon="1", bins=BINS, groups="household", max_group=4)
    assert grouped.guarantee.unit == GROUP_UNIT


@pytest.fixture
def ledger(tmp_path: Path) -> hc.Ledger:
    new_ledger = hc.Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    new_ledger.create("town", epsilon="2")
    return new_ledger


def test_a_repeated_query_is_charged_once(ledger: hc.Ledger, tmp_path: Path) -> None:
    ask: dict[str, Any] = {
        "epsilon": "0.5", "bins": BINS, "groups": "household", "max_group": 3, "ledger": ledger, "dataset": "town",
    }  # fmt: skip
    first = hc.query(LOG, STATEMENTS, **ask)
    first.save(tmp_path / "first")
    assert ledger.show("town").left == Decimal("1.5")
    again = hc.query(LOG, STATEMENTS, **ask)
    assert again.answers.equals(first.answers)
    assert ledger.show("town").left == Decimal("1.5")
    hc.query(LOG, STATEMENTS[:1], **ask)
    assert ledger.show("town").left == 1


class Unreadable:
    """A source whose rows must not be looked at."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def batches(self, columns: Any) -> Any:
        raise AssertionError("the data was read")


def unreadable() -> EventLog:
    from dataclasses import replace

    return replace(LOG, source=Unreadable(LOG.source))


def test_a_session_is_reserved_whole_before_anything_is_read(ledger: hc.Ledger) -> None:
    with pytest.raises(RefusedError):
        hc.QuerySession(unreadable(), epsilon="3", bins=BINS, ledger=ledger, dataset="town")
    with pytest.raises(UsageError, match="go together"):
        hc.QuerySession(unreadable(), epsilon="1", bins=BINS, groups="household", ledger=ledger, dataset="town")
    assert ledger.show("town").left == 2
    with hc.QuerySession(LOG, epsilon="1.25", bins=BINS, ledger=ledger, dataset="town") as session:
        assert ledger.show("town").left == Decimal("0.75")
        for _ in range(50):
            session.ask(STATEMENTS[0])
        assert ledger.show("town").left == Decimal("0.75"), "answers cost nothing more"
    with pytest.raises(RefusedError):
        hc.QuerySession(unreadable(), epsilon="1.25", bins=BINS, ledger=ledger, dataset="town")


def test_a_session_that_fails_once_data_is_read_tells_nothing_and_stays_charged(ledger: hc.Ledger) -> None:
    with pytest.raises(hc.HeadcountError, match="what was wrong is not told"):
        hc.QuerySession(unreadable(), epsilon="1", bins=BINS, ledger=ledger, dataset="town")
    assert ledger.show("town").left == 1


def test_a_session_reports_the_cost_and_error_of_every_answer(tmp_path: Path) -> None:
    truth = plain_cells(PEOPLE)
    session = hc.QuerySession(LOG, epsilon="50", bins=BINS, groups="household", max_group=2, updates=3)
    assert session.guarantee.group == "household"
    assert session.updates == session.left == 3
    rows = halves(30)
    for row in rows:
        reply = session.ask(row)
        assert reply.cost == (reply.how == "measured")
        assert reply.left == session.left
        if reply.width is None:
            assert reply.how == "unchecked"
            assert reply.low is reply.high is None
            assert session.left == 0
    jobs = session.ask_all(STATEMENTS[2])
    assert len(jobs) == 4
    with pytest.raises(UsageError, match="several counts"):
        session.ask(STATEMENTS[2])
    release = session.release()
    assert release.answers.num_rows == 38
    assert release.answers["query"].to_pylist()[29:32] == ["row 30", STATEMENTS[2], STATEMENTS[2]]
    assert release.answers["how"].to_pylist().count("measured") == 3 - session.left
    assert release.guarantee == session.guarantee
    loaded = hc.load(session.save(tmp_path / "said"))
    assert loaded.answers.equals(release.answers)
    assert loaded.request["session"]["updates"] == 3
    assert truth.sum() == 2_000
    session.close()
    assert session.ask(rows[0]).how == "unchecked"
    assert session.left == 0


def test_a_table_that_is_far_off_is_mended() -> None:
    """All people of one cell: a table of single columns knows that already; two cells crosswise it does not."""
    crossed = pa.table(
        {
            "id": range(4_000),
            "age": [5, 90] * 2_000,
            "job": ["cook", "clerk"] * 2_000,
            "hours": [5, 75] * 2_000,
        }
    )
    log = log_of(crossed)
    statement = "SELECT COUNT(*) FROM people WHERE age < 12 AND job = 'cook' AND hours < 10"
    with hc.QuerySession(log, epsilon="1", bins=BINS, groups=None, updates=2, expected=10) as session:
        session._mediator.table = np.full(GRID.cells, session._mediator.total / GRID.cells)
        first = session.ask(statement)
        assert first.how == "measured"
        assert abs(first.answer - 2_000) < 500
        later = session.ask(statement)
        assert abs(later.answer - 2_000) < 700


def test_sessions_are_requests_too() -> None:
    sent = SessionRequest(epsilon=Decimal(1), bins=BINS, updates=3)
    assert SessionRequest.model_validate_json(sent.model_dump_json()) == sent
    assert sent.cells(LOG) == {"answers": 0}
