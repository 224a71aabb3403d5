"""The ``headcount`` program: the Click group of all commands, and the mapping of errors to exit codes.

Exit codes: 0 done; 1 refused, or a check failed; 2 what the caller can mend; 3 the surroundings failed, or a bug;
130 interrupted; 143 ended by SIGTERM.
"""

from __future__ import annotations

import contextlib
import errno
import io
import itertools
import json
import os
import sys
import traceback
from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem

from headcount.cli.startup import end, hide_secrets, start
from headcount.errors import (
    HeadcountError,
    SurroundingsError,
    UnknownNameError,
    UsageError,
    command_line,
    was_interrupted,
)
from headcount.methods.family import resolved
from headcount.methods.registry import FAMILIES
from headcount.version import __version__

_COMMANDS = {
    "demo": "See the main job end to end, on a made-up city.",
    "inspect": "Look at an event file: columns, types, nulls.",
    "check": "See what of an event log would not be counted.",
    "pack": "Write an event log as a store that releases read quickly.",
    **{family.command[0]: family.short_help for family in FAMILIES.values()},
    "top": "Show the largest counts of a release.",
    "recommend": "Show the best items for one context.",
    "explain": "Say in plain sentences what a release did and promises.",
    "report": "Write a release as a web page with plots.",
    "export": "Write a release's tables as CSV or Excel.",
    "ledger": "Keep account of what is spent on each dataset.",
    "serve": "Open the studio: Headcount in the browser.",
    "plan": "Predict each method's error from public figures. Needs no data.",
    "compare": "Compare all methods on a log against the truth. Not private.",
    "reproduce": "Run a paper's experiments again, and judge its claims. Not private.",
    "methods": "List the methods and what each really guarantees.",
    "audit": "Attack a method's promise, and see what ε is at least.",
    "attack": "Mount a known attack on recommenders, and count what it recovers.",
    "completion": "Let a shell complete commands, flags and files.",
}
_HOMES = {
    **{name: f"commands.release:{name}" for name in ("release", "rank", "query")},
    **{name: f"commands.post_processing:{name}" for name in ("top", "recommend", "explain", "report", "export")},
    **{name: f"lab.{name}:command" for name in ("attack", "audit", "compare", "plan", "reproduce")},
    **{name: f"commands.help:{name}" for name in ("methods", "completion")},
    "neighbours": "commands.recommender:command",
    "tags": "commands.tags:command",
}
"""Where commands are defined, as ``module:name``, if not in a module of their own name."""


class _Commands(click.Group):
    """Imports a command's module when it is used, so that ``--help`` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        family = next((candidate for candidate in FAMILIES.values() if candidate.command == (cmd_name,)), None)
        if family is not None and cmd_name not in _HOMES:
            from headcount.cli.charged import command_of

            return command_of(family)
        command: click.Command = resolved(__package__, _HOMES.get(cmd_name, f"commands.{cmd_name}:command"))
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in _COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise UnknownNameError.among("command", args[0], _COMMANDS)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        commands = [CompletionItem(name, help=help_text) for name, help_text in _COMMANDS.items()]
        matches = [completion for completion in commands if completion.value.startswith(incomplete)]
        return [*matches, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=True)
@click.version_option(__version__, prog_name="headcount")
def program() -> None:
    """Publish what the crowd does, never what one person did.

    Item counts, item-by-context counts, rankings and recommendations from event logs, under user-level
    differential privacy.
    """


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the program and exit with its code."""
    start()
    _prepare_output()
    if "_HEADCOUNT_COMPLETE" in os.environ:
        from headcount.cli.commands.help import VARIABLE, completions

        click.echo(completions(os.environ[VARIABLE]))
        return
    given = sys.argv[1:] if arguments is None else arguments
    if any("://" in argument or argument.startswith("adbc+") for argument in given):
        hide_secrets(given)
    end(main(given))


def main(arguments: Sequence[str]) -> int:
    """Run the program and return its exit code."""
    try:
        with program.make_context("headcount", list(arguments)) as context:
            program.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # `headcount` alone
            error.show()
            return 2
        return _fail(_usage_error(error), arguments)
    except click.ClickException as error:
        return _fail(UsageError(error.format_message()), arguments)
    except HeadcountError as error:
        return _fail(error, arguments)
    except (KeyboardInterrupt, click.Abort):
        return _interrupted(arguments)
    except BrokenPipeError:  # whoever was reading has seen enough
        _discard_output()
        return 0
    except MemoryError:
        remedy = "use fewer contexts or a smaller catalogue"
        return _fail(SurroundingsError("out of memory", remedy=remedy), arguments)
    except OSError as error:
        return _fail(_surroundings(error), arguments)
    except Exception as error:
        if was_interrupted(error):
            return _interrupted(arguments)
        problem = f"internal error: {type(error).__name__}: {error}"
        remedy = "this is a bug in headcount: set HEADCOUNT_DEBUG=1 to see where it happened, and report it"
        return _fail(HeadcountError(problem, remedy=remedy), arguments)
    return 0


def _interrupted(arguments: Sequence[str]) -> int:
    """Say that it was ended by Ctrl-C."""
    if _wants_json(arguments):
        click.echo(json.dumps({"error": "Interrupted", "message": "interrupted"}))
    click.echo("interrupted; nothing half-done was left behind", err=True)
    return 130


def _fail(error: HeadcountError, arguments: Sequence[str]) -> int:
    """Say what is wrong: in one sentence on standard error, and as data where JSON is wanted."""
    error.render(command_line)  # whatever function it came through
    if os.environ.get("HEADCOUNT_DEBUG"):
        traceback.print_exc()
    click.echo(f"error: {error}", err=True)
    if error.file is not None and arguments[0] in ("inspect", "check"):  # which are for the curator
        click.echo(f"the file is {error.file}", err=True)
    try:
        if _wants_json(arguments):
            click.echo(json.dumps(error.to_json()))
        sys.stdout.flush()
    except OSError:
        _discard_output()
    return error.exit_code


def _wants_json(arguments: Sequence[str]) -> bool:
    pairs = itertools.pairwise(arguments)
    return "--json" in arguments or "--format=json" in arguments or ("--format", "json") in pairs


def _usage_error(error: click.UsageError) -> UsageError:
    """Say what Click found in the words of all other errors: one sentence and a remedy."""
    problem = error.format_message().split("\n")[0].removesuffix(".")
    remedy = f"see {error.ctx.command_path} --help" if error.ctx else None
    if isinstance(error, click.NoSuchOption):
        problem = f"there is no option {error.option_name}"
        near = _nearest(error)
        remedy = f"did you mean {near}?" if near else remedy
    return UsageError(problem[:1].lower() + problem[1:], remedy=remedy)


def _nearest(error: click.NoSuchOption) -> str | None:
    import difflib

    parameters = [] if error.ctx is None else error.ctx.command.params
    names = [name for parameter in parameters for name in parameter.opts]
    return next(iter(difflib.get_close_matches(error.option_name, names, n=1)), None)


def _surroundings(error: OSError) -> SurroundingsError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return SurroundingsError("the disk is full", remedy="free some space and run again")
    place = f"{error.filename}: " if error.filename else ""
    return SurroundingsError(f"{place}{error.strerror or error}")


def _prepare_output() -> None:
    """Let no letter stop the program: files and pipes get UTF-8, and what a console lacks is spelled out."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            plain = not stream.isatty() and "PYTHONIOENCODING" not in os.environ
            stream.reconfigure(encoding="utf-8" if plain else None, errors="backslashreplace")


def _discard_output() -> None:
    """Send what is still to be written nowhere, so that the interpreter ends in peace."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
