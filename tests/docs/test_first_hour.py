"""A newcomer's first hour, in a fresh clone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("HEADCOUNT_DATA", ROOT / "nowhere"))


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "uci-online-retail.parquet").is_file(), reason="HEADCOUNT_DATA has no such log")
def test_a_private_top_20_per_weekday_in_five_commands_and_three_minutes() -> None:
    command = [sys.executable, str(ROOT / "tools" / "docs" / "first_hour.py"), "--data", str(DATA)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
