"""Models against rivals: ratings against Surprise's fit, a wide table against AIM of mbi."""

import os
import sys
from pathlib import Path
from typing import Any

from benchmarks.comparison.rival_environments import SMALL, Rival
from benchmarks.harness.measurements import Bench
from benchmarks.harness.processes import CouldNotRunError, run
from benchmarks.harness.result_row import GIB, Row, judge, other_size
from benchmarks.performance.model_fitting import KINDS, SURPRISE, surprise

MBI = Rival("mbi", "aim", "aim.txt", "mbi", "takes a table of bins in memory, one record of each person: no log")
COLUMNS, RUNS = 5, 3
PATIENCE = 300.0  # seconds that either rival may take: their times grow fast, and a refusal says enough


def models(bench: Bench) -> list[Row]:
    """Bytes a record and seconds of both models, and Surprise's seconds beside."""
    size = bench.contest_size
    rows: list[Row] = []
    for kind in KINDS:
        result = bench.model(kind, size)
        rows.append(
            judge(
                f"model of {kind}, {size}, peak memory",
                result["bytes"],
                24,
                unit="bytes a record",
                raw=f"{result['seconds']:.2f} s, {result['cpu']:.2f} CPU s, {result['peak'] / GIB:.2f} GiB in all",
                numbers=result,
                unlike=other_size(size, "10m"),
            )
        )
    if not bench.rivals:
        return rows
    combinations = [(contest_size, model) for contest_size in bench.contest_sizes for model in ("KNNBasic", "SVD")]
    return [
        *rows,
        *(row for contest_size, model in combinations for row in _against_surprise(bench, contest_size, model)),
    ]


def _against_surprise(bench: Bench, size: str, model: str) -> list[Row]:
    """KNNBasic is for 1M alone: with ten times the people it would take ten times as long."""
    ours = {kind: bench.model(kind, size) for kind in KINDS}
    name = f"{model} of {SURPRISE.version}"
    if model == "KNNBasic" and size != SMALL:
        return [Row(f"models, {size}, against the fit of {name}", "not tried: see 1m", "–", "–")]
    try:
        theirs = bench.once(f"rival surprise {model} {size}", lambda: surprise(size, model, _patience(bench)))
    except CouldNotRunError as reason:
        what = f"models, {size}, against the fit of {name}"
        own_times = ", ".join(f"{kind} {result['seconds']:.2f} s" for kind, result in ours.items())
        return [Row(what, f"ours: {own_times}; theirs could not run: {reason}", "–", "–")]
    raw = f"theirs: fit {theirs['fit']:.2f} s after {theirs['prepare']:.2f} s of reading, "
    raw += f"{theirs['peak'] / GIB:.2f} GiB"
    return [
        Row(
            f"model of {kind}, {size}, against the fit of {name}",
            f"{theirs['fit'] / result['seconds']:.3g} × faster, {result['peak'] / theirs['peak']:.2f} × its peak",
            "–",
            "–",
            f"ours, from the file, with noise: {result['seconds']:.2f} s; {raw}",
            {"ours": result, "theirs": theirs},
        )
        for kind, result in ours.items()
    ]


def wide_table(bench: Bench) -> list[Row]:
    """The first columns of uci-adult at the same ε and δ, which mbi's AIM can do within minutes."""
    if not bench.rivals:
        raise CouldNotRunError("no rival asked for")
    folder = Path(os.environ.get("HEADCOUNT_DATA", "../shared/data"))
    if not (folder / "uci-adult.parquet").exists():
        raise CouldNotRunError("needs uci-adult.parquet in the folder HEADCOUNT_DATA")
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "benchmarks.comparison.aim_wide_table",
        "--data",
        folder,
        "--json",
    ]
    options = ["--columns", str(COLUMNS), "--runs", str(RUNS), "--timeout", str(_patience(bench))]
    result = bench.once(
        f"rival mbi {COLUMNS} columns",
        lambda: run([*command, *options], env=bench.environment(), timeout=2 * bench.rival_timeout).answer,
    )
    ours, aim = result["ours"], result["aim"]

    def error_ratio(columns: str) -> str:
        return f"{ours['off'][columns] / aim['off'][columns]:.2f}"

    return [
        Row(
            f"uci-adult, {COLUMNS} columns, against AIM ({MBI.version})",
            f"{aim['seconds'] / ours['seconds']:.3g} × faster, {ours['peak'] / aim['peak']:.2f} × its peak, "
            f"{error_ratio('2')} × its error of pairs, {error_ratio('3')} × of triples",
            "–",
            "–",
            f"ours {_describe(ours)}; AIM {_describe(aim)}; ε = 1, δ = 1e-9; errors are mean total variations",
            result,
        )
    ]


def _patience(bench: Bench) -> float:
    return min(PATIENCE, bench.rival_timeout)


def _describe(result: dict[str, Any]) -> str:
    errors = result["off"]
    return (
        f"{result['seconds']:.1f} s, {result['peak'] / GIB:.2f} GiB, {errors['2']:.4f} and {errors['3']:.4f} off"
    )
