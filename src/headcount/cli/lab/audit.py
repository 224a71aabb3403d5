"""``headcount audit``: try to refute a method's guarantee on neighbouring logs; report a lower bound of ε."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import click

from headcount._internal.parameters import is_whole, read_whole_number
from headcount.accounting.guarantee import Standing
from headcount.cli import options, terminal
from headcount.cli.input_options import log_of, reading_options
from headcount.cli.lab.audit_runs import AuditMode, Job, Outcome, affordable, pairs_of, run_all
from headcount.cli.options import Flags
from headcount.errors import UnknownNameError, UsageError, param
from headcount.events.log_parameters import READERS
from headcount.releases.formatting import per_cent
from headcount.reports.lab.audit_sentences import (
    COULD_NOT,
    describe_pair,
    settings_in_words,
    verdict,
    verdicts,
    visible_in_words,
)

_CAVEAT = (
    "Finding nothing proves nothing: an audit tries some neighbours and events, and can only refute a promise."
)
_EXPOSED = "NOT PRIVATE: this was read from the log itself, without protection. For the curator's eyes only."
_BESIDE = 50  # columns of a table that are not the event
_MOST_SHOWN = 12  # items of one person
_USERS_SHOWN = 3
_INDENT = " " * 10
_LARGEST_LIMIT = 1_000  # neighbours have some times as many records


def _validate_method(context: click.Context, argument: click.Parameter, name: str) -> str:  # noqa: ARG001 - Click's way
    """Refuse what cannot be audited, before anything is said about a log."""
    from headcount.lab.audit.target_registry import NAMES

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
@click.argument("method", metavar="METHOD|all", callback=_validate_method)
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
    _refuse(flags)
    settings = _audit_settings(flags)
    own, jobs = _jobs(flags, settings)
    outcome = Outcome(len(jobs))
    try:
        run_all(
            jobs,
            outcome,
            seed=settings.seed,
            own=own,
            quiet=flags["quiet"],
            on_result=None if flags["as_json"] else partial(_show, briefly=len(jobs) > 1),
        )
    except KeyboardInterrupt:
        outcome.interrupted = True
    _print_outcome(outcome, flags)
    if outcome.findings and not all(finding["violation"] for finding in outcome.findings):
        terminal.note(_CAVEAT, quiet=flags["quiet"])
    if own:
        terminal.note(_EXPOSED)
    if flags["report"]:
        _write(outcome, settings, flags)
    if outcome.interrupted:
        click.echo(outcome.in_words(), err=True)
    code = outcome.exit_code(only_proven=flags["method"] == "all")
    if code:
        raise click.exceptions.Exit(code)


@dataclass(frozen=True)
class _AuditSettings:
    """What the flags say, read."""

    names: tuple[str, ...]
    epsilons: tuple[Decimal, ...]
    delta: Decimal
    limit: int
    runs: int | None
    seed: int | None


def _audit_settings(flags: Flags) -> _AuditSettings:
    """Read the flags, and refuse what cannot be."""
    from headcount.accounting.budget import amount, probability
    from headcount.lab.audit.target_registry import NAMES

    seed = flags["seed"]
    if not is_whole(seed) or not 0 <= int(seed) < 1 << 31:
        raise UsageError("seed must be a whole number from 0 to 2147483647", given=seed, remedy="try --seed 1")
    runs = None if flags["runs"] is None else read_whole_number(flags["runs"], param.runs)
    if runs is not None and not 100 <= runs <= 100_000_000:
        raise UsageError(
            "runs must be a number from 100 to 100000000", given=flags["runs"], remedy="try --runs 4000"
        )
    listed = [text.strip() for text in flags["epsilon"].split(",")]
    epsilons = tuple(amount(text) for text in listed)
    if len(set(epsilons)) < len(epsilons):
        raise UsageError("--epsilon names an ε twice", given=flags["epsilon"], remedy="keep one of them")
    limit = read_whole_number(flags["limit"], param.limit)
    if limit > _LARGEST_LIMIT:
        raise UsageError(
            f"limit must be at most {_LARGEST_LIMIT} in an audit", given=limit, remedy="try --limit 2"
        )
    return _AuditSettings(
        NAMES if flags["method"] == "all" else (flags["method"],),
        epsilons,
        Decimal(0) if flags["delta"] is None else probability(flags["delta"]),
        limit,
        runs,
        None if flags["system_noise"] else int(seed),
    )


def _jobs(flags: Flags, settings: _AuditSettings) -> tuple[bool, list[Job]]:
    """Return what to audit, and whether people come from a log of the user's own."""
    from headcount.lab.audit.target_registry import has_edges, pairs_for, runs_for, target

    own: tuple[Any, ...] = ()
    alone = len(settings.names) == 1
    if flags["edges"] and alone and not has_edges(settings.names[0]):
        raise UsageError(f"{settings.names[0]} has no item-by-context counts", remedy="leave --edges out")
    if alone:  # what cannot be is said before a log is read
        target(settings.names[0], settings.limit, settings.epsilons[0], settings.delta)
    if flags["events"]:
        with terminal.Bar(quiet=flags["quiet"]) as bar:
            own = pairs_of(log_of("audited", flags), bar)
    jobs = []
    for name in settings.names:
        for epsilon in settings.epsilons:
            try:
                audit_target = target(name, settings.limit, epsilon, settings.delta)
            except UsageError:
                if alone:
                    raise
                audit_target = target(name, settings.limit, epsilon)  # not all methods can use a δ
            audit_target = replace(audit_target, copies=audit_target.copies and settings.seed is not None)
            if flags["edges"] and has_edges(name):
                audit_target = replace(audit_target, contexts=True)
            default = runs_for(name, copies=audit_target.copies)
            runs = settings.runs or (affordable(default, own) if own else default)
            synthetic_pairs = partial(pairs_for, name, settings.limit, epsilon, settings.delta)
            mode: AuditMode = "replay" if flags["replay"] else "sequential" if flags["sequential"] else "fixed"
            jobs.append(Job(audit_target, (lambda: own) if own else synthetic_pairs, runs, mode))
    return bool(own), jobs


