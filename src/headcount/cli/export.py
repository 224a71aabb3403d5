"""``headcount export``: a release's tables for spreadsheets."""

from __future__ import annotations

from pathlib import Path

import click

from headcount.cli import options, terminal


@click.command("export", short_help="Write a release's tables as CSV or Excel.")
@click.argument("release")
@click.option("--to", "to", metavar="DIR", required=True, help="Folder to write to.")
@click.option(
    "--format", "shape", type=click.Choice(["csv", "xlsx"]), default="csv", show_default=True, help="Which files."
)
@click.option("--force", is_flag=True, help="Replace files that are there already.")
@options.json_option
def command(release: str, to: str, shape: str, force: bool, as_json: bool) -> None:
    r"""Write the tables of a RELEASE folder, with what they promise, as CSV or Excel files.

    \b
    Example:
      headcount export friday/ --to sheets/ --format xlsx
    """
    from headcount.releases import load  # noqa: PLC0415
    from headcount.reports.sheets import write_sheets  # noqa: PLC0415

    written = write_sheets(load(release), Path(to), shape, force=force)
    if as_json:
        terminal.print_json({"files": [str(path) for path in written]})
    else:
        for path in written:
            click.echo(path)
