"""Run the audit jobs of one command one after the other; collect findings, failures and the exit code.

With a log of one's own, pairs of neighbouring logs are made by removing one user from it. This is not private: who
the users are is never said, only how much they did, and no record of the log is kept in a finding.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from headcount.cli import terminal
from headcount.errors import DataError, HeadcountError, was_interrupted
from headcount.events.encode.passes import EncodedLog
from headcount.events.log import EventLog
from headcount.lab.audit.adjacent_logs import Pair, drawn
from headcount.releases.formatting import some

MOST_RECORDS = 2_000_000
_WORK = 100_000_000  # records that all runs of one log may have, about
_NUMBERS = 5_000_000  # that are seen of them, about
_FEWEST_RUNS = 1_000
_ALONE = {True: 60_000, False: 100}  # up to so many runs other processes would take longer to start than they help
_LITTLE = 1 / 400  # of the work of a run that is a release of its own, where many copies are run in one
_KILLED = "a process was ended from outside; free some memory, or audit with fewer runs"


Progress = Callable[[str, int, int | None], None]

AuditMode = Literal["sequential", "fixed", "replay"]
"""How is audited: by bets that end when they are decided, by looks of a fixed size, or by one pair of runs."""


@dataclass(frozen=True)
class Job:
    """One target to audit, what makes the neighbours it is attacked with, and how."""

    target: Any
    pairs: Callable[[], Sequence[Any]]
    runs: int
    mode: AuditMode = "sequential"

    @property
    def work(self) -> float:
        """How much there is to do, compared with other jobs; about."""
        return self.runs * (_LITTLE if self.target.copies else 1)


@dataclass
class Outcome:
    """What became of so many jobs: all that were begun and ended, and what is known of one under way."""

    jobs: int
    all: list[dict[str, Any]] = field(default_factory=list)
    so_far: list[Any] = field(default_factory=list)
    interrupted: bool = False

    @property
    def findings(self) -> list[dict[str, Any]]:
        """What was found by the audits that ended."""
        return [entry for entry in self.all if "error" not in entry]

    @property
    def failed(self) -> list[dict[str, Any]]:
        """Which audits could not be run, and why."""
        return [entry for entry in self.all if "error" in entry]

    def in_words(self) -> str:
        """Say how far it came."""
        return f"interrupted: {len(self.findings)} of {self.jobs} audits were done"

    def exit_code(self, *, only_proven: bool) -> int:
        """Return 1 for a violation, of something proven where only that counts; 3 if an audit could not be run."""
        if self.interrupted:
            return 130
        if any(
            finding["violation"] for finding in self.findings if finding["standing"] == "proven" or not only_proven
        ):
            return 1
        return 3 if self.failed else 0


def run_all(
    jobs: Sequence[Job],
    outcome: Outcome,
    *,
    seed: int | None,
    own: bool,
    quiet: bool,
    on_result: Callable[[dict[str, Any]], None] | None,
) -> None:
    """Run all jobs, and tell of each when it is done; one of several that fails is told of, and the next one run.

    Processes that were ended from outside are started anew for the next job.
    """
    from headcount.lab.processes import workers

    waiting, began = list(jobs), time.monotonic()
    many = any(job.runs > _ALONE[job.target.copies] for job in jobs if job.mode != "replay")
    while waiting:
        with workers(wanted=many) as pool:
            broken = False
            while waiting and not broken:
                job, done = waiting[0], jobs[: len(jobs) - len(waiting)]
                place = _place(done, waiting, time.monotonic() - began) if len(jobs) > 1 else ""
                try:
                    ended = _run_audit(job, pool, place, outcome.so_far, seed=seed, own=own, quiet=quiet)
                except Exception as error:
                    if was_interrupted(error):
                        raise KeyboardInterrupt from error
                    if len(jobs) == 1:
                        raise
                    broken = isinstance(error, BrokenProcessPool)
                    ended = _describe_failure(job, error)
                waiting.pop(0)
                outcome.so_far.clear()
                outcome.all.append(ended)
                if on_result is not None:
                    on_result(ended)


def _place(done: Sequence[Job], waiting: Sequence[Job], seconds: float) -> str:
    """Say which of all jobs it is, and how long all that is left will take if it goes on like this."""
    place = f", {len(done) + 1} of {len(done) + len(waiting)}"
    worked = sum(job.work for job in done)
    if not worked:
        return place
    left = seconds * sum(job.work for job in waiting) / worked
    return f"{place}, all in about {max(1, round(left / 60))} min"


def _run_audit(
    job: Job, pool: Executor | None, place: str, so_far: list[Any], *, seed: int | None, own: bool, quiet: bool
) -> dict[str, Any]:
    """Audit one target, and return the finding as plain data; an early finding is in ``so_far``.

    Of one's own log the finding holds no record.
    """
    from headcount.lab.audit.target_registry import has_edges

    replayed = job.mode == "replay"
    with terminal.Bar(quiet=quiet) as bar:

        def progress(stage: str, done: int, total: int | None) -> None:
            bar(stage + place, done, total)

        finding, pairs = (
            _replay(job, seed, progress, own=own) if replayed else _attack(job, pool, so_far, seed, progress)
        )
    data = finding.to_json()
    for pair, entry in zip(pairs, data["pairs"], strict=True):
        entry |= {"people": len(pair.crowd), "records": len(pair.person)}
    if own:
        data["pairs"] = [without_log(pair_data) for pair_data in data["pairs"]]
    about = {**_about(job), "edges": job.target.contexts and has_edges(job.target.shown)}
    more = {"lower_bound": None} if replayed else {"visible": _visible(job, own=own), "runs": job.runs}
    return {**data, **about, **more, "seed": seed, "sentence": finding.sentence()}


def _attack(
    job: Job, pool: Executor | None, so_far: list[Any], seed: int | None, progress: Progress
) -> tuple[Any, list[Any]]:
    """Return the finding of many runs, and its pairs."""
    from headcount.lab.audit.audit import audit
    from headcount.lab.audit.sequential import audit_sequentially

    def remember(early: Any) -> None:
        so_far[:] = [early]

    procedure = audit if job.mode == "fixed" else audit_sequentially
    finding = procedure(
        job.target, job.pairs(), job.runs, seed=seed, pool=pool, progress=progress, on_finding=remember
    )
    return finding, [attempt.pair for attempt in finding.attempts]


def _replay(job: Job, seed: int | None, progress: Progress, *, own: bool) -> tuple[Any, Sequence[Any]]:
    """Return the finding of one pair of runs with the same draws, and its pairs."""
    from headcount.lab.audit.replay_audit import replay_audit

    pairs = job.pairs()
    finding = replay_audit(job.target, pairs, seed=1 if seed is None else seed, progress=progress)
    return finding.without_content() if own else finding, pairs


def _visible(job: Job, *, own: bool) -> dict[str, str]:
    """Return how much of ε can show at all, and why not more."""
    from headcount.lab.audit.method_cases import case_of

    share, reason = (1, "") if own else case_of(job.target.shown).visible_at(job.target.delta)
    return {"share": str(share), "reason": reason}


def _describe_failure(job: Job, error: Exception) -> dict[str, Any]:
    """Return why an audit could not be run, as plain data."""
    message = _KILLED if isinstance(error, BrokenProcessPool) else str(error)
    is_expected = isinstance(error, (HeadcountError, BrokenProcessPool))
    return {
        "method": job.target.shown,
        "epsilon": str(job.target.epsilon),
        "delta": str(job.target.delta),
        **_about(job),
        "violation": None,
        "lower_bound": None,
        "error": type(error).__name__,
        "message": message if is_expected else f"{type(error).__name__}: {message}",
    }


def _about(job: Job) -> dict[str, Any]:
    from headcount.lab.audit.target_registry import is_proven, reason_for

    name = job.target.shown
    return {"standing": "proven" if is_proven(name) else "claimed", "reason": reason_for(name)}


def pairs_of(log: EventLog, progress: Progress) -> tuple[Pair, ...]:
    """Return pairs that differ in the most active person of a log, in a typical one, and in the least active.

    >>> log = EventLog.of([("ann", "tea"), ("ann", "rye"), ("bob", "tea")], items=["rye", "tea"])
    >>> [(pair.name, pair.person) for pair in pairs_of(log, lambda *_: None)]
    [('the most active person', (1, 0)), ('the least active person', (1,))]
    """
    users, items = _records(log, progress)
    if not users.size:
        raise DataError(
            f"{log.source.name} has no record that counts", remedy="check --items, --item and the conditions"
        )
    order = np.argsort(users, kind="stable")
    starts = np.flatnonzero(np.diff(users[order], prepend=-1))
    histories = [tuple(part.tolist()) for part in np.split(items[order], starts[1:])]
    by_size = sorted(range(len(histories)), key=lambda user: len(histories[user]))
    places = {len(by_size) // 2: "a typical person", 0: "the least active person", -1: "the most active person"}
    names = {by_size[place]: name for place, name in places.items()}  # one person may be all of them
    chosen = sorted(names, key=lambda user: -len(histories[user]))
    pairs = drawn(histories, len(log.catalogue.ids), chosen)
    return tuple(replace(pair, name=names[user]) for pair, user in zip(pairs, chosen, strict=True))


def affordable(runs: int, pairs: tuple[Pair, ...]) -> int:
    """Return how many runs of a log take minutes, not hours; no more than are asked for."""
    records = sum(map(len, pairs[0].crowd)) + len(pairs[0].person)
    return min(runs, max(_FEWEST_RUNS, min(_WORK // records, _NUMBERS // pairs[0].items)))


def without_log(pair: dict[str, Any]) -> dict[str, Any]:
    """Return what may be said of a pair: everything but the records."""
    return {name: value for name, value in pair.items() if name not in ("crowd", "person")}


def _records(log: EventLog, progress: Progress) -> tuple[Any, Any]:
    """Return the user and the item of every record that counts, by their codes."""
    encoded = EncodedLog(log)
    users, items, records = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
    for batch in encoded.batches():
        counts = batch.cells >= 0
        times = 1 if batch.times is None else batch.times[counts]
        records += int(np.sum(times)) if batch.times is not None else int(counts.sum())
        if records > MOST_RECORDS:
            raise DataError(
                f"{log.source.name} has more than {some(MOST_RECORDS, 'record')} that count, too many to audit",
                remedy="take a part of it with --where, or with --since and --until",
            )
        users.append(np.repeat(batch.users[counts].astype(np.int64), times))
        items.append(np.repeat(batch.cells[counts].astype(np.int64) // log.width, times))
        progress("reading events", encoded.tally.rows, log.source.rows)
    return np.concatenate(users), np.concatenate(items)
