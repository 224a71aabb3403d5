"""``headcount export``: a release's tables for spreadsheets."""

from __future__ import annotations

from pathlib import Path

import click

from headcount.cli import options, terminal


@click.command(
    "export",
    short_help="Write a release's tables as CSV or Excel.",
    epilog=options.example("headcount export friday/ --to friday.xlsx"),
)
@click.argument("release")
@click.option("--to", "to", metavar="DIR", required=True, help="Folder to write to, or FILE.xlsx.")
@click.option(
    "--format",
    "shape",
    type=click.Choice(["csv", "xlsx"]),
    help="Which files.  [default: xlsx where --to ends in .xlsx, else csv]",
)
@click.option("--force", is_flag=True, help="Replace files that are there already.")
@options.json_option
@options.quiet_option
def command(release: str, to: str, shape: str | None, force: bool, as_json: bool, quiet: bool) -> None:
    """Write the tables of a RELEASE folder, with what they promise, as CSV or Excel files."""
    from headcount.releases.release import load
    from headcount.reports.spreadsheets import write_sheets

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
