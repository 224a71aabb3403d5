"""The ``headcount`` program: the group of commands, and the edge where errors become exit codes.

Exit codes: 0 done; 1 refused, or a check failed; 2 what the caller can mend; 3 the surroundings failed, or a bug;
130 interrupted.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from collections.abc import Sequence

import click

from headcount import __version__
from headcount.errors import HeadcountError

_COMMANDS = {
    "demo": "See the main job end to end, on a made-up city.",
    "inspect": "Look at an event file: columns, types, nulls. For the curator's eyes.",
    "release": "Release private counts from an event log.",
    "top": "Show the largest counts of a release.",
    "recommend": "Show the best items for one context.",
    "explain": "Say in plain sentences what a release did and promises.",
    "report": "Write a release as a web page with plots.",
    "export": "Write a release's tables as CSV or Excel.",
    "methods": "List the methods and what each really guarantees.",
}
_HOMES = {"recommend": "top", "demo": "demonstrate", "inspect": "look"}


class _Commands(click.Group):
    """Imports a command's module when it is used, so that ``--help`` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"headcount.cli.{_HOMES.get(cmd_name, cmd_name)}")
        command: click.Command = module.command if cmd_name != "recommend" else module.recommend
        return command

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
    sys.exit(main(sys.argv[1:] if arguments is None else arguments))


def main(arguments: Sequence[str]) -> int:
    """Run the program and return its exit code."""
    as_json = "--json" in arguments
    try:
        program.main(args=list(arguments), prog_name="headcount", standalone_mode=False)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        error.show()
        return 2
    except HeadcountError as error:
        _say(error, as_json=as_json)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted; nothing was written", err=True)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError:
        click.echo("error: out of memory; use fewer contexts or a smaller catalogue", err=True)
        return 3
    except Exception as error:
        if os.environ.get("HEADCOUNT_DEBUG"):
            traceback.print_exc()
        click.echo(f"internal error: {type(error).__name__}: {error}", err=True)
        click.echo("This is a bug in headcount; set HEADCOUNT_DEBUG=1 to see where it happened.", err=True)
        return 3
    return 0


def _say(error: HeadcountError, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(error.to_json(), ensure_ascii=False))
    click.echo(f"error: {error}", err=True)
