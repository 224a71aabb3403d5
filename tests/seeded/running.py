"""Run a recorded case and write its outcome in canonical form.

Whatever changes inside, this file alone is adapted. What it records may not change.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from operator import mul
from typing import Any, TypeVar
from unittest import mock

import pyarrow as pa

from headcount.accounting.guarantee import Guarantee, Standing
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.errors import HeadcountError, NotSelectedError
from headcount.events.log import EventLog, read_events
from headcount.events.tag_log import read_tags
from headcount.events.user_table import read_people
from headcount.methods.counts.request import ReleaseRequest
from headcount.methods.partition_selection.plan import split_among
from headcount.methods.queries.request import QueryRequest, SessionRequest
from headcount.methods.rankings import top_k
from headcount.methods.rankings.request import RankRequest
from headcount.methods.recommender.request import RecommenderRequest
from headcount.methods.registry import method_names
from headcount.methods.request import ChargedRequest, request_of
from headcount.methods.tags.request import TagsRequest
from headcount.noise import SeededNoise
from headcount.noise.stages import split_among_stages
from headcount.releases.release import Release
from headcount.run import query_session
from headcount.run.curator import Curator
from headcount.run.prepare import prepare_request
from tests.reference.engine import ReferenceEngine
from tests.seeded import crowds
from tests.seeded.cases import Case

ENGINES: Mapping[str, Callable[[], Engine]] = {
    "local": lambda: LocalEngine(threads=1),
    "reference": ReferenceEngine,
}

REQUESTS: Mapping[str, type[ChargedRequest]] = {
    "release": ReleaseRequest,
    "rank": RankRequest,
    "neighbours": RecommenderRequest,
    "tags": TagsRequest,
    "query": QueryRequest,
    "session": SessionRequest,
}

Written = Callable[[str], str]
Act = TypeVar("Act", bound=Callable[..., dict[str, Any]])

SHOWN = 3
"""So many rows of each table are recorded as they are, for human eyes; the others by their digest."""


class Foreseen(SeededNoise):
    """A seeded source that a curator takes: nothing of it leaves the tests."""

    is_private = True


def methods() -> set[str]:
    """Return the names of all methods of all families."""
    return set(method_names())


def _or_refused(act: Act) -> Act:
    """Let what is refused come out as the sentence that says why."""

    @functools.wraps(act)
    def tried(*given: Any, **more: Any) -> dict[str, Any]:
        try:
            return act(*given, **more)
        except HeadcountError as error:
            return {"refused": str(error)}

    return tried  # type: ignore[return-value]


@_or_refused
def planned(case: Case, written: Written | None = None) -> dict[str, Any]:
    """Return what is known without data: the plan, the price, its parts, and what makes the request the same.

    Long texts are ``written`` as their digests.
    """
    written = written or digest
    with _as_requested(case) as (request, log):
        guarantee, plan = request.guarantee(), None
        if not isinstance(request, SessionRequest):
            prepared_plan = Curator().plan(prepare_request(request, log))
            guarantee = prepared_plan.guarantee
            plan = {
                name: value
                for name, value in prepared_plan.to_json().items()
                if name not in ("guarantee", "ledger")
            }
        return _canonical_parts(
            {
                "guarantee": guarantee.to_json(),
                "plan": plan,
                "cost": _charge(request, log, guarantee),
                "stages": _stages(request, log),
                "identity": [written(part) for part in prepare_request(request, log).identity()],
            }
        )


@_or_refused
def released(case: Case, engine: str, written: Written | None = None) -> dict[str, Any]:
    """Run a case; return everything that is promised, told and released."""
    written = written or digest
    release = release_of(case, engine)
    described = {name: value for name, value in release.to_json().items() if name != "created"}
    return _canonical_parts(
        {
            "noise": described["noise"],
            "tables": {name: _shown(table, written) for name, table in release.tables.items()},
            "description": written(json.dumps(canonical(described), sort_keys=True, ensure_ascii=False)),
            "explained": written(release.explain()),
        }
    )


def release_of(case: Case, engine: str) -> Release:
    """Run a case, and return the release itself."""
    noise = Foreseen(case.seed)
    with _as_requested(case) as (request, log):
        if isinstance(request, SessionRequest):
            return _session(case, log, noise)
        curator = Curator(ENGINES[engine](), noise)
        return curator.run(curator.prepare(request, log))


@contextlib.contextmanager
def _as_requested(case: Case) -> Iterator[tuple[ChargedRequest, EventLog]]:
    """Give the request and the log of a case."""
    request = request_of(REQUESTS[case.command], **case.words)
    log = _log(case.kind, case.people, json.dumps(case.reading, sort_keys=True))
    with mock.patch.object(top_k, "MANY_CELLS", case.many_cells or top_k.MANY_CELLS):
        yield request.for_log(log), log


@functools.cache
def _log(kind: str, people: int, reading: str) -> EventLog:
    words = json.loads(reading)
    if kind == "tags":
        table = _table(crowds.tags(people), crowds.TAG_COLUMNS)
        lists: dict[str, Any] = {"resources": crowds.RESOURCES, "vocabulary": crowds.WORDS}
        return read_tags(table, user="user", resource="resource", tag="tag", **lists, **words)
    if kind == "people":
        return read_people(_table(crowds.town(people), crowds.USER_COLUMNS), user="id", **words)
    return read_events(_table(crowds.events(people), crowds.EVENT_COLUMNS), **{"user": "user", **words})


def _table(rows: Sequence[crowds.Row], names: Sequence[str]) -> pa.Table:
    numbers = {
        "times": pa.int64(),
        "stars": pa.float64(),
        "number": pa.int64(),
        "person": pa.int64(),
        "age": pa.int64(),
        "hours": pa.int64(),
    }
    columns = zip(*rows, strict=True) if rows else [() for _ in names]
    return pa.table(
        {
            name: pa.array(column, numbers.get(name, pa.string()))
            for name, column in zip(names, columns, strict=True)
        }
    )


def _charge(request: ChargedRequest, log: EventLog, guarantee: Guarantee) -> Any:
    if guarantee.standing is Standing.CLAIMED:
        return None
    return prepare_request(request, log).charge.to_json()


def _stages(request: ChargedRequest, log: EventLog) -> Any:
    """Return how a method splits its price; None where that hangs on the items to be selected."""
    selections, price = request.selections(log), request.grant().cost
    if selections:
        _, price = split_among(selections, price)
    method = request.build(selecting=bool(selections))
    try:
        parts = split_among_stages(method.stages(log, price), price)
    except NotSelectedError:
        return None
    return {name: [part.epsilon, part.delta, part.share_of_rho] for name, part in parts.items()}


def _session(case: Case, log: EventLog, noise: Foreseen) -> Release:
    """Hold a session: each question is made of the answer before."""
    with (
        mock.patch.object(query_session, "OperatingSystemNoise", return_value=noise),
        query_session.QuerySession(log, **case.words) as session,
    ):
        answer = 0.0
        for _ in range(12):
            place = int(abs(answer)) % 8
            reply = session.ask(
                f"SELECT COUNT(*) FROM people WHERE age >= {12 * place} AND hours < {40 + place % 4 * 10}"
            )
            answer = 7 * reply.answer + 3 + reply.left
        session.ask_all("SELECT COUNT(*) FROM people GROUP BY job")
        return session.release()


def _shown(table: pa.Table, written: Written) -> dict[str, Any]:
    """Return a table's columns and first rows, and the digest of all of them."""
    columns = {
        name: canonical(column.to_pylist()) for name, column in zip(table.column_names, table.columns, strict=True)
    }
    kinds = {field.name: str(field.type) for field in table.schema}
    return {
        "columns": kinds,
        "rows": table.num_rows,
        "values": {name: traced(values, written) for name, values in columns.items()},
        "first": {name: values[:SHOWN] for name, values in columns.items()},
    }


