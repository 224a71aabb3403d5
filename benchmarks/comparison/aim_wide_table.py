"""Marginals of a table with many columns, against AIM: ``python -m benchmarks.comparison.aim_wide_table``.

All 15 columns of uci-adult, at ε = 1 and δ = 1e-9. Both get the same bins and the same ρ, and answer all marginals
of two and of three columns. What is printed are mean total variations, and the seconds from a table in memory to
all answers; AIM (OpenDP's, in a virtual environment of its own) runs once, ours several times. The run fails if
ours is further off on three columns, or takes more than a twentieth of AIM's time.

AIM takes very long: ``--columns 8`` is a smaller contest. ``--quick-aim`` computes tables of AIM's model by NumPy,
which makes its rounds several times quicker and changes nothing that it finds; its time is then not judged.
``--aim-rounds N`` lets it measure no more than N tables. With ``--keep FOLDER`` what it found is kept there, and
read from there the next time.
"""

import argparse
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import headcount as hc
from benchmarks.comparison.rival_environments import Rival, environment, rival_environment
from benchmarks.harness.processes import run
from headcount._internal.arrays import Floats, Integers
from headcount.accounting.zcdp import rho_for
from headcount.bounds.grid.marginals import ColumnPlaces, Marginals
from headcount.bounds.grid.user_group_cells import GroupCells
from headcount.engines.local.engine import LocalEngine
from headcount.events.grid import Grid, NumberBins

AIM = Rival("aim", "aim", "aim.txt")
EPSILON, DELTA = "1", "1e-9"
SLOWER = 20
NUMBERS: Mapping[str, Any] = {
    "age": {"from": 10, "to": 90, "bins": 16},
    "fnlwgt": {"from": 0, "to": 800_000, "bins": 16},
    "educational-num": {"from": 1, "to": 17, "bins": 16},
    "capital-gain": {"edges": [0, 1, 2500, 5000, 7500, 10_000, 15_000, 20_000, 50_000, 100_000]},
    "capital-loss": {"edges": [0, 1, 1500, 1750, 2000, 2250, 2500, 3000, 5000]},
    "hours-per-week": {"from": 0, "to": 96, "bins": 16},
}
"""Bins of numbers; all other columns have the values that the census lists."""

Tables = dict[ColumnPlaces, Floats]


@dataclass(frozen=True)
class MeasuredTables:
    """Estimated tables, and the wall and CPU seconds that they took."""

    tables: Tables
    seconds: float
    cpu: float
    peak: int


def bins_for(people: pa.Table) -> dict[str, Any]:
    """The bins of all columns."""
    return {
        name: NUMBERS.get(name) or {"values": sorted(set(people[name].to_pylist()))}
        for name in people.column_names
    }


def wanted(grid: Grid) -> list[ColumnPlaces]:
    """All pairs and triples of columns."""
    return [places for size in (2, 3) for places in combinations(range(len(grid.bins)), size)]


def truth(log: Any, grid: Grid) -> Tables:
    """The exact tables."""
    places = tuple(wanted(grid))
    tables = LocalEngine().measure(log, Marginals(GroupCells(grid), places), bytes(16)).tables
    return {columns: table.sensitive_values.astype(float) for columns, table in zip(places, tables, strict=True)}


