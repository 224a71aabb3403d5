"""``headcount report``: a release as a self-contained web page."""

from __future__ import annotations

import click

from headcount.cli import options, terminal


@click.command("report", short_help="Write a release as a web page with plots.")
@click.argument("release")
@click.option("--to", "to", metavar="FILE.html", required=True, help="The page to write.")
@options.json_option
def command(release: str, to: str, as_json: bool) -> None:
    r"""Write a RELEASE folder as one self-contained web page: ranking, contexts, guarantee in plain words.

    \b
    Example:
      headcount report friday/ --to friday.html
    """
    from headcount.releases import load  # noqa: PLC0415
    from headcount.reports.release import write_release_page  # noqa: PLC0415

    path = write_release_page(load(release), to)
    if as_json:
        terminal.print_json({"report": str(path)})
    else:
        click.echo(f"{path}: open it in a browser; it needs no network.")
