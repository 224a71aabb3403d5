"""``headcount completion``: shell scripts that complete commands, flags and file names."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ShellComplete, ZshComplete

VARIABLE = "_HEADCOUNT_COMPLETE"
"""What a shell sets while it asks for completions: it is looked at before anything else."""


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
def command(shell: str) -> None:
    """Print what a SHELL runs to complete what you type after `headcount`."""
    click.echo(_completing(shell).source())


def completions(instruction: str) -> str:
    """Return what a shell is to offer, as it asks for it with ``bash_complete`` or the like."""
    shell = instruction.removesuffix("_complete")
    return _completing(shell).complete() if shell in SHELLS else ""


def _completing(shell: str) -> ShellComplete:
    from headcount.cli.main import program

    return SHELLS[shell](program, {}, "headcount", VARIABLE)
