"""``headcount methods``: what there is, and what each method really guarantees."""

from __future__ import annotations

import click

from headcount.cli import options, terminal


@click.command("methods", short_help="List the methods and what each really guarantees.")
@options.json_option
def command(as_json: bool) -> None:
    r"""List all methods: their parameters, and whether their guarantee is proven or only claimed.

    \b
    Example:
      headcount methods --json
    """
    from headcount.registry import describe  # noqa: PLC0415

    methods = describe()
    if as_json:
        terminal.print_json(methods)
        return
    rows = [
        [each["name"], each["standing"], ", ".join(each["parameters"]), each["reason"] or each["reference"]]
        for each in methods
    ]
    columns = [
        ("method", "left"),
        ("guarantee", "left"),
        ("parameters", "left"),
        ("reference, or what is wrong", "left"),
    ]
    terminal.print_table(None, columns, rows)
    click.echo()
    click.echo("All for adding or removing one person. Claimed methods need --research: the claim does not hold.")
