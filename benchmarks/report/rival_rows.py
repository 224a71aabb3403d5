"""Benchmark rows of Headcount against rival libraries: the same job, the targets, one table of them all."""

from collections.abc import Mapping
from typing import Any

from benchmarks.comparison.rival_environments import RIVALS, Rival
from benchmarks.harness.logs import SIZES
from benchmarks.harness.measurements import Bench
from benchmarks.harness.processes import CouldNotRunError, median
from benchmarks.harness.result_row import GIB, Row, judge, other_size, seconds

OURS = {"sra": "Headcount, SRA: the same job", "adaptive": "Headcount, adaptive: its own limit"}
HEAD = (
    *("", "version", "records", "cold s", "×", "warm s", "×", "peak GiB", "×"),
    *("error of items", "×", "of items by weekday", "×", "error of bounded items"),
)
NOTES = (
    "× is to Headcount's SRA: above 1 is slower, larger, or further off. Errors are mean absolute errors of "
    "counts at ε = 1, over all public keys: from the log's own counts, and, last, from what a random choice of 10 "
    "records of each person has on average, where only noise and chance count.",
    "Cold: one whole process. Warm: the median in a process that has done the job on 1M records; ¹: its only "
    "call in a process, since it is slow. Peak: of the cold process, of Spark with its Java.",
    "Everybody keeps 10 records of each person, but for the adaptive method, which finds its own limit and "
    "corrects for what it cut. What smartnoise does not return counts as zero. Before it is timed, each must "
    "return Σ min(records, 10) at a huge ε.",
)

Measurement = dict[str, Any]


def contest(bench: Bench) -> list[Row]:
    """Measure everybody; the targets count against the fastest that ran, warm and cold apart."""
    rows: list[Row] = []
    ran: dict[str, Measurement] = {}
    for size in bench.contest_sizes:
        for method in OURS:
            try:
                bench.contestant(size, method)
            except CouldNotRunError as reason:
                rows.append(Row(f"Headcount, {method}, {size}", f"could not run: {reason}", "–", "not measured"))
    for rival in bench.rivals:  # a rival at both sizes before the next: an interrupted run has whole lines
        for size in bench.contest_sizes:
            try:
                measurement = bench.rival(rival, size)
            except CouldNotRunError as reason:
                rows.append(Row(f"{rival.name}, {size}", f"could not run: {reason}", "–", "–"))
                continue
            if size == bench.contest_size:
                ran[rival.name] = measurement
    try:
        return [*_against_fastest(bench, bench.contest_size, ran), *rows]
    except CouldNotRunError as reason:
        missing = Row(f"{bench.contest_size} against the fastest rival", f"could not run: {reason}", "–", "–")
        return [missing, *rows]


def _against_fastest(bench: Bench, size: str, ran: Mapping[str, Measurement]) -> list[Row]:
    if not ran:
        raise CouldNotRunError("no rival ran")
    ours, cold = bench.contestant(size, "sra"), bench.cold(size, "sra")["seconds"]
    fastest = min(ran, key=lambda name: ran[name]["warm"])
    quickest = min(ran, key=lambda name: ran[name]["cold"])
    theirs = ran[fastest]
    unlike = other_size(size, "10m")
    if not any(name.startswith("opendp") for name in ran):
        unlike = "OpenDP, the fastest known, did not run"
    return [
        judge(
            f"{size} against {fastest}, warm",
            theirs["warm"] / ours["warm"],
            least=30,
            unit="× faster",
            raw=f"ours {seconds(ours['warm runs'])}; theirs {seconds(theirs['warm runs'])}",
            unlike=unlike,
        ),
        judge(
            f"{size} against {quickest}, cold",
            ran[quickest]["cold"] / median(cold),
            least=6,
            unit="× faster",
            raw=f"ours {seconds(cold)}; theirs {ran[quickest]['cold']:.2f} s",
            unlike=unlike,
        ),
        judge(
            f"{size} against {fastest}, memory",
            ours["peak"] / theirs["peak"],
            0.4,
            unit="× its peak",
            raw=f"ours {ours['peak'] / GIB:.2f} GiB, theirs {theirs['peak'] / GIB:.2f} GiB, cold processes both",
            unlike=unlike,
        ),
    ]


def contest_lines(measurements: Mapping[str, Measurement], version: str) -> list[tuple[str, ...]]:
    """The table of all contestants that were asked, and what became of each."""
    lines: list[tuple[str, ...]] = []
    for size in SIZES:
        ours = measurements.get(f"contestant sra {size}")
        if ours is None:
            continue
        for method, name in OURS.items():
            measurement = measurements.get(f"contestant {method} {size}")
            if measurement is not None:
                lines.append(_line(name, version, size, measurement, ours))
        for rival in RIVALS:
            failed = measurements.get(f"rival {rival.name} does the job", {})
            measurement = measurements.get(
                f"rival {rival.name} {size}", failed if "could not run" in failed else None
            )
            if measurement is not None:
                lines.append(_line(rival.name, rival.version, size, measurement, ours))
    return lines


def cannot(rivals: tuple[Rival, ...]) -> list[str]:
    """What each rival cannot do, a line each."""
    return [f"**{rival.name}** {rival.cannot}." for rival in rivals]


def _line(name: str, version: str, size: str, measurement: Measurement, ours: Measurement) -> tuple[str, ...]:
    start = (name, version, size.upper())
    if "could not run" in measurement:
        return (*start, f"could not run: {measurement['could not run']}", *[""] * (len(HEAD) - 4))

    def ratio(measurement: Measurement, *path: str) -> float:
        value: Any = measurement
        for key in path:
            value = value[key]
        return float(value)

    cells: list[str] = []
    paths = [("cold",), ("warm",), ("peak",), ("errors", "items", "exact"), ("errors", "edges", "exact")]
    for path in paths:
        value = ratio(measurement, *path)
        shown = f"{value / GIB:.2f}" if path == ("peak",) else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
        mark = "¹" if path == ("warm",) and measurement["once"] else ""
        usable = "could not run" not in ours
        cells += [shown + mark, f"{value / ratio(ours, *path):.3g}" if usable else "–"]
    return (*start, *cells, f"{measurement['errors']['items']['bounded']:.3g}")