def _refuse(flags: Flags) -> None:
    """Refuse flags that have no use together, and a page that would overwrite a file."""
    path, context = flags["report"], click.get_current_context()
    if path and Path(path).is_dir():
        raise UsageError(f"{path} is a folder", remedy=f"give a file, such as {Path(path) / 'audit.html'}")
    if path and Path(path).is_file() and not flags["force"]:
        raise UsageError.taken(path, param.report)

    def is_given(name: str) -> bool:
        return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE

    for name in ("runs", "sequential", "system_noise", "report"):  # a replay has one pair of runs, and no page
        if flags["replay"] and is_given(name):
            given = "--fixed" if flags[name] is False else f"--{name.replace('_', '-')}"
            raise UsageError(f"--replay has no use for {given}", remedy=f"leave {given} out, or --replay")
    reading = [flag.named(name) for name, flag in READERS["audited"].flags().items() if is_given(name)]
    if reading and not flags["events"]:
        raise UsageError(f"{', '.join(reading)} is given without EVENTS", remedy="name the log, or leave it out")


def _print_outcome(outcome: Outcome, flags: Flags) -> None:
    """Say what became of all methods, or print it as data; of an audit that was interrupted, what is known."""
    if not flags["as_json"]:
        if flags["method"] == "all" or (outcome.interrupted and outcome.jobs > 1 and outcome.all):
            _sum_up(outcome.all)
        for finding in outcome.so_far:
            terminal.say(f"{finding.target.shown}, so far: {finding.sentence()}")
    elif outcome.interrupted:
        early = [finding.to_json() for finding in outcome.so_far]
        result = {"error": "Interrupted", "message": outcome.in_words(), "found": outcome.findings}
        terminal.print_json({**result, "failed": outcome.failed, "so_far": early})
    else:
        terminal.print_json(outcome.all if outcome.jobs > 1 else outcome.all[0])


def _write(outcome: Outcome, settings: _AuditSettings, flags: Flags) -> None:
    """Write the page of everything that was finished."""
    from headcount.reports.lab.audit import write_audit_page

    if not outcome.findings:
        terminal.note(f"{flags['report']} was not written: no audit was finished.")
        return
    about = {
        "own_log": bool(flags["events"]),
        "seed": settings.seed,
        "created": datetime.now(UTC).isoformat("T", "seconds"),
        "interrupted": outcome.in_words() if outcome.interrupted else None,
    }
    path = write_audit_page({**about, "findings": outcome.findings, "failed": outcome.failed}, flags["report"])
    if not flags["quiet"]:
        terminal.note(f"{path}: open it in a browser; it needs no network.")


