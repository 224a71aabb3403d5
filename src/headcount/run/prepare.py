"""A request with its log, validated and built once, before anything is reserved or read.

Planning, charging and running all work on this one value, so they cannot come to different conclusions.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from headcount.accounting.budget import Price
from headcount.accounting.guarantee import Guarantee
from headcount.accounting.noise_distributions import Law
from headcount.errors import GrantError, NotSelectedError, UsageError
from headcount.events.log import EventLog
from headcount.events.sources.databases.database import DatabaseSource
from headcount.events.sources.row_as_user import beneath
from headcount.events.sources.source import FileSource, assumptions_of
from headcount.ledger.charges import plain
from headcount.methods.method import CAME_LATER, Method, Staged
from headcount.methods.partition_selection.plan import Selections, promised, split_among, stand_in
from headcount.methods.request import Spending
from headcount.noise.stages import Stages


@dataclass(frozen=True)
class Prepared:
    """What is asked of which log: the method, its promise, its noise as far as it is known, and its tables.

    Where items or contexts are selected first, how many cells there will be may not be known.
    """

    request: Spending
    log: EventLog
    method: Method
    guarantee: Guarantee
    cells: Mapping[str, int | None]
    columns: Mapping[str, tuple[str, ...]]
    laws: Mapping[str, Law]
    selections: Selections = ()
    selecting: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """How that will be selected which has no public list, as plain data."""
    notes: tuple[str, ...] = ()
    """What else is known without data, in sentences."""

    def identity(self) -> tuple[str, str]:
        """Return what makes two requests the same: everything that shapes the release, and the catalogue.

        Defaults are part of it: should a later version choose others, it is another request.
        """
        log, request = self.log, self.request
        asked = {
            "command": request.command,
            "events": {**log.describe(), **_text(log)},
            "epsilon": request.epsilon,
            "delta": request.delta,
            "selection": None,
            **{each.of.stage: _fields(each) for each in self.selections},
            "method": self.method.name,
            "parameters": _fields(self.method),
            "tables": {name: list(columns) for name, columns in self.columns.items()},
        }
        catalogue = log.catalogue.digest if log.has_catalogue else "selected" if log.selects else "none"
        return json.dumps(_plain(asked), sort_keys=True), catalogue

    def for_selected(self, log: EventLog) -> Method:
        """Return the method for a log with what was selected: a ranking may be shorter then."""
        return self.request.build_for(len(log.catalogue.ids)) if self.log.selects else self.method

    def stages(self, price: Price) -> Stages:
        """Return what the method does at a price: with made-up items, where that hangs on what is selected."""
        try:
            return self.method.stages(self.log, price)
        except NotSelectedError:
            made_up = stand_in(self.log, self.selections)
            return self.for_selected(made_up).stages(made_up, price)


def prepared(request: Spending, log: EventLog) -> Prepared:
    """Validate a request for a log, without reading an event; a δ that the method cannot use is refused."""
    try:
        return _prepared(request, log)
    except GrantError as error:  # of a plan, so nothing is spent: the caller can correct the amounts
        raise UsageError(error.problem, remedy=error.remedy) from error


def _prepared(request: Spending, log: EventLog) -> Prepared:
    request = request.for_log(log)
    selections, grant, taken = request.selections(log), request.grant(), assumptions_of(log.source)
    method = request.build(selecting=bool(selections))
    if not selections:
        laws = method.laws(log, grant)
        columns, guarantee = request.columns(log), method.guarantee(grant).assuming(*taken)
        made = Prepared(request, log, method, guarantee, request.cells(log), columns, laws)
        return dataclasses.replace(made, notes=method.notes(log, grant)) if isinstance(method, Staged) else made
    parts, rest = split_among(selections, grant.price)
    columns = request.columns(log)
    guarantee = promised(selections, method.guarantee(rest), log, grant).assuming(*taken)
    how = {each.of.stage: each.plan(part) for each, part in zip(selections, parts, strict=True)}
    made = Prepared(request, log, method, guarantee, _cells(request, log), columns, {}, selections, how)
    try:
        return dataclasses.replace(made, laws=method.laws(log, rest))
    except NotSelectedError:
        # what the noise will be hangs on what is selected: refuse what could be drawn for none
        made_up = stand_in(log, selections)
        made.for_selected(made_up).laws(made_up, rest)
        return made


def _cells(request: Spending, log: EventLog) -> dict[str, int | None]:
    """Return how many numbers each table will hold, as far as it is known before anything is selected."""
    unknown: dict[str, int | None] = dict.fromkeys(request.columns(log))
    if log.selects:  # a ranking of fewer items than it has places for is shorter
        return unknown
    try:
        return dict(request.cells(log))
    except NotSelectedError:
        return unknown


def _text(log: EventLog) -> dict[str, Any]:
    """Return how a source is read: another delimiter, or another query, makes another release."""
    source = beneath(log.source)
    if isinstance(source, DatabaseSource) and source.asked.digest is not None:
        return {"query": source.asked.digest}
    if not isinstance(source, FileSource) or source.format != "csv":
        return {}
    return {"text": {name: value for name, value in _fields(source.text).items() if name != "format"}}


def _fields(value: Any) -> dict[str, Any]:
    """Return what a value holds, as ledgers know it: not what came later and is left out, but what is gone."""
    fields = {each: getattr(value, each.name) for each in dataclasses.fields(value)}
    there = {
        each.name: held for each, held in fields.items() if each.metadata != CAME_LATER or held != each.default
    }
    return there | dict(getattr(value, "gone", {}))


def _plain(value: Any) -> Any:
    """Write numbers in one way only."""
    if isinstance(value, Decimal):
        return plain(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)
