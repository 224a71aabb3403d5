"""The one table, in plain text: a line a row, the raw numbers under it."""

from collections.abc import Iterable

from benchmarks.rows import Row

HEAD = Row("what", "measured", "target", "verdict")
FOOTNOTES = (
    "floor: PyArrow streams the same columns (pre_buffer=False), in turns with ours, in the same process.",
    "warm: in a running process, kernels compiled, after a release of 1M records; medians. "
    "cold: one whole process, kernels cached on disk.",
    "memory: ru_maxrss of a process of its own; tumult: highest sum over its process tree.",
    "rivals read the same rows from a second file whose weekday is int32, because OpenDP and Tumult refuse "
    "int8; with a huge epsilon each must return Σ min(records, 10) before it is timed.",
    "opendp is its Context API, opendp-framework the same library given the noise scale instead of "
    "searching it; smartnoise returns only keys it saw.",
)


def render(rows: Iterable[Row]) -> str:
    lines = [HEAD, *rows]
    widths = [max(len(getattr(row, name)) for row in lines) for name in ("what", "measured", "target")]
    text: list[str] = []
    for row in lines:
        cells = (row.what, row.measured, row.target)
        padded = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        text.append(f"{padded}  {row.verdict}")
        if row is HEAD:
            text.append("-" * (sum(widths) + 16))
        if row.raw:
            text.append(f"    {row.raw}")
    return "\n".join([*text, "", *FOOTNOTES])
