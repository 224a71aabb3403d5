"""``headcount report``: write a release as one self-contained web page."""

from __future__ import annotations

from pathlib import Path

import click

from headcount.cli import options, terminal
from headcount.errors import UsageError, param


@click.command(
    "report",
    short_help="Write a release as a web page with plots.",
    epilog=options.example("headcount report friday/ --to friday.html"),
)
@click.argument("release")
@click.option("--to", "to", metavar="FILE.html", required=True, help="The page to write.")
@click.option("--title", metavar="T", default="", help="Title of the page.  [default: what was counted]")
@click.option("--force", is_flag=True, help="Replace a file that is there already.")
@options.json_option
@options.quiet_option
def command(release: str, to: str, title: str, force: bool, as_json: bool, quiet: bool) -> None:
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
