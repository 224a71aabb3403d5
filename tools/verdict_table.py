"""Print verdicts as a Markdown table: ``headcount reproduce PAPER --json | python tools/verdict_table.py``."""

from __future__ import annotations

import json
import sys
from collections import Counter


def main() -> int:
    found = json.load(sys.stdin)
    counted = Counter(each["verdict"] for each in found["claims"])
    print(", ".join(f"{many} {word}" for word, many in counted.most_common()))
    print(f"({found['runs']} runs of each setting, seed {found['seed']}, {found['seconds']:.0f} s)\n")
    print("| Where | The paper says | Verdict |\n|---|---|---|")
    for each in found["claims"]:
        print(f"| {each['figure']} | {each['claim']} | {each['verdict']} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
