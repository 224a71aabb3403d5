"""What the intervals of a release do not cover is one fact of it, repeated wherever intervals are shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headcount as hc
from headcount.cli.main import main
from headcount.releases.release import Release
from headcount.reports.release import release_page
from headcount.reports.sentences import interval_words

USERS = "even with extremely many records each"


@pytest.fixture(scope="module")
def log() -> hc.EventLog:
    return hc.EventLog.of([(f"u{n}", "rye" if n % 3 else "tea") for n in range(300)], items=["rye", "tea"])


def _flat(text: str) -> str:
    return " ".join(text.split())


def _displays(release: Release, folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Return what is shown of a release, wherever its intervals are named."""
    capsys.readouterr()
    release.save(folder)
    shown = {"words": interval_words(release), "page": release_page(release), "card": release._repr_html_()}
    for command in ("top", "explain"):
        assert main([command, str(folder)]) == 0
        shown[command] = capsys.readouterr().out
    return {name: _flat(text) for name, text in shown.items()}


def test_the_warning_of_explain_stands_beside_the_intervals_everywhere(
    log: hc.EventLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release = hc.release(log, epsilon="1")
    assert release.uncovered in release.steps
    for name, text in _displays(release, tmp_path / "out", capsys).items():
        assert USERS in text, name
    assert hc.load(tmp_path / "out").uncovered == release.uncovered


@pytest.mark.parametrize("words", [{"at_most": 3}, {"method": "sra", "limit": 2}])
def test_intervals_that_cover_all_users_have_no_warning(
    words: dict[str, Any], log: hc.EventLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release = hc.release(log, epsilon="1", **words)
    assert release.uncovered is None
    for name, text in _displays(release, tmp_path / "out", capsys).items():
        assert USERS not in text, name


@pytest.mark.parametrize(("heavy", "suggested"), [(400, True), (3, False)])
def test_check_suggests_a_cap_where_few_users_dominate(heavy: int, suggested: bool) -> None:
    records = [(f"u{n}", "tea") for n in range(400) for _ in range(heavy if n < 10 else 3)]
    hints = [hint for hint in hc.check(hc.EventLog.of(records, items=["tea"])).hints if "at_most" in hint]
    assert bool(hints) == suggested
    if suggested:
        assert "10 users have 77.4 % of the records" in hints[0]
