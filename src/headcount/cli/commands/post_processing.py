"""``headcount top``, ``recommend``, ``explain``, ``report`` and ``export``: show a release or write its files."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headcount.cli import options, terminal
from headcount.errors import UsageError, param
from headcount.methods.totals import GROUPS, QUANTILES
from headcount.releases.formatting import describe_order, per_cent, undecided_contexts, whole

if TYPE_CHECKING:
    from headcount.releases.release import Release

_SHOWN = 40  # rows of a table of totals on the terminal; all are in the release
_many = click.option("-k", "k", type=options.Whole(), metavar="K", default=10, help="How many.  [default: 10]")
_format = click.option(
    "--format", "shape", type=click.Choice(["table", "json", "csv"]), help="How to print.  [default: table]"
)
_files = click.option(
    "--format",
    "shape",
    type=click.Choice(["csv", "xlsx"]),
    help="Which files.  [default: xlsx where --to ends in .xlsx, else csv]",
)


def _command(name: str, short_help: str, example: str, *parameters: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Declare a command that reads a RELEASE folder."""
    declare = click.command(name, short_help=short_help, epilog=options.example(f"headcount {name} {example}"))
    return options.grouped([declare, click.argument("release"), *parameters])


@_command(
    "top",
    "Show the largest counts of a release.",
    "friday/ -k 10 --context Friday",
    _many,
    click.option("--context", metavar="X", help="In this context alone."),
    _format,
    options.json_option,
)
def top(release: str, k: int, context: str | None, shape: str | None, as_json: bool) -> None:
    """Show the K largest counts of a RELEASE folder, with the interval each lies in; of totals, all of them."""
    show(release, k, context, _shape(shape, as_json=as_json))


@_command(
    "recommend",
    "Show the best items for one context.",
    "friday/ --context Friday -k 5",
    click.option("--context", metavar="X", required=True, help="The context to recommend for."),
    _many,
    _format,
    options.json_option,
)
def recommend(release: str, k: int, context: str, shape: str | None, as_json: bool) -> None:
    """Show the K best items of a RELEASE folder for one context."""
    show(release, k, context, _shape(shape, as_json=as_json))


@_command("explain", "Say in plain sentences what a release did and promises.", "friday/", options.json_option)
def explain(release: str, as_json: bool) -> None:
    """Say in numbered plain sentences what was done to make a RELEASE folder, and what it promises."""
    from headcount.releases.release import load

    loaded = load(release)
    if as_json:
        terminal.print_json({**loaded.to_json(), "sentences": list(loaded.sentences())})
        return
    if not loaded.is_private:
        terminal.say(terminal.FOR_RESEARCH)
    terminal.say_numbered(loaded.sentences())


@_command(
    "report",
    "Write a release as a web page with plots.",
    "friday/ --to friday.html",
    click.option("--to", "to", metavar="FILE.html", required=True, help="The page to write."),
    click.option("--title", metavar="T", default="", help="Title of the page.  [default: what was counted]"),
    click.option("--force", is_flag=True, help="Replace a file that is there already."),
    options.json_option,
    options.quiet_option,
)
def report(release: str, to: str, title: str, force: bool, as_json: bool, quiet: bool) -> None:
    """Write a RELEASE folder as one self-contained web page: ranking, contexts, guarantee in plain words."""
    if Path(to).is_file() and not force:
        raise UsageError.taken(to, param.to)
    with terminal.Bar(quiet=quiet) as bar:
        bar("drawing", 0, None)
        from headcount.releases.release import load
        from headcount.reports.release import write_release_page

        loaded = load(release)
        path = write_release_page(loaded, to, title.strip())
    if not loaded.is_private:
        terminal.note(terminal.FOR_RESEARCH)
    if as_json:
        terminal.print_json({"report": str(path)})
    else:
        click.echo(f"{path}: open it in a browser; it needs no network.")


@_command(
    "export",
    "Write a release's tables as CSV or Excel.",
    "friday/ --to friday.xlsx",
    click.option("--to", "to", metavar="DIR", required=True, help="Folder to write to, or FILE.xlsx."),
    _files,
    click.option("--force", is_flag=True, help="Replace files that are there already."),
    options.json_option,
    options.quiet_option,
)
def export(release: str, to: str, shape: str | None, force: bool, as_json: bool, quiet: bool) -> None:
    """Write the tables of a RELEASE folder, with what they promise, as CSV or Excel files."""
    from headcount.releases.release import load
    from headcount.reports.write import write_sheets

    loaded = load(release)
    with terminal.Bar(quiet=quiet) as bar:
        written = write_sheets(loaded, Path(to), shape, force=force, progress=bar)
    if not loaded.is_private:
        terminal.note(terminal.FOR_RESEARCH)
    if as_json:
        terminal.print_json({"files": [str(path) for path in written]})
    else:
        for path in written:
            click.echo(path)


def _shape(shape: str | None, *, as_json: bool) -> str:
    if as_json and shape not in (None, "json"):
        raise UsageError(f"--json and --format {shape} contradict each other", remedy="give one of them")
    return "json" if as_json else shape or "table"


