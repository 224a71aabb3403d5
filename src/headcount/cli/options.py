"""Click options made from declared parameters, and the options that all commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click

from headcount._internal.parameters import Flag, read_all
from headcount.cli.config import use_config
from headcount.errors import command_line, render

Command = TypeVar("Command", bound=Callable[..., Any])
Option = Callable[[Command], Command]
Flags = Mapping[str, Any]
"""What was given to a command, by the names of its parameters."""

read = read_all

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Show no progress and no notes.")
config_option = click.option(
    "--config",
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=use_config,
    help="Take flags from a .toml file ([events], and the command's own section) or a release.json; "
    "flags given here win.",
)


class Whole(click.IntRange):
    """A whole number in ASCII digits: Python also reads ``1_0``, and digits of other scripts."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse other digits, then read it as Click does."""
        return super().convert(_plain(self, value, param, ctx), param, ctx)


class Number(click.FloatRange):
    """A number in ASCII digits."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse other digits, then read it as Click does."""
        return super().convert(_plain(self, value, param, ctx), param, ctx)


def _plain(kind: Whole | Number, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
    if isinstance(value, str) and (not value.isascii() or "_" in value):
        kind.fail(f"{value!r} is not a number in digits from 0 to 9.", param, ctx)
    return value


def grouped(options: Iterable[Callable[[Any], Any]]) -> Callable[[Command], Command]:
    """Put several options on a command, in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(list(options)):
            command = option(command)
        return command

    return decorate


def option(name: str, flag: Flag, **more: Any) -> Callable[[Any], Any]:
    """Return the option that a declaration describes."""
    settings: dict[str, Any] = {"help": render(flag.help, command_line), "metavar": flag.metavar}
    if flag.choices:
        settings["type"] = click.Choice(flag.choices)
    elif flag.raw:
        settings["type"] = click.UNPROCESSED
    if flag.default is not None:
        settings |= {"default": flag.default, "show_default": True}
    settings |= {"is_flag": True} if flag.switch else {}
    settings |= {"multiple": True} if flag.many else {}
    settings |= {"required": True} if flag.needed else {}
    return click.option(flag.named(name), name, **(settings | more))


def example(*lines: str) -> str:
    """Return the last paragraph of a command's help: an example that is not wrapped."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)
