"""Benchmark rows of Headcount alone: releases beside their floors, searches, start-up time."""

import shutil
import sys
from pathlib import Path

from benchmarks.harness.logs import WORK
from benchmarks.harness.measurements import Bench, fresh_folder, headcount_command, kernels_in, release_options
from benchmarks.harness.processes import CouldNotRunError, median, run
from benchmarks.harness.result_row import GIB, Row, judge, other_size, seconds


def against_floor(bench: Bench, kind: str, size: str, method: str, *, most: float, label: str) -> Row:
    """Ours over the floor; string ids are meant for 10M records, all else for 100M."""
    result = bench.pair(kind, size, method)
    ours, floor = median(result["ours"]), median(result["floor"])
    raw = f"ours {seconds(result['ours'])}; floor {seconds(result['floor'])}"
    return judge(
        f"{label}, {size}, warm",
        ours / floor,
        most,
        unit="× read_dictionary" if kind == "text" else "× floor",
        raw=raw,
        numbers=result,
        unlike=other_size(size, "10m" if kind == "text" else "100m"),
    )


def peak(bench: Bench, kind: str, size: str, method: str, label: str, most: float = 0.5) -> Row:
    result = bench.alone(kind, size, method)
    return judge(
        f"{label}, {size}, peak memory",
        result["peak"] / GIB,
        most,
        unit="GiB",
        raw=f"ru_maxrss {result['peak']:,} bytes of a process with one release",
        numbers=result,
        unlike=other_size(size, "100m"),
    )


def sra(bench: Bench) -> list[Row]:
    return [against_floor(bench, "dense", bench.largest, "sra", most=2.5, label="SRA")]


def sra_memory(bench: Bench) -> list[Row]:
    return [peak(bench, "dense", bench.largest, "sra", "SRA")]


def sra_cold(bench: Bench) -> list[Row]:
    floor = median(bench.pair("dense", bench.largest, "sra")["floor"])
    result = bench.cold(bench.largest, "sra")
    most = 2.5 * floor + 0.8
    return [
        judge(
            f"SRA, {bench.largest}, cold (CLI process)",
            median(result["seconds"]),
            round(most, 3),
            unit="s",
            note=" (2.5 × floor + 0.8 s)",
            unlike=other_size(bench.largest, "100m"),
            numbers=result,
            raw=f"{seconds(result['seconds'])}; floor {floor:.3f} s; peak {result['peak'] / GIB:.2f} GiB",
        )
    ]


def hpa(bench: Bench) -> list[Row]:
    return [against_floor(bench, "dense", bench.largest, "hpa", most=5, label="HPA")]


def hpa_memory(bench: Bench) -> list[Row]:
    return [peak(bench, "dense", bench.largest, "hpa", "HPA")]


def adaptive(bench: Bench) -> list[Row]:
    return [against_floor(bench, "dense", bench.largest, "adaptive", most=3, label="adaptive")]


def adaptive_memory(bench: Bench) -> list[Row]:
    return [peak(bench, "dense", bench.largest, "adaptive", "adaptive")]


def sparse(bench: Bench) -> list[Row]:
    return [against_floor(bench, "sparse", bench.largest, "sra", most=5, label="SRA, sparse 64-bit ids")]


def text(bench: Bench) -> list[Row]:
    return [against_floor(bench, "text", bench.contest_size, "sra", most=2, label="SRA, string ids")]


def csv(bench: Bench) -> list[Row]:
    """Text with ISO 8601 times; the floor is ``pyarrow.csv.read_csv`` of the same file."""
    size = bench.contest_size
    result = bench.csv(size)
    return [
        judge(
            f"SRA, CSV, {size}, warm",
            median(result["ours"]) / median(result["floor"]),
            1.5,
            unit="× read_csv",
            raw=f"ours {seconds(result['ours'])}; floor {seconds(result['floor'])}",
            numbers=result,
            unlike=other_size(size, "10m"),
        )
    ]


def noise(bench: Bench) -> list[Row]:
    result = bench.noise()
    ours, theirs = median(result["ours"]), median(result["opendp"])
    return [
        judge(
            "bulk noise against OpenDP's vector",
            ours / theirs,
            least=30,
            unit="× its rate",
            numbers=result,
            raw=f"ours {ours / 1e6:.2f} M/s, OpenDP {theirs / 1e3:.0f} k/s (medians of {len(result['ours'])})",
        )
    ]


def gs(bench: Bench) -> list[Row]:
    """The largest d with 100M records alone; the slower of two amounts of noise counts."""
    names = ["netflix", "document", *(["checkin"] if bench.largest == "100m" else [])]
    result = run(
        [sys.executable, "-m", "benchmarks.performance.group_size_search", *names], env=bench.environment()
    ).answer
    most = {"document": 0.3, "checkin": 2.5}
    against_naive = result["naive"] / median(result["netflix"]["seconds"]["1"])
    rows = [
        Row(
            "GS, all w, d = 17,770, against the naive loop",
            f"{against_naive:.3g} × faster",
            "–",
            "–",
            f"ours {seconds(result['netflix']['seconds']['1'])}; naive {result['naive']:.3f} s; same errors and w",
            result["netflix"],
        )
    ]
    for name in names[1:]:
        times_by_epsilon = result[name]["seconds"]
        raw = "; ".join(f"ε = {epsilon}: {seconds(times)}" for epsilon, times in times_by_epsilon.items())
        rows.append(
            judge(
                f"GS, all w, d = {result[name]['d']:,}",
                max(median(times) for times in times_by_epsilon.values()),
                most[name],
                unit="s",
                raw=raw,
                numbers=result[name],
            )
        )
    return rows


