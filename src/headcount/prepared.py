"""A request with its log, validated and built once, before anything is reserved or read.

Planning, charging and running all work on this one value, so they cannot come to different conclusions.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from headcount.errors import NotSelectedError
from headcount.events.log import EventLog
from headcount.events.own_rows import beneath
from headcount.events.readers import FileSource, assumptions_of
from headcount.events.sources.database import DatabaseSource
from headcount.guarantee import Guarantee
from headcount.ledger.accounting import plain
from headcount.method import CAME_LATER, Method, Staged
from headcount.noise_law import Law
from headcount.request import Spending
from headcount.selection import STAND_INS, Selection, stand_in


@dataclass(frozen=True)
class Prepared:
    """What is asked of which log: the method, its promise, its noise as far as it is known, and its tables.

    Where items are selected first, how many cells there will be is not known.
    """

    request: Spending
    log: EventLog
    method: Method
    guarantee: Guarantee
    cells: Mapping[str, int | None]
    columns: Mapping[str, tuple[str, ...]]
    laws: Mapping[str, Law]
    selection: Selection | None = None
    selecting: Mapping[str, Any] | None = None
    """How items will be selected, as plain data."""
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
            "selection": None if self.selection is None else _fields(self.selection),
            "method": self.method.name,
            "parameters": _fields(self.method),
            "tables": {name: list(columns) for name, columns in self.columns.items()},
        }
        catalogue = log.catalogue.digest if log.has_catalogue else "selected" if log.selects else "none"
        return json.dumps(_plain(asked), sort_keys=True), catalogue


def prepared(request: Spending, log: EventLog) -> Prepared:
    """Validate a request for a log, without reading an event."""
    request = request.for_log(log)
    selection, grant, taken = request.selection(log), request.grant(), assumptions_of(log.source)
    method = request.build(selecting=selection is not None)
    if selection is None:
        laws = method.laws(log, grant)
        columns, promised = request.columns(log), method.guarantee(grant).assuming(*taken)
        made = Prepared(request, log, method, promised, request.cells(log), columns, laws)
        return dataclasses.replace(made, notes=method.notes(log, grant)) if isinstance(method, Staged) else made
    first, rest = selection.split(grant)
    columns = request.columns(log)
    promised = selection.promised(method.guarantee(rest), log, grant).assuming(*taken)
    try:
        laws = method.laws(log, rest)
    except NotSelectedError:
        # what the noise will be hangs on the number of items: refuse what could be drawn for none
        request.build_for(STAND_INS).laws(stand_in(log), rest)
        laws = {}
    how = selection.plan(first)
    return Prepared(request, log, method, promised, dict.fromkeys(columns), columns, laws, selection, how)


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
