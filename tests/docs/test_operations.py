"""docs/operations.md: its jobs run, and what it says of codes, versions and standard error is so."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headcount.cli.main import main, program
from headcount.errors import HeadcountError
from headcount.events.sources.files import packed_store
from headcount.ledger import Ledger
from headcount.ledger.stores import store
from headcount.releases.release import VERSION

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
FILES = ROOT / "examples" / "operations"
EVENTS = ["visits.csv", "--user", "user", "--item", "venue", "--items", "venues.csv"]
LEDGER = "sqlite:///headcount.db"
DAY = "2026-03-06"


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading, without its first two lines."""
    part = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize("path", re.findall(r"^<!-- shown: (\S+) -->", PAGE, re.MULTILINE))
def test_the_page_shows_files_as_they_are(path: str) -> None:
    assert f"<!-- shown: {path} -->\n```text\n{(ROOT / path).read_text(encoding='utf-8')}```\n" in PAGE


def kinds(base: type[HeadcountError]) -> Iterator[type[HeadcountError]]:
    yield base
    for subclass in base.__subclasses__():
        yield from kinds(subclass)


def test_the_table_has_every_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "invoke", interrupted)
    codes = {
        0,
        main(["methods"]),
        128 + signal.SIGTERM,
        *(error_class.exit_code for error_class in kinds(HeadcountError)),
    }
    assert [int(code) for code, *_ in rows("Exit codes")] == sorted(codes)
    reference = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert sorted(codes) == [int(code) for code in re.findall(r"^\| (\d+) \|", reference, re.MULTILINE)]


def test_the_versions_are_those_of_the_program() -> None:
    versions = {name: int(version) for name, version, *_ in rows("Upgrades")}
    assert versions == {
        "release folder": VERSION,
        "ledger schema": store.VERSION,
        "packed store": packed_store.VERSION,
    }


def nightly(program: Path) -> int:
    """Run the job with a program that is called headcount."""
    environment = {
        **os.environ, "HEADCOUNT_LEDGER": LEDGER, "PYTHONPATH": str(ROOT / "src"),
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
    }  # fmt: skip
    return subprocess.run([FILES / "nightly.sh", DAY], env=environment, check=False).returncode


def stand_in(script: str) -> Path:
    """Write a program called headcount that does something else, and quickly."""
    path = Path("stand-in/headcount").absolute()
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def create_daily_budget() -> None:
    with Ledger(LEDGER) as ledger:
        ledger.create("visits", "1", window="1d", time="time")


