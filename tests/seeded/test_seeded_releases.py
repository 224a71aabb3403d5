"""Releases of a fixed seed are what they were: numbers, promises, prices, plans and sentences.

After a change on purpose, ``python -m tests.seeded.record`` records them anew; each case is one line, so the diff
lists what changed.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pytest

from tests.seeded.cases import every_case
from tests.seeded.record import differences, recorded, replayed
from tests.seeded.running import methods

pytestmark = pytest.mark.long

CASES = {case.name: case for case in every_case()}
GROUPS = sorted({name.partition(":")[0] for name in CASES})


@pytest.fixture(scope="module")
def records() -> Mapping[str, Any]:
    return recorded()


@pytest.mark.parametrize("group", GROUPS)
def test_seeded_releases_are_as_recorded(group: str, records: Mapping[str, Any]) -> None:
    own = {name: outcome for name, outcome in records.items() if name.partition(":")[0] == group}
    replays = {name: replayed(case) for name, case in CASES.items() if name.partition(":")[0] == group}
    problems = differences(own, replays)
    assert not problems, f"{len(problems)} differ:\n" + "\n".join(problems)


def test_every_method_is_recorded_and_not_only_refused(records: Mapping[str, Any]) -> None:
    """A method that is new has no releases that were before, and none is missed."""
    released = {name for name, outcome in records.items() if "tables" in outcome}
    for method in methods() & {name.partition(": ")[2].split(",")[0] for name in CASES}:
        case_names = {case.name for case in CASES.values() if f": {method}," in case.name} & released
        assert len(case_names) >= 2, method


@pytest.mark.parametrize(
    "part", ["guarantee", "plan", "cost", "stages", "identity", "noise", "tables", "explained"]
)
def test_a_changed_part_is_reported(part: str, records: Mapping[str, Any]) -> None:
    name = next(name for name in CASES if name.startswith("counts: sra, contexts of users"))
    replays = {name: {"local": copy.deepcopy(records[name])}}
    assert differences({name: records[name]}, replays) == []
    _change(replays[name]["local"], part)
    assert differences({name: records[name]}, replays) == [f"{name} [local]: {part}"]
    assert differences({}, replays) != []
    assert differences({name: records[name]}, {}) == [f"{name}: no longer a case"]


def test_a_different_noisy_count_is_reported(records: Mapping[str, Any]) -> None:
    """One value perturbed by the least that there is, and what the digest covers beyond the rows shown."""
    case = next(case for case in CASES.values() if "tables" in records[case.name] and case.command == "release")
    name, replays = case.name, replayed(case)
    first = replays["local"]["tables"]["items"]["first"]["count"]
    first[0] += 1e-8 * max(1.0, abs(first[0]))
    assert differences({name: records[name]}, {name: replays}) == [f"{name} [local]: tables"]


def _change(outcome: dict[str, Any], part: str) -> None:
    """Put something else in the place of the first plain value there is."""
    inside, key = outcome, part
    while isinstance(inside[key], dict | list):
        inside = inside[key]
        key = next(iter(inside)) if isinstance(inside, dict) else 0  # type: ignore[assignment]
    inside[key] = "another"
