"""``headcount methods`` and ``headcount completion``: the program about itself, for its reader and for a shell."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ShellComplete, ZshComplete

from headcount._internal.parameters import Flag
from headcount.accounting.guarantee import Standing
from headcount.cli import options, terminal

VARIABLE = "_HEADCOUNT_COMPLETE"
"""What a shell sets while it asks for completions: it is looked at before anything else."""


@click.command(
    "methods",
    short_help="List the methods and what each really guarantees.",
    epilog=options.example("headcount methods --json"),
)
@options.json_option
def methods(as_json: bool) -> None:
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


class _OrFiles(ShellComplete):
    """Names files where nothing else is known: most of what commands take are files and folders."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        candidates = super().get_completions(args, incomplete)
        return candidates or ([] if incomplete.startswith("-") else [CompletionItem(incomplete, type="file")])


class _Bash(_OrFiles, BashComplete):
    pass


class _Zsh(_OrFiles, ZshComplete):
    pass


class _Fish(_OrFiles, FishComplete):
    pass


SHELLS: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}


@click.command(
    "completion",
    short_help="Let a shell complete commands, flags and files.",
    epilog="\b\nExamples:\n"
    '  eval "$(headcount completion bash)"      in ~/.bashrc\n'
    '  eval "$(headcount completion zsh)"       in ~/.zshrc\n'
    "  headcount completion fish | source       in ~/.config/fish/config.fish",
)
@click.argument("shell", type=click.Choice(list(SHELLS)))
def completion(shell: str) -> None:
    """Print what a SHELL runs to complete what you type after `headcount`."""
    click.echo(_completing(shell).source())


def completions(instruction: str) -> str:
    """Return what a shell is to offer, as it asks for it with ``bash_complete`` or the like."""
    shell = instruction.removesuffix("_complete")
    return _completing(shell).complete() if shell in SHELLS else ""


def _completing(shell: str) -> ShellComplete:
    from headcount.cli.main import program

    return SHELLS[shell](program, {}, "headcount", VARIABLE)
