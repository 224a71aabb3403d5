"""Audit the mutants of ``tests/mutants/audited``: which test detects each, after how many releases.

    python -m benchmarks.auditing.mutant_detection [--runs 300] [--only WORD]

Runs are releases, of both logs of all pairs that were tried. A replay comes first; statistics are told of beside
it, whether they were needed or not. All chances of error together are 0.001 for each bug.
"""

from __future__ import annotations

import argparse
import statistics

from tests.mutants.audited import MUTANTS
from tests.mutants.audited.audit import RUNS, SearchResult, audit_mutant


def cell(search: SearchResult) -> str:
    """Return what one way of auditing needed."""
    return f"{search.releases:,}" if search.is_detected else f"not in {search.releases:,}"


def main() -> None:
    """Print a table, and what it comes to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--only", default="", help="part of the name of some bugs")
    arguments = parser.parse_args()
    print("| Bug | What is wrong | Known from | Replay | Statistics |\n|---|---|---|---:|---:|")
    hunts = []
    for planted in MUTANTS:
        if arguments.only in planted.name:
            hunts.append(audit_mutant(planted, arguments.runs))
            result = hunts[-1]
            cells = planted.name, planted.wrong, planted.precedent, cell(result.replay), cell(result.statistics)
            print(f"| {' | '.join(cells)} |", flush=True)
    detected = [result for result in hunts if result.is_detected]
    alone = [result.statistics.releases for result in hunts if result.statistics.is_detected]
    print(
        f"\n{len(detected)} of {len(hunts)} found, after {_median([result.releases for result in detected])} runs"
    )
    print(f"statistics alone: {len(alone)} of {len(hunts)}, after {_median(alone)} runs")


def _median(numbers: list[int]) -> str:
    return f"{statistics.median(numbers):,.0f} (median)" if numbers else "no"


if __name__ == "__main__":
    main()
