"""``python -m benchmarks``: measure once, print one table, keep every number in .work/results.json."""

import argparse
import json
import os
import platform
import signal
import sys
from datetime import UTC, datetime

from benchmarks.bench import Bench, source_digest
from benchmarks.contest import FAMILIES, chosen
from benchmarks.data import SIZES, WORK
from benchmarks.measure import CouldNotRunError
from benchmarks.rows import ROWS, Row
from benchmarks.table import render


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--records", default="1m,10m,100m", help="sizes, a subset of 1m,10m,100m")
    parser.add_argument("--quick", action="store_true", help="1M and 10M only; a rival's process may take 60 s")
    parser.add_argument("--only", nargs="+", metavar="ROW", choices=list(ROWS), help=", ".join(ROWS))
    parser.add_argument("--rivals", default=",".join(FAMILIES), help=f"a subset of {','.join(FAMILIES)}, or none")
    given = parser.parse_args()
    asked = "1m,10m" if given.quick else given.records
    sizes = [size for size in SIZES if size in asked.split(",")]
    families = [] if given.rivals == "none" else given.rivals.split(",")
    unknown = set(asked.split(",")) - set(SIZES), set(families) - set(FAMILIES)
    if any(unknown):
        parser.error(f"unknown: {', '.join(sorted(set().union(*unknown)))}")
    bench = Bench(sizes=sizes, rivals=chosen(families), rival_timeout=60.0 if given.quick else 3600.0)
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(143))
    rows: list[Row] = []
    source = source_digest()
    for name in given.only or ROWS:
        try:
            rows.extend(ROWS[name](bench))
        except CouldNotRunError as reason:
            rows.append(Row(name, f"could not run: {reason}", "–", "not measured"))
    print(render(rows))
    changed = source_digest() != source
    if changed:
        print("WARNING: the source changed during this run; its rows are not comparable with each other.")
    document = {
        "taken": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "cores": os.cpu_count(),
            "load at the end": os.getloadavg(),
            "platform": platform.platform(),
            "python": sys.version,
        },
        "source": source,
        "source changed during the run": changed,
        "rows": [row.as_json() for row in rows],
        "measurements": bench.seen,
    }
    WORK.mkdir(exist_ok=True)
    (WORK / "results.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
