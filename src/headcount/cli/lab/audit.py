"""``headcount audit``: attacks on Headcount's own promises, and a bound that fails with a stated probability."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import click

from headcount._internal.parameters import is_whole, whole_text
from headcount.cli import options, terminal
from headcount.cli.lab import audit_findings
from headcount.cli.lab.audit_runs import Job, Outcome, Way, run_all
from headcount.cli.log_options import log_of, reading_options
from headcount.cli.options import Flags
from headcount.errors import UnknownNameError, UsageError
from headcount.events.log_parameters import READERS

_CAVEAT = (
    "Finding nothing proves nothing: an audit tries some neighbours and events, and can only refute a promise."
)
_EXPOSED = "NOT PRIVATE: this was read from the log itself, without protection. For the curator's eyes only."
_LARGEST_LIMIT = 1_000  # neighbours have some times as many records


def _known(context: click.Context, argument: click.Parameter, name: str) -> str:  # noqa: ARG001 - Click's way
    """Refuse what cannot be audited, before anything is said about a log."""
    from headcount.lab.audit.targets import NAMES

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
        "headcount audit all --replay",
        "headcount audit hpa visits.parquet --user user --item venue --items venues.csv",
    ),
)
@click.argument("method", metavar="METHOD|all", callback=_known)
@reading_options("audited", configured=False)
@click.option("--epsilon", default="1", show_default=True, metavar="E[,…]", help="The ε that is claimed.")
@click.option("--delta", metavar="D", help="Audit Gaussian noise, or item selection, with this δ.")
@click.option("--limit", default="2", show_default=True, metavar="L", help="The most records one person may add.")
@click.option("--edges", is_flag=True, help="Audit item-by-context counts beside the item counts.")
@click.option(
    "--runs",
    metavar="N",
    help="Runs of each log of the best pairs.  [default: 200000; 4000 or 2000 where each is a release of its own]",
)
@click.option(
    "--seed", default="1", show_default=True, metavar="N", help="Seed of all runs, which are thrown away."
)
@click.option(
    "--system-noise",
    is_flag=True,
    help="Draw from the operating system, as small real releases do: slower, and never the same again.",
)
@click.option(
    "--sequential/--fixed",
    "sequential",
    default=True,
    show_default=True,
    help="Stop as soon as a violation is certain, or make all runs and say how large ε is at least.",
)
@click.option(
    "--replay",
    is_flag=True,
    help="Run each pair of logs with the same draws, and hold what meets noise against what is declared: no "
    "statistics, a few seconds.",
)
@click.option("--report", metavar="FILE.html", help="Write a web page about it.")
@click.option("--force", is_flag=True, help="Replace a page that is there already.")
@options.json_option
@options.quiet_option
def command(**flags: Any) -> None:
    """Attack the promise of METHOD: run the real code on logs that differ in one person, and tell them apart.

    METHOD is one of `headcount methods`, or top-k, selection or totals; `all` are all of them, with a table at the
    end. Without EVENTS the neighbours are made up, to be as bad as can be. With EVENTS three people are taken out
    of that log instead: this is not private, and for the curator's eyes only.

    With --replay each pair of logs is run with the same draws of noise: what meets noise may then differ by no
    more than is declared and paid for, and the releases must be the same.

    The exit code is 1 if a promise is violated; with `all`, a proven one. If none is, but some audit of several
    could not be run, it is 3. Ctrl-C keeps what was found about the methods that were done, the page included.
    """
    _refuse_existing(flags)
    _refuse_with_replay(flags)
    asked = _asked(flags)
    own, jobs = _jobs(flags, asked)
    outcome = Outcome(len(jobs))
    try:
        run_all(
            jobs,
            outcome,
            seed=asked.seed,
            own=own,
            quiet=flags["quiet"],
            told=None if flags["as_json"] else partial(audit_findings.show, briefly=len(jobs) > 1),
        )
    except KeyboardInterrupt:
        outcome.interrupted = True
    _tell(outcome, flags)
    if outcome.found and not all(each["violation"] for each in outcome.found):
        terminal.note(_CAVEAT, quiet=flags["quiet"])
    if own:
        terminal.note(_EXPOSED)
    if flags["report"]:
        _write(outcome, asked, flags)
    if outcome.interrupted:
        click.echo(outcome.in_words(), err=True)
    code = outcome.exit_code(only_proven=flags["method"] == "all")
    if code:
        raise click.exceptions.Exit(code)


@dataclass(frozen=True)
class _Asked:
    """What the flags say, read."""

    names: tuple[str, ...]
    epsilons: tuple[Decimal, ...]
    delta: Decimal
    limit: int
    runs: int | None
    seed: int | None


def _asked(flags: Flags) -> _Asked:
    """Read the flags, and refuse what cannot be."""
    from headcount.accounting.budget import amount, probability
    from headcount.lab.audit.targets import NAMES

    seed = flags["seed"]
    if not is_whole(seed) or not 0 <= int(seed) < 1 << 31:
        raise UsageError("seed must be a whole number from 0 to 2147483647", given=seed, remedy="try --seed 1")
    runs = None if flags["runs"] is None else whole_text(flags["runs"], "--runs")
    if runs is not None and not 100 <= runs <= 100_000_000:
        raise UsageError(
            "runs must be a number from 100 to 100000000", given=flags["runs"], remedy="try --runs 4000"
        )
    listed = [each.strip() for each in flags["epsilon"].split(",")]
    epsilons = tuple(amount(each) for each in listed)
    if len(set(epsilons)) < len(epsilons):
        raise UsageError("--epsilon names an ε twice", given=flags["epsilon"], remedy="keep one of them")
    limit = whole_text(flags["limit"], "--limit")
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


def _jobs(flags: Flags, asked: _Asked) -> tuple[bool, list[Job]]:
    """Return what to audit, and whether people come from a log of the user's own."""
    from headcount.cli.lab.recommender_attack import affordable, pairs_of
    from headcount.lab.audit.targets import has_edges, pairs_for, runs_for, target

    own: tuple[Any, ...] = ()
    _refuse_without_events(flags)
    alone = len(asked.names) == 1
    if flags["edges"] and alone and not has_edges(asked.names[0]):
        raise UsageError(f"{asked.names[0]} has no item-by-context counts", remedy="leave --edges out")
    if alone:  # what cannot be is said before a log is read
        target(asked.names[0], asked.limit, asked.epsilons[0], asked.delta)
    if flags["events"]:
        with terminal.Bar(quiet=flags["quiet"]) as bar:
            own = pairs_of(log_of("audited", flags), bar)
    jobs = []
    for name in asked.names:
        for epsilon in asked.epsilons:
            try:
                made = target(name, asked.limit, epsilon, asked.delta)
            except UsageError:
                if alone:
                    raise
                made = target(name, asked.limit, epsilon)  # not all methods can use a δ
            made = replace(made, copies=made.copies and asked.seed is not None)
            if flags["edges"] and has_edges(name):
                made = replace(made, contexts=True)
            default = runs_for(name, copies=made.copies)
            runs = asked.runs or (affordable(default, own) if own else default)
            made_up = partial(pairs_for, name, asked.limit, epsilon, asked.delta)
            jobs.append(Job(made, (lambda: own) if own else made_up, runs, _way(flags)))
    return bool(own), jobs


