"""Flags that several commands share, as groups, and how they become a log and a request."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from headcount.cli.config import use_config
from headcount.errors import UsageError

Command = TypeVar("Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Show no progress and no notes.")


def _grouped(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def example(*lines: str) -> str:
    """Return the last paragraph of a command's help: an example that is not wrapped."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


def _needed(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Refuse raw files without the option, in Click's own words; a packed store goes without."""
    from headcount.events.log import the_store

    events = context.params.get("events")
    if value is None and events and not context.resilient_parsing and the_store(events) is None:
        raise click.MissingParameter(ctx=context, param=option)
    return value


_IDS = (
    click.option(
        "--user", callback=_needed, metavar="COL", help="Column that says who.  [required, but for a store]"
    ),
    click.option(
        "--item", callback=_needed, metavar="COL", help="Column that says what.  [required, but for a store]"
    ),
    click.option(
        "--items",
        type=click.UNPROCESSED,
        metavar="FILE[:ID[,LABEL]]",
        help="Public catalogue: a .txt, CSV or Parquet file, or a comma-separated list of ids.",
    ),
)
_CELLS = (
    click.option(
        "--select-items",
        is_flag=True,
        help="There is no public catalogue: release the items that enough people have (needs --delta).",
    ),
    click.option(
        "--context",
        type=click.UNPROCESSED,
        metavar="COL",
        help="Context: COL, COL,COL, or weekday:COL, hour:COL, month:COL.",
    ),
    click.option(
        "--contexts",
        type=click.UNPROCESSED,
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
)
_ROWS = (
    click.option("--where", multiple=True, metavar="'COL OP VALUE'", help="Keep only such records (repeatable)."),
    click.option("--time", metavar="COL", help="Column that --since and --until look at."),
    click.option("--since", metavar="T", help="Keep records from this moment on."),
    click.option("--until", metavar="T", help="Keep records before this moment."),
    click.option("--times", metavar="COL", help="Column that says how many records a row stands for."),
)
_VALUES = (
    click.option("--value", metavar="COL", help="Column that holds a number of each record, such as a rating."),
    click.option(
        "--value-range", metavar="LO,HI", help="Public range of --value; what lies outside is cut to its ends."
    ),
)
_READING = (
    click.option("--time-format", metavar="F", help="s, ms, us, min@ORIGIN or a strptime pattern."),
    click.option(
        "--timezone", metavar="ZONE", help="Zone of weekday, hour and month.  [default: the column's, else UTC]"
    ),
    click.option("--delimiter", metavar="C", help="Delimiter of text files.  [default: comma, tab for .tsv]"),
    click.option("--encoding", default="utf-8", show_default=True, metavar="NAME", help="Encoding of text files."),
    click.option("--no-header", is_flag=True, help="Text files have no header: columns are named 1, 2, 3, …"),
    click.option(
        "--format",
        type=click.Choice(["parquet", "csv", "jsonl", "arrow"]),
        help="Format of files whose names do not say it, and of standard input.",
    ),
    click.option("--drop-nulls", is_flag=True, help="Rows without user or item are left out, with or without it."),
)

_CONFIG = click.option(
    "--config",
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=use_config,
    help="Take flags from a .toml file ([events], and the command's own section) or a release.json; "
    "flags given here win.",
)

event_options = _grouped(
    click.argument("events", nargs=-1, required=True, metavar="EVENTS..."),
    *_IDS,
    *_CELLS,
    *_ROWS,
    *_VALUES,
    *_READING,
    _CONFIG,
)

people_options = _grouped(
    click.argument("events", nargs=-1, required=True, metavar="PEOPLE..."),
    click.option("--user", required=True, metavar="COL", help="Column that says who."),
    *_ROWS[:-1],
    *_READING,
    _CONFIG,
)
"""A table of people, which names no items and no contexts."""

own_log_options = _grouped(click.argument("events", nargs=-1, metavar="[EVENTS...]"), *_IDS, *_ROWS, *_READING)
"""A log where none is needed, of which people and items alone are looked at."""

ratings_options = _grouped(
    click.argument("events", nargs=-1, required=True, metavar="RATINGS..."), *_IDS, *_ROWS, *_VALUES, *_READING
)
"""A log of which people, items and ratings are looked at."""

tag_log_options = _grouped(
    click.argument("events", nargs=-1, required=True, metavar="EVENTS..."),
    click.option("--user", metavar="COL", help="Column that says who."),
    click.option("--resource", metavar="COL", help="Column that says what was tagged."),
    click.option("--tag", metavar="COL", help="Column that holds the tag."),
    click.option(
        "--resources", metavar="FILE[:ID[,LABEL]]", help="Public list of resources: a file, or ids with commas."
    ),
    click.option(
        "--vocabulary", metavar="FILE[:ID[,LABEL]]", help="Public list of tags: a file, or tags with commas."
    ),
    *_ROWS[:4],
    *_READING,
    _CONFIG,
)
"""A log of who gave which tag to which resource."""

spend_options = _grouped(
    click.option("--epsilon", required=True, metavar="E", help="The privacy budget to spend, such as 1 or 0.5."),
    click.option(
        "--delta",
        metavar="D",
        help="How likely the promise may fail; for --noise gaussian and --select-items, such as 1e-6.",
    ),
    click.option(
        "--select-limit",
        metavar="L",
        help="The most items of one person that count for --select-items.  [default: 10]",
    ),
    click.option(
        "--ledger",
        metavar="URL",
        help="Ledger to charge, such as sqlite:///headcount.db.  [default: HEADCOUNT_LEDGER, else none]",
    ),
    click.option(
        "--dataset", metavar="NAME[@VERSION]", help="Whose budget is spent, and the version of the data."
    ),
    click.option("--analyst", metavar="NAME", help="Who asks, for the ledger.  [default: the name of this user]"),
    click.option("--again", is_flag=True, help="Draw and charge anew what was published already."),
    click.option("--research", is_flag=True, help="Allow methods whose published claim is not established."),
    click.option(
        "--option", "options", multiple=True, metavar="NAME=VALUE", help="An option of the method (repeatable)."
    ),
    click.option("--out", metavar="DIR", help="Folder to write the release to."),
    click.option("--force", is_flag=True, help="Replace a release that is there already."),
    click.option("--dry-run", is_flag=True, help="Validate everything, show promise and price, read no events."),
)


@contextmanager
def charging(flags: Mapping[str, Any]) -> Iterator[Any]:
    """Open the ledger that the flags or the environment name, None if there is none."""
    from headcount.charging import Charging

    names = ("dataset", "analyst", "again")
    found = Charging.of(flags["ledger"], **{name: flags[name] for name in names})
    try:
        yield found
    except KeyboardInterrupt:
        if found is not None:
            click.echo("what was reserved in the ledger stays charged: see `headcount ledger show`", err=True)
        raise
    finally:
        if found is not None:
            found.let_go()


def event_log(flags: Mapping[str, Any], *, needs_items: bool = True) -> Any:
    """Make the log that the event flags describe; totals, and a look at what would be counted, need no items."""
    from headcount.events.catalogue import check_catalogue_given
    from headcount.events.log import read_events, the_store

    store = the_store(flags["events"])
    flags = _one_catalogue(flags)
    if store is not None:
        flags = _without_what_is_packed(flags, store)
    elif flags["items"] or (
        needs_items and "totals" not in (flags.get("what"), flags.get("what") or flags.get("method"))
    ):
        check_catalogue_given(flags["items"] or None, select_items=flags["select_items"])
    names = (
        "user", "item", "items", "select_items", "context", "context_of", "count", "where", "since", "until",
        "time", "times", "value", "value_range", "time_format", "timezone", "delimiter", "encoding", "format",
        "drop_nulls",
    )  # fmt: skip
    return read_events(
        list(flags["events"]),
        contexts=_contexts(flags["contexts"]),
        header=not flags["no_header"],
        **{name: flags[name] for name in names},
    )


def people_log(flags: Mapping[str, Any]) -> Any:
    """Make the log that the flags of a table of people describe."""
    from headcount.events.people import read_people

    names = (
        "user", "where", "since", "until", "time", "time_format", "timezone", "delimiter", "encoding",
        "format", "drop_nulls",
    )  # fmt: skip
    own = {name: flags[name] for name in names}
    return read_people(list(flags["events"]), header=not flags["no_header"], **own)


def _one_catalogue(flags: Mapping[str, Any]) -> Mapping[str, Any]:
    """If --items or --select-items is given, leave out what a configuration file says of the other one."""
    context = click.get_current_context()
    given = [
        name
        for name in ("items", "select_items")
        if flags[name] and context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    if len(given) != 1:
        return flags
    return {**flags, **({"select_items": False} if given == ["items"] else {"items": None})}


def _without_what_is_packed(flags: Mapping[str, Any], store: Any) -> Mapping[str, Any]:
    """Leave out what a configuration file says as the store does; what it says otherwise is refused later."""
    from headcount.events.catalogue import read_catalogue
    from headcount.events.log import has, says_the_same
    from headcount.events.store import open_store

    source, context = open_store(store), click.get_current_context()
    words = (
        "user", "item", "items", "context", "contexts", "where", "since", "until", "time", "times", "time_format",
        "timezone",
    )  # fmt: skip
    listed = {
        name: _contexts(flags[name]) if name == "contexts" else flags[name]
        for name in words
        if has(flags[name]) and context.get_parameter_source(name) is ParameterSource.DEFAULT_MAP
    }
    same: dict[str, Any] = {}
    if (
        "items" in listed
        and read_catalogue(listed.pop("items")).digest == source.description["catalogue"]["digest"]
    ):
        same["items"] = None
    if listed and says_the_same(source, listed):
        same |= {name: () if name in ("contexts", "where") else None for name in listed}
    return {**flags, **same}


def _contexts(given: Sequence[Any]) -> Any:
    if given and all(isinstance(each, tuple) for each in given):  # a table in a configuration file
        return dict(given)
    return (given[0] if len(given) == 1 else list(given)) if given else None


def is_whole(text: str) -> bool:
    """Say whether a text is a whole number."""
    return re.fullmatch(r"\s*[+-]?[0-9]{1,30}\s*", text) is not None


def plain_value(text: str) -> int | float | bool | str:
    """Read the value of an option: a number or true or false where it looks like one, else the text itself.

    >>> [plain_value(text) for text in ("3", "0.5", "true", "row")]
    [3, 0.5, True, 'row']
    """
    if is_whole(text):
        return int(text)
    if re.fullmatch(r"\s*[+-]?[0-9]*\.[0-9]+\s*", text):
        return float(text)
    return {"true": True, "false": False}.get(text.strip().lower(), text)


def whole_number(text: str, name: str) -> int:
    """Read a whole number of at least 1."""
    if not is_whole(text) or int(text) < 1:
        flag = f"-{name}" if len(name) == 1 else f"--{name}"
        raise UsageError(f"{name} must be a whole number of at least 1", given=text, remedy=f"try {flag} 10")
    return int(text)


def pairs(texts: tuple[str, ...] | str | None, flag: str) -> dict[str, str] | None:
    """Read ``a=1,b=2`` or several ``a=1``.

    >>> pairs("items=0.5,edges=0.5", "--shares")
    {'items': '0.5', 'edges': '0.5'}
    """
    if not texts:
        return None
    listed = texts.split(",") if isinstance(texts, str) else list(texts)
    read: dict[str, str] = {}
    for each in listed:
        name, equals, value = (part.strip() for part in each.partition("="))
        if not equals or not name or not value:
            raise UsageError(f"{flag} must read NAME=VALUE", given=each, remedy="see headcount release --help")
        if name in read:
            raise UsageError(f"{flag} names {name} twice", remedy="keep one of them")
        read[name] = value
    return read
