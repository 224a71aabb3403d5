"""All that an engine can measure of a log, in one table: each gives the cells of a sum over people.

``rows`` of an engine (the histories that DPSense looks at) are no sum, and are not here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

from headcount.bounds import (
    EVERYONE,
    UNDRAWN,
    Activity,
    Among,
    Bound,
    Bounded,
    By,
    Cells,
    CountBound,
    CountTable,
    Departures,
    FixedRange,
    Likings,
    Look,
    Marginals,
    Noisy,
    Norm,
    Offsets,
    Pairs,
    People,
    PersonGroups,
    PersonTotals,
    PersonValues,
    Pick,
    Raters,
    Sample,
    SampledPairs,
    SampleUsers,
    Scale,
    Shares,
    Spread,
    Support,
    Taggers,
    TagMarginals,
    TagPairs,
    TagWeights,
    ValueGrid,
    Variety,
)
from headcount.engines.engine import Engine
from headcount.events.grid import Grid
from headcount.events.log import EventLog, read_events
from headcount.events.selection_targets import CONTEXTS
from headcount.events.tag_log import read_tags
from headcount.events.user_table import read_people
from tests.contracts.rows.raw_files import COLUMNS, Format
from tests.support.small_logs import LAW

Sums = dict[Any, int]
Kind = Literal["counts", "select", "totals", "ratings", "people", "tags"]
"""What a log is read for."""

ITEMS = ("tea", "rye", "oat")
PLACES = ("F", "M")
SECRET = b"additive, always"


@dataclass(frozen=True)
class Measurement:
    """What is measured, of which kind of log, read with which options."""

    name: str
    kind: Kind
    of: Callable[[Engine, EventLog, bytes], Sums]
    options: Mapping[str, Any] = field(default_factory=dict)

    def on(self, engine: Engine, log: EventLog, secret: bytes = SECRET) -> Sums:
        """Measure a log; cells of zero are left out, so that sparse and dense ones compare alike."""
        return {cell: value for cell, value in self.of(engine, log, secret).items() if value}


def plus(one: Sums, other: Sums) -> Sums:
    """Add two measurements."""
    both = {cell: one.get(cell, 0) + other.get(cell, 0) for cell in one | other}
    return {cell: value for cell, value in both.items() if value}


def opened(kind: Kind, events: Any, raw: Format, options: Mapping[str, Any]) -> EventLog:
    """Describe a log of raw rows, read for a kind of measurement."""
    said = {**raw.options, **called(options, raw)}
    user, item, place = (raw.column(name) for name in ("user", "item", "place"))
    if kind == "people":
        return read_people(events, user=user, **said)
    if kind == "tags":
        resources = said.pop("items", ITEMS)
        return read_tags(
            events, user=user, resource=item, tag=place, resources=resources, vocabulary=PLACES, **said
        )
    if kind == "select":
        return read_events(events, user=user, item=item, **{"select_items": "items" not in said, **said})
    if kind in ("totals", "ratings"):
        said = {"value": raw.column("stars"), "value_range": "1,5", **said}
    return read_events(events, user=user, item=item, **{"items": ITEMS, **said})


def called(options: Mapping[str, Any], raw: Format) -> dict[str, Any]:
    """Name columns as the file does, which numbers them if it has no header."""
    if raw.header:
        return dict(options)
    naming = ("context", "time", "times", "value", "where")
    words = re.compile(rf"\b({'|'.join(COLUMNS)})\b")
    return {
        name: words.sub(lambda found: raw.column(found[1]), value) if name in naming else value
        for name, value in options.items()
    }


def _dense(name: str, bounded: Bounded) -> Sums:
    return {(name, cell): value for cell, value in enumerate(bounded.sensitive_values.ravel().tolist())}


def _count(bound: CountBound, engine: Engine, log: EventLog, secret: bytes) -> Sums:
    counts = engine.measure(log, bound, secret)
    return _dense("item", counts.items) | _dense("edge", counts.edges)


def _values(bound: Bound[Bounded], engine: Engine, log: EventLog, secret: bytes) -> Sums:
    return _dense("value", engine.measure(log, bound, secret))


def _activity(table: CountTable, engine: Engine, log: EventLog, secret: bytes) -> Sums:
    return _values(Activity(table, 4), engine, log, secret)


def _shared(table: CountTable, norm: Norm, engine: Engine, log: EventLog, secret: bytes) -> Sums:
    columns = len(log.catalogue.ids) * (1 if table == "items" else log.width)
    above = 0 if log.context_of == "user" else 1  # of one context, few have more than one record
    return _values(Shares(table, np.arange(columns) % 2, above, norm, most=11), engine, log, secret)


def _sparse(table: CountTable, engine: Engine, log: EventLog, secret: bytes) -> Sums:
    found = engine.measure(log, People(table), secret)
    return dict(zip(found.sensitive_columns.tolist(), found.sensitive_people.tolist(), strict=True))


def _support(engine: Engine, log: EventLog, secret: bytes) -> Sums:
    found = engine.measure(log, Support(2), secret)
    ids = found.sensitive_ids.to_pylist()
    assert len(set(ids)) == len(ids), "an item comes up twice"
    return dict(zip(ids, found.sensitive_people.tolist(), strict=True))


def _spread(bound: Spread, engine: Engine, log: EventLog, secret: bytes) -> Sums:
    found = engine.measure(log, bound, secret)
    return dict(zip(found.sensitive_ids.to_pylist(), found.sensitive_weights.tolist(), strict=True))


def _by_context(
    of: Callable[[Engine, EventLog, bytes], Sums], engine: Engine, log: EventLog, secret: bytes
) -> Sums:
    return of(engine, CONTEXTS.as_items(log), secret)


def _totals(engine: Engine, log: EventLog, _: bytes) -> Sums:
    found = engine.measure(log, PersonTotals(3, FixedRange(64, 320, 64) if log.roles.value else None), UNDRAWN)
    sums = {} if found.distances is None else _dense("sum", found.distances)
    return _dense("people", found.users) | _dense("records", found.records) | sums


def _weighed(by: By | None, engine: Engine, log: EventLog, _: bytes) -> Sums:
    grid = ValueGrid((1.5, 2.5, 4.0)) if log.roles.value else ValueGrid()
    bounds: dict[str, Bound[Bounded]] = {"weight": PersonValues(3, grid, by)}
    if by is not None:
        bounds["people"] = PersonGroups(1, by)
    found = [_dense(name, engine.measure(log, bound, UNDRAWN)) for name, bound in bounds.items()]
    return {cell: value for each in found for cell, value in each.items()}


def _pairs(norm: Norm, offsets: bool, engine: Engine, log: EventLog, _: bytes) -> Sums:
    places = np.arange(3)
    bound = Pairs(2, norm, places, 100 * (places + 20) if offsets else None)
    return _dense("pair", engine.measure(log, bound, UNDRAWN))


def _likings(engine: Engine, log: EventLog, _: bytes) -> Sums:
    places = np.arange(3)
    factors = np.array([[700, 20], [0, -900], [-300, 400]])
    return _dense("liking", engine.measure(log, Likings(places, factors, 100 * (places + 20)), UNDRAWN))


def _cells(other: bool, groups: bool, engine: Engine, log: EventLog, secret: bytes) -> Sums:
    return _dense("cell", engine.measure(log, _in_cells(other, groups, log), secret))


def _marginals(groups: bool, engine: Engine, log: EventLog, secret: bytes) -> Sums:
    bound = Marginals(_in_cells(True, groups, log), ((0,), (1,), (0, 1)))
    found = engine.measure(log, bound, secret).tables
    return {cell: value for place, each in enumerate(found) for cell, value in _dense(f"{place}", each).items()}


def _in_cells(other: bool, groups: bool, log: EventLog) -> Cells:
    def called(name: str) -> str:  # a file without a header numbers its columns
        return name if log.roles.user == "user" else str(COLUMNS.index(name) + 1)

    places = {"values": list(PLACES), **({"other": True} if other else {})}
    grid = Grid.of({called("age"): {"edges": [0, 18, 65, 120]}, called("place"): places})
    return Cells(grid, called("home"), 2, 2) if groups else Cells(grid, None, 2)


def _looked(norm: Norm, engine: Engine, log: EventLog, secret: bytes) -> Sums:
    bound = Look(Shares("items", np.arange(3) % 2, 2, norm), _SOME, (1, 2, 5), (1, 2, 4))
    found = engine.measure(log, bound, secret)
    parts = {"shares": found.shares, "people": found.people}
    parts |= {f"under {limit}": each for limit, each in zip(bound.limits, found.counts, strict=True)}
    return {cell: value for name, each in parts.items() for cell, value in _dense(name, each).items()}


def _tagged(norm: Norm, engine: Engine, log: EventLog, _: bytes) -> Sums:
    bounds = {
        "people": Taggers(),
        "tag": TagWeights(norm),
        "marginal": TagMarginals(norm),
        "pair": TagPairs(np.arange(3), np.arange(2), norm),
    }
    weighed = [_dense(name, engine.measure(log, bound, UNDRAWN)) for name, bound in bounds.items()]
    return {cell: value for each in weighed for cell, value in each.items()}


_CONTEXT = {"context": "place", "contexts": "F,M"}
_USERS = {**_CONTEXT, "count": "users"}
_KEPT = {**_CONTEXT, "context_of": "user"}
_REPEATED = {**_CONTEXT, "times": "many"}
_SELECTED = {"context": "place", "select_contexts": True}
_SCORES = Noisy(np.array([3, 9, 3]), LAW)
_SOME = Among(np.array([2, 0]))


def _counted(name: str, bound: CountBound, options: Mapping[str, Any]) -> Measurement:
    return Measurement(name, "counts", partial(_count, bound), options)


MEASUREMENTS: Mapping[str, Measurement] = {
    each.name: each
    for each in (
        _counted("sample", Sample(2), _CONTEXT),
        _counted("sample, users", Sample(2), _USERS),
        _counted("sample, context of user", Sample(2), _KEPT),
        _counted("sample, times", Sample(3), _REPEATED),
        _counted("sample, no context", Sample(2), {}),
        _counted("users by lot", SampleUsers(2, EVERYONE // 2), _CONTEXT),
        _counted("users by lot, users", SampleUsers(2, EVERYONE // 2), _USERS),
        _counted("scale", Scale(2), _CONTEXT),
        _counted("scale, apart", Scale(2, apart=True), _REPEATED),
        _counted("scale, roots", Scale(2, norm="l2"), _USERS),
        _counted("scale, roots of squares", Scale(2, norm="l2", apart=True), _REPEATED),
        _counted("scale, among", Scale(1, apart=True, among=_SOME), _REPEATED),
        _counted("scale, among, users", Scale(1, apart=True, among=_SOME), {**_USERS, "context_of": "user"}),
        _counted("pick", Pick(2, _SCORES), _CONTEXT),
        _counted("pick, users", Pick(2, _SCORES), _USERS),
        *(
            Measurement(f"{name} of {table}{words}", "counts", partial(verb, table), options)
            for name, verb in (("activity", _activity), ("sparse", _sparse))
            for table in ("items", "edges")
            for words, options in (("", _CONTEXT), (", users", _USERS), (", context of user", _KEPT))
        ),
        Measurement("activity in ranges", "counts", partial(_values, Activity("items", 9, ends=(1, 3))), _USERS),
        Measurement("activity in squares", "counts", partial(_values, Activity("items", 20, "l2")), _REPEATED),
        *(
            Measurement(f"shares of {table}, {norm}{words}", "counts", partial(_shared, table, norm), options)
            for table in ("items", "edges")
            for norm in ("l1", "l2")
            for words, options in ((", times", _REPEATED), (", users", _USERS), (", context of user", _KEPT))
        ),
        Measurement("activity among", "counts", partial(_values, Activity("edges", 4, among=_SOME)), _USERS),
        *(
            Measurement(f"look, {norm}{words}", "counts", partial(_looked, norm), options)
            for norm in ("l1", "l2")
            for words, options in ((", times", _REPEATED), (", users", _USERS))
        ),
        Measurement("support", "select", _support),
        Measurement("variety", "select", partial(_values, Variety())),
        Measurement("spread, shares", "select", partial(_spread, Spread("shares"))),
        Measurement("spread, roots", "select", partial(_spread, Spread("roots", 2, ((1, 40_000), (2, 36_000))))),
        Measurement("spread, one", "select", partial(_spread, Spread("one"))),
        Measurement("support, context of user", "select", _support, _KEPT),
        Measurement("support of contexts", "select", partial(_by_context, _support), _SELECTED),
        Measurement(
            "spread of contexts of listed items",
            "select",
            partial(_by_context, partial(_spread, Spread("shares"))),
            {**_SELECTED, "items": ITEMS},
        ),
        Measurement("totals", "totals", _totals),
        Measurement("totals, times", "totals", _totals, {"times": "many"}),
        Measurement("totals, no catalogue", "totals", _totals, {"items": None}),
        Measurement("totals, no values", "counts", _totals, {}),
        Measurement("values", "totals", partial(_weighed, None), {"items": None, "times": "many"}),
        Measurement("values of items", "totals", partial(_weighed, "items")),
        Measurement("values of contexts", "totals", partial(_weighed, "contexts"), _REPEATED),
        Measurement("records of contexts", "counts", partial(_weighed, "contexts"), _CONTEXT),
        Measurement("raters", "ratings", partial(_values, Raters())),
        *(Measurement(f"offsets, {norm}", "ratings", partial(_values, Offsets(3, norm))) for norm in ("l1", "l2")),
        *(Measurement(f"pairs, {norm}", "ratings", partial(_pairs, norm, True)) for norm in ("l1", "l2")),
        Measurement("likings", "ratings", _likings),
        Measurement("pairs without ratings", "counts", partial(_pairs, "l2", False)),
        Measurement("sampled pairs", "counts", partial(_values, SampledPairs(Sample(2), np.arange(3))), _REPEATED),
        Measurement(
            "picked pairs", "counts", partial(_values, SampledPairs(Pick(2, _SCORES), np.arange(3))), _USERS
        ),
        Measurement(
            "departures", "counts", partial(_values, Departures(np.arange(3), np.array([5, 2, 0]))), _REPEATED
        ),
        Measurement("cells", "people", partial(_cells, False, False)),
        Measurement("cells, groups", "people", partial(_cells, False, True)),
        Measurement("cells, groups, other", "people", partial(_cells, True, True)),
        Measurement("marginals", "people", partial(_marginals, False)),
        Measurement("marginals, groups", "people", partial(_marginals, True)),
        *(Measurement(f"tags, {norm}", "tags", partial(_tagged, norm)) for norm in ("l1", "l2")),
    )
}