def _way(flags: Flags) -> Way:
    if flags["replay"]:
        return "replay"
    return "sequential" if flags["sequential"] else "fixed"


def _refuse_with_replay(flags: Flags) -> None:
    """Refuse flags about runs where there is one pair of them, and a page, which is about events that happened."""
    context = click.get_current_context()
    for name in ("runs", "sequential", "system_noise", "report"):
        if flags["replay"] and context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            given = "--fixed" if flags[name] is False else f"--{name.replace('_', '-')}"
            raise UsageError(f"--replay has no use for {given}", remedy=f"leave {given} out, or --replay")


def _refuse_without_events(flags: Flags) -> None:
    """Refuse flags that say how to read a log if there is none."""
    context = click.get_current_context()
    given = [
        flag.named(name)
        for name, flag in READERS["audited"].flags().items()
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    ]
    if given and not flags["events"]:
        raise UsageError(f"{', '.join(given)} is given without EVENTS", remedy="name the log, or leave it out")


def _refuse_existing(flags: Flags) -> None:
    path = flags["report"]
    if path and Path(path).is_dir():
        raise UsageError(f"{path} is a folder", remedy=f"give a file, such as {Path(path) / 'audit.html'}")
    if path and Path(path).is_file() and not flags["force"]:
        raise UsageError.taken(path, "--report")


def _tell(outcome: Outcome, flags: Flags) -> None:
    """Say what became of all methods, or print it as data; of an audit that was interrupted, what is known."""
    if not flags["as_json"]:
        if flags["method"] == "all" or (outcome.interrupted and outcome.jobs > 1 and outcome.all):
            audit_findings.sum_up(outcome.all)
        for each in outcome.so_far:
            terminal.say(f"{each.target.shown}, so far: {each.sentence()}")
    elif outcome.interrupted:
        early = [each.to_json() for each in outcome.so_far]
        said = {"error": "Interrupted", "message": outcome.in_words(), "found": outcome.found}
        terminal.print_json({**said, "failed": outcome.failed, "so_far": early})
    else:
        terminal.print_json(outcome.all if outcome.jobs > 1 else outcome.all[0])


def _write(outcome: Outcome, asked: _Asked, flags: Flags) -> None:
    """Write the page of everything that was finished."""
    from headcount.reports.lab.audit import write_audit_page

    if not outcome.found:
        terminal.note(f"{flags['report']} was not written: no audit was finished.")
        return
    about = {
        "own_log": bool(flags["events"]),
        "seed": asked.seed,
        "created": datetime.now(UTC).isoformat("T", "seconds"),
        "interrupted": outcome.in_words() if outcome.interrupted else None,
    }
    path = write_audit_page({**about, "findings": outcome.found, "failed": outcome.failed}, flags["report"])
    if not flags["quiet"]:
        terminal.note(f"{path}: open it in a browser; it needs no network.")
