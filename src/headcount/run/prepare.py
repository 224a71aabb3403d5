"""A validated request with its log, method, guarantee and noise, built before anything is reserved or read.

Planning, charging and running all work on this one value, so they cannot come to different conclusions.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headcount.accounting.budget import Cost
from headcount.accounting.charges import Charge, plain
from headcount.accounting.guarantee import Guarantee
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.errors import GrantError, NotSelectedError, UsageError
from headcount.events.log import EventLog
from headcount.events.sources.databases.database import DatabaseSource
from headcount.events.sources.files.file_source import FileSource
from headcount.events.sources.source import assumptions_of, underlying_source
from headcount.methods.method import OMITTED_BY_DEFAULT, Method, Staged
from headcount.methods.request import ChargedRequest
from headcount.noise.stages import Stages, charged_costs
from headcount.releases.release import Release

if TYPE_CHECKING:
    from headcount.methods.partition_selection.plan import Selections


@dataclass(frozen=True)
class Prepared:
    """What is asked of which log: the method, its promise, its noise as far as it is known, and its tables.

    Where items or contexts are selected first, how many cells there will be may not be known.
    """

    request: ChargedRequest
    log: EventLog
    method: Method
    guarantee: Guarantee
    cells: Mapping[str, int | None]
    columns: Mapping[str, tuple[str, ...]]
    noise_distributions: Mapping[str, NoiseDistribution]
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
        request_identity = {
            "command": request.command,
            "events": {**log.describe(), **_text(log)},
            "epsilon": request.epsilon,
            "delta": request.delta,
            "selection": None,
            **{selection.of.stage: _fields(selection) for selection in self.selections},
            "method": self.method.name,
            "parameters": _fields(self.method),
            "tables": {name: list(columns) for name, columns in self.columns.items()},
        }
        catalogue = log.catalogue.digest if log.has_catalogue else "selected" if log.selects else "none"
        return json.dumps(_plain(request_identity), sort_keys=True), catalogue

    @cached_property
    def charge(self) -> Charge:
        """What a ledger is charged: pure stages by their ε, Gaussian noise by its ρ.

        That can be less than the guarantee, in which the ε of all of these is simply added up.
        """
        if not self.guarantee.delta:
            return Charge.of(self.guarantee)
        budget, threshold = self.request.grant().cost, list[tuple[Decimal, Decimal]]()
        if self.selections:
            from headcount.methods.partition_selection.plan import split_among

            selecting, budget = split_among(self.selections, budget)
            threshold = [(part.epsilon, part.delta) for part in selecting]
        parts = charged_costs(self._stages(budget), budget) if budget.delta else [budget]
        composed = Charge.of_stages(
            pure=[part.epsilon for part in parts if not part.delta],
            gaussian=[(part.epsilon, part.delta, part.rho) for part in parts if part.delta],
            threshold=threshold,
        )
        whole = Charge.of(self.guarantee, rho=composed.rho, slack=composed.slack)
        return dataclasses.replace(whole, epsilon=min(whole.epsilon, composed.epsilon))

    def final_charge(self, release: Release) -> Charge | None:
        """Return what was spent if it is less than the charge: selection alone, where it found nothing."""
        if not self.selections:
            return None
        from headcount.methods.partition_selection.plan import final_charge

        return final_charge(self.selections, self.request.grant().cost, release.chosen)

    def for_selected(self, log: EventLog) -> Method:
        """Return the method for a log with what was selected: a ranking may be shorter then."""
        return self.request.adapt(self.method, len(log.catalogue.ids)) if self.log.selects else self.method

    def _stages(self, price: Cost) -> Stages:
        """Return what the method does at a price: with made-up items, where that hangs on what is selected."""
        try:
            return self.method.stages(self.log, price)
        except NotSelectedError:
            from headcount.methods.partition_selection.plan import with_placeholder_items

            placeholder_log = with_placeholder_items(self.log, self.selections)
            return self.for_selected(placeholder_log).stages(placeholder_log, price)


_RECORDED_NAMES = {"TableQueries": "Asked", "table_queries": "asked"}
"""Types and fields by their names in the request identities of ledgers: what was released stays free to repeat."""


def prepare_request(request: ChargedRequest, log: EventLog) -> Prepared:
    """Validate a request for a log, without reading an event; a δ that the method cannot use is refused."""
    try:
        return _prepare(request, log)
    except GrantError as error:  # of a plan, so nothing is spent: the caller can correct the amounts
        raise UsageError(error.problem, remedy=error.remedy) from error


def _prepare(request: ChargedRequest, log: EventLog) -> Prepared:
    request = request.for_log(log)
    selections, grant, assumptions = request.selections(log), request.grant(), assumptions_of(log.source)
    method, columns = request.build(selecting=bool(selections)), request.columns(log)
    if selections:
        return _prepare_selecting(request, log, method, selections, assumptions)
    distributions, guarantee = method.noise_distributions(log, grant), method.guarantee(grant)
    notes = method.notes(log, grant) if isinstance(method, Staged) else ()
    return Prepared(
        request,
        log,
        method,
        guarantee.assuming(*assumptions),
        request.cells(log),
        columns,
        distributions,
        notes=notes,
    )


def _prepare_selecting(
    request: ChargedRequest, log: EventLog, method: Method, selections: Selections, assumptions: Sequence[str]
) -> Prepared:
    """Validate a request that has items, contexts or tags selected before its method runs."""
    from headcount.methods.partition_selection.plan import combine_guarantees, split_among, with_placeholder_items

    grant = request.grant()
    parts, rest = split_among(selections, grant.cost)
    guarantee = combine_guarantees(selections, method.guarantee(rest), log, grant).assuming(*assumptions)
    how = {selection.of.stage: selection.plan(part) for selection, part in zip(selections, parts, strict=True)}
    cells, columns = _cells(request, log), request.columns(log)
    ready = Prepared(request, log, method, guarantee, cells, columns, {}, selections, how)
    try:
        return dataclasses.replace(ready, noise_distributions=method.noise_distributions(log, rest))
    except NotSelectedError:
        # the noise depends on what is selected: refuse what could be drawn for none
        placeholder_log = with_placeholder_items(log, selections)
        ready.for_selected(placeholder_log).noise_distributions(placeholder_log, rest)
        return ready


def _cells(request: ChargedRequest, log: EventLog) -> dict[str, int | None]:
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
    source = underlying_source(log.source)
    if isinstance(source, DatabaseSource) and source.target.digest is not None:
        return {"query": source.target.digest}
    if not isinstance(source, FileSource) or source.format != "csv":
        return {}
    return {"text": {name: value for name, value in _fields(source.text).items() if name != "format"}}


def _fields(value: Any) -> dict[str, Any]:
    """Return the fields of a value as ledgers hold them, former parameters included."""
    fields = {declared: getattr(value, declared.name) for declared in dataclasses.fields(value)}
    there = {
        _RECORDED_NAMES.get(declared.name, declared.name): held
        for declared, held in fields.items()
        if declared.metadata != OMITTED_BY_DEFAULT or held != declared.default
    }
    return there | dict(getattr(value, "former_parameters", {}))


def _plain(value: Any) -> Any:
    """Write numbers in one way only."""
    if isinstance(value, Decimal):
        return plain(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    recorded = _RECORDED_NAMES.get(type(value).__name__)
    return str(value) if recorded is None else recorded + str(value).removeprefix(type(value).__name__)
