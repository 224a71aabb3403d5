"""``headcount explain``: what a release did, in plain sentences."""

from __future__ import annotations

import click

from headcount.cli import options, terminal


@click.command("explain", short_help="Say in plain sentences what a release did and promises.")
@click.argument("release")
@options.json_option
def command(release: str, as_json: bool) -> None:
    r"""Say in numbered plain sentences what was done to make a RELEASE folder, and what it promises.

    \b
    Example:
      headcount explain friday/
    """
    from headcount.releases import load  # noqa: PLC0415

    loaded = load(release)
    if as_json:
        terminal.print_json({**loaded.to_json(), "sentences": list(loaded.sentences())})
        return
    terminal.say_numbered(loaded.sentences())
