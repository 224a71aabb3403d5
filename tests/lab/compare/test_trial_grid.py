"""Grids: any number of processes, interrupted and taken up again, gives the same table."""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from headcount.engines.engine import Progress
from headcount.errors import DataError, SurroundingsError
from headcount.events.log import EventLog
from headcount.lab.compare import trial_grid as grids
from headcount.lab.compare.metrics import USUAL
from headcount.lab.compare.trial_grid import SCHEMA, TrialGrid, run_grid, save
from headcount.lab.compare.trials import Bench, Number, Trial

pytestmark = pytest.mark.long

RUNS = 6


def trials(dataset: str = "log", runs: int = RUNS) -> list[Trial]:
    return [
        Trial.for_dataset(dataset, method, epsilon=epsilon, limit=limit, run=run)
        for method in ("hpa", "sra")
        for limit in (1, 4)
        for epsilon in ("0.5", "1")
        for run in range(runs)
    ]


def without_time(table: pa.Table) -> pa.Table:
    return table.drop_columns(["seconds"])


@pytest.fixture
def grid(log: EventLog) -> TrialGrid:
    return TrialGrid(logs={"log": log}, trials=trials(), measures=USUAL)


@pytest.fixture(scope="session")
def expected(log: EventLog, tmp_path_factory: pytest.TempPathFactory) -> pa.Table:
    """What an undisturbed grid in one process gives."""
    whole = TrialGrid(logs={"log": log}, trials=trials(), measures=USUAL)
    return without_time(run_grid(whole, tmp_path_factory.mktemp("grid") / "parts", processes=1))


def test_the_table_is_tidy_and_in_the_order_of_the_trials(expected: pa.Table) -> None:
    assert expected.schema == without_time(SCHEMA.empty_table()).schema
    expected_trials = [(trial.method, trial.limit, float(trial.epsilon), trial.run) for trial in trials()]
    columns = [expected[name].to_pylist() for name in ("method", "limit", "epsilon", "run")]
    assert list(dict.fromkeys(zip(*columns, strict=True))) == expected_trials
    assert expected.num_rows == 10 * len(expected_trials)  # five metrics of two tables


