"""``headcount methods``: list all methods with their parameters, and whether the guarantee is proven."""

from __future__ import annotations

import click

from headcount._internal.parameters import Flag
from headcount.accounting.guarantee import Standing
from headcount.cli import options, terminal


@click.command(
    "methods",
    short_help="List the methods and what each really guarantees.",
    epilog=options.example("headcount methods --json"),
)
@options.json_option
def command(as_json: bool) -> None:
    """List all methods: their parameters, and whether their guarantee is proven or only claimed."""
    from headcount.methods.registry import FAMILIES, describe, summary
    from headcount.methods.request import flags_of

    methods = describe()
    if as_json:
        terminal.print_json(methods)
        return
    family, flags = None, dict[str, Flag]()
    for method in methods:
        if family is None or method["family"] != family.name:
            family = FAMILIES[method["family"]]
            flags = flags_of(family.request_kind())
            click.echo(click.style(f"{family.heading}: {family.words}", underline=True) + "\n")
        name = click.style(method["name"].ljust(max(15, len(method["name"]) + 1)), bold=True)
        click.echo(f"{name}{Standing(method['standing']).words}")
        terminal.say(summary(method["name"]), indent="    ")
        takes = [
            flags[name].named(name) if name in flags else f"--option {name}=…" for name in method["parameters"]
        ]
        terminal.say(", ".join(takes), indent="      ", bullet="    Takes ")
        if method["reason"]:
            terminal.say(method["reason"], indent="      ", bullet="    Not private: ")
        terminal.say(method["reference"], indent="      ", bullet="    From ")
        click.echo()
    terminal.say(
        "All promises are for adding or removing one person with everything they ever did. They are pure ε, or "
        "(ε, δ) with --delta D where a method can use it: counts with --noise gaussian, models, tags "
        "and rankings. Claimed methods need --research: they are kept to reproduce papers, and the claim does not "
        "hold."
    )
