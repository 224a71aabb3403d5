"""``headcount top`` and ``headcount recommend``: the largest counts, overall or in one context."""

from __future__ import annotations

import csv
import sys
from typing import Any

import click

from headcount.cli import options, terminal


@click.command("top", short_help="Show the largest counts of a release.")
@click.argument("release")
@click.option("-k", "k", type=int, default=10, show_default=True, help="How many.")
@click.option("--context", metavar="X", help="In this context alone.")
@click.option(
    "--format", "shape", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True,
    help="How to print.",
)  # fmt: skip
@options.json_option
def command(release: str, k: int, context: str | None, shape: str, as_json: bool) -> None:
    r"""Show the K largest counts of a RELEASE folder, with the interval each lies in.

    \b
    Example:
      headcount top friday/ -k 10 --context Friday
    """
    show(release, k, context, "json" if as_json else shape)


@click.command("recommend", short_help="Show the best items for one context.")
@click.argument("release")
@click.option("--context", metavar="X", required=True, help="The context to recommend for.")
@click.option("-k", "k", type=int, default=10, show_default=True, help="How many.")
@click.option(
    "--format", "shape", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True,
    help="How to print.",
)  # fmt: skip
@options.json_option
def recommend(release: str, k: int, context: str, shape: str, as_json: bool) -> None:
    r"""Show the K best items of a RELEASE folder for one context.

    \b
    Example:
      headcount recommend friday/ --context Friday -k 5
    """
    show(release, k, context, "json" if as_json else shape)


def show(folder: str, k: int, context: str | None, shape: str) -> None:
    """Print the largest counts of a release."""
    from headcount.releases import load  # noqa: PLC0415

    release = load(folder)
    rows = release.top(k, context)
    if shape == "json":
        terminal.print_json(rows)
        return
    if shape == "csv":
        writer = csv.DictWriter(sys.stdout, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return
    terminal.print_table(*as_table(rows, context))
    click.echo()
    if not release.is_private:
        click.echo(
            "NOT PRIVATE: " + release.guarantee.sentence()
            if release.guarantee.reason
            else "NOT PRIVATE: seeded noise."
        )
    click.echo(
        f"Counts of {release.bounded}; {release.interval.level:.0%} intervals. {release.guarantee.short()}."
    )


def as_table(
    rows: list[dict[str, Any]], context: str | None
) -> tuple[str | None, list[tuple[str, str]], list[list[Any]]]:
    """Lay answers out for a terminal; labels are shown where there are any."""
    labelled = any(row["label"] for row in rows)
    columns = [("", "right"), ("item", "left")]
    columns += [("label", "left")] if labelled else []
    columns += [("count", "right"), ("low", "right"), ("high", "right")]
    lines = []
    for row in rows:
        names = [row["item"], row["label"]] if labelled else [row["item"]]
        lines.append([row["rank"], *names, *(terminal.whole(row[each]) for each in ("count", "low", "high"))])
    return (f"Best for {context}" if context else None), columns, lines