def show(folder: str, k: int, context: str | None, shape: str) -> None:
    """Print the largest counts of a release."""
    from headcount.releases.release import load

    release = load(folder)
    if "totals" in release.tables and context is None:
        rows = release.bounded_table("totals").to_pylist()
        if shape == "table":
            if not release.is_private:
                terminal.say("NOT PRIVATE: " + _why(release))
            show_totals(release)
            terminal.say(f"{release.guarantee.short()}.")
            return
    else:
        rows = release.top(k, context)
    if shape == "table":
        show_table(release, rows, context=context)
        return
    if not release.is_private:
        terminal.note("NOT PRIVATE: " + _why(release))
    if shape == "json":
        terminal.print_json(rows)
    else:
        text = io.StringIO()
        writer = csv.DictWriter(text, fieldnames=_columns(release, rows, context), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        click.echo(text.getvalue(), nl=False)


def show_totals(release: Release) -> None:
    """Print the tables of totals, each with the bound on the records of a user."""
    from headcount.reports.parts.tables import QUANTILE_HEADINGS, group_rows, quantile_rows, total_rows

    bound, numbers = f"of {release.bounded}", ("value", "low", "high")
    tables: list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]
    tables = [(f"Totals, {bound}:", ("", *numbers), total_rows(release))]
    if GROUPS.name in release.tables:
        tables.append((f"By group, {bound}, over all groups together:", ("", "", *numbers), group_rows(release)))
    if QUANTILES.name in release.tables:
        ranked = (heading.lower() for heading in QUANTILE_HEADINGS)
        tables.append((f"Quantiles, {bound}:", ("", *ranked), quantile_rows(release)))
    for title, headings, rows in tables:
        terminal.say(title)
        sides = "".join("r" if heading else "l" for heading in headings)
        terminal.print_table(headings, sides, rows[:_SHOWN])
        if len(rows) > _SHOWN:
            terminal.say(f"… and {len(rows) - _SHOWN:,} more, all in the release.")
        click.echo()


def nothing_selected(release: Release) -> str:
    """Say of what none was selected, so that there is nothing to show."""
    from headcount.methods.partition_selection.plan import find_empty_selection

    nothing = find_empty_selection(release.chosen)
    return f"No {'item' if nothing is None else nothing.noun} was selected, so the release is empty"


def _columns(release: Release, rows: list[dict[str, Any]], context: str | None) -> list[str]:
    """Return the columns of an answer, which may have no rows."""
    if rows or "ranking" in release.tables:
        return list(rows[0]) if rows else list(release.ranking.column_names)
    return ["rank", "item", "label", "count", "low", "high", *([] if context is None else ["context"])]


def show_table(release: Release, rows: list[dict[str, Any]], *, context: str | None, last: bool = True) -> None:
    """Lay answers out for a terminal, with labels where there are any; the last table says what is promised."""
    if context is not None and context.casefold() in {
        name.casefold() for name in undecided_contexts(release.chosen)
    }:
        terminal.say(f"Nothing can be told of {terminal.printable(context)}: all is within the noise.")
        click.echo()
        if last:
            _say_order(release)
        return
    if not rows:
        if last:
            terminal.say(f"{nothing_selected(release)}. {release.guarantee.short()}.")
        return
    names = ["item", "label"] if any(row["label"] for row in rows) else ["item"]
    numbers = [column for column in ("count", "low", "high") if column in rows[0]]
    lines = [
        [row["rank"], *(row[name] for name in names), *(_outward(row[column], column) for column in numbers)]
        for row in rows
    ]
    if context is not None:
        click.echo(f"Best for {terminal.printable(rows[0]['context'])}\n")
    terminal.print_table(("", *names, *numbers), "r" + "l" * len(names) + "r" * len(numbers), lines)
    click.echo()
    if not last:
        return
    if not numbers:
        _say_order(release)
        return
    if not release.is_private:
        terminal.say("NOT PRIVATE: " + _why(release))
    level = per_cent(release.interval.level)
    counts = "Smoothed counts" if release.interval.covers == "smoothed" else "Counts"
    true = "people" if release.counts == "users" else "records"
    what = true if release.interval.covers == "true" else release.bounded
    average = ", which hold on average over all rows" if release.interval.average else ""
    sentences = [f"{counts} of {what}, with {level} intervals{average}. {release.guarantee.short()}."]
    sentences += [release.uncovered] if release.uncovered is not None else []
    terminal.say(" ".join([*sentences, *describe_order(release.chosen)]))


def _say_order(release: Release) -> None:
    """Say what a ranking without counts is by, what is promised, and how far its order can be relied on."""
    if not release.is_private:
        terminal.say("NOT PRIVATE: " + _why(release))
    sentence = f"Directly ranked by the number of people, without counts. {release.guarantee.short()}."
    terminal.say(" ".join([sentence, *describe_order(release.chosen)]))


def _outward(number: float, column: str) -> str:
    """Round the ends of an interval outward, so that rounding never undercuts its level."""
    rounded = {"low": math.floor, "high": math.ceil}.get(column)
    return whole(number if rounded is None else rounded(number))


def _why(release: Release) -> str:
    return str(release.guarantee.sentence()) if release.guarantee.reason else "the noise was seeded, for tests."
