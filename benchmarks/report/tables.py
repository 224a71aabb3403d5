"""Markdown tables of a run: all contestants, and the targets."""

from collections.abc import Iterable, Sequence

from benchmarks.comparison.rival_environments import RIVALS
from benchmarks.harness.result_row import Row
from benchmarks.harness.results import Kept
from benchmarks.performance.model_fitting import SURPRISE
from benchmarks.report.model_rows import MBI
from benchmarks.report.rival_rows import HEAD, NOTES, cannot, contest_lines

TARGETS = ("what", "measured", "to reach", "")
FOOTNOTES = (
    "floor: PyArrow streams the same columns (pre_buffer=False), in turns with ours, in the same process.",
    "warm: in a running process, kernels compiled, after a release of 1M records; medians. "
    "cold: one whole process, kernels cached on disk.",
    "memory: ru_maxrss of a process of its own; tumult: highest sum over its process tree.",
    "rivals read the same rows from a second file whose weekday is int32, because OpenDP and Tumult refuse int8.",
    "opendp is its Context API, opendp-framework the same library given the noise scale instead of searching it.",
)


def markdown(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table whose columns are as wide as what they hold.

    >>> print(markdown(["a", "b"], [["1", "two"]]))
    | a | b   |
    |---|-----|
    | 1 | two |
    """
    lines = [[cell.replace("|", "/") for cell in line] for line in lines]
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    shown = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in (head, *lines)]
    shown.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(shown)


def contestants(kept: Kept) -> str:
    """Everybody at the same job, and what who cannot do."""
    lines = contest_lines(kept.measurements, kept.document["headcount"])
    if not lines:
        return "No rival was measured."
    notes = [*NOTES, "What they cannot do:", *(f"- {sentence}" for sentence in cannot((*RIVALS, SURPRISE, MBI)))]
    return (
        "\n\n".join([markdown(HEAD, lines), *notes[: len(NOTES) + 1]])
        + "\n\n"
        + "\n".join(notes[len(NOTES) + 1 :])
    )


def targets(rows: Iterable[Row]) -> str:
    """What was measured, and what was to be reached."""
    return markdown(TARGETS, [(row.what, row.measured, row.target, row.verdict) for row in rows])


def summary(kept: Kept) -> str:
    """When, where and with what it was measured."""
    document, machine = kept.document, kept.document["machine"]
    return (
        f"Taken {document['taken']}, Headcount {document['headcount']}, {machine['cores']} cores, "
        f"{machine['memory'] / 1024**3:.0f} GiB, load at the end {document['load at the end'][0]:.1f}; "
        f"{document['underneath']}."
    )


def render(kept: Kept) -> str:
    """Everything, with the raw numbers."""
    rows = [row for group in kept.rows.values() for row in group]
    raw = [f"{row.what}: {row.raw}" for row in rows if row.raw]
    return "\n\n".join([summary(kept), contestants(kept), targets(rows), "\n".join(raw), "\n".join(FOOTNOTES)])