def _show(finding: dict[str, Any], *, briefly: bool) -> None:
    """Print what was found about one target, or why it could not be audited."""
    if "error" in finding:
        terminal.say(
            f"{finding['method']}, ε = {finding['epsilon']}: {COULD_NOT}: {finding['message']}", indent="    "
        )
        click.echo()
        return
    settings = [f"ε = {finding['epsilon']}", *filter(None, [settings_in_words(finding)])]
    standing = Standing(finding["standing"]).words
    click.echo(f"{click.style(finding['method'], bold=True)}, {', '.join([*settings, standing])}")
    terminal.say(finding["sentence"], indent="    ")
    if finding["reason"] and finding["violation"]:
        terminal.say(f"As expected, since {finding['reason']}.", indent="    ")
    replayed = "replay" in finding
    if not finding["violation"] and not replayed and visible_in_words(finding):
        terminal.say(visible_in_words(finding), indent="    ")
    if not briefly:
        click.echo()
        (_show_replayed if replayed else _show_pairs)(finding["pairs"])
    if finding["violation"] and not replayed and not (briefly and finding["standing"] == "claimed"):
        click.echo()
        _show_evidence(max(finding["pairs"], key=lambda pair: pair["lower_bound"]))
    if briefly:
        click.echo()


def _sum_up(ended: Sequence[dict[str, Any]]) -> None:
    """Print a table of what became of all targets, and the same in words; those that failed with their reason."""
    headings = ("method", "standing", "ε claimed", "ε at least", "verdict")
    terminal.print_table(headings, "llrrl", [_row(finding) for finding in ended])
    click.echo()
    for sentence in verdicts(ended):
        terminal.say(sentence)


def _row(finding: dict[str, Any]) -> list[str]:
    bound = "–" if finding["lower_bound"] is None else f"{finding['lower_bound']:.2f}"
    return [finding["method"], finding["standing"], finding["epsilon"], bound, verdict(finding)]


def _show_pairs(pairs: Sequence[dict[str, Any]]) -> None:
    rows, room = [], max(30, terminal.width() - _BESIDE)
    for pair in sorted(pairs, key=lambda pair: -pair["lower_bound"]):
        event = pair["evidence"]["event"] if pair["evidence"] else "–"
        event = event if len(event) <= room else event[: room - 1] + "…"
        rows.append([pair["name"], f"{pair['runs']:,}", f"{pair['lower_bound']:.2f}", event])
    terminal.print_table(("neighbours", "runs", "ε at least", "best event"), "lrrl", rows)


def _show_replayed(pairs: Sequence[dict[str, Any]]) -> None:
    """Print how far each person moved what met noise, and what that costs; those who can be told come first."""
    rows = [
        [pair["name"], f"{pair['draws']:,}", per_cent(pair["furthest"]), f"{pair['epsilon']:.2f}",
         "told apart" if pair["violation"] else "alike"]
        for pair in sorted(pairs, key=lambda pair: (pair["violation"] is None, -pair["furthest"]))
    ]  # fmt: skip
    terminal.print_table(("neighbours", "draws", "moved", "ε", "verdict"), "lrrrl", rows)


def _show_evidence(pair: dict[str, Any]) -> None:
    """Print the pair in words, the event, and how often it happened in either log."""
    evidence = pair["evidence"]
    terminal.say(f"{describe_pair(pair)}.", bullet="Pair      ", indent=_INDENT)
    if "person" in pair:
        terminal.say(
            f"the person has items {_listed(pair['person'])}; the others have "
            f"{_histories_in_words(pair['crowd'])}.",
            bullet="Records   ",
            indent=_INDENT,
        )
    terminal.say(f"{evidence['event']}.", bullet="Event     ", indent=_INDENT)
    hits = [f"{hit:,} of {runs:,} runs" for hit, runs in zip(evidence["hits"], evidence["runs"], strict=True)]
    other = "without" if evidence["likelier"].startswith("with ") else "with"
    terminal.say(
        f"in {hits[0]} {evidence['likelier']}, in {hits[1]} {other}: ε ≥ {evidence['lower_bound']:.2f}.",
        bullet="Happened  ",
        indent=_INDENT,
    )


def _listed(items: Sequence[int]) -> str:
    more = f", … ({len(items):,} in all)" if len(items) > _MOST_SHOWN else ""
    return ", ".join(map(str, items[:_MOST_SHOWN])) + more


def _histories_in_words(histories: Sequence[Sequence[int]]) -> str:
    more = f"; … ({len(histories):,} people)" if len(histories) > _USERS_SHOWN else ""
    return (
        "; ".join(_listed(history) for history in histories[:_USERS_SHOWN]) or "nothing, since there is nobody"
    ) + more
