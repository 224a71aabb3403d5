"""``headcount audit``: attacks on Headcount's own promises, and a bound that fails with a stated probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import click

from headcount.cli import findings, options, terminal
from headcount.errors import UnknownNameError, UsageError
from headcount.reports.audit_words import verdicts

_RUNS = {True: 200_000, False: 4_000}  # by default, where many copies are run in one release and where not
_ALONE = {True: 60_000, False: 400}  # up to so many runs other processes would take longer to start than they help
_CAVEAT = (
    "Finding nothing proves nothing: an audit tries some neighbours and events, and can only refute a promise."
)
_EXPOSED = "NOT PRIVATE: this was read from the log itself, without protection. For the curator's eyes only."
_LARGEST_LIMIT = 1_000  # neighbours have some times as many records


@dataclass(frozen=True)
class _Job:
    """One target to audit, and the neighbours it is attacked with."""

    target: Any
    pairs: tuple[Any, ...]
    runs: int


def _known(context: click.Context, argument: click.Parameter, name: str) -> str:  # noqa: ARG001 - Click's way
    """Refuse what cannot be audited, before anything is said about a log."""
    from headcount.audits.targets import NAMES

    if name == "all" or name in NAMES:
        return name
    if Path(name).exists():
        raise UsageError("the method comes before the events", given=name, remedy="such as sra, or all")
    raise UnknownNameError.among("method", name, ("all", *NAMES))


@click.command(
    "audit",
    short_help="Attack a method's promise, and see what ε is at least.",
    epilog=options.example(
        "headcount audit sra --epsilon 1 --limit 5 --report audit.html",
        "headcount audit all --runs 1000",
        "headcount audit hpa visits.parquet --user user --item venue --items venues.csv",
    ),
)
@click.argument("method", metavar="METHOD|all", callback=_known)
@options.own_log_options
@click.option("--epsilon", default="1", show_default=True, metavar="E[,…]", help="The ε that is claimed.")
@click.option("--delta", metavar="D", help="Audit Gaussian noise, or item selection, with this δ.")
@click.option("--limit", default="2", show_default=True, metavar="L", help="The most records one person may add.")
@click.option("--edges", is_flag=True, help="Audit item-by-context counts beside the item counts.")
@click.option(
    "--runs",
    metavar="N",
    help="Runs of each log of the best pairs.  [default: 200000; 4000 where each is a release of its own]",
)
@click.option(
    "--seed", default="1", show_default=True, metavar="N", help="Seed of all runs, which are thrown away."
)
@click.option(
    "--system-noise",
    is_flag=True,
    help="Draw from the operating system, as small real releases do: slower, and never the same again.",
)
@click.option("--report", metavar="FILE.html", help="Write a web page about it.")
@click.option("--force", is_flag=True, help="Replace a page that is there already.")
@options.json_option
@options.quiet_option
def command(**flags: Any) -> None:
    """Attack the promise of METHOD: run the real code on logs that differ in one person, and tell them apart.

    METHOD is one of `headcount methods`, or top-k, selection or totals; `all` are all of them. Without EVENTS the
    neighbours are made up, to be as bad as can be. With EVENTS three people are taken out of that log instead:
    this is not private, and for the curator's eyes only.

    The exit code is 1 if a promise is violated; with `all`, a proven one.
    """
    _refuse_existing(flags)
    asked = _asked(flags)
    own, jobs = _jobs(flags, asked)
    from headcount.audits.processes import workers

    found: list[dict[str, Any]] = []
    so_far: list[Any] = []
    try:
        with workers(wanted=any(job.runs > _ALONE[job.target.copies] for job in jobs)) as pool:
            for number, job in enumerate(jobs, 1):
                place = f", {number} of {len(jobs)}" if len(jobs) > 1 else ""
                found.append(_run(job, pool, place, asked, so_far, own=own, quiet=flags["quiet"]))
                if not flags["as_json"]:
                    findings.show(found[-1], briefly=len(jobs) > 1)
    except KeyboardInterrupt:
        _stop(found, jobs, so_far, as_json=flags["as_json"])
    if flags["as_json"]:
        terminal.print_json(found if len(jobs) > 1 else found[0])
    elif flags["method"] == "all":
        _sum_up(found)
    if not all(each["violation"] for each in found):
        terminal.note(_CAVEAT, quiet=flags["quiet"])
    if own:
        terminal.note(_EXPOSED)
    if flags["report"]:
        _write(found, asked, flags)
    if any(each["violation"] for each in found if each["standing"] == "proven" or flags["method"] != "all"):
        raise click.exceptions.Exit(1)


@dataclass(frozen=True)
class _Asked:
    """What the flags say, read."""

    names: tuple[str, ...]
    epsilons: tuple[Decimal, ...]
    delta: Decimal
    limit: int
    runs: int | None
    seed: int | None


def _asked(flags: dict[str, Any]) -> _Asked:
    """Read the flags, and refuse what cannot be."""
    from headcount.audits.targets import NAMES
    from headcount.budget import amount, probability

    seed = flags["seed"]
    if not options.is_whole(seed) or not 0 <= int(seed) < 1 << 31:
        raise UsageError("seed must be a whole number from 0 to 2147483647", given=seed, remedy="try --seed 1")
    runs = None if flags["runs"] is None else options.whole_number(flags["runs"], "runs")
    if runs is not None and not 100 <= runs <= 100_000_000:
        raise UsageError(
            "runs must be a number from 100 to 100000000", given=flags["runs"], remedy="try --runs 4000"
        )
    listed = [each.strip() for each in flags["epsilon"].split(",")]
    epsilons = tuple(amount(each) for each in listed)
    if len(set(epsilons)) < len(epsilons):
        raise UsageError("--epsilon names an ε twice", given=flags["epsilon"], remedy="keep one of them")
    limit = options.whole_number(flags["limit"], "limit")
    if limit > _LARGEST_LIMIT:
        raise UsageError(
            f"limit must be at most {_LARGEST_LIMIT} in an audit", given=limit, remedy="try --limit 2"
        )
    return _Asked(
        NAMES if flags["method"] == "all" else (flags["method"],),
        epsilons,
        Decimal(0) if flags["delta"] is None else probability(flags["delta"]),
        limit,
        runs,
        None if flags["system_noise"] else int(seed),
    )


def _jobs(flags: dict[str, Any], asked: _Asked) -> tuple[bool, list[_Job]]:
    """Return what to audit, and whether people come from a log of the user's own."""
    from headcount.audits.targets import pairs_for, target
    from headcount.cli.own_log import affordable, pairs_of

    own: tuple[Any, ...] = ()
    _refuse_without_events(flags)
    jobs = []
    for name in asked.names:
        for epsilon in asked.epsilons:
            try:
                made = target(name, asked.limit, epsilon, asked.delta)
            except UsageError:
                if len(asked.names) == 1:
                    raise
                made = target(name, asked.limit, epsilon)  # not all methods can use a δ
            made = made if asked.seed is not None else replace(made, copies=False)
            made = replace(made, contexts=_with_edges(name, wanted=flags["edges"], alone=len(asked.names) == 1))
            jobs.append(_Job(made, pairs_for(name, asked.limit, epsilon, asked.delta), asked.runs or 0))
    if flags["events"]:
        with terminal.Bar(quiet=flags["quiet"]) as bar:
            unused = {"context": None, "contexts": (), "context_of": "record", "count": "records", "value": None}
            own = pairs_of(options.event_log({**flags, **unused, "value_range": None, "select_items": False}), bar)
        jobs = [replace(job, pairs=own) for job in jobs]
    for place, job in enumerate(jobs):
        default = _RUNS[job.target.copies]
        jobs[place] = replace(job, runs=asked.runs or (affordable(default, own) if own else default))
    return bool(own), jobs


