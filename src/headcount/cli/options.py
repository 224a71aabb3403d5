"""Click options made from declared parameters, those that all commands share, and groups of commands.

``--config`` takes flags from a TOML file, or from the request in a release.json.
"""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import click

from headcount._internal.parameters import Flag, read_all
from headcount.errors import DataError, UnknownNameError, command_line, render
from headcount.events.log_parameters import FLAGS
from headcount.methods.registry import FAMILIES

Command = TypeVar("Command", bound=Callable[..., Any])
Option = Callable[[Command], Command]
Flags = Mapping[str, Any]
"""What was given to a command, by the names of its parameters."""

read = read_all

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Show no progress and no notes.")


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


class Actions(click.Group):
    """Says in its own words what is not a subcommand."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Refuse what is no subcommand, and name the nearest."""
        if args[0] not in self.commands and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise UnknownNameError.among(
                "command", args[0], self.list_commands(ctx), where=f"headcount {self.name}"
            )
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the subcommands in the order in which they are written."""
        return list(self.commands)


_NOT_HERE = {"config", "json", "quiet", "help"}


_OWN = (*dict.fromkeys(family.command[0] for family in FAMILIES.values()), "compare")
"""The commands that have a section of their own; one that spends nothing may share a file with them."""


def use_config(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:  # noqa: ARG001
    """Take flags from a file; those on the command line win."""
    if value is not None and not context.resilient_parsing:
        flags = read_config(Path(value), context.command.params, _command_name(context))
        context.default_map = {**(context.default_map or {}), **flags}
    return value


def read_config(path: Path, parameters: list[click.Parameter], command: str) -> dict[str, Any]:
    """Read a file's flags, as values for the parameters of a command."""
    options_by_name = {
        _key(parameter): parameter for parameter in parameters if isinstance(parameter, click.Option)
    }
    options_by_name = {key: parameter for key, parameter in options_by_name.items() if key not in _NOT_HERE}
    flags: dict[str, Any] = {}
    for section, entries in _sections(path).items():
        if section not in ("events", *_OWN) or not isinstance(entries, Mapping):
            raise DataError(
                f"{path} has {section!r}", remedy=f"flags stand under [events], or [{'], ['.join(_OWN)}]"
            )
        if section not in ("events", command):
            continue
        for key, value in entries.items():
            if isinstance(value, str) and value.startswith("sha256:"):
                continue  # stands for a list that has to be named again
            name = "option" if key == "options" else key.replace("-", "_")
            if (
                name not in options_by_name
                and section == "events"
                and name in FLAGS
                and value == FLAGS[name].default
            ):
                continue  # what other commands may choose, as it is here anyway
            if name not in options_by_name:
                near = difflib.get_close_matches(name, options_by_name, n=1)
                hint = f"did you mean {near[0]!r}?" if near else "see --help"
                raise DataError(f"{path} sets {key!r}, which is not a flag", remedy=hint)
            option = options_by_name[name]
            if option.name in flags:
                raise DataError(f"{path} sets {key!r} twice", remedy="keep one of them")
            flags[str(option.name)] = _as_flag(path, key, value, option)
    return flags


def _command_name(context: click.Context) -> str:
    """Return the name of a command; that of the whole for a part of one, such as ``neighbours fit``."""
    while context.parent is not None and context.parent.parent is not None:
        context = context.parent
    return context.command.name or ""


def _key(option: click.Option) -> str:
    return max(option.opts, key=len).lstrip("-").replace("-", "_")


def _sections(path: Path) -> Mapping[str, Any]:
    if (path / "release.json").is_file():  # the folder of a release will do
        path = path / "release.json"
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix != ".json":
            return tomllib.loads(text, parse_float=Decimal)
        request = json.loads(text, parse_float=Decimal).get("request")
        if not isinstance(request, Mapping) or not request:
            raise DataError(f"{path} holds no request", remedy="it must be TOML, or a release.json")
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist", remedy="check the path given to --config") from error
    except IsADirectoryError as error:
        raise DataError(f"{path} is a folder", remedy="give a TOML file, or a release.json") from error
    except (ValueError, AttributeError) as error:
        raise DataError(f"{path} cannot be read ({error})", remedy="it must be TOML, or a release.json") from error
    return request


def _as_flag(path: Path, key: str, value: Any, option: click.Option) -> Any:
    """Give a value the shape that its flag has on the command line; lists and tables stay what they are."""
    raw = option.type is click.UNPROCESSED
    if raw and option.multiple:
        if isinstance(value, Mapping):
            return [(column, _texts(values)) for column, values in value.items()]
        if isinstance(value, list):
            flags = value and all(isinstance(entry, str) and "=" in entry for entry in value)
            return value if flags else [_texts(value)]
    elif raw and isinstance(value, list | Mapping):
        return _with_floats(value) if isinstance(value, Mapping) else value
    elif isinstance(value, Mapping):
        named = [f"{name}={setting}" for name, setting in value.items()]
        return named if option.multiple else ",".join(named)
    if option.multiple:
        return _texts(value) if isinstance(value, list) else [str(value)]
    if isinstance(value, list):
        raise DataError(f"{path} sets {key!r} to several values", remedy="give it a single one")
    return value if isinstance(value, bool) else str(value)


def _with_floats(value: Any) -> Any:
    """Return bins with the numbers they had: files are read with exact ones, for ε."""
    if isinstance(value, Mapping):
        return {key: _with_floats(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_with_floats(entry) for entry in value]
    return float(value) if isinstance(value, Decimal) else value


def _texts(values: Any) -> Any:
    return [str(value) for value in values] if isinstance(values, list) else str(values)


config_option = click.option(
    "--config",
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=use_config,
    help="Take flags from a .toml file ([events], and the command's own section) or a release.json; "
    "flags given here win.",
)
