"""Flags that several commands share, as groups, and how they become a log and a request."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from headcount.errors import DataError, UsageError

Command = TypeVar("Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
quiet_option = click.option("--quiet", is_flag=True, help="Show no progress and no notes.")


def _grouped(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _use_config(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Take flags from a file; those on the command line win."""
    if value is not None and not context.resilient_parsing:
        known = {each.name for each in context.command.params if each.name} - {parameter.name}
        context.default_map = {**(context.default_map or {}), **read_config(Path(value), known)}
    return value


event_options = _grouped(
    click.argument("events", nargs=-1, required=True, metavar="EVENTS..."),
    click.option("--user", required=True, metavar="COL", help="Column that says who."),
    click.option("--item", required=True, metavar="COL", help="Column that says what."),
    click.option(
        "--items",
        metavar="FILE[:ID[,LABEL]]",
        help="Public catalogue: a .txt, CSV or Parquet file, or a comma-separated list of ids.",
    ),
    click.option(
        "--context",
        metavar="COL",
        help="Context: COL, COL,COL, or weekday:COL, hour:COL, month:COL.",
    ),
    click.option(
        "--contexts",
        multiple=True,
        metavar="A,B,C | COL=A,B,C",
        help="Public values of the context (repeat for several columns).",
    ),
    click.option(
        "--context-of",
        type=click.Choice(["record", "user"]),
        default="record",
        show_default=True,
        help="user: each user keeps the records of one context value, their most frequent.",
    ),
    click.option(
        "--count",
        type=click.Choice(["records", "users"]),
        default="records",
        show_default=True,
        help="Count records, or distinct users.",
    ),
    click.option("--where", multiple=True, metavar="'COL OP VALUE'", help="Keep only such records (repeatable)."),
    click.option("--time", metavar="COL", help="Column that --since and --until look at."),
    click.option("--since", metavar="T", help="Keep records from this moment on."),
    click.option("--until", metavar="T", help="Keep records before this moment."),
    click.option("--times", metavar="COL", help="Column that says how many records a row stands for."),
    click.option("--time-format", metavar="F", help="s, ms, us, min@ORIGIN or a strptime pattern."),
    click.option(
        "--timezone", metavar="ZONE", help="Zone of weekday, hour and month.  [default: the column's, else UTC]"
    ),
    click.option("--delimiter", metavar="C", help="Delimiter of text files.  [default: comma, tab for .tsv]"),
    click.option("--encoding", default="utf-8", show_default=True, metavar="NAME", help="Encoding of text files."),
    click.option("--no-header", is_flag=True, help="Text files have no header: columns are named 1, 2, 3, …"),
    click.option(
        "--drop-nulls", is_flag=True, help="Leave out rows without user or item instead of refusing them."
    ),
    click.option(
        "--config",
        metavar="FILE",
        is_eager=True,
        expose_value=False,
        callback=_use_config,
        help="Take flags from a .toml file ([events], [release]) or a release.json; flags given here win.",
    ),
)

spend_options = _grouped(
    click.option("--epsilon", required=True, metavar="E", help="The privacy budget to spend, such as 1 or 0.5."),
    click.option("--delta", metavar="D", help="Only for mechanisms that need it; none here does yet."),
    click.option("--research", is_flag=True, help="Allow methods whose published claim is not established."),
    click.option(
        "--option", "options", multiple=True, metavar="NAME=VALUE", help="An option of the method (repeatable)."
    ),
    click.option("--out", metavar="DIR", help="Folder to write the release to."),
    click.option("--force", is_flag=True, help="Replace a release that is there already."),
    click.option("--dry-run", is_flag=True, help="Validate everything, show promise and price, read no events."),
)


def event_log(flags: Mapping[str, Any]) -> Any:
    """Make the log that the event flags describe."""
    from headcount.events.log import read_events  # noqa: PLC0415

    if not flags["items"]:
        raise UsageError(
            "no catalogue is given; the items that may be released must be public",
            remedy="list them with --items FILE (one id a line, or a CSV or Parquet column)",
        )
    names = (
        "user", "item", "items", "context", "context_of", "count", "where", "since", "until", "time", "times",
        "time_format", "timezone", "delimiter", "encoding", "drop_nulls",
    )  # fmt: skip
    contexts = list(flags["contexts"])
    return read_events(
        list(flags["events"]),
        contexts=(contexts if len(contexts) > 1 else contexts[0]) if contexts else None,
        header=not flags["no_header"],
        **{name: flags[name] for name in names},
    )


def pairs(texts: tuple[str, ...] | str | None, flag: str) -> dict[str, str] | None:
    """Read ``a=1,b=2`` or several ``a=1``.

    >>> pairs("items=0.5,edges=0.5", "--shares")
    {'items': '0.5', 'edges': '0.5'}
    """
    if not texts:
        return None
    listed = texts.split(",") if isinstance(texts, str) else list(texts)
    if not all("=" in each for each in listed):
        raise UsageError(f"{flag} must read NAME=VALUE", given=",".join(listed))
    return {name.strip(): value.strip() for name, value in (each.split("=", 1) for each in listed)}


def read_config(path: Path, known: set[str]) -> dict[str, Any]:
    """Read flags from a TOML file or the request in a release.json."""
    try:
        text = path.read_text(encoding="utf-8")
        data = json.loads(text).get("request", {}) if path.suffix == ".json" else tomllib.loads(text)
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist", remedy="check the path given to --config") from error
    except (ValueError, AttributeError) as error:
        raise DataError(f"{path} cannot be read ({error})", remedy="it must be TOML, or a release.json") from error
    flags: dict[str, Any] = {}
    for section, entries in data.items():
        if section not in ("events", "release") or not isinstance(entries, Mapping):
            raise DataError(f"{path} has {section!r}", remedy="flags stand under [events] or [release]")
        for key, value in entries.items():
            name = key.replace("-", "_")
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else "see headcount release --help"
                raise DataError(f"{path} sets {key!r}, which is not a flag", remedy=hint)
            flags[name] = _as_flag(name, value)
    return flags


def _as_flag(name: str, value: Any) -> Any:
    """Write a value as the command line would."""
    if name == "contexts" and isinstance(value, Mapping):
        return [f"{column}={','.join(map(str, values))}" for column, values in value.items()]
    if name == "contexts" and isinstance(value, list):
        return [",".join(map(str, value))]
    if isinstance(value, Mapping):
        pairs_ = [f"{key}={each}" for key, each in value.items()]
        return pairs_ if name == "options" else ",".join(pairs_)
    if name in ("items", "context") and isinstance(value, list):
        return ",".join(map(str, value))
    if name == "where" and isinstance(value, str):
        return [value]
    return value if isinstance(value, bool | list) else str(value)
