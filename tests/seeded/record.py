"""Record all seeded releases, or show one at length: ``python -m tests.seeded.record [NAME]``.

Run it in two versions and compare what it shows of a case to see in full what changed.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.seeded.cases import Case, every_case
from tests.seeded.running import planned, released

RELEASES = Path(__file__).with_name("releases.json")

_LAST_DIGITS = 3e-9  # of nine that are recorded

Outcome = Mapping[str, Any]


def recorded() -> dict[str, Outcome]:
    """Return what was recorded, by the names of the cases."""
    outcomes: dict[str, Outcome] = json.loads(RELEASES.read_text(encoding="utf-8"))
    return outcomes


def replayed(case: Case) -> dict[str, Outcome]:
    """Return what comes out of a case with each of its engines."""
    plan = planned(case)
    return {engine: plan | released(case, engine) for engine in case.engines}


def differences(records: Mapping[str, Outcome], replays: Mapping[str, Mapping[str, Outcome]]) -> list[str]:
    """Return of which cases, with which engines, something else came out than was recorded, and in which parts."""
    problems = [f"{name}: no longer a case" for name in records if name not in replays]
    for name, outcomes in replays.items():
        before = records.get(name, {})
        for engine, now in outcomes.items():
            parts = [part for part in sorted({*before, *now}) if not _same(before.get(part), now.get(part))]
            if parts:
                problems.append(f"{name} [{engine}]: {', '.join(parts)}")
    return problems


def record() -> dict[str, Outcome]:
    """Run all cases with the first of their engines."""
    return {case.name: planned(case) | released(case, case.engines[0]) for case in every_case()}


def write(records: Mapping[str, Outcome], path: Path = RELEASES) -> None:
    """Write records, one a line, so that a changed one is a changed line."""
    lines = (f"{json.dumps(name)}: {json.dumps(outcome, ensure_ascii=False)}" for name, outcome in records.items())
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _same(value: Any, other: Any) -> bool:
    """Whether two parts are the same, but for the last digits of floats: they hang on the processor."""
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(_same(entry, other[name]) for name, entry in value.items())
    if isinstance(value, list | tuple) and isinstance(other, list | tuple):
        return len(value) == len(other) and all(map(_same, value, other))
    if isinstance(value, float) and isinstance(other, float):
        return math.isclose(value, other, rel_tol=_LAST_DIGITS, abs_tol=_LAST_DIGITS)
    return type(value) is type(other) and value == other


def main(names: list[str]) -> None:
    """Record everything; or, given names of cases, show these at length."""
    if not names:
        write(record())
    for case in every_case():
        if case.name in names:
            shown = planned(case, str) | released(case, case.engines[0], str)
            sys.stdout.write(f"{case.name}\n{json.dumps(shown, indent=2, ensure_ascii=False)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
