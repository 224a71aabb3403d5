"""Grids of trials: many trials in several processes, resumable after an interruption.

Each log is packed once, and worker processes map the store into their memory (where items are to be selected, they
read a copy: :mod:`headcount.lab.compare.cached_logs`). Trials of one log and one run go
together, in units: a worker counts once what several of them ask for
(:mod:`headcount.lab.compare.caching_engine`).

A finished unit is a file, written aside and renamed into place. Its name is a digest of all that its numbers hang
on: the data, the trials, the measures, the seed and the version of this program. So a grid that is started again
after Ctrl-C, or after it was killed, takes what is there and goes on; and what belongs to another grid is never
taken. When all units are done they become one tidy table, in the order of the trials:

==========  =======  ======================================================================================
dataset     text     the log
label       text     the method as it is called in tables and plots
method      text     the method as it is registered
parameters  text     its parameters, as JSON
limit       int64    the limit, null where there is none
epsilon     float64
delta       float64  null where there is none
run         int64    the number of the repetition
table       text     items or edges; selection of selected items; or null
metric      text     what was measured; null where the method refused
k           int64    of a top k, else null
key         text     tells rows of one metric apart, else null
value       float64  null where it is not defined, or where the method refused
seconds     float64  that the whole trial took
refused     text     why the method refused, else null
==========  =======  ======================================================================================

While a grid runs, its folder holds the packed logs, which only their owner may read; they are gone when it ends,
however it ends, but for a process that was killed: then the next start clears them away.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headcount.engines.engine import Progress, silent
from headcount.engines.local.engine import LocalEngine
from headcount.errors import SurroundingsError
from headcount.events.log import EventLog
from headcount.lab.compare.cached_logs import CachedLog, cache_log
from headcount.lab.compare.caching_engine import CachingEngine
from headcount.lab.compare.trials import Bench, Measure, Trial, Truth, measured, reference_of, run_name
from headcount.lab.processes import follow_parent, without_interrupts
from headcount.version import __version__

DEFAULT_SEED = 2015
RUNNING = "running trials"
"""The stage that progress is told of."""

SCHEMA = pa.schema(
    [
        ("dataset", pa.string()), ("label", pa.string()), ("method", pa.string()), ("parameters", pa.string()),
        ("limit", pa.int64()), ("epsilon", pa.float64()), ("delta", pa.float64()), ("run", pa.int64()),
        ("table", pa.string()), ("metric", pa.string()), ("k", pa.int64()), ("key", pa.string()),
        ("value", pa.float64()), ("seconds", pa.float64()), ("refused", pa.string()),
    ]
)  # fmt: skip

_UNIT = 80  # trials that go together at most: about what an interruption costs
_STORES = "stores"
_DIGITS = 32


@dataclass(frozen=True, kw_only=True)
class TrialGrid:
    """Which trials on which logs, measured how; the seed is written into everything that comes of it.

    >>> import tempfile
    >>> from headcount.lab.compare.metrics import USUAL
    >>> log = EventLog.of([("ann", "tea"), ("bob", "tea"), ("bob", "rye")], items=["rye", "tea"])
    >>> trials = [Trial.for_dataset("drinks", "sra", epsilon="50", limit=2, run=run) for run in range(3)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     grid = TrialGrid(logs={"drinks": log}, trials=trials, measures=USUAL)
    ...     table = run_grid(grid, Path(folder) / "parts")
    >>> table.num_rows, table["value"].to_pylist()[:2], table["metric"].to_pylist()[:2]
    (15, [0.0, 0.0], ['MSE', 'MAE'])
    """

    logs: Mapping[str, EventLog]
    trials: Sequence[Trial]
    measures: Mapping[str, Measure] = field(default_factory=dict)
    seed: int = DEFAULT_SEED

    def __post_init__(self) -> None:
        missing = {trial.dataset for trial in self.trials} - set(self.logs)
        if missing:
            raise ValueError(f"trials name logs that are not given: {', '.join(sorted(missing))}")


@dataclass(frozen=True)
class Unit:
    """Trials of one log and one run that a worker takes at once."""

    data: CachedLog
    trials: tuple[Trial, ...]
    measures: Mapping[str, Measure]
    seed: int
    part: Path
    places: tuple[int, ...]
    """Where in the grid each trial stands."""


def run_grid(
    grid: TrialGrid, parts: Path, *, processes: int | None = None, progress: Progress = silent, keep: bool = False
) -> pa.Table:
    """Run what is not done yet, and return the tidy table; ``parts`` is its folder, gone when it ends.

    An interruption leaves the finished units there, and ``cache_log`` does so too, until :func:`clear` is called:
    for work that goes on after the grid, and would be lost with it. ``processes`` is the number of worker
    processes, by default one for each processor; with 1 everything runs in this one. It changes no number but the
    seconds.
    """
    processes = processes or os.cpu_count() or 1
    with _folder(parts) as folder:
        units = list(_units(grid, _packed(grid, folder, progress), folder))
        total = len(grid.trials)
        left = [unit for unit in units if _read(unit.part) is None]
        done = total - sum(len(unit.trials) for unit in left)
        for unit in _finished(left, min(processes, len(left))):
            done += len(unit.trials)
            progress(RUNNING, done, total)
        table = _together(units)
    if not keep:
        clear(parts)
    return table


def clear(parts: Path) -> None:
    """Remove finished units, and their folder if nothing else is in it."""
    for part in parts.glob(f"{'[0-9a-f]' * _DIGITS}.parquet"):
        part.unlink()
    if parts.exists() and not any(parts.iterdir()):
        parts.rmdir()


def _together(units: Sequence[Unit]) -> pa.Table:
    """Return the rows of all units in the order of the trials."""
    tables = [SCHEMA.append(pa.field("place", pa.int64())).empty_table()]
    for unit in units:
        table = _read(unit.part)
        if table is None:
            raise SurroundingsError(f"{unit.part}: a finished part is gone", remedy="run again")
        places = np.array(unit.places, dtype=np.int64)[table["trial"].to_numpy()]
        tables.append(table.drop_columns(["trial"]).append_column("place", pa.array(places)))
    table = pa.concat_tables(tables)
    order = np.argsort(table["place"].to_numpy(), kind="stable")
    return table.take(pa.array(order)).drop_columns(["place"]).combine_chunks()


def save(table: pa.Table, path: Path, description: Mapping[str, Any]) -> Path:
    """Write a tidy table whole or not at all, with what is to be known of it in the file itself."""
    metadata = {"headcount": json.dumps(dict(description), ensure_ascii=False)}
    _write(table.replace_schema_metadata(metadata), path)
    return path


def _units(grid: TrialGrid, data: Mapping[str, CachedLog], folder: Path) -> Iterator[Unit]:
    """Deal trials to units: those of one log and one run together, neighbours in limit side by side."""
    together: dict[tuple[str, int], list[int]] = {}
    for place, trial in enumerate(grid.trials):
        together.setdefault((trial.dataset, trial.run), []).append(place)
    measures = {name: reference_of(measure) for name, measure in grid.measures.items()}
    for (dataset, _), places in together.items():
        places.sort(key=lambda place: (grid.trials[place].limit or 0, grid.trials[place].method))
        size = -(-len(places) // -(-len(places) // _UNIT))
        for first in range(0, len(places), size):
            some = tuple(places[first : first + size])
            trials = tuple(grid.trials[place] for place in some)
            identity = [__version__, grid.seed, data[dataset].fingerprint, measures]
            identity += [[trial.identity, trial.label] for trial in trials]
            digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:_DIGITS]
            part = folder / f"{digest}.parquet"
            yield Unit(data[dataset], trials, grid.measures, grid.seed, part, some)


def _finished(units: Sequence[Unit], processes: int) -> Iterator[Unit]:
    """Run units and yield each when it is done."""
    if processes <= 1:
        here = _Open()
        for unit in units:
            yield run_unit(unit, here)
        return
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), initializer=follow_parent)
    try:
        with without_interrupts():
            running: set[Future[Unit]] = {pool.submit(run_unit, unit) for unit in units}
        while running:
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in finished)
        pool.shutdown()
    except BaseException as error:  # an interrupt, too: nobody waits for what is half done
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in set(multiprocessing.active_children()) - before:
            worker.terminate()
        if isinstance(error, BrokenProcessPool):
            remedy = "what was finished is kept; if memory ran out, use fewer processes and run again"
            raise SurroundingsError("a worker process was killed", remedy=remedy) from error
        raise


class _Open:
    """What a process has open: a log with its truth, and the counts of one run."""

    def __init__(self) -> None:
        self.data: CachedLog | None = None
        self.bench: Bench | None = None

    def bench_for(self, unit: Unit) -> Bench:
        """Return a bench for a unit: the log is opened and its truth counted once, a run's counts are kept."""
        first = unit.trials[0]
        name = run_name(unit.seed, first.dataset, first.run)
        if self.bench is None or self.data != unit.data:
            log, engine = unit.data.open(), LocalEngine(threads=1)
            self.data, self.bench = (
                unit.data,
                Bench(log, Truth.count(unit.data.counted(), engine), engine, unit.seed),
            )
        kept = self.bench.engine
        if not isinstance(kept, CachingEngine):
            kept = CachingEngine(kept, name)
        elif kept.run != name:
            kept = CachingEngine(kept.engine, name)
        self.bench = Bench(self.bench.log, self.bench.truth, kept, unit.seed)
        return self.bench


_IN_A_WORKER = _Open()


def run_unit(unit: Unit, here: _Open = _IN_A_WORKER) -> Unit:
    """Run all trials of a unit and write its file."""
    bench = here.bench_for(unit)
    rows = [
        {"trial": place, **row}
        for place, trial in enumerate(unit.trials)
        for row in measured(bench, trial, unit.measures)
    ]
    _write(pa.Table.from_pylist(rows, schema=SCHEMA.insert(0, pa.field("trial", pa.int64()))), unit.part)
    return unit


def _read(part: Path) -> pa.Table | None:
    """Read a finished unit, None if there is none or it is damaged."""
    try:
        return pq.read_table(part)
    except (OSError, pa.ArrowException):
        return None


def _write(table: pa.Table, path: Path) -> None:
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, aside, compression="zstd")
        aside.replace(path)
    except OSError as error:
        remedy = "what was finished is kept; free space and run again"
        raise SurroundingsError(
            f"{path}: cannot write there ({error.strerror or error})", remedy=remedy
        ) from error
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def _folder(parts: Path) -> Iterator[Path]:
    """Make the folder of a grid, for its owner alone, without what a grid that was killed left half done."""
    parts.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.rmtree(parts / _STORES, ignore_errors=True)
    for half in parts.glob(".*.parquet.*"):
        half.unlink(missing_ok=True)
    try:
        yield parts
    finally:
        shutil.rmtree(parts / _STORES, ignore_errors=True)
        if not any(parts.iterdir()):
            parts.rmdir()


def _packed(grid: TrialGrid, folder: Path, progress: Progress) -> dict[str, CachedLog]:
    """Keep every log that is asked for."""
    used = {trial.dataset for trial in grid.trials}
    names = [name for name in grid.logs if name in used]
    return {
        name: cache_log(grid.logs[name], folder / _STORES / str(place), progress)
        for place, name in enumerate(names)
    }