def traced(values: list[Any], written: Written) -> list[Any]:
    """Return what tells a column from another: of floats sums with weights, since their last digits hang on the
    processor, and of all else what is ``written`` of it.

    >>> traced([1.5, None, [0.25]], str)
    ['[0.0, null, [0.0]]', 1.75, 13.75]
    """
    floats: list[float] = []

    def without(value: Any) -> Any:
        if isinstance(value, list):
            return [without(entry) for entry in value]
        if isinstance(value, float) and math.isfinite(value):
            floats.append(value)
            return 0.0
        return value

    rest = written(json.dumps(without(values)))
    if not floats:
        return [rest]
    weights = (1 + (at * 11 + at * at * 37) % 101 for at in range(len(floats)))
    return [rest, math.fsum(map(abs, floats)), math.fsum(map(mul, floats, weights))]


def canonical(value: Any) -> Any:
    """Write a value in one way only: floats with nine digits, exact amounts as they are."""
    if isinstance(value, float):
        return float(f"{value + 0.0:.9g}")
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    if isinstance(value, Mapping):
        return {str(key): canonical(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [canonical(entry) for entry in value]
    return value


def _canonical_parts(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: canonical(entry) for name, entry in parts.items()}


def digest(text: str) -> str:
    """Return a short digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
