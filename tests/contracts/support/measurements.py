"""A table of all measurements of an engine, each as cells of a sum over users.

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
    ALL_USERS,
    NO_SECRET,
    ActivityHistogram,
    Bound,
    Bounded,
    ClassProfile,
    CountBound,
    CountTable,
    ItemSubset,
    KeepTopScored,
    Noisy,
    Norm,
    SampleRecords,
    WeightToThreshold,
)
from headcount.bounds.counts.sample_records import SampleUsers
from headcount.bounds.counts.top_item_counts import TopItemCounts
from headcount.bounds.counts.users_per_column import UsersPerColumn
from headcount.bounds.grid.marginals import Marginals
from headcount.bounds.grid.user_group_cells import GroupCells
from headcount.bounds.keys.distinct_items_sign import DistinctItemsSign
from headcount.bounds.keys.key_support import KeySupport
from headcount.bounds.keys.key_weights import KeyWeights
from headcount.bounds.ratings.centered_cooccurrence import CenteredCooccurrence
from headcount.bounds.ratings.factor_gradients import FactorGradients
from headcount.bounds.ratings.rating_bound import Raters
from headcount.bounds.ratings.rating_covariance import RatingCovariance
from headcount.bounds.ratings.rating_offsets import RatingOffsets
from headcount.bounds.ratings.sampled_item_pairs import SampledItemPairs
from headcount.bounds.tags.tag_weights import Taggers, TagMarginals, TagPairs, TagWeights
from headcount.bounds.values.user_totals import FixedRange, UserTotals
from headcount.bounds.values.value_histograms import By, UserGroups, UserValues, ValueGrid
from headcount.engines.engine import Engine
from headcount.events.grid import Grid
from headcount.events.log import EventLog, read_events
from headcount.events.selection_targets import CONTEXTS
from headcount.events.tag_log import read_tags
from headcount.events.user_table import read_people
from tests.contracts.rows.raw_files import COLUMNS, Format
from tests.reference.registry import examples
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


def plus(own: Sums, other: Sums) -> Sums:
    """Add two measurements."""
    both = {cell: own.get(cell, 0) + other.get(cell, 0) for cell in own | other}
    return {cell: value for cell, value in both.items() if value}


def opened(kind: Kind, events: Any, raw: Format, options: Mapping[str, Any]) -> EventLog:
    """Describe a log of raw rows, read for a kind of measurement."""
    options_given = {**raw.options, **called(options, raw)}
    user, item, place = (raw.column(name) for name in ("user", "item", "place"))
    if kind == "people":
        return read_people(events, user=user, **options_given)
    if kind == "tags":
        resources = options_given.pop("items", ITEMS)
        return read_tags(
            events, user=user, resource=item, tag=place, resources=resources, vocabulary=PLACES, **options_given
        )
    if kind == "select":
        return read_events(
            events, user=user, item=item, **{"select_items": "items" not in options_given, **options_given}
        )
    if kind in ("totals", "ratings"):
        options_given = {"value": raw.column("stars"), "value_range": "1,5", **options_given}
    return read_events(events, user=user, item=item, **{"items": ITEMS, **options_given})


def called(options: Mapping[str, Any], raw: Format) -> dict[str, Any]:
    """Name columns as the file does, which numbers them if it has no header."""
    if raw.header:
        return dict(options)
    naming = ("context", "time", "times", "value", "where")
    words = re.compile(rf"\b({'|'.join(COLUMNS)})\b")
    return {
        name: words.sub(lambda match: raw.column(match[1]), value) if name in naming else value
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
    return _values(ActivityHistogram(table, 4), engine, log, secret)


def _shared(table: CountTable, norm: Norm, engine: Engine, log: EventLog, secret: bytes) -> Sums:
    columns = len(log.catalogue.ids) * (1 if table == "items" else log.width)
    above = 0 if log.context_of == "user" else 1  # of one context, few have more than one record
    return _values(ClassProfile(table, np.arange(columns) % 2, above, norm, most=11), engine, log, secret)


def _sparse(table: CountTable, engine: Engine, log: EventLog, secret: bytes) -> Sums:
    measured = engine.measure(log, UsersPerColumn(table), secret)
    return dict(zip(measured.sensitive_columns.tolist(), measured.sensitive_users.tolist(), strict=True))


def _support(engine: Engine, log: EventLog, secret: bytes) -> Sums:
    measured = engine.measure(log, KeySupport(2), secret)
    ids = measured.sensitive_ids.to_pylist()
    assert len(set(ids)) == len(ids), "an item comes up twice"
    return dict(zip(ids, measured.sensitive_users.tolist(), strict=True))


def _spread(bound: KeyWeights, engine: Engine, log: EventLog, secret: bytes) -> Sums:
    measured = engine.measure(log, bound, secret)
    return dict(zip(measured.sensitive_ids.to_pylist(), measured.sensitive_weights.tolist(), strict=True))


def _by_context(
    measure_sums: Callable[[Engine, EventLog, bytes], Sums], engine: Engine, log: EventLog, secret: bytes
) -> Sums:
    return measure_sums(engine, CONTEXTS.as_items(log), secret)


def _totals(engine: Engine, log: EventLog, _: bytes) -> Sums:
    measured = engine.measure(log, UserTotals(3, FixedRange(64, 320, 64) if log.roles.value else None), NO_SECRET)
    sums = {} if measured.distances is None else _dense("sum", measured.distances)
    return _dense("people", measured.users) | _dense("records", measured.records) | sums


def _weighed(by: By | None, engine: Engine, log: EventLog, _: bytes) -> Sums:
    grid = ValueGrid((1.5, 2.5, 4.0)) if log.roles.value else ValueGrid()
    bounds: dict[str, Bound[Bounded]] = {"weight": UserValues(3, grid, by)}
    if by is not None:
        bounds["people"] = UserGroups(1, by)
    tables = [_dense(name, engine.measure(log, bound, NO_SECRET)) for name, bound in bounds.items()]
    return {cell: value for table in tables for cell, value in table.items()}


def _pairs(norm: Norm, offsets: bool, engine: Engine, log: EventLog, _: bytes) -> Sums:
    places = np.arange(3)
    bound = RatingCovariance(2, norm, places, 100 * (places + 20) if offsets else None)
    return _dense("pair", engine.measure(log, bound, NO_SECRET))


def _likings(engine: Engine, log: EventLog, _: bytes) -> Sums:
    places = np.arange(3)
    factors = np.array([[700, 20], [0, -900], [-300, 400]])
    return _dense("liking", engine.measure(log, FactorGradients(places, factors, 100 * (places + 20)), NO_SECRET))


def _cells(other: bool, groups: bool, engine: Engine, log: EventLog, secret: bytes) -> Sums:
    return _dense("cell", engine.measure(log, _in_cells(other, groups, log), secret))


def _marginals(groups: bool, engine: Engine, log: EventLog, secret: bytes) -> Sums:
    bound = Marginals(_in_cells(True, groups, log), ((0,), (1,), (0, 1)))
    measured = engine.measure(log, bound, secret).tables
    return {
        cell: value for place, table in enumerate(measured) for cell, value in _dense(f"{place}", table).items()
    }


def _in_cells(other: bool, groups: bool, log: EventLog) -> GroupCells:
    def called(name: str) -> str:  # a file without a header numbers its columns
        return name if log.roles.user == "user" else str(COLUMNS.index(name) + 1)

    places = {"values": list(PLACES), **({"other": True} if other else {})}
    grid = Grid.from_mapping({called("age"): {"edges": [0, 18, 65, 120]}, called("place"): places})
    return GroupCells(grid, called("home"), 2, 2) if groups else GroupCells(grid, None, 2)


def _refined(norm: Norm, engine: Engine, log: EventLog, secret: bytes) -> Sums:
    bound = TopItemCounts(ClassProfile("items", np.arange(3) % 2, 2, norm), _SOME, (1, 2, 5), (1, 2, 4))
    measured = engine.measure(log, bound, secret)
    parts = {"shares": measured.shares, "people": measured.people}
    parts |= {f"under {limit}": table for limit, table in zip(bound.limits, measured.counts, strict=True)}
    return {cell: value for name, table in parts.items() for cell, value in _dense(name, table).items()}


def _tagged(norm: Norm, engine: Engine, log: EventLog, _: bytes) -> Sums:
    bounds = {
        "people": Taggers(),
        "tag": TagWeights(norm),
        "marginal": TagMarginals(norm),
        "pair": TagPairs(np.arange(3), np.arange(2), norm),
    }
    weighed = [_dense(name, engine.measure(log, bound, NO_SECRET)) for name, bound in bounds.items()]
    return {cell: value for table in weighed for cell, value in table.items()}


_CONTEXT = {"context": "place", "contexts": "F,M"}
_USERS = {**_CONTEXT, "count": "users"}
_KEPT = {**_CONTEXT, "context_of": "user"}
_REPEATED = {**_CONTEXT, "times": "many"}
_SELECTED = {"context": "place", "select_contexts": True}
_SCORES = Noisy(np.array([3, 9, 3]), LAW)
_SOME = ItemSubset(np.array([2, 0]))


def _counted(name: str, bound: CountBound, options: Mapping[str, Any]) -> Measurement:
    return Measurement(name, "counts", partial(_count, bound), options)


MEASUREMENTS: Mapping[str, Measurement] = {
    measurement.name: measurement
    for measurement in (
        _counted("sample", SampleRecords(2), _CONTEXT),
        _counted("sample, users", SampleRecords(2), _USERS),
        _counted("sample, context of user", SampleRecords(2), _KEPT),
        _counted("sample, times", SampleRecords(3), _REPEATED),
        _counted("sample, no context", SampleRecords(2), {}),
        _counted("users by lot", SampleUsers(2, ALL_USERS // 2), _CONTEXT),
        _counted("users by lot, users", SampleUsers(2, ALL_USERS // 2), _USERS),
        _counted("scale", WeightToThreshold(2), _CONTEXT),
        _counted("scale, apart", WeightToThreshold(2, apart=True), _REPEATED),
        _counted("scale, roots", WeightToThreshold(2, norm="l2"), _USERS),
        _counted("scale, roots of squares", WeightToThreshold(2, norm="l2", apart=True), _REPEATED),
        _counted("scale, among", WeightToThreshold(1, apart=True, among=_SOME), _REPEATED),
        _counted(
            "scale, among, users", WeightToThreshold(1, apart=True, among=_SOME), {**_USERS, "context_of": "user"}
        ),
        _counted("pick", KeepTopScored(2, _SCORES), _CONTEXT),
        _counted("pick, users", KeepTopScored(2, _SCORES), _USERS),
        *(
            Measurement(f"{name} of {table}{words}", "counts", partial(verb, table), options)
            for name, verb in (("activity", _activity), ("sparse", _sparse))
            for table in ("items", "edges")
            for words, options in (("", _CONTEXT), (", users", _USERS), (", context of user", _KEPT))
        ),
        Measurement(
            "activity in ranges", "counts", partial(_values, ActivityHistogram("items", 9, ends=(1, 3))), _USERS
        ),
        Measurement(
            "activity in squares", "counts", partial(_values, ActivityHistogram("items", 20, "l2")), _REPEATED
        ),
        *(
            Measurement(f"shares of {table}, {norm}{words}", "counts", partial(_shared, table, norm), options)
            for table in ("items", "edges")
            for norm in ("l1", "l2")
            for words, options in ((", times", _REPEATED), (", users", _USERS), (", context of user", _KEPT))
        ),
        Measurement(
            "activity among", "counts", partial(_values, ActivityHistogram("edges", 4, among=_SOME)), _USERS
        ),
        *(
            Measurement(f"look, {norm}{words}", "counts", partial(_refined, norm), options)
            for norm in ("l1", "l2")
            for words, options in ((", times", _REPEATED), (", users", _USERS))
        ),
        Measurement("support", "select", _support),
        Measurement("variety", "select", partial(_values, DistinctItemsSign())),
        Measurement("spread, shares", "select", partial(_spread, KeyWeights("shares"))),
        Measurement(
            "spread, roots", "select", partial(_spread, KeyWeights("roots", 2, ((1, 40_000), (2, 36_000))))
        ),
        Measurement("spread, one", "select", partial(_spread, KeyWeights("one"))),
        Measurement("support, context of user", "select", _support, _KEPT),
        Measurement("support of contexts", "select", partial(_by_context, _support), _SELECTED),
        Measurement(
            "spread of contexts of listed items",
            "select",
            partial(_by_context, partial(_spread, KeyWeights("shares"))),
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
        *(
            Measurement(f"offsets, {norm}", "ratings", partial(_values, RatingOffsets(3, norm)))
            for norm in ("l1", "l2")
        ),
        *(Measurement(f"pairs, {norm}", "ratings", partial(_pairs, norm, True)) for norm in ("l1", "l2")),
        Measurement("likings", "ratings", _likings),
        Measurement("pairs without ratings", "counts", partial(_pairs, "l2", False)),
        Measurement(
            "sampled pairs",
            "counts",
            partial(_values, SampledItemPairs(SampleRecords(2), np.arange(3))),
            _REPEATED,
        ),
        Measurement(
            "picked pairs",
            "counts",
            partial(_values, SampledItemPairs(KeepTopScored(2, _SCORES), np.arange(3))),
            _USERS,
        ),
        Measurement(
            "departures",
            "counts",
            partial(_values, CenteredCooccurrence(np.arange(3), np.array([5, 2, 0]))),
            _REPEATED,
        ),
        Measurement("cells", "people", partial(_cells, False, False)),
        Measurement("cells, groups", "people", partial(_cells, False, True)),
        Measurement("cells, groups, other", "people", partial(_cells, True, True)),
        Measurement("marginals", "people", partial(_marginals, False)),
        Measurement("marginals, groups", "people", partial(_marginals, True)),
        *(Measurement(f"tags, {norm}", "tags", partial(_tagged, norm)) for norm in ("l1", "l2")),
        *(
            Measurement(type(bound).__name__.lower(), "counts", partial(_values, bound), _REPEATED)
            for bound in examples()
        ),
    )
}