def test_the_number_of_processes_changes_nothing(grid: TrialGrid, expected: pa.Table, tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    steps: list[tuple[str, int, int | None]] = []
    table = run_grid(grid, parts, processes=2, progress=lambda *step: steps.append(step))
    assert without_time(table).equals(expected)
    assert not parts.exists()
    assert steps[-1] == ("running trials", len(grid.trials), len(grid.trials))


def test_another_seed_gives_other_numbers(grid: TrialGrid, expected: pa.Table, tmp_path: Path) -> None:
    other = TrialGrid(logs=grid.logs, trials=grid.trials, measures=grid.measures, seed=1)
    table = run_grid(other, tmp_path / "parts", processes=1)
    same = pc.equal(table["value"], expected["value"])
    assert pc.sum(pc.cast(same, pa.int64())).as_py() < 0.2 * table.num_rows  # precisions may agree


def test_noise_is_fresh_for_every_trial(expected: pa.Table) -> None:
    squares = expected.filter(pc.and_(pc.equal(expected["metric"], "MSE"), pc.equal(expected["table"], "items")))
    assert len(set(squares["value"].to_pylist())) == squares.num_rows


class _StopError(Exception):
    pass


def stop_after(units: int) -> Progress:
    steps = 0

    def progress(stage: str, done: int, total: int | None) -> None:
        nonlocal steps
        steps += stage == "running trials"
        if steps >= units:
            raise _StopError

    return progress


def watched(patch: pytest.MonkeyPatch) -> list[grids.Unit]:
    """Return a list of the units that will have been run."""
    run: list[grids.Unit] = []
    original = grids.run_unit

    def note(unit: grids.Unit, *rest: Any) -> grids.Unit:
        run.append(unit)
        return original(unit, *rest)

    patch.setattr(grids, "run_unit", note)
    return run


def test_what_is_done_is_not_done_again(
    grid: TrialGrid, expected: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = tmp_path / "parts"
    with pytest.raises(_StopError):
        run_grid(grid, parts, processes=1, progress=stop_after(2))
    assert len(list(parts.iterdir())) == 2, "two finished units, and no store of raw events"
    run = watched(monkeypatch)
    assert without_time(run_grid(grid, parts, processes=1)).equals(expected)
    assert len(run) == RUNS - 2
    assert not parts.exists()


def test_parts_of_another_grid_are_not_taken(
    grid: TrialGrid, log: EventLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fewer = EventLog.of(
        [("u1", "item 1", "Monday")], items=list(log.catalogue.ids), contexts=["Monday", "Tuesday"]
    )
    others = [
        TrialGrid(logs={"log": fewer}, trials=grid.trials, measures=USUAL),
        TrialGrid(logs=grid.logs, trials=grid.trials, measures={"MSE": USUAL["MSE"]}),
        TrialGrid(logs=grid.logs, trials=grid.trials, measures=USUAL, seed=9),
    ]
    for place, other in enumerate(others):
        parts = tmp_path / str(place)
        with pytest.raises(_StopError):
            run_grid(grid, parts, processes=1, progress=stop_after(3))
        with monkeypatch.context() as patch:
            run = watched(patch)
            run_grid(other, parts, processes=1)
        assert len(run) == RUNS
        assert not parts.exists(), "what belongs to the grid before is cleared away"


def test_a_damaged_part_is_run_again(grid: TrialGrid, expected: pa.Table, tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    with pytest.raises(_StopError):
        run_grid(grid, parts, processes=1, progress=stop_after(3))
    next(parts.iterdir()).write_bytes(b"PAR1 cut off")
    assert without_time(run_grid(grid, parts, processes=1)).equals(expected)


def test_files_of_others_in_the_folder_are_left_alone(grid: TrialGrid, tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "notes.txt").write_text("mine")
    run_grid(TrialGrid(logs=grid.logs, trials=trials(runs=1), measures=USUAL), parts, processes=1)
    assert [path.name for path in parts.iterdir()] == ["notes.txt"]


def damaged(bench: Bench, trial: Trial) -> Iterator[Number]:
    raise DataError("the store changed")


def fails(bench: Bench, trial: Trial) -> Iterator[Number]:
    raise ZeroDivisionError("a bug in a measure")


def test_a_bug_is_not_taken_for_a_refusal(log: EventLog, tmp_path: Path) -> None:
    broken = [
        Trial.for_dataset("log", "x", epsilon="1", function=f"{__name__}:fails", run=run) for run in range(2)
    ]
    with pytest.raises(ZeroDivisionError, match="a bug"):
        run_grid(TrialGrid(logs={"log": log}, trials=broken), tmp_path / "parts", processes=1)
    assert not (tmp_path / "parts").exists()
    cut = [Trial.for_dataset("log", "x", epsilon="1", function=f"{__name__}:damaged")]
    with pytest.raises(DataError, match="changed"):
        run_grid(TrialGrid(logs={"log": log}, trials=cut), tmp_path / "parts", processes=1)


def test_a_killed_worker_is_no_bug_of_ours(log: EventLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out_of_memory.py").write_text("import os\ndef dies(bench, trial):\n    os._exit(9)\n")
    monkeypatch.syspath_prepend(tmp_path)
    dying = [
        Trial.for_dataset("log", "x", epsilon="1", function="out_of_memory:dies", run=run) for run in range(2)
    ]
    with pytest.raises(SurroundingsError, match="use fewer processes"):
        run_grid(TrialGrid(logs={"log": log}, trials=dying), tmp_path / "parts", processes=2)


def test_logs_must_be_given(log: EventLog) -> None:
    with pytest.raises(ValueError, match="films"):
        TrialGrid(logs={"log": log}, trials=trials("films"))


def test_a_saved_table_says_what_it_is(expected: pa.Table, tmp_path: Path) -> None:
    path = save(expected, tmp_path / "deep" / "table.parquet", {"private": False, "seed": 7})
    assert b'"private": false' in pq.read_schema(path).metadata[b"headcount"]
    assert pq.read_table(path).equals(expected)


GRID = """
import sys
from pathlib import Path
from headcount.lab.compare.trial_grid import TrialGrid, run_grid
from headcount.lab.compare.trials import Trial
from headcount.lab.compare.metrics import USUAL
from headcount.events.log import EventLog

def table(folder, processes):
    log = EventLog.of([(f"u{n}", f"i{n * m % 40}") for n in range(900) for m in range(20)],
                      items=[f"i{n}" for n in range(40)])
    trials = [Trial.for_dataset("log", "dpsense-s", epsilon="1", run=run) for run in range(24) for _ in range(12)]
    done = lambda stage, done, total: print(stage, done, flush=True)
    grid = TrialGrid(logs={"log": log}, trials=trials, measures=USUAL)
    return run_grid(grid, folder, processes=processes, progress=done)

if __name__ == "__main__":
    table(Path(sys.argv[1]) / "parts", 2)
"""


def start(script: Path, folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, str(script), str(folder)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )


def until(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(word):
            return
    pytest.fail(f"it never said {word!r}")


def alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.usefixtures("interruptible")
@pytest.mark.slow
def test_interrupted_and_killed_grids_go_on(tmp_path: Path) -> None:
    """SIGINT to all of a grid, then SIGKILL to its parent alone: what was finished stays, and is not redone."""
    script = tmp_path / "grid_script.py"
    script.write_text(GRID)
    parts = tmp_path / "parts"
    kept: list[dict[Path, int]] = []
    for ending in (signal.SIGINT, signal.SIGKILL):
        with start(script, tmp_path) as process:
            until(process, "running trials")
            if ending is signal.SIGINT:
                os.killpg(process.pid, ending)  # as a terminal does
            else:
                process.send_signal(ending)
            assert process.wait(60) != 0
            deadline = time.monotonic() + 60
            while alive(process.pid) and time.monotonic() < deadline:
                time.sleep(0.05)
            assert not alive(process.pid), "no worker outlives its parent"
        files = {path: path.stat().st_mtime_ns for path in parts.glob("*.parquet")}
        before = kept[-1] if kept else {}
        assert len(files) > len(before), "it went on"
        assert {path: files.get(path) for path in before} == before, "what was done was not done again"
        kept.append(files)
        if ending is signal.SIGINT:
            assert not (parts / "stores").exists(), "raw events are cleared away"
    (parts / f".{'0' * 32}.parquet.1").write_bytes(b"half")  # as of a worker that was killed while it wrote
    table = runpy.run_path(str(script))["table"]
    resumed, whole = table(parts, 1), table(tmp_path / "again", 1)
    assert not parts.exists()
    assert without_time(resumed).equals(without_time(whole))
