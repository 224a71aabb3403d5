"""A run of the benchmark: what fails is told and the rest goes on; what is interrupted goes on from there."""

import doctest
import importlib
import json
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as program
from benchmarks.comparison import rival_environments
from benchmarks.harness import count_errors
from benchmarks.harness import results as kept
from benchmarks.harness.logs import TRUTHS
from benchmarks.harness.measurements import Bench
from benchmarks.harness.processes import CouldNotRunError
from benchmarks.harness.result_row import Row
from benchmarks.harness.results import Kept
from benchmarks.report import performance_page, rival_rows, tables
from benchmarks.rivals.job import TABLES, counts_path, totals

MEASURED = {"warm": 2.0, "warm runs": [2.0], "cold": 3.0, "peak": 1 << 30, "rows": [1, 7], "once": False}
ERRORS = {name: {"exact": 4.0, "bounded": 2.0} for name in TABLES}


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kept, "RESULTS", tmp_path / "results.json")
    return tmp_path


def rows_of(*acts: Callable[[Bench], list[Row]]) -> dict[str, Callable[[Bench], list[Row]]]:
    return {str(place): act for place, act in enumerate(acts)}


def good(bench: Bench) -> list[Row]:
    entry = bench.once("rival good", lambda: {"seconds": 1.0})
    return [Row("good", f"{entry['seconds']} s", "–", "met")]


def failing(bench: Bench) -> list[Row]:
    def measure() -> Any:
        raise CouldNotRunError("no such library")

    bench.once("rival bad", measure)
    return []


def interrupted(bench: Bench) -> list[Row]:
    raise KeyboardInterrupt


def take(monkeypatch: pytest.MonkeyPatch, acts: dict[str, Any], source: str = "a", resume: bool = False) -> Kept:
    monkeypatch.setattr(program, "ROWS", acts)
    run = Kept(source)
    if resume:
        run.resume()
    program.measure(Bench(["1m"], [], 1.0, run.measurements, run.save), run, list(acts))
    return run


@pytest.mark.parametrize(
    "name", ["performance.scaling", "harness.count_errors", "report.performance_page", "report.tables"]
)
def test_examples(name: str) -> None:
    results = doctest.testmod(importlib.import_module(f"benchmarks.{name}"))
    assert results.attempted
    assert not results.failed


def test_a_failure_is_reported_and_the_rest_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    run = take(monkeypatch, rows_of(failing, good))
    assert "no such library" in run.rows["0"][0].measured
    assert run.rows["1"][0].verdict == "met"
    assert "no such library" in tables.render(run)


def test_an_interrupted_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    take(monkeypatch, rows_of(failing, good, interrupted))
    results = json.loads(kept.RESULTS.read_text())
    assert "rival good" in results["measurements"]
    again = take(monkeypatch, rows_of(good, interrupted, good), resume=True)
    assert list(again.rows) == ["0", "1", "2"]  # what was whole is kept, what failed is tried again
    assert all(row.verdict == "met" for rows in again.rows.values() for row in rows)


def test_other_source_keeps_rivals_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def ours(bench: Bench) -> list[Row]:
        bench.once("pair", lambda: {"ours": [1.0]})
        return good(bench)

    take(monkeypatch, rows_of(ours))
    run = Kept("b")
    assert "source has changed" in run.resume()
    assert list(run.measurements) == ["rival good"]
    assert not run.rows


def test_contestants_in_one_table() -> None:
    run = Kept("a")
    run.measurements["contestant sra 1m"] = {**MEASURED, "errors": ERRORS}
    run.measurements["rival opendp 1m"] = {**MEASURED, "warm": 60.0, "errors": ERRORS, "once": True}
    run.measurements["rival tumult does the job"] = {"could not run": "no Java"}
    lines = rival_rows.contest_lines(run.measurements, "1")
    assert [line[0] for line in lines] == [rival_rows.OURS["sra"], "opendp", "tumult"]
    assert lines[1][5:7] == ("60¹", "30")
    assert "no Java" in lines[2][3]
    html = tables.contestants(run)
    assert all(rival.cannot in html for rival in rival_environments.RIVALS)


def test_errors_are_those_of_the_written_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_errors, "truth_path", lambda _size, kind, name: tmp_path / f"{kind}-{name}")
    for kind, value in zip(TRUTHS, (3.0, 1.0), strict=True):
        for name, size in TABLES.items():
            (tmp_path / f"{kind}-{name}").write_bytes(array("d", [value] * size).tobytes())
    cells = [((cell, 1.0) for cell in range(size)) for size in TABLES.values()]
    assert totals(cells, [counts_path(tmp_path, 0, name) for name in TABLES]) == [
        (size, float(size)) for size in TABLES.values()
    ]
    assert count_errors.errors_in(tmp_path, "1m", 1) == {name: {"exact": 2.0, "bounded": 0.0} for name in TABLES}


def test_wrong_sums_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "expected").write_text("1000")
    monkeypatch.setattr(rival_environments, "expected_total_path", lambda _size: tmp_path / "expected")
    rival_environments.check_tables([[10, 1001.0], [70, 999.0]], "1m")
    rival_environments.check_tables([[70, 940.0]], "1m", rounds_down=True)
    with pytest.raises(CouldNotRunError, match="wrong answer"):
        rival_environments.check_tables([[70, 940.0]], "1m")


def test_the_page_has_its_marks() -> None:
    new_page = performance_page.replaced(performance_page.PAGE.read_text(encoding="utf-8"), "new")
    assert new_page.count("new\n\n" + performance_page.END) == 1
    with pytest.raises(ValueError, match="marks"):
        performance_page.replaced("none", "new")
