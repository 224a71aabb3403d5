"""The house rules: what they refuse, and that the source keeps the limits of size."""

from __future__ import annotations

import doctest

import pytest

from tools.checks import house_rules


def test_examples() -> None:
    tested = doctest.testmod(house_rules)
    assert tested.attempted
    assert not tested.failed


def test_a_long_module_a_vague_name_and_a_full_folder_are_refused() -> None:
    assert [row.place for row in house_rules.violations_of("long.py", "\n" * 401)] == ["long.py"]
    assert not list(house_rules.violations_of("short.py", "\n" * 400))
    vague = "def told(rows):\n    return [each for each in rows]\n"
    assert [row.place for row in house_rules.violations_of("a.py", vague)] == ["a.py:1", "a.py:2"]
    folder = [f"src/room/module_{number}.py" for number in range(15)]
    assert not list(house_rules.full_folders([*folder, "src/room/__init__.py"]))
    assert list(house_rules.full_folders([*folder, "src/room/more.py"]))


def test_the_source_keeps_the_limits_of_size(capsys: pytest.CaptureFixture[str]) -> None:
    assert house_rules.main(["--sizes"]) == 0, capsys.readouterr().out
