"""Every example runs as written, without a warning."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SHOWN = {"service.py": "service.md"}  # pages that show what an example prints


def test_there_are_examples() -> None:
    assert EXAMPLES


def _example_parameters() -> list[object]:
    """Every example; what starts processes takes longer."""
    slow = {"service.py": pytest.mark.slow}
    return [pytest.param(example, marks=slow.get(example.name, ()), id=example.name) for example in EXAMPLES]


@pytest.mark.parametrize("example", _example_parameters())
def test_an_example_runs(example: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)],
        cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    if example.name in SHOWN:
        assert f"```text\n{done.stdout}```" in (ROOT / "docs" / SHOWN[example.name]).read_text(encoding="utf-8")
    assert not list(tmp_path.iterdir()), "an example leaves nothing behind"
