"""``python -m benchmarks``: measure once, print one table, keep every number in .work/results.json.

A measurement that fails is told and the rest goes on. An interrupted run loses nothing: --resume goes on from it.
"""

import argparse
import signal
import sys

from benchmarks.comparison.rival_environments import FAMILIES, rivals_of_families
from benchmarks.harness.logs import SIZES
from benchmarks.harness.measurements import Bench, source_digest
from benchmarks.harness.processes import CouldNotRunError
from benchmarks.harness.result_row import Row
from benchmarks.harness.results import Kept
from benchmarks.report.performance_page import write_page
from benchmarks.report.row_registry import ROWS
from benchmarks.report.tables import render

PATIENCE = 600.0
INTERRUPTED = 130


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--records", default="1m,10m,100m", help="sizes, a subset of 1m,10m,100m")
    parser.add_argument("--quick", action="store_true", help="1M and 10M only; a rival's process may take 60 s")
    parser.add_argument("--only", nargs="+", metavar="ROW", choices=list(ROWS), help=", ".join(ROWS))
    parser.add_argument("--rivals", default=",".join(FAMILIES), help=f"a subset of {','.join(FAMILIES)}, or none")
    parser.add_argument("--resume", action="store_true", help="go on from the last run")
    parser.add_argument("--page", action="store_true", help="write tables and plots into docs/performance.md")
    parser.add_argument(
        "--patience", type=float, help=f"seconds a rival's process may take, {PATIENCE:.0f} if not said"
    )
    given = parser.parse_args()
    wanted_sizes = "1m,10m" if given.quick else given.records
    sizes = [size for size in SIZES if size in wanted_sizes.split(",")]
    families = [] if given.rivals == "none" else given.rivals.split(",")
    unknown = set(wanted_sizes.split(",")) - set(SIZES), set(families) - set(FAMILIES)
    if any(unknown):
        parser.error(f"unknown: {', '.join(sorted(set().union(*unknown)))}")
    source = source_digest()
    kept = Kept(source)
    if given.resume:
        print(kept.resume(), file=sys.stderr)
    patience = given.patience or (60.0 if given.quick else PATIENCE)
    bench = Bench(
        sizes=sizes,
        rivals=rivals_of_families(families),
        rival_timeout=patience,
        measurements=kept.measurements,
        keep=kept.save,
    )
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    ended = measure(bench, kept, given.only or list(ROWS))
    print(render(kept))
    if source_digest() != source:
        print("WARNING: the source changed during this run; its rows are not comparable with each other.")
    if given.page:
        write_page(kept)
    return ended


def measure(bench: Bench, kept: Kept, names: list[str]) -> int:
    """Take all rows that are not kept already; the exit code."""
    try:
        for name in names:
            if name in kept.rows:
                continue
            try:
                kept.rows[name] = ROWS[name](bench)
            except CouldNotRunError as reason:
                kept.rows[name] = [Row(name, f"could not run: {reason}", "–", "not measured")]
            kept.save()
    except KeyboardInterrupt:
        print("interrupted; --resume goes on from here", file=sys.stderr)
        return INTERRUPTED
    finally:
        kept.rows = {name: kept.rows[name] for name in ROWS if name in kept.rows}
        kept.save()
    return 0


if __name__ == "__main__":
    sys.exit(main())