def ours(log: Any, grid: Grid) -> MeasuredTables:
    """One release, and its answers as tables."""
    places = wanted(grid)
    statements = [
        f"SELECT COUNT(*) FROM people GROUP BY {', '.join(json.dumps(grid.columns[place]) for place in columns)}"
        for columns in places
    ]
    begin, cpu = time.perf_counter(), time.process_time()
    release = hc.query(log, statements, epsilon=EPSILON, delta=DELTA, bins=grid.to_json(), method="pairs")
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    answers = release.answers["answer"].to_numpy()
    shapes = [tuple(grid.shape[place] for place in columns) for columns in places]
    parts = np.split(answers, np.cumsum([np.prod(shape) for shape in shapes])[:-1])
    tables = {columns: part.reshape(shape) for columns, part, shape in zip(places, parts, shapes, strict=True)}
    return MeasuredTables(tables, seconds, cpu, 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def codes_of(people: pa.Table, grid: Grid) -> Integers:
    """The bin of each row in each column, as AIM takes them; everybody has one record."""
    columns = []
    for bins in grid.bins:
        values = people[bins.column].to_numpy(zero_copy_only=False)
        if isinstance(bins, NumberBins):
            columns.append(np.searchsorted(bins.edges[1:-1], values, side="right"))
        else:
            listed = {value: place for place, value in enumerate(bins.values)}
            columns.append(np.array([listed[value] for value in values]))
    return np.stack(columns, axis=1).astype(np.int64)


def theirs(people: pa.Table, grid: Grid, options: Sequence[str], kept: Path, timeout: float) -> MeasuredTables:
    """AIM's tables, from the folder if they are kept there."""
    report_path, tables = kept / "aim.json", kept / "aim.npz"
    if not report_path.exists():
        np.savez(kept / "table.npz", codes=codes_of(people, grid), shape=np.array(grid.shape))
        rho = float(rho_for(Decimal(EPSILON), Decimal(DELTA)))
        command: list[str | Path] = [environment(AIM), "-m", f"benchmarks.rivals.{AIM.module}", kept / "table.npz"]
        arguments = [*command, "--rho", repr(rho), "--out", tables, *options]
        done = run(arguments, env=rival_environment(AIM), timeout=timeout)
        report_path.write_text(
            json.dumps({**done.answer, "peak": done.peak, "options": list(options)}), encoding="utf-8"
        )
    report, held = json.loads(report_path.read_text(encoding="utf-8")), np.load(tables)
    marginals = {places: held[" ".join(map(str, places))].astype(float) for places in wanted(grid)}
    return MeasuredTables(marginals, report["seconds"], report["cpu"], report.get("peak", 0))


def total_variation(measured: Tables, exact: Tables, columns: int) -> float:
    """The mean total variation over all tables of so many columns."""
    apart = [
        np.abs(measured[places] - table).sum() / (2 * table.sum())
        for places, table in exact.items()
        if len(places) == columns
    ]
    return float(np.mean(apart))


def _measurement(seconds: float, peak: int, errors: Mapping[int, float]) -> dict[str, Any]:
    return {"seconds": seconds, "peak": peak, "off": errors}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("HEADCOUNT_DATA", "../shared/data"))
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--max-size", type=float, default=8, help="of AIM's model, in MB")
    parser.add_argument("--columns", type=int, default=15, help="the first so many, for AIM in less time")
    parser.add_argument("--quick-aim", action="store_true", help="for its error alone")
    parser.add_argument("--aim-rounds", type=int, help="at most so many tables for AIM")
    parser.add_argument("--alone", action="store_true", help="without AIM")
    parser.add_argument("--keep", type=Path, help="folder for what AIM found")
    parser.add_argument("--timeout", type=float, default=24 * 3600, help="seconds that AIM may take")
    parser.add_argument("--json", action="store_true", help="end with one JSON document")
    given = parser.parse_args()
    people = pq.read_table(Path(given.data) / "uci-adult.parquet")
    people = people.select(people.column_names[: given.columns])
    grid = Grid.from_mapping(bins_for(people))
    log = hc.read_people(people.append_column("id", pa.array(range(people.num_rows))), user="id")
    exact = truth(log, grid)
    ours(log, grid)  # what is compiled is not timed
    runs = [ours(log, grid) for _ in range(given.runs)]
    mine = {columns: [total_variation(run.tables, exact, columns) for run in runs] for columns in (2, 3)}
    seconds, cpu = np.mean([run.seconds for run in runs]), np.mean([run.cpu for run in runs])
    print(
        f"{grid.cells:,} cells; ε = {EPSILON}, δ = {DELTA}; mean total variation, {given.runs} runs of ours",
        flush=True,
    )
    for columns, name in ((2, "pairs"), (3, "triples")):
        errors = mine[columns]
        print(f"ours, {name:<8} {np.mean(errors):.4f} (from {min(errors):.4f} to {max(errors):.4f})")
    print(f"ours, seconds  {seconds:.1f} (CPU {cpu:.1f})", flush=True)
    if given.alone:
        return 0
    kept = given.keep or Path(tempfile.mkdtemp())
    kept.mkdir(parents=True, exist_ok=True)
    try:
        options = ["--max-size", str(given.max_size), *(["--quick"] if given.quick_aim else [])]
        options += [] if given.aim_rounds is None else ["--rounds", str(given.aim_rounds)]
        rival = theirs(people, grid, options, kept, given.timeout)
    finally:
        if given.keep is None:
            shutil.rmtree(kept)
    aim = {columns: total_variation(rival.tables, exact, columns) for columns in (2, 3)}
    print(f"AIM, pairs     {aim[2]:.4f}: ours has {np.mean(mine[2]) / aim[2]:.2f} of that")
    print(f"AIM, triples   {aim[3]:.4f}: ours has {np.mean(mine[3]) / aim[3]:.2f} of that")
    print(f"AIM, seconds   {rival.seconds:,.0f} (CPU {rival.cpu:,.0f}): {rival.seconds / seconds:,.0f} times ours")
    if given.json:
        document = {
            "ours": _measurement(
                float(seconds), runs[-1].peak, {size: float(np.mean(mine[size])) for size in mine}
            )
        }
        print(json.dumps({**document, "aim": _measurement(rival.seconds, rival.peak, aim)}))
        return 0
    slower = given.quick_aim or rival.seconds >= SLOWER * seconds
    return int(np.mean(mine[3]) > aim[3] or not slower)


if __name__ == "__main__":
    sys.exit(main())
