"""Run the audit jobs of one command one after the other; collect findings, failures and the exit code."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any, Literal

from headcount.cli import terminal
from headcount.errors import HeadcountError, was_interrupted

_ALONE = {True: 60_000, False: 100}  # up to so many runs other processes would take longer to start than they help
_LITTLE = 1 / 400  # of the work of a run that is a release of its own, where many copies are run in one
_KILLED = "a process was ended from outside; free some memory, or audit with fewer runs"


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
    """Audit one target, and return what was found as plain data; what is known before the end is in ``so_far``."""
    from headcount.cli.lab.recommender_attack import without_log
    from headcount.lab.audit.audit import audit
    from headcount.lab.audit.method_cases import case_of
    from headcount.lab.audit.sequential import audit_sequentially
    from headcount.lab.audit.targets import has_edges

    if job.mode == "replay":
        return _run_replay(job, place, seed=seed, own=own, quiet=quiet)
    with terminal.Bar(quiet=quiet) as bar:
        finding = (audit if job.mode == "fixed" else audit_sequentially)(
            job.target,
            job.pairs(),
            job.runs,
            seed=seed,
            pool=pool,
            progress=lambda stage, done, total: bar(stage + place, done, total),
            found=lambda early: so_far.__setitem__(slice(None), [early]),
        )
    data = finding.to_json()
    for pair, entry in zip((attempt.pair for attempt in finding.attempts), data["pairs"], strict=True):
        entry |= {"people": len(pair.crowd), "records": len(pair.person)}
    if own:
        data["pairs"] = [without_log(pair_data) for pair_data in data["pairs"]]
    case = case_of(job.target.shown)
    share, reason = (1, "") if own else case.visible_at(job.target.delta)
    visible = {"share": str(share), "reason": reason}
    return {
        **data,
        **_about(job),
        "edges": job.target.contexts and has_edges(job.target.shown),
        "visible": visible,
        "runs": job.runs,
        "seed": seed,
        "sentence": finding.sentence(),
    }


def _run_replay(job: Job, place: str, *, seed: int | None, own: bool, quiet: bool) -> dict[str, Any]:
    """Replay one target, and return what was found as plain data; of one's own log, nothing of its content."""
    from headcount.cli.lab.recommender_attack import without_log
    from headcount.lab.audit.replay_audit import replay_audit
    from headcount.lab.audit.targets import has_edges

    pairs = job.pairs()
    with terminal.Bar(quiet=quiet) as bar:
        finding = replay_audit(
            job.target,
            pairs,
            seed=1 if seed is None else seed,
            progress=lambda stage, done, total: bar(stage + place, done, total),
        )
    if own:
        finding = finding.without_content()
    data = finding.to_json()
    for pair, entry in zip(pairs, data["pairs"], strict=True):
        entry |= {"people": len(pair.crowd), "records": len(pair.person)}
    return {
        **data,
        "pairs": [without_log(pair_data) for pair_data in data["pairs"]] if own else data["pairs"],
        **_about(job),
        "edges": job.target.contexts and has_edges(job.target.shown),
        "lower_bound": None,
        "seed": seed,
        "sentence": finding.sentence(),
    }


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
    from headcount.lab.audit.targets import is_proven, reason_for

    name = job.target.shown
    return {"standing": "proven" if is_proven(name) else "claimed", "reason": reason_for(name)}