def _with_edges(name: str, *, wanted: bool, alone: bool) -> bool:
    """Say whether a target releases edges, too; totals and direct rankings have none."""
    from headcount.audits.targets import OTHERS

    if wanted and alone and name in OTHERS:
        raise UsageError(f"{name} has no item-by-context counts", remedy="leave --edges out")
    return wanted and name not in OTHERS


def _refuse_without_events(flags: dict[str, Any]) -> None:
    """Refuse flags that say how to read a log if there is none."""
    context = click.get_current_context()
    reading = (
        "user", "item", "items", "where", "time", "since", "until", "times", "time_format", "timezone",
        "delimiter", "encoding", "no_header", "drop_nulls",
    )  # fmt: skip
    given = [
        f"--{name.replace('_', '-')}"
        for name in reading
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    ]
    if given and not flags["events"]:
        raise UsageError(f"{', '.join(given)} is given without EVENTS", remedy="name the log, or leave it out")


def _refuse_existing(flags: dict[str, Any]) -> None:
    path = flags["report"]
    if path and Path(path).is_dir():
        raise UsageError(f"{path} is a folder", remedy=f"give a file, such as {Path(path) / 'audit.html'}")
    if path and Path(path).is_file() and not flags["force"]:
        raise UsageError(f"{path} exists already", remedy="choose another --report, or add --force")


