"""What a process of the studio does: make a log and a request of plain data, and look, plan or release."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headcount.engines.local.engine import LocalEngine
from headcount.errors import HeadcountError, RefusedError, UnknownNameError, UsageError
from headcount.events.catalogue import check_catalogue_given
from headcount.events.log import the_store
from headcount.events.log_parameters import FLAGS, READERS
from headcount.ledger import Ledger, Reservation
from headcount.methods.registry import FAMILIES
from headcount.methods.request import Spending, request_of
from headcount.releases.folder_files import folder_digest
from headcount.releases.release import Release
from headcount.reports.lab.plan_sentences import plan_in_words
from headcount.run.charge import Charging
from headcount.run.curator import Curator, Plan
from headcount.run.prepare import Prepared
from headcount.studio.jobs.analyst_budget import AsShown
from headcount.studio.jobs.ipc import Gate, Line, Told
from headcount.studio.jobs.job_request import CancelledError, split
from headcount.studio.security import path_policy
from headcount.studio.settings import Settings

_OTHERS = ("epsilon", "per_analyst")
_TRIALS: Mapping[str, tuple[str, ...]] = {
    "compare": ("what", "methods", "epsilon", "limits", "k", "shares", "delta", "runs", "seed"),
    "audit": ("method", "epsilon", "delta", "limit", "edges", "runs", "seed", "sequential", "replay"),
    "reproduce": ("paper", "quick", "runs", "seed"),
}
"""What can be said of work that is not private."""
_ROWS = 200_000
"""So many rows are looked at to guess what columns hold."""


def log_of(
    settings: Settings, dataset: Mapping[str, Any], reads: str, said: Mapping[str, Any], *, items: bool
) -> Any:
    """Make the log of a dataset, as it is read for a family; what a request says of reading comes first.

    ``items`` says whether it needs a list of items, or a selection.
    """
    reader = READERS[reads]
    given = {name: value for name, value in {**dataset["flags"], **said}.items() if _is_given(name, value)}
    for name in given:
        if name not in reader.names:
            raise UsageError(f"{name} is of no use here", remedy="leave it out")
    events, flags = path_policy.events_of(settings, dataset["source"]), path_policy.reading(settings, given)
    for name in reader.needed:
        if name not in flags and reads != "people" and the_store(tuple(events)) is None:
            raise UsageError(f"nothing says which column is the {name}", remedy="name one")
    if "item" in reader.names and the_store(tuple(events)) is None and (items or flags.get("items")):
        check_catalogue_given(flags.get("items"), select_items=flags.get("select_items", False))
    return reader.read(events, **flags)


def _is_given(name: str, value: Any) -> bool:
    return value not in (None, "", [], {}) and not (FLAGS[name].switch and name != "header" and value is False)


def request_for(settings: Settings, family: str, fields: Mapping[str, Any], *, by_curator: bool) -> Spending:
    """Make the request of a family from its fields; what is only claimed to be private is for curators to run."""
    if family not in FAMILIES:
        raise UnknownNameError.among("family", family, FAMILIES)
    inside = path_policy.asked(settings, fields, by_curator=by_curator)
    given = {name: value for name, value in inside.items() if value not in (None, "")}
    if given.get("research") and not by_curator:
        raise RefusedError("methods kept for research are for curators", remedy="choose another method")
    made: Spending = request_of(FAMILIES[family].request_kind(), **given)
    return made


@dataclass(frozen=True)
class Announced(AsShown):
    """Charging that tells the server what was reserved, and gives it back if it was cancelled by then."""

    line: Line | None = None
    gate: Gate | None = None
    by_curator: bool = False

    def reserve(self, ready: Prepared) -> Reservation | Release:
        """Charge the request, unless it was cancelled before."""
        if self.gate is None or self.line is None:
            return self._reserved(ready)
        with self.gate.reserving() as paid:
            made = self._reserved(ready)
            if isinstance(made, Release):
                return made
            self.line.say(reserved=made.entry)
            try:
                paid(made)
            except CancelledError:
                made.refund("it was cancelled, and nothing was read")
                raise
        return made

    def _reserved(self, ready: Prepared) -> Reservation | Release:
        if self.by_curator:
            return super().reserve(ready)
        if self.again or self.ledger.issued(self.dataset, self.version, *ready.identity()) is None:
            self.outlook(ready)
        try:
            return super().reserve(ready)
        except RefusedError:  # charged by others meanwhile: the ledger's words say how much
            raise RefusedError("this could not be charged", remedy="ask again, or tell a curator") from None


def release(told: Told, line: Line, gate: Gate) -> dict[str, Any]:
    """Make a release, charged to the ledger, and say where it lies."""
    about, request, log, again = _asked(told)
    with Ledger(told.ledger) as ledger:
        who = (ledger, about["name"], about["version"], told.analyst, again)
        charging = Announced(*who, seen=told.seen, line=line, gate=gate, by_curator=told.by_curator)
        curator = Curator(LocalEngine(progress=line.progress), charging=charging)
        made = _dated(curator.run(curator.prepare(request, log)), told.at)
        target = made.save(told.out)
        digest = folder_digest(target)
        payer = None if made.earlier is None else _payer(ledger, about["name"], digest)
    return {"folder": target.name, "digest": digest, "earlier": made.earlier is not None, "payer": payer}


def _asked(told: Told) -> tuple[Mapping[str, Any], Spending, Any, bool]:
    """Return the dataset, the request and the log that are asked for, and whether to draw anew."""
    fields, said, again = split(told.asked)
    request = request_for(told.settings, told.family or "", fields, by_curator=told.by_curator)
    about = _dataset(told)
    log = log_of(told.settings, about, FAMILIES[told.family or ""].reads, said, items=request.needs_items)
    return about, request, log, again


def _dated(made: Release, at: float) -> Release:
    """Date a release by when it was asked for: when it was made tells how long the work took."""
    if made.earlier is not None:  # it is what it was, to the byte
        return made
    return replace(made, created=datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds"))


def _payer(ledger: Ledger, dataset: str, digest: str) -> str | None:
    """Return who paid for what was released earlier."""
    entries = ledger.history(dataset)
    return next((each.analyst for each in entries if each.kind == "publish" and each.digest == digest), None)


def plan(told: Told, _line: Line, _gate: Gate) -> dict[str, Any]:
    """Say what a request would promise and cost, and how noisy it would be; reads no event, charges nothing."""
    about, request, log, again = _asked(told)
    with Ledger(told.ledger) as ledger:
        known = about["name"] in (ledger.datasets() if ledger.store.version() else ())
        who = (ledger, about["name"], about["version"], told.analyst, again)
        shown = AsShown(*who, seen=told.seen, unseen=told.unseen, until=told.until)
        charging = Charging(*who) if told.by_curator else shown
        curator = Curator(charging=charging if known else None)
        ready = curator.prepare(request, log)
        made = _told(curator.plan(ready))
    promise = ready.guarantee
    found = {**made.to_json(), "words": plan_in_words(made).to_json()}
    if found["ledger"] is not None and not told.by_curator:  # what others have spent is not theirs to know
        found["ledger"] = {name: each for name, each in found["ledger"].items() if name not in _OTHERS}
    return {**found, "method": ready.method.name, "sentence": promise.sentence(), "short": promise.short()}


def _told(plan: Plan) -> Plan:
    """Return a plan that does not say where on this machine the very same was published."""
    if plan.ledger is None:
        return plan
    issued = None if plan.ledger.issued is None else "this studio"
    return replace(plan, ledger=replace(plan.ledger, issued=issued))


def columns(told: Told, _line: Line, _gate: Gate) -> dict[str, Any]:
    """Name the columns of a source, and their types, as far as its header says them: for curators."""
    from headcount.events.sources.files.formats import plain_type

    source = _source(told)
    return {
        "source": source.name,
        "rows": source.rows,
        "columns": [{"name": each, "type": plain_type(source.type_of(each))} for each in source.names],
    }


def inspect(told: Told, line: Line, _gate: Gate) -> dict[str, Any]:
    """Look at the first rows of a source, and guess what its columns are: raw data, for curators."""
    from headcount.events.inspect.preview import preview
    from headcount.events.inspect.suggest_roles import guess, well_parted

    source, delimiter = well_parted(_source(told))
    seen = preview(source, line.progress, most=_ROWS)
    found = guess(seen.columns, seen.days, seen.texts)
    flags = found.flags() | ({} if delimiter is None else {"delimiter": delimiter})
    told_of = {"source": seen.source, "columns": seen.columns, "reads": found.reads, "doubt": found.doubt}
    return {**told_of, "rows": seen.rows if seen.whole else source.rows, "looked_at": seen.rows, "flags": flags}


def log(told: Told, _line: Line, _gate: Gate) -> dict[str, Any]:
    """Say what is public of a log, read as its dataset says, and what is wrong with that. Reads no event."""
    about = _dataset(told)
    made = log_of(told.settings, about, about["reads"], {}, items=False)
    return {
        "items": len(made.catalogue.ids) if made.has_catalogue else None,
        "contexts": None if made.context is None or made.selects_contexts else made.width - 1,
    }


def forecast(told: Told, _line: Line, _gate: Gate) -> dict[str, Any]:
    """Say how far off a release would be, from figures that are public or from a release; opens no log."""
    from headcount.studio.services.error_forecast import forecast as predicted

    said = dict(told.asked)
    release = said.pop("activity", None)
    return predicted(said, None if release is None else told.settings.releases / Path(str(release)).name)


def _source(told: Told) -> Any:
    from headcount.events.sources.databases.table_or_query import Asked
    from headcount.events.sources.files.formats import TextOptions
    from headcount.events.sources.source import open_source

    about = _dataset(told)
    said = {name: value for name, value in about["flags"].items() if _is_given(name, value)}
    how = {name: said[name] for name in ("delimiter", "encoding", "header", "format") if name in said}
    events = path_policy.events_of(told.settings, about["source"])
    return open_source(events, TextOptions(**how), Asked(said.get("table"), said.get("query")))


def check(told: Told, line: Line, _gate: Gate) -> dict[str, Any]:
    """See what of a log would not be counted: exact numbers and raw values, for curators."""
    from headcount.events.inspect.scan import survey
    from headcount.studio.web.error_responses import for_the_web

    about = _dataset(told)
    _, said, _ = split(told.asked)
    log = log_of(told.settings, about, about["reads"], said, items=False)
    return {"checked": survey(log, line.progress).put(for_the_web).to_json()}


def compare(told: Told, _line: Line, _gate: Gate) -> dict[str, Any]:
    """Run methods on a log against the truth, and write a page of it: not private, for curators."""
    from headcount.lab.api.compare import compare as compared

    about = _dataset(told)
    fields, said, _ = split(told.asked)
    _refuse_others(told.task, fields)
    found = compared(log_of(told.settings, about, about["reads"], said, items=True), **fields)
    found.report(told.out, force=True)
    return {"page": Path(told.out).name, "sentences": found.sentences()}


def audit(told: Told, _line: Line, _gate: Gate) -> dict[str, Any]:
    """Attack the promise of a method on logs that are made up."""
    from headcount.lab.api.audit import audit as audited

    fields = dict(told.asked)
    _refuse_others(told.task, fields)
    found = audited(str(fields.pop("method", "")), **fields)
    return {"sentences": [found.sentence()], "violation": bool(found.violation), "found": found.to_json()}


def reproduce(told: Told, line: Line, _gate: Gate) -> dict[str, Any]:
    """Run a paper again, and write a page of what came out: not private, for curators."""
    from headcount.lab.api.reproduce import reproduce as reproduced

    fields = dict(told.asked)
    _refuse_others(told.task, fields)
    counts = reproduced(str(fields.pop("paper", "")), told.out, progress=line.progress, **fields)
    said = ", ".join(f"{many} {word}" for word, many in counts.items() if many)
    return {"page": Path(told.out).name, "sentences": [f"{sum(counts.values())} claims: {said}."]}


def _refuse_others(task: str, fields: Mapping[str, Any]) -> None:
    """Refuse what a trial has no use for: how many processes run, and where data lie, is not for a request."""
    for name in fields:
        if name not in _TRIALS[task]:
            raise UsageError(f"{name} is of no use here", remedy="leave it out")


def _dataset(told: Told) -> Mapping[str, Any]:
    if told.dataset is None:
        raise HeadcountError("no dataset was named")
    return told.dataset


Task = Callable[[Told, Line, Gate], dict[str, Any]]
JOBS: Mapping[str, Task] = {
    "release": release, "check": check, "compare": compare, "audit": audit, "reproduce": reproduce,
}  # fmt: skip
LOOKS: Mapping[str, Task] = {
    "plan": plan, "columns": columns, "inspect": inspect, "log": log, "forecast": forecast,
}  # fmt: skip
"""What is quick, and charges nothing."""
