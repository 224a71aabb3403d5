"""What a family gets from its value alone, without a line about it anywhere else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from headcount import families
from headcount.cli.charged import command_of
from headcount.errors import UsageError
from headcount.family import Family
from headcount.releases import load
from headcount.reports.release import release_page
from tests.toys import FAMILY

FLAGS = ("visits.csv", "--user", "who", "--item", "what", "--items", "rye,tea", "--epsilon", "9")


@pytest.fixture(autouse=True)
def _listed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """List the family, in a folder with a log."""
    monkeypatch.setitem(cast("dict[str, Family]", families.FAMILIES), FAMILY.name, FAMILY)
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"u{n},{item}" for n in range(50) for item in ("rye", "tea"))
    Path("visits.csv").write_text(f"who,what\n{rows}\n", encoding="utf-8")


def run(*flags: str) -> Any:
    return command_of(FAMILY).main([*FLAGS, *flags], "toys", standalone_mode=False)


def test_it_has_a_command_that_releases(capsys: pytest.CaptureFixture[str]) -> None:
    run("--copies", "2", "--out", "out")
    told = capsys.readouterr()
    assert "1 size, of everything each person did: out" in told.out
    assert "headcount explain out" in told.err
    release = load("out")
    assert release.request["toys"] == {"epsilon": "9", "copies": 2}
    assert 90 < release.tables["sizes"]["size"][0].as_py() < 110


def test_its_command_refuses_and_plans_as_all_do(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="copies must be a whole number of at least 1, not '0'; try --copies 10"):
        run("--copies", "0", "--out", "out")
    run("--dry-run")
    told = capsys.readouterr().out
    assert "1 size" in told
    assert "each size: standard deviation" in told
    run("--dry-run", "--json")
    assert json.loads(capsys.readouterr().out)["cells"] == {"sizes": 1}


def test_it_is_listed_described_and_drawn() -> None:
    assert families.family_of("toy") is FAMILY
    assert [each["family"] for each in families.describe() if each["name"] == "toy"] == ["toys"]
    assert families.summary("toy") == "How many people there are, with noise."
    run("--out", "out")
    page = release_page(load("out"))
    assert "<h1>How many people there are</h1>" in page
    assert "1 size" in page
