"""A small log in a folder of its own, under the names that the documentation uses."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from headcount.lab.synthetic.logs import checkins, ratings

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the files once."""
    folder = tmp_path_factory.mktemp("prepared")
    city = checkins(folder, users=300, venues=60, events=6_000)
    pacsv.write_csv(pq.read_table(city.visits), folder / "visits.csv")
    ratings(folder, users=200, items=80, events=4_000)
    (folder / "headcount-demo").mkdir()
    for name in ("visits.parquet", "venues.csv"):
        shutil.copy(folder / name, folder / "headcount-demo" / name)
    return folder


@pytest.fixture
def workplace(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a fresh copy of the prepared folder, with a terminal 100 columns wide."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("HEADCOUNT_LEDGER", "HEADCOUNT_LEDGER_KEY", "HEADCOUNT_LEDGER_ANCHOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path
