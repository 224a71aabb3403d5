"""One row of the benchmark table: what was measured, the result, the target and the verdict."""

from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.harness.processes import median

GIB = 1024**3


@dataclass(frozen=True)
class Row:
    """One line of the table and the numbers behind it."""

    what: str
    measured: str
    target: str
    verdict: str
    raw: str = ""
    numbers: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def judge(
    what: str,
    value: float,
    most: float | None = None,
    least: float | None = None,
    *,
    unit: str,
    raw: str,
    numbers: dict[str, Any] | None = None,
    note: str = "",
    unlike: str = "",
) -> Row:
    """Hold a value against its target; ``unlike`` says how the measurement departs from its terms."""
    target = f"≤ {most:g} {unit}" if most is not None else f"≥ {least:g} {unit}"
    good = value <= most if most is not None else value >= (least or 0)
    verdict = ("met" if good else "MISSED") + (f", but {unlike}" if unlike else "")
    return Row(what, f"{value:.3g} {unit}", target + note, verdict, raw, numbers or {})


def other_size(size: str, meant: str) -> str:
    return "" if size == meant else f"the target is for {meant}"


def seconds(values: list[float]) -> str:
    return f"median {median(values):.3f} s of {len(values)} ({', '.join(f'{value:.3f}' for value in values)})"
