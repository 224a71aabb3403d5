"""``headcount explain``: the steps and the guarantee of a release in numbered sentences."""

from __future__ import annotations

import click

from headcount.cli import options, terminal


@click.command(
    "explain",
    short_help="Say in plain sentences what a release did and promises.",
    epilog=options.example("headcount explain friday/"),
)
@click.argument("release")
@options.json_option
def command(release: str, as_json: bool) -> None:
    """Say in numbered plain sentences what was done to make a RELEASE folder, and what it promises."""
    from headcount.releases.release import load

    loaded = load(release)
    if as_json:
        terminal.print_json({**loaded.to_json(), "sentences": list(loaded.sentences())})
        return
    if not loaded.is_private:
        terminal.say(terminal.FOR_RESEARCH)
    terminal.say_numbered(loaded.sentences())
