"""``headcount methods``: what there is, and what each method really guarantees."""

from __future__ import annotations

import click

from headcount.cli import options, terminal

_HEADINGS = {
    "counts": "Counts: headcount release --method …",
    "neighbours": "Recommendation: headcount neighbours fit --method …",
    "tags": "Tags: headcount tags release --method …",
    "queries": "Queries: headcount query --method …",
}


@click.command(
    "methods",
    short_help="List the methods and what each really guarantees.",
    epilog=options.example("headcount methods --json"),
)
@options.json_option
def command(as_json: bool) -> None:
    """List all methods: their parameters, and whether their guarantee is proven or only claimed."""
    from headcount.registry import describe, summary

    methods = describe()
    if as_json:
        terminal.print_json(methods)
        return
    family = None
    for each in methods:
        if each["family"] != family:
            family = each["family"]
            click.echo(click.style(_HEADINGS[family], underline=True) + "\n")
        name = click.style(each["name"].ljust(max(15, len(each["name"]) + 1)), bold=True)
        standing = each["standing"] if each["standing"] == "proven" else "claimed, not established"
        click.echo(f"{name}{standing}")
        terminal.say(summary(each["name"]), indent="    ")
        flags = [f"--{name}" if name in ("limit", "what", "shares", "noise") else f"--option {name}=…"
                 for name in each["parameters"]]  # fmt: skip
        terminal.say(", ".join(flags), indent="      ", bullet="    Takes ")
        if each["reason"]:
            terminal.say(each["reason"], indent="      ", bullet="    Not private: ")
        terminal.say(each["reference"], indent="      ", bullet="    From ")
        click.echo()
    terminal.say(
        "All promises are for adding or removing one person with everything they ever did. They are pure ε, or "
        "(ε, δ) with --delta D where a method can use it: counts with --noise gaussian. Claimed methods need "
        "--research: they are kept to reproduce papers, and the claim does not hold."
    )
