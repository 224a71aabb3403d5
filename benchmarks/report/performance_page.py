"""The generated part of docs/performance.md: tables and plots of a run, between two marks."""

import sys
from pathlib import Path

from benchmarks.comparison.rival_environments import ROOT
from benchmarks.harness.logs import WORK
from benchmarks.harness.measurements import environment_of
from benchmarks.harness.processes import CouldNotRunError, run
from benchmarks.harness.results import RESULTS, Kept
from benchmarks.report.tables import contestants, summary, targets

PAGE = ROOT / "docs" / "performance.md"
IMAGES = ROOT / "docs" / "images"
BEGIN = "<!-- from here on python -m benchmarks --page writes -->"
END = "<!-- up to here -->"
PLOTS = {
    "contest.png": "Seconds, peak memory and error of Headcount and its rivals",
    "costs.png": "Seconds of a release as one thing grows a hundredfold",
}


def replaced(page: str, written: str) -> str:
    """The page with what stands between its marks replaced.

    >>> replaced(f"a {BEGIN} old {END} b", "new") == f"a {BEGIN}\\n\\nnew\\n\\n{END} b"
    True
    """
    before, _, rest = page.partition(BEGIN)
    _, end_mark, after = rest.partition(END)
    if not end_mark:
        raise ValueError(f"{PAGE.name} lacks its marks")
    return f"{before}{BEGIN}\n\n{written}\n\n{END}{after}"


def section(kept: Kept, plots: list[str]) -> str:
    """What is written."""
    rows = [row for group in kept.rows.values() for row in group]
    shown = [f"![{PLOTS[name]}](images/{name})" for name in plots]
    return "\n\n".join(
        [
            summary(kept),
            "### Against others",
            contestants(kept),
            *shown,
            "### What was to be reached",
            targets(rows),
        ]
    )


def write_page(kept: Kept) -> None:
    """Draw the plots in a process of their own, which imports what this one must not, and write the page."""
    try:
        command: list[str | Path] = [sys.executable, "-m", "benchmarks.report.plots", RESULTS, IMAGES]
        drawn = run(command, env=environment_of(ROOT / "src", WORK / "kernels")).answer["drawn"]
    except CouldNotRunError as reason:
        print(f"no plots: {reason}", file=sys.stderr)
        drawn = []
    PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), section(kept, drawn)), encoding="utf-8")
