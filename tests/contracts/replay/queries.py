"""Replay cases of every proven query method with every option, and of query sessions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.methods.queries import FAMILY
from headcount.methods.queries.auto import is_above_noise, measurement_option
from headcount.methods.queries.request import QueryRequest
from headcount.methods.request import request_of
from headcount.noise.stages import split_among_stages
from tests.contracts.replay import user_crowds
from tests.contracts.replay.case import Case, Reads
from tests.contracts.replay.counts import uneven

STATEMENTS = (
    "SELECT COUNT(*) FROM people",
    "SELECT COUNT(*) FROM people WHERE age >= 60",
    "SELECT COUNT(*) FROM people WHERE job = 'cook' AND hours < 40",
    "SELECT COUNT(*) FROM people WHERE age < 48 OR hours >= 70",
    "SELECT COUNT(*) FROM people GROUP BY job",
)

QUERY_VALUES: Mapping[str, Sequence[Any]] = {
    "consistent": (True,),
    "rounds": (0, 3),
    "updates": (1, 4),
    "expected": (2,),
    "synthetic": (7,),
    "shares": ("uneven",),
}
"""Other values of every parameter that a method of queries has."""

QUERY_STAGES: Mapping[str, Sequence[str]] = {
    "histogram": ("cells",),
    "residuals": ("contrasts",),
    "pairs": ("columns", "scores", "pairs", "error"),
    "mwem": ("total", "start", "rounds", "error"),
    "pmw": ("total", "start", "tests", "answers"),
}


def query_cases(name: str) -> Iterator[Case]:
    """Yield a method of queries with all its options, with and without δ."""
    method = FAMILY.kind(name)
    deltas = (None, "1e-6") if getattr(method, "takes_delta", False) else (None,)
    changes: list[dict[str, Any]] = [{}]
    for field in dataclasses.fields(method):  # type: ignore[arg-type]
        if field.name != "table_queries":
            changes += [{field.name: value} for value in QUERY_VALUES[field.name]]
    for place, options in enumerate(changes * 4):
        people, epsilon = ((0, "1"), (9, "0.1"), (40, "20"), (400, "0.5"), (400, "300"))[place % 5]
        shares = uneven(QUERY_STAGES[name]) if options == {"shares": "uneven"} else None
        chosen = {key: value for key, value in options.items() if key != "shares"}
        crowd = user_crowds.town(people, place, correlated=place % 2 == 0)
        words: dict[str, Any] = {"max_records": 1 + place % 3}
        reading: Reads = user_crowds.town_log
        if place % 4 == 3:
            words |= {"groups": "household", "max_group": 3}
            crowd, reading = user_crowds.households(crowd), user_crowds.household_log
        words |= {
            "shares": shares,
            "options": chosen,
            "method": name,
            "queries": STATEMENTS,
            "bins": user_crowds.BINS,
        }
        for delta in deltas:
            request = request_of(QueryRequest, epsilon=epsilon, delta=delta, **words)
            yield Case("queries", name, request, crowd, reading)
    if name == "auto":
        yield from _every_choice()
    if name == "pairs":
        yield from _wide_tables()
    if name == "pmw":
        yield from _every_distance()


def _along() -> NDArray[np.bool_]:
    """Return the cells that people of a correlated town are in."""
    ages, hours = np.arange(8)[:, None, None], np.arange(8)[None, None, :]
    return np.ascontiguousarray(np.broadcast_to(ages * 3 % 8 == hours, (8, 4, 8))).ravel()


def _wide_tables() -> Iterator[Case]:
    """Yield grids that nobody could count whole, with Gaussian noise and without."""
    wide = {**user_crowds.BINS, **{name: {"from": 0, "to": 96, "bins": 96} for name in ("age", "hours")}}
    wide |= {"household": {"values": [f"h{n}" for n in range(280)], "other": True}}
    for place, (people, epsilon, delta) in enumerate(
        ((40, "20", "1e-6"), (400, "300", None), (0, "1", "1e-6"), (400, "1", "1e-6"), (400, "60", "1e-9"))
    ):
        bins = wide if place < 2 else user_crowds.BINS
        words: dict[str, Any] = {"bins": bins, "delta": delta, "max_records": 1 + place % 3, "synthetic": 5}
        crowd = user_crowds.town(people, place, correlated=True)
        request = request_of(QueryRequest, epsilon=epsilon, queries=STATEMENTS, **words)
        yield Case("queries", "pairs", request, crowd, user_crowds.town_log)


def _every_choice() -> Iterator[Case]:
    """Yield what each choice of ``auto`` is best for, and tables that are one person short of standing clear."""
    rows = np.random.default_rng(5).random((40, 256)) < 0.5
    for people, epsilon, correlated in ((600, "0.1", False), (600, "60", True), (2000, "0.1", True)):
        requested_rows = rows | _along() if correlated else rows
        request = request_of(QueryRequest, epsilon=epsilon, bins=user_crowds.BINS, rows=requested_rows)
        crowd = user_crowds.town(people, 1, correlated=correlated)
        yield Case("queries", "auto", request, crowd, user_crowds.town_log)
    for delta in (None, "1e-6"):
        request = request_of(
            QueryRequest, epsilon="1", delta=delta, bins=user_crowds.BINS, queries=STATEMENTS[-1:]
        )
        plan_choice = measurement_option(request.table_queries, request.grant().cost, delta is not None)
        price = split_among_stages(plan_choice.stages, request.grant().cost)["rest"]
        enough = next(people for people in range(9, 4000) if is_above_noise(plan_choice.plan, people, price))
        for people in (enough - 1, enough):
            yield Case("queries", "auto", request, user_crowds.town(people, 1), user_crowds.town_log)


def _every_distance() -> Iterator[Case]:
    """Yield queries that grow cell by cell: one of them is just as far off as is too far, but for one person."""
    for place, people in enumerate((88, 90, 92, 94, 95, 97, 100, 102, 105, 108, 110)):
        order = np.argsort(~_along(), kind="stable")
        rows = np.zeros((64, 256), dtype=bool)
        for size in range(64):
            rows[size, order[: size + 1]] = True
        words: dict[str, Any] = {"bins": user_crowds.BINS, "max_records": 9, "options": {"updates": 3}}
        request = request_of(QueryRequest, epsilon="80", rows=rows, method="pmw", **words)
        yield Case(
            "queries", "pmw", request, user_crowds.town(people, place, correlated=True), user_crowds.town_log
        )


def session_cases() -> Iterator[Case]:
    """Yield sessions in which every question hangs on the answers before it."""
    for place, (people, epsilon, updates) in enumerate(
        (people, epsilon, updates)
        for people in (0, 30, 400)
        for epsilon in ("0.5", "8", "300")
        for updates in (None, 1, 3)
    ):
        words: dict[str, Any] = {"epsilon": epsilon, "updates": updates, "bins": user_crowds.BINS, "expected": 9}
        crowd = user_crowds.town(people, place, correlated=True)
        reading: Reads = user_crowds.town_log
        if place % 3 == 2:
            words |= {"groups": "household", "max_group": 2, "max_records": 2}
            crowd, reading = user_crowds.households(crowd), user_crowds.household_log
        yield Case("queries", "session", words, crowd, reading)