def _run(
    job: _Job, pool: Any, place: str, asked: _Asked, so_far: list[Any], *, own: bool, quiet: bool
) -> dict[str, Any]:
    """Audit one target, and return what was found as plain data; what is known before the end is in ``so_far``."""
    from headcount.audits.auditing import audit
    from headcount.audits.targets import VISIBLE, is_proven
    from headcount.cli.own_log import without_log
    from headcount.registry import METHODS, TAG_METHODS

    target = job.target
    with terminal.Bar(quiet=quiet) as bar:
        finding = audit(
            target,
            job.pairs,
            job.runs,
            seed=asked.seed,
            pool=pool,
            progress=lambda stage, done, total: bar(stage + place, done, total),
            found=lambda early: so_far.__setitem__(slice(None), [early]),
        )
        so_far.clear()
    data = finding.to_json()
    for pair, entry in zip((each.pair for each in finding.attempts), data["pairs"], strict=True):
        entry |= {"people": len(pair.crowd), "records": len(pair.person)}
    if own:
        data["pairs"] = [without_log(each) for each in data["pairs"]]
    known = {**METHODS, **TAG_METHODS}
    share, reason = (Decimal(1), "") if own else VISIBLE.get(target.shown, (Decimal(1), ""))
    return {
        **data,
        "standing": "proven" if is_proven(target.shown) else "claimed",
        "reason": known[target.shown].reason if target.shown in known else None,
        "edges": target.contexts,
        "visible": {"share": str(share), "reason": reason},
        "runs": job.runs,
        "seed": asked.seed,
        "sentence": finding.sentence(),
    }


def _sum_up(found: Sequence[dict[str, Any]]) -> None:
    """Say what became of all methods."""
    for sentence in verdicts(found):
        terminal.say(sentence)


def _stop(found: Sequence[dict[str, Any]], jobs: Sequence[_Job], so_far: Sequence[Any], *, as_json: bool) -> None:
    """Say what was found before Ctrl-C, that of an audit under way as well, and end."""
    words = f"interrupted: {len(found)} of {len(jobs)} audits were done"
    if as_json:
        early = [each.to_json() for each in so_far]
        terminal.print_json({"error": "Interrupted", "message": words, "found": list(found), "so_far": early})
    else:
        if found and len(jobs) > 1:
            _sum_up(found)
        for each in so_far:
            terminal.say(f"{each.target.shown}, so far: {each.sentence()}")
    click.echo(words, err=True)
    raise click.exceptions.Exit(130)


def _write(found: Sequence[dict[str, Any]], asked: _Asked, flags: dict[str, Any]) -> None:
    from headcount.reports.audit import write_audit_page

    about = {
        "own_log": bool(flags["events"]),
        "seed": asked.seed,
        "created": datetime.now(UTC).isoformat("T", "seconds"),
    }
    path = write_audit_page({**about, "findings": list(found)}, flags["report"])
    if not flags["quiet"]:
        terminal.note(f"{path}: open it in a browser; it needs no network.")
