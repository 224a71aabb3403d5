"""The tasks of a worker process: release, plan, inspect, check, compare, audit, reproduce."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headcount.engines.local.engine import LocalEngine
from headcount.errors import HeadcountError, RefusedError, UnknownNameError, UsageError, render
from headcount.events.catalogue import check_catalogue_given
from headcount.events.log_parameters import FLAGS, READERS
from headcount.events.roles import store_path
from headcount.ledger import Ledger, Reservation
from headcount.methods.registry import FAMILIES
from headcount.methods.request import ChargedRequest, request_of
from headcount.releases.folder_integrity import folder_digest
from headcount.releases.release import Release
from headcount.reports.lab.plan_sentences import plan_in_words
from headcount.run.charge import Charging
from headcount.run.curator import Curator, Plan
from headcount.run.prepare import Prepared
from headcount.studio.forms.labels import in_words
from headcount.studio.jobs.analyst_account_view import AnalystCharging
from headcount.studio.jobs.ipc import CancellationGate, CancelledError, ServerPipe, TaskMessage, split_request
from headcount.studio.security import path_policy
from headcount.studio.settings import Settings

_CURATOR_FIELDS = ("epsilon", "per_analyst")
_EXPERIMENT_FIELDS: Mapping[str, tuple[str, ...]] = {
    "compare": ("what", "methods", "epsilon", "limits", "k", "shares", "delta", "runs", "seed"),
    "audit": ("method", "epsilon", "delta", "limit", "edges", "runs", "seed", "sequential", "replay"),
    "reproduce": ("paper", "quick", "runs", "seed"),
}
"""Settings of experiments, which are not private."""
_GUESS_ROWS = 200_000
"""Rows that are read to suggest what columns hold."""


def log_of(
    settings: Settings, dataset: Mapping[str, Any], reads: str, read_flags: Mapping[str, Any], *, items: bool
) -> Any:
    """Make the log of a dataset, as it is read for a family; what a request says of reading comes first.

    ``items`` says whether it needs a list of items, or a selection.
    """
    reader = READERS[reads]
    given = {name: value for name, value in {**dataset["flags"], **read_flags}.items() if _is_given(name, value)}
    for name in given:
        if name not in reader.names:
            raise UsageError(f"{name} is of no use here", remedy="leave it out")
    events = path_policy.event_sources(settings, dataset["source"])
    flags = path_policy.resolve_read_flags(settings, given)
    is_store = store_path(tuple(events)) is not None
    for name in reader.needed:
        if name not in flags and reads != "people" and not is_store:
            raise UsageError(f"nothing says which column is the {name}", remedy="name one")
    if "item" in reader.names and not is_store and (items or flags.get("items")):
        check_catalogue_given(flags.get("items"), select_items=flags.get("select_items", False))
    return reader.read(events, **flags)


def _is_given(name: str, value: Any) -> bool:
    return value not in (None, "", [], {}) and not (FLAGS[name].switch and name != "header" and value is False)


def request_for(settings: Settings, family: str, fields: Mapping[str, Any], *, by_curator: bool) -> ChargedRequest:
    """Make the request of a family from its fields; methods with an unproven guarantee are for curators."""
    if family not in FAMILIES:
        raise UnknownNameError.among("family", family, FAMILIES)
    resolved = path_policy.resolve_request_files(settings, fields, by_curator=by_curator)
    given = {name: value for name, value in resolved.items() if value not in (None, "")}
    if given.get("research") and not by_curator:
        raise RefusedError("methods kept for research are for curators", remedy="choose another method")
    request: ChargedRequest = request_of(FAMILIES[family].request_kind(), **given)
    return request


@dataclass(frozen=True)
class WorkerCharging(AnalystCharging):
    """Charging that tells the server what was reserved, and gives it back if it was cancelled by then."""

    line: ServerPipe | None = None
    gate: CancellationGate | None = None
    by_curator: bool = False

    def reserve(self, ready: Prepared) -> Reservation | Release:
        """Charge the request, unless it was cancelled before."""
        if self.gate is None or self.line is None:
            return self._reserved(ready)
        with self.gate.reserving() as paid:
            reservation = self._reserved(ready)
            if isinstance(reservation, Release):
                return reservation
            self.line.say(reserved=reservation.entry)
            try:
                paid(reservation)
            except CancelledError:
                reservation.refund("it was cancelled, and nothing was read")
                raise
        return reservation

    def _reserved(self, ready: Prepared) -> Reservation | Release:
        if self.by_curator:
            return super().reserve(ready)
        if self.again or self.ledger.issued(self.dataset, self.version, *ready.identity()) is None:
            self.preview_charge(ready)
        try:
            return super().reserve(ready)
        except RefusedError:  # charged by others meanwhile: the ledger's words say how much
            raise RefusedError("this could not be charged", remedy="ask again, or tell a curator") from None


def release(message: TaskMessage, line: ServerPipe, gate: CancellationGate) -> dict[str, Any]:
    """Make a release, charged to the ledger, and say where it lies."""
    about, request, log, again = _request_and_log(message)
    with Ledger(message.ledger) as ledger:
        who = (ledger, about["name"], about["version"], message.analyst, again)
        charging = WorkerCharging(
            *who, visible_digests=message.visible_digests, line=line, gate=gate, by_curator=message.by_curator
        )
        curator = Curator(LocalEngine(progress=line.progress), charging=charging)
        result = _date_by_request(curator.run(curator.prepare(request, log)), message.at)
        target = result.save(message.out)
        digest = folder_digest(target)
        payer = None if result.earlier is None else _payer(ledger, about["name"], digest)
    return {"folder": target.name, "digest": digest, "earlier": result.earlier is not None, "payer": payer}


def _request_and_log(message: TaskMessage) -> tuple[Mapping[str, Any], ChargedRequest, Any, bool]:
    """Return the dataset, the request and the log that are asked for, and whether to draw anew."""
    fields, read_flags, again = split_request(message.asked)
    request = request_for(message.settings, message.family or "", fields, by_curator=message.by_curator)
    about = _dataset(message)
    log = log_of(
        message.settings, about, FAMILIES[message.family or ""].reads, read_flags, items=request.needs_items
    )
    return about, request, log, again


def _date_by_request(result: Release, at: float) -> Release:
    """Date a release by when it was asked for: when it was made tells how long the work took."""
    if result.earlier is not None:  # it is what it was, to the byte
        return result
    return replace(result, created=datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds"))


def _payer(ledger: Ledger, dataset: str, digest: str) -> str | None:
    """Return who paid for what was released earlier."""
    entries = ledger.history(dataset)
    return next((entry.analyst for entry in entries if entry.kind == "publish" and entry.digest == digest), None)


def plan(message: TaskMessage, _line: ServerPipe, _gate: CancellationGate) -> dict[str, Any]:
    """Say what a request would promise and cost, and how noisy it would be; reads no event, charges nothing."""
    about, request, log, again = _request_and_log(message)
    with Ledger(message.ledger) as ledger:
        has_budget = about["name"] in (ledger.datasets() if ledger.store.version() else ())
        who = (ledger, about["name"], about["version"], message.analyst, again)
        shown = AnalystCharging(
            *who,
            visible_digests=message.visible_digests,
            hidden_entries=message.hidden_entries,
            until=message.until,
        )
        charging = Charging(*who) if message.by_curator else shown
        curator = Curator(charging=charging if has_budget else None)
        ready = curator.prepare(request, log)
        final_plan = _without_paths(curator.plan(ready))
    guarantee = ready.guarantee
    response = {**final_plan.to_json(), "words": plan_in_words(final_plan).to_json()}
    if response["ledger"] is not None and not message.by_curator:  # what others have spent is not theirs to know
        response["ledger"] = {
            name: value for name, value in response["ledger"].items() if name not in _CURATOR_FIELDS
        }
    return {**response, "method": ready.method.name, "sentence": guarantee.sentence(), "short": guarantee.short()}


def _without_paths(plan: Plan) -> Plan:
    """Return a plan that does not say where on this machine the very same was published."""
    if plan.ledger is None:
        return plan
    issued = None if plan.ledger.issued is None else "this studio"
    return replace(plan, ledger=replace(plan.ledger, issued=issued))


def inspect(message: TaskMessage, line: ServerPipe, _gate: CancellationGate) -> dict[str, Any]:
    """Look at the first rows of a source, and guess what its columns are: raw data, for curators."""
    from headcount.events.inspect.suggest import guess, preview, with_best_delimiter

    source, delimiter = with_best_delimiter(_source(message))
    first_rows = preview(source, line.progress, most=_GUESS_ROWS)
    guessed = guess(first_rows.columns, first_rows.days, first_rows.texts)
    return {
        "source": first_rows.source,
        "columns": first_rows.columns,
        "reads": guessed.reads,
        "doubt": guessed.doubt and render(guessed.doubt, in_words),
        "rows": first_rows.rows if first_rows.whole else source.rows,
        "looked_at": first_rows.rows,
        "flags": guessed.flags() | ({} if delimiter is None else {"delimiter": delimiter}),
    }


def log(message: TaskMessage, _line: ServerPipe, _gate: CancellationGate) -> dict[str, Any]:
    """Say what is public of a log, read as its dataset says, and what is wrong with that. Reads no event."""
    about = _dataset(message)
    event_log = log_of(message.settings, about, about["reads"], {}, items=False)
    return {
        "items": len(event_log.catalogue.ids) if event_log.has_catalogue else None,
        "contexts": None if event_log.context is None or event_log.selects_contexts else event_log.width - 1,
    }


def forecast(message: TaskMessage, _line: ServerPipe, _gate: CancellationGate) -> dict[str, Any]:
    """Say how far off a release would be, from figures that are public or from a release; opens no log."""
    from headcount.studio.services.error_forecast import forecast as predicted

    figure_values = dict(message.asked)
    release = figure_values.pop("activity", None)
    return predicted(
        figure_values, None if release is None else message.settings.releases / Path(str(release)).name
    )


def _source(message: TaskMessage) -> Any:
    from headcount.events.sources.databases.table_or_query import TableOrQuery
    from headcount.events.sources.files.formats import TextOptions
    from headcount.events.sources.source import open_source

    about = _dataset(message)
    read_flags = {name: value for name, value in about["flags"].items() if _is_given(name, value)}
    how = {name: read_flags[name] for name in ("delimiter", "encoding", "header", "format") if name in read_flags}
    events = path_policy.event_sources(message.settings, about["source"])
    return open_source(events, TextOptions(**how), TableOrQuery(read_flags.get("table"), read_flags.get("query")))


def check(message: TaskMessage, line: ServerPipe, _gate: CancellationGate) -> dict[str, Any]:
    """See what of a log would not be counted: exact numbers and raw values, for curators."""
    from headcount.events.inspect.scan import scan

    about = _dataset(message)
    _, read_flags, _ = split_request(message.asked)
    log = log_of(message.settings, about, about["reads"], read_flags, items=False)
    return {"checked": scan(log, line.progress, in_words).to_json()}


def compare(message: TaskMessage, _line: ServerPipe, _gate: CancellationGate) -> dict[str, Any]:
    """Run methods on a log against the truth, and write a page of it: not private, for curators."""
    from headcount.lab.api import compare as compared

    about = _dataset(message)
    fields, read_flags, _ = split_request(message.asked)
    _check_settings(message.task, fields)
    comparison = compared(log_of(message.settings, about, about["reads"], read_flags, items=True), **fields)
    comparison.report(message.out, force=True)
    return {"page": Path(message.out).name, "sentences": comparison.sentences()}


def audit(message: TaskMessage, _line: ServerPipe, _gate: CancellationGate) -> dict[str, Any]:
    """Attack the promise of a method on logs that are made up."""
    from headcount.lab.api import audit as audited

    fields = _check_settings(message.task, message.asked)
    result = audited(str(fields.pop("method", "")), **fields)
    return {"sentences": [result.sentence()], "violation": bool(result.violation), "found": result.to_json()}


def reproduce(message: TaskMessage, line: ServerPipe, _gate: CancellationGate) -> dict[str, Any]:
    """Run a paper again, and write a page of what came out: not private, for curators."""
    from headcount.lab.api import reproduce as reproduced

    fields = _check_settings(message.task, message.asked)
    counts = reproduced(str(fields.pop("paper", "")), message.out, progress=line.progress, **fields)
    summary = ", ".join(f"{many} {word}" for word, many in counts.items() if many)
    return {"page": Path(message.out).name, "sentences": [f"{sum(counts.values())} claims: {summary}."]}


def _check_settings(task: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse unknown settings of an experiment: number of processes and place of data are not for a request."""
    for name in fields:
        if name not in _EXPERIMENT_FIELDS[task]:
            raise UsageError(f"{name} is of no use here", remedy="leave it out")
    return dict(fields)


def _dataset(message: TaskMessage) -> Mapping[str, Any]:
    if message.dataset is None:
        raise HeadcountError("no dataset was named")
    return message.dataset


Task = Callable[[TaskMessage, ServerPipe, CancellationGate], dict[str, Any]]
JOB_TASKS: Mapping[str, Task] = {
    "release": release, "check": check, "compare": compare, "audit": audit, "reproduce": reproduce,
}  # fmt: skip
QUICK_TASKS: Mapping[str, Task] = {
    "plan": plan, "inspect": inspect, "log": log, "forecast": forecast,
}  # fmt: skip
"""What is quick, and charges nothing."""
