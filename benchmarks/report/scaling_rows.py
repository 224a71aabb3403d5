"""Benchmark rows on scaling: the exponent of release time over each size."""

import sys
from dataclasses import replace
from functools import partial
from typing import Any

from benchmarks.harness.measurements import Bench
from benchmarks.harness.processes import CouldNotRunError, run
from benchmarks.harness.result_row import Row, judge
from benchmarks.performance.scaling import GROWN

MOST = 1.05
NOUNS = {"users": "people", "limit": "the limit"}


def _measure(bench: Bench, grown: str, quick: bool) -> Any:
    command = [
        sys.executable,
        "-m",
        "benchmarks.performance.scaling",
        "--only",
        grown,
        *(["--quick"] if quick else []),
    ]
    return run(command, env=bench.environment()).answer


def costs(bench: Bench) -> list[Row]:
    """A curve for each thing and method, all on logs with a tenth of the records unless 100M are asked for."""
    rows: list[Row] = []
    quick = bench.largest != "100m"
    for grown in GROWN:
        try:
            measurement = bench.once(f"costs {grown}", partial(_measure, bench, grown, quick))
        except CouldNotRunError as reason:
            rows.append(Row(f"growth with {grown}", f"could not run: {reason}", f"≤ {MOST}", "not measured"))
            continue
        for curve in measurement["curves"]:
            sizes, medians = curve["sizes"], curve["medians"]
            row = judge(
                f"{curve['method']}: growth with {NOUNS.get(grown, grown)}, {sizes[0]:,} to {sizes[-1]:,}",
                curve["exponent"],
                MOST,
                unit="(exponent)",
                raw=f"{', '.join(f'{median:.3f}' for median in medians)} s",
                unlike="of small logs" if quick else "",
            )
            shown = f"{curve['exponent']:.2f}, over the last decade {curve['last decade']:.2f}"
            rows.append(replace(row, measured=shown))
    return rows