def sensing(bench: Bench) -> list[Row]:
    """Whole releases count, reading included; the searches alone stand in the details."""
    size = bench.contest_size
    result = bench.sensing(size)
    small, whole, alone = result["small"], result["dpsense-s"]["seconds"], result["search"]
    raw = f"{seconds(whole)}; of it the search over {result['candidates']:,} pairs {seconds(alone['dpsense-s'])}"
    plain, search = result["dpsense"]["seconds"], alone["dpsense"]
    return [
        Row(
            "DPSense-S, all θ × α, small log, against the naive loops",
            f"{small['naive'] / small['ours']:.3g} × faster",
            "–",
            "–",
            f"ours {small['ours']:.4f} s; naive {small['naive']:.3f} s; same utilities",
            small,
        ),
        judge(
            f"DPSense-S, all θ × α, {size}, warm",
            median(whole),
            0.7,
            unit="s",
            raw=raw,
            numbers=result,
            unlike=other_size(size, "10m"),
        ),
        Row(
            f"DPSense, all θ, {size}, warm",
            f"{median(plain):.3g} s",
            "–",
            "–",
            f"{seconds(plain)}; of it the search {seconds(search)}",
        ),
    ]


def packed(bench: Bench) -> list[Row]:
    result = bench.packed(bench.largest, "sra")
    raw = f"store {seconds(result['second'])}; Parquet {seconds(result['first'])}; packing {result['pack']:.2f} s"
    return [
        judge(
            f"second release from a packed store, {bench.largest}, warm",
            median(result["second"]) / median(result["first"]),
            0.35,
            unit="× the first",
            raw=f"{raw}, {result['bytes'] / 1e6:.0f} MB",
            numbers=result,
            unlike=other_size(bench.largest, "100m"),
        )
    ]


def importing(bench: Bench) -> list[Row]:
    command = [sys.executable, "-m", "benchmarks.harness.floor_comparison", "import"]
    run(command, env=bench.environment())
    times = [run(command, env=bench.environment()).answer["seconds"] for _ in range(5)]
    return [judge("import headcount", median(times), 0.05, unit="s", raw=seconds(times))]


def helping(bench: Bench) -> list[Row]:
    command = [*headcount_command(), "--help"]
    run(command, env=bench.environment())
    times = [run(command, env=bench.environment()).seconds for _ in range(5)]
    return [judge("headcount --help", median(times), 0.15, unit="s", raw=seconds(times) + ", whole processes")]


def topping(bench: Bench) -> list[Row]:
    bench.need("dense", "1m")
    release = WORK / "release-1m"
    shutil.rmtree(release, ignore_errors=True)
    run([*headcount_command(), *release_options("1m", "sra", release)], env=bench.environment())
    command: list[str | Path] = [*headcount_command(), "top", release]
    times = [run(command, env=bench.environment()).seconds for _ in range(6)][1:]
    return [judge("headcount top of a release", median(times), 0.25, unit="s", raw=seconds(times))]


def first_release(bench: Bench) -> list[Row]:
    """What a build did not compile is compiled into an empty folder; compiled ones elsewhere would spoil it."""
    bench.need("dense", "1m")
    folder = fresh_folder()
    first = bench.command_line("1m", "sra", folder).seconds
    ours, all_kernels = kernels_in(folder), kernels_in(bench.all_kernels())
    later = [bench.command_line("1m", "sra", folder).seconds for _ in range(3)]
    what, raw = (
        "first release after installation, 1m",
        f"{ours} of {all_kernels} kernels that a build leaves to Numba are in HEADCOUNT_CACHE",
    )
    if ours == all_kernels:
        row = judge(what, first, 4, unit="s", raw=raw)
    else:
        measured = f"invalid: took {first:.2f} s, but with kernels compiled earlier elsewhere"
        row = Row(what, measured, "≤ 4 s", "not measured", raw)
    return [
        row,
        judge("later cold releases, 1m", median(later), 0.8, unit="s", raw=seconds(later)),
    ]


def growth(bench: Bench) -> list[Row]:
    if len(bench.sizes) < 2:
        raise CouldNotRunError("needs two sizes")
    small, large = bench.sizes[-2:]
    ours = {size: bench.pair("dense", size, "sra")["ours"] for size in (small, large)}
    return [
        judge(
            f"growth {small} → {large}, warm",
            median(ours[large]) / median(ours[small]),
            11,
            unit="×",
            unlike="" if (small, large) == ("10m", "100m") else "the target is for 10m → 100m",
            raw="; ".join(f"{size}: {seconds(times)}" for size, times in ours.items()),
        )
    ]
