"""``--engine``, ``--threads`` and ``--conf``: choose the engine, and open the event files or Spark tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from headcount._internal.parameters import read_pairs
from headcount.cli import options
from headcount.cli.options import Flags
from headcount.errors import UsageError, param

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
        with engine.telling("reading events"):
            yield events


def _table(engine: Any, events: tuple[str, ...], tables: list[str]) -> Any:
    if not tables:
        return events
    if len(events) > 1:
        raise UsageError("a table of Spark is read alone", remedy="give one table, or files")
    return engine.table(tables[0].removeprefix(_TABLE))
