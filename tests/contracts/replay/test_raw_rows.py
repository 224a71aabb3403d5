"""The replay contract from the raw bytes on: one person's hostile lines change nothing but that person's term."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from headcount.events.log import EventLog, read_events
from headcount.lab.audit.replay import Tape, check_replay, wrapped_noise
from headcount.methods.counts.request import ReleaseRequest
from headcount.methods.request import request_of
from headcount.releases.release import Release
from tests.support.curator_runs import ran

SUMMER = "2040-07-01T12:30:00"
ROWS_BY_USER = [{"user": f"u{n}", "item": str(n % 3), "time": SUMMER, "stars": "4"} for n in range(12)]
FIELDS = ("user", "item", "time", "stars")

HOSTILE: Mapping[str, Mapping[str, Any]] = {
    "nothing strange": {},
    "an offset": {"time": "2026-03-06T10:00:00Z"},
    "a fraction of a second": {"time": "2026-03-06T10:00:00.5"},
    "no time": {"time": "five"},
    "no number": {"stars": "five"},
    "a number that is no number": {"stars": "nan"},
    "a stray quote": {"item": '"tea'},
    "an item that is a number": {"item": 2},
    "an item that is a fraction": {"item": 2.5},
    "a row without an item": {"item": None},
}

CASES = [pytest.param(strange, kind, id=f"{strange}, {kind}") for strange in HOSTILE for kind in ("csv", "jsonl")]

REQUESTS = {
    "by hour": (
        ReleaseRequest,
        {"method": "sra", "limit": 2},
        {"context": "hour:time", "timezone": "Europe/Zurich"},
    ),
    "where": (ReleaseRequest, {"method": "sra", "limit": 2}, {"where": "stars >= 2"}),
    "totals": (ReleaseRequest, {"what": "totals", "limit": 2}, {"value": "stars", "value_range": "1,5"}),
}


@pytest.fixture(autouse=True, scope="module")
def _wrapped() -> Iterator[None]:
    with wrapped_noise():
        yield


def written(rows: list[dict[str, Any]], path: Path) -> Path:
    """Write rows as a careless program would: JSON, or text between commas that nobody quotes."""
    if path.suffix == ".jsonl":
        lines = [json.dumps(row) for row in rows]
    else:
        texts = [["" if row[name] is None else str(row[name]) for name in FIELDS] for row in rows]
        lines = [",".join(FIELDS), *(",".join(row) for row in texts)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(("strange", "kind"), CASES)
def test_a_hostile_line_affects_its_own_user_alone(strange: str, kind: str, tmp_path: Path) -> None:
    newcomer: dict[str, Any] = {"user": "new", "item": "1", "time": SUMMER, "stars": "5", **HOSTILE[strange]}
    rows = {"without": ROWS_BY_USER, "first": [newcomer, *ROWS_BY_USER], "last": [*ROWS_BY_USER, newcomer]}
    paths = {name: written(lines, tmp_path / f"{name}.{kind}") for name, lines in rows.items()}
    for request_type, fields, words in REQUESTS.values():
        request = request_of(request_type, epsilon="1", **fields)

        def run(log: EventLog, tape: Tape, request: ReleaseRequest = request) -> Release:
            return ran(request, log, noise=tape)

        def log(name: str, words: Mapping[str, Any] = words) -> EventLog:
            return read_events(paths[name], user="user", item="item", items=["0", "1", "2"], **words)

        check_replay(run, log("without"), [log("first"), log("last")], 1)
