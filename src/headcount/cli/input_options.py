"""Options of the input: the log (columns, catalogue, contexts, conditions) and the engine that reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from headcount._internal.parameters import read_pairs
from headcount.cli import options
from headcount.cli.options import Command, Flags
from headcount.errors import UsageError, command_line, param, render
from headcount.events.log_parameters import FLAGS, KEPT, READERS, TEXT

if TYPE_CHECKING:
    from headcount.engines.engine import Progress

ENGINE = (
    click.option(
        "--engine",
        type=click.Choice(("local", "spark")),
        default="local",
        show_default=True,
        help="Where events are counted; EVENTS may be spark:TABLE for a table of Spark's catalogues.",
    ),
    click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A setting of Spark (repeatable)."),
)
THREADS = click.option(
    "--threads",
    type=options.Whole(min=1),
    metavar="N",
    help="Threads of the local engine; no number hangs on it.  [default: one a processor, at most 8]",
)
_TABLE = "spark:"


def reading_options(kind: str, *, configured: bool = True) -> Callable[[Command], Command]:
    """Put the flags of a kind of log on a command."""
    reader = READERS[kind]
    optional = reader.files.startswith("[")
    files = click.argument("events", nargs=-1, required=not optional, metavar=reader.files)
    flag_options = [
        options.option(name, flag, **(_needed(kind, name) if name in reader.needed else {}))
        for name, flag in reader.flags().items()
    ]
    return options.grouped([files, *flag_options, *([options.config_option] if configured else [])])


def _needed(kind: str, name: str) -> dict[str, Any]:
    """Return how a flag is that files cannot go without: of events a store can, and a table of people."""
    if kind == "people":
        return {"help": f"{_help(name)}  [default: every row is one person]"}
    return {"callback": _refuse_missing, "help": f"{_help(name)}  [required, but for a store]"}


def _help(name: str) -> str:
    return render(FLAGS[name].help, command_line)


def _refuse_missing(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Refuse raw files without the option, in Click's own words; a packed store goes without."""
    from headcount.events.roles import store_path

    events = context.params.get("events")
    if value is None and events and not context.resilient_parsing and store_path(events) is None:
        raise click.MissingParameter(ctx=context, param=option)
    return value


def log_of(kind: str, flags: Flags, *, needs_items: bool = True, **more: Any) -> Any:
    """Make the log that the flags describe; some things need no catalogue of items."""
    reader = READERS[kind]
    flags = keep_command_line_choice(flags)
    if "item" in reader.names:
        flags = _with_catalogue({**flags, **more}, needs_items=needs_items)
        more = {name: flags[name] for name in more}
    events = flags["events"]  # paths, or what an engine knows by a name
    paths = list(events) if isinstance(events, tuple) else events
    return reader.read(paths, **options.read(flags, reader.flags()), **more)


def _with_catalogue(flags: Flags, *, needs_items: bool) -> Flags:
    """Refuse files without a catalogue, and leave out what a configuration says that is said already."""
    from headcount.events.catalogue import check_catalogue_given
    from headcount.events.roles import store_path

    store = store_path(flags["events"])
    if store is not None:
        return _without_what_is_packed(flags, store)
    if flags["items"] or needs_items:
        check_catalogue_given(flags["items"] or None, select_items=flags.get("select_items", False))
    return flags


def keep_command_line_choice(flags: Flags) -> Flags:
    """If a list or its selection is given, leave out what a configuration file says of the other one."""
    from headcount.events.selection_targets import SELECTABLE

    context = click.get_current_context()
    for selectable in SELECTABLE:
        both = selectable.listed, selectable.request_field
        given = [
            name
            for name in both
            if flags.get(name) and context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        ]
        if len(given) == 1 and flags.keys() >= {*both}:
            (other,) = {*both}.difference(given)
            flags = {
                **flags,
                other: False if other == selectable.request_field else () if FLAGS[other].many else None,
            }
    return flags


def _without_what_is_packed(flags: Flags, store: Any) -> Flags:
    """Leave out what a configuration file says as the store does; what it says otherwise is refused later."""
    from headcount.events.catalogue import read_catalogue
    from headcount.events.log import matches_description
    from headcount.events.roles import is_given
    from headcount.events.sources.files.packed_store import open_store

    source, context = open_store(store), click.get_current_context()
    configured = {
        name: FLAGS[name]
        for name in ("items", *KEPT)
        if is_given(flags.get(name)) and context.get_parameter_source(name) is ParameterSource.DEFAULT_MAP
    }
    listed, same = options.read(flags, configured), dict[str, Any]()
    if (
        "items" in listed
        and read_catalogue(listed.pop("items")).digest == source.description["catalogue"]["digest"]
    ):
        same["items"] = None
    if listed and matches_description(source, listed):
        same |= {name: () if FLAGS[name].many else None for name in listed}
    return {**flags, **same, **_text_by_default(flags)}


def _text_by_default(flags: Flags) -> Flags:
    """Leave out how a configuration file says that text is written: of rows that are packed it says nothing."""
    context = click.get_current_context()
    names_from_config = [
        name for name in TEXT if context.get_parameter_source(name) is ParameterSource.DEFAULT_MAP
    ]
    return {
        name: False if FLAGS[name].switch else FLAGS[name].default for name in names_from_config if name in flags
    }


@contextmanager
def chosen_engine(flags: Flags, progress: Progress) -> Iterator[tuple[Any, Any]]:
    """Give the engine that the flags name, and the events: paths, or a table of Spark in place of its name."""
    tables = [source for source in flags["events"] if source.startswith(_TABLE)]
    if flags["engine"] == "local":
        if flags["conf"] or tables:
            given = tables[0] if tables else "--conf"
            raise UsageError(f"{given} is of Spark", remedy="add --engine spark, or leave it out")
        from headcount.engines.local.engine import LocalEngine

        own = {} if flags.get("threads") is None else {"threads": flags["threads"]}
        yield LocalEngine(progress=progress, **own), flags["events"]
        return
    if flags.get("threads") is not None:
        raise UsageError("--threads is of the local engine", remedy="leave it out: Spark has settings, --conf")
    from headcount.engines.spark.engine import SparkEngine

    engine = SparkEngine(conf=read_pairs(flags["conf"], param.conf) or {}, progress=progress)
    try:
        yield engine, _table(engine, flags["events"], tables)
    finally:
        engine.close()


@contextmanager
def local_events(flags: Flags) -> Iterator[Any]:
    """Give the events to a command that looks at all of them on this machine: Spark names and reads tables."""
    from headcount.engines.engine import silent

    with chosen_engine(flags, silent) as (engine, events):
        if flags["engine"] == "local":
            yield events
            return
        if isinstance(events, tuple):
            raise UsageError("files are looked at on this machine alone", remedy="leave --engine spark out")
        with engine.reporting("reading events"):
            yield events


def _table(engine: Any, events: tuple[str, ...], tables: list[str]) -> Any:
    if not tables:
        return events
    if len(events) > 1:
        raise UsageError("a table of Spark is read alone", remedy="give one table, or files")
    return engine.table(tables[0].removeprefix(_TABLE))