def test_what_the_nightly_job_asks_for_is_charged_once(
    workplace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    create_daily_budget()
    assert nightly(stand_in('printf "%s\\n" "$@" > asked; echo {}')) == 0
    assert Path(f"releases/{DAY}.json").read_text() == "{}\n"
    arguments = Path("asked").read_text(encoding="utf-8").splitlines()
    monkeypatch.setenv("HEADCOUNT_LEDGER", LEDGER)
    outputs = []
    for _ in range(2):
        assert main(arguments) == 0
        outputs.append(json.loads(capsys.readouterr().out))
    assert outputs[1] == {**outputs[0], "earlier": str(Path("releases", DAY).absolute())}
    with Ledger(LEDGER) as ledger:
        account = ledger.show("visits")
        assert (account.issued, str(account.epsilon)) == (1, "1")


def test_a_failed_nightly_job_reports_it_and_keeps_the_earlier_output(workplace: Path) -> None:
    assert nightly(stand_in("echo fine")) == 0
    assert nightly(stand_in("echo broken; echo why >&2; exit 3")) == 3
    assert Path(f"releases/{DAY}.json").read_text() == "fine\n"
    assert Path("curator.log").read_text() == "why\n"


@pytest.mark.slow
def test_the_nightly_job_runs_twice_and_is_charged_once(workplace: Path) -> None:
    create_daily_budget()
    real = Path(sys.executable).with_name("headcount")
    assert nightly(real) == 0
    table = Path(f"releases/{DAY}/items.parquet").read_bytes()
    assert nightly(real) == 0
    assert Path(f"releases/{DAY}/items.parquet").read_bytes() == table
    assert "earlier" in json.loads(Path(f"releases/{DAY}.json").read_text())
    with Ledger(LEDGER) as ledger:
        assert ledger.show("visits").issued == 1
        assert ledger.verify().ok


@contextmanager
def stand_ins() -> Iterator[list[dict[str, Any]]]:
    """Put modules of Airflow's names into place that note what a DAG file asks for."""
    calls: list[dict[str, Any]] = []

    class Noted:
        def __init__(self, *positional: object, **named: object) -> None:
            calls.append({"positional": positional, **named})

        def __enter__(self) -> Noted:
            return self

        def __exit__(self, *_: object) -> None:
            return None

    homes = {
        "airflow.sdk": "DAG",
        "airflow.timetables.interval": "CronDataIntervalTimetable",
        "airflow.providers.standard.operators.bash": "BashOperator",
    }
    parts = {".".join(home.split(".")[:n]) for home in homes for n in range(1, 5)} | set(homes)
    with pytest.MonkeyPatch.context() as patch:
        for part in sorted(parts):
            patch.setitem(sys.modules, part, types.ModuleType(part))
        for home, name in homes.items():
            setattr(sys.modules[home], name, Noted)
        yield calls


def test_the_dag_runs_the_same_job_one_at_a_time_and_never_by_itself_again() -> None:
    path = FILES / "visits_dag.py"
    with stand_ins() as calls:
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), {"__name__": "dag"})
    timetable, dag, task = calls
    assert timetable["positional"] == ("17 3 * * *",)
    assert "17 3 * * *  cd /srv/visits" in PAGE
    assert (dag["max_active_runs"], dag["default_args"]) == (1, {"retries": 0})
    assert task["bash_command"] == "./nightly.sh {{ data_interval_start | ds }}"
    assert set(task["env"]) == {"HEADCOUNT_LEDGER"}


def test_what_the_image_copies_installs_and_sets_exists() -> None:
    text = (FILES / "Containerfile").read_text(encoding="utf-8")
    steps = [shlex.split(line) for line in text.splitlines() if line and not line.startswith("#")]
    for _, *sources, _ in (step for step in steps if step[0] == "COPY"):
        assert all((ROOT / source).exists() for source in sources)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extra,) = re.findall(r"/source\[(\w+)\]", text)
    assert extra in project["optional-dependencies"]
    for name in re.findall(r"^ENV (\w+)=", text, re.MULTILINE):
        assert any(name in path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    (tag,) = re.findall(r"^FROM \S+:3\.(\d+)-slim$", text, re.MULTILINE)
    assert int(tag) >= int(project["requires-python"].removeprefix(">=3."))
    (entry,) = (step[1:] for step in steps if step[0] == "ENTRYPOINT")
    assert entry == [f"[{next(iter(project['scripts']))}]"]
    user = next(number for number, step in enumerate(steps) if step == ["USER", "curator"])
    demo = next(number for number, step in enumerate(steps) if step[:3] == ["RUN", "headcount", "demo"])
    assert user < demo


def test_standard_error_is_the_curators_without_a_ledger_alone(
    workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows that are not counted are told of without a ledger; with one, the two logs cannot be told apart."""

    def release_errors(*flags: str) -> str:
        assert main(["release", *EVENTS, "--epsilon", "1", "--out", "out", "--force", *flags]) == 0
        return re.sub(r"\d+", "N", capsys.readouterr().err)

    with Ledger(LEDGER) as ledger:
        ledger.create("visits", "9")
    charged = ["--ledger", LEDGER, "--analyst", "ann", "--dataset"]
    before = release_errors(*charged, "visits@1")
    with Path("visits.csv").open("a", encoding="utf-8") as log:
        log.write('"ann","nowhere",2026-03-06 10:00:00.000Z\n')
    assert release_errors(*charged, "visits@2") == before
    assert "For the curator only: N record of items outside the catalogue was dropped." in release_errors()
    assert release_errors("--quiet") == ""
