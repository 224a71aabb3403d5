"""What all charged commands share: dry runs, what they print and keep, and how a release is asked for again.

The numbers of each command are in ``tests/cli/commands``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from headcount.events.sources.files.file_source import FileSource
from tests.cli.conftest import Run
from tests.contracts.rows.raw_files import FORMATS, written
from tests.contracts.rows.roles import ROLES, crowd
from tests.contracts.support.charged_commands import COMMANDS, Command, arguments, charged_paths, options_of
from tests.contracts.support.measurements import Kind

CSV = FORMATS["csv"]
ROLE: Mapping[Kind, str] = {
    "counts": "user", "select": "item, selected", "totals": "value", "ratings": "rating",
    "people": "bins of numbers", "tags": "tag",
}  # fmt: skip
GUARANTEE = {"unit", "standing", "epsilon", "delta", "assumes", "reason"}
NAMED_AGAIN = ("--items", "--vocabulary", "--resources", "--asked")
"""Lists, of which a release keeps a digest alone."""

QUICK = {command.path: command for command in reversed([*COMMANDS.values()]) if command.proven}
"""One command for each path: the first that is proven."""


def line(command: Command, folder: Path) -> list[str]:
    """Return a command line that releases from the rows of a crowd; it ends with the target and ``--json``."""
    role = ROLES[ROLE[command.kind]]
    return arguments(command, CSV, written(CSV, folder / "events", crowd(role)), options_of(command, role), folder)


def everything_in(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def request_in(folder: Path) -> Any:
    return json.loads((folder / "release.json").read_text(encoding="utf-8"))["request"]


def must_not_read(*_: Any) -> Any:
    raise AssertionError("events were read")


def test_every_charged_command_is_here() -> None:
    assert set(QUICK) == charged_paths()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_dry_run_reads_writes_and_spends_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    release = line(COMMANDS[name], tmp_path)
    before = everything_in(tmp_path)
    monkeypatch.setattr(FileSource, "batches", must_not_read)
    planned = run(*release, "--dry-run")
    assert planned.code == 0, planned.err
    assert set(planned.data) >= {"guarantee", "price", "cells", "noise", "ledger"}
    assert set(planned.data["guarantee"]) >= GUARANTEE
    shown = run(*release[:-1], "--dry-run")
    assert shown.out.startswith("Dry run: nothing was counted, written or charged.")
    assert ("NOT PRIVATE" in shown.out) is not COMMANDS[name].proven
    assert everything_in(tmp_path) == before


@pytest.mark.parametrize("name", COMMANDS)
def test_a_quiet_release_prints_one_document_and_is_repeated_from_its_description(
    run: Run, tmp_path: Path, name: str
) -> None:
    release = line(COMMANDS[name], tmp_path)
    done = run(*release, "--quiet")
    assert (done.code, done.err) == (0, "")
    shown = "ranking" if "ranking" in done.data else "method"
    assert set(done.data) == {"out", "guarantee", "ledger", "seconds", shown}
    assert set(done.data["guarantee"]) >= GUARANTEE
    assert (done.data["guarantee"]["standing"] == "proven") is COMMANDS[name].proven
    files = (part for part in release if part.endswith(".csv") and "events" in part)
    lists = (part for flag in NAMED_AGAIN if flag in release for part in (flag, release[release.index(flag) + 1]))
    kept = ("--config", tmp_path / "out", "--out", tmp_path / "again", "--json")
    again = run(*COMMANDS[name].path, *files, *lists, *kept)
    assert again.code == 0, again.err
    assert request_in(tmp_path / "out") == request_in(tmp_path / "again")


@pytest.mark.parametrize("path", QUICK, ids=" ".join)
def test_a_release_is_shown_and_replaced_only_on_request(run: Run, tmp_path: Path, path: tuple[str, ...]) -> None:
    release = line(QUICK[path], tmp_path)
    done = run(*release[:-1])
    assert done.code == 0, done.err
    assert "not charged to any ledger" in done.err
    assert "privacy: proven" in done.out or "e^20" in done.out
    out = str(tmp_path / "out")
    assert f"headcount explain {out}" in done.err
    assert run("explain", out, "--json").data["sentences"]
    assert run("report", out, "--to", tmp_path / "page.html").code == 0
    assert run("export", out, "--to", tmp_path / "sheets", "--json").data["files"]
    before = everything_in(tmp_path / "out")
    refused = run(*release)
    assert (refused.code, "exists already" in refused.complaint) == (2, True)
    assert everything_in(tmp_path / "out") == before
    assert run(*release, "--force").code == 0
    assert everything_in(tmp_path / "out") != before


@pytest.mark.parametrize(
    "path", [path for path in QUICK if QUICK[path].kind in ("counts", "totals")], ids=" ".join
)
def test_a_packed_store_stands_for_its_log(run: Run, tmp_path: Path, path: tuple[str, ...]) -> None:
    command = QUICK[path]
    release = line(command, tmp_path)
    reading = release[len(command.path) : release.index(command.flags[0])]
    assert run("pack", *reading, "--to", tmp_path / "store").code == 0
    done = run(*path, tmp_path / "store", *release[release.index(command.flags[0]) :])
    assert done.code == 0, done.err
    assert run(*release[:-3], "--out", tmp_path / "raw").code == 0
    assert request_in(tmp_path / "raw") == request_in(tmp_path / "out")
