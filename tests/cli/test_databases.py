"""Databases on the command line: flags everywhere, passwords nowhere, and the ledger when a server goes away."""

from __future__ import annotations

import itertools
import json
import os
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import psycopg
import pytest

from headcount.cli.main import program as commands
from headcount.events.sources.databases import postgres as source
from headcount.ledger import Ledger
from tests.cli.conftest import FLAGS, SPEND, WEEKDAY, Run
from tests.support import servers

_NUMBERS = itertools.count()
SECRET = "hunter2-planted"


@pytest.fixture
def server(work: Path) -> Iterator[psycopg.Connection[Any]]:
    """The visits on a real server, in a schema of their own."""
    name = f"shop_{os.getpid()}_{next(_NUMBERS)}"
    with psycopg.connect(servers.postgres().get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
        connection.execute(f"SET search_path = {name}")
        connection.execute(
            'CREATE TABLE visits ("user" text, venue text, time timestamp, sex text, age text, stars int)'
        )
        with connection.cursor().copy("COPY visits FROM STDIN (FORMAT csv, HEADER)") as copy:
            copy.write((work / "visits.csv").read_bytes())
        yield connection


@pytest.fixture
def address(server: psycopg.Connection[Any]) -> str:
    """Where they are, with a password in both places that an address has for one."""
    host = servers.postgres().get_uri().partition("host=")[2]
    schema = server.execute("SELECT current_schema()").fetchone()
    assert schema is not None
    options = f"host={host}&options=-csearch_path%3D{schema[0]}"
    return f"postgresql://postgres:{SECRET}-1@/postgres?{options}&password={SECRET}-2"


@pytest.fixture
def lite(work: Path) -> str:
    """The same visits in an SQLite file."""
    with closing(sqlite3.connect(work / "visits.db")) as database:
        database.execute('CREATE TABLE visits ("user" text, venue text, time text)')
        database.execute("INSERT INTO visits VALUES ('ann', 'tea', '2026-03-06T10:00:00')")
        database.commit()
    return "sqlite:///visits.db"


def _reading(command: click.Command) -> Iterator[click.Command]:
    for subcommand in getattr(command, "commands", {}).values():
        yield from _reading(subcommand)
    if any(isinstance(parameter, click.Argument) and parameter.name == "events" for parameter in command.params):
        yield command


def test_every_command_that_reads_events_reads_databases() -> None:
    context = click.Context(commands)
    every = [
        reading_command
        for name in commands.list_commands(context)
        if (reading_command := commands.get_command(context, name))
    ]
    reading = [reader for command in every for reader in _reading(command)]
    assert {reader.name for reader in reading} >= {
        "inspect", "check", "pack", "release", "rank", "query", "compare", "audit", "fit", "knn",
    }  # fmt: skip
    for command in reading:
        flags = {flag for reader in command.params for flag in reader.opts}
        assert flags >= {"--table", "--query"}, command.name
        assert len([reader for reader in command.params if "--table" in reader.opts]) == 1, command.name


def test_a_release_from_a_table_is_that_from_the_file(run: Run, work: Path, lite: str) -> None:
    (work / "visits.toml").write_text(
        '[events]\nuser = "user"\nitem = "venue"\nitems = "venues.csv"\ntable = "visits"\n'
    )
    done = run("release", lite, "--config", "visits.toml", *SPEND, *WEEKDAY, "--out", "out", "--json")
    assert done.code == 0, done.err
    description = json.loads((work / "out" / "release.json").read_text())
    assert description["request"]["events"] == {
        "user": "user", "item": "venue", "context": "weekday:time", "context_of": "record", "count": "records",
    }  # fmt: skip
    inspected = run("inspect", lite, "--table", "visits", "--json")
    assert inspected.data["command"].startswith("headcount release sqlite:///visits.db --user user --item venue")
    assert "--table visits" in inspected.data["command"]


def test_both_or_neither_is_refused(run: Run, lite: str) -> None:
    for flags in ((), ("--table", "visits", "--query", "SELECT 1")):
        done = run("check", lite, *FLAGS, *flags)
        assert done.code == 2
        assert "--table NAME or --query" in done.complaint


def test_a_query_is_taken_for_granted_and_doubted_aloud(run: Run, work: Path, lite: str) -> None:
    for query, doubted in (("SELECT * FROM visits", False), ("SELECT * FROM visits LIMIT 9", True)):
        for more in (("--dry-run",), ("--out", "out", "--force")):
            done = run("release", lite, *FLAGS, "--query", query, *SPEND, *more)
            assert done.code == 0, done.err
            assert (
                "although it has LIMIT. Otherwise the promise does not hold." in " ".join(done.err.split())
            ) == doubted
        assumed = json.loads((work / "out" / "release.json").read_text())["guarantee"]["assumes"]
        assert any("the query looks at each person's rows by themselves" in assumption for assumption in assumed)


# Credentials


def _everything(work: Path) -> bytes:
    """Return the content of all files that were written."""
    return b"".join(path.read_bytes() for path in sorted(work.rglob("*")) if path.is_file())


def test_a_password_is_nowhere(
    run: Run, work: Path, address: str, monkeypatch: pytest.MonkeyPatch, server: psycopg.Connection[Any]
) -> None:
    monkeypatch.setenv("HEADCOUNT_DEBUG", "1")
    monkeypatch.setenv("PGPASSWORD", f"{SECRET}-3")
    here, table = (address, *FLAGS), ("--table", "visits")
    account = ("--ledger", "sqlite:///ledger.db", "--dataset", "visits@w1", "--analyst", "ann")
    monkeypatch.setenv("HEADCOUNT_LEDGER_KEY", str(work / "key"))
    assert run("ledger", "create", "--dataset", "visits", "--epsilon", "9", "--ledger", account[1]).code == 0
    query = ("--query", "SELECT * FROM visits")
    outputs = []
    for code, arguments in (
        (0, ("release", *here, *table, *SPEND, "--out", "r1", *account)),
        (0, ("release", *here, *query, *SPEND, "--out", "r2", "--json")),
        (0, ("release", *here, *table, *SPEND, "--dry-run", *account)),
        (0, ("rank", *here, *table, "--epsilon", "1", "-k", "1", "--out", "r3")),
        (0, ("explain", "r1")),
        (0, ("report", "r1", "--to", "r1.html")),
        (0, ("ledger", "history", "--ledger", account[1], "--json")),
        (0, ("inspect", address, *table)),
        (0, ("inspect", address, *table, "--json")),
        (1, ("check", *here, *table)),
        (1, ("check", *here, *table, "--json")),
        (0, ("pack", *here, *table, "--to", "store")),
        (0, ("compare", *here, *query, "--methods", "sra", "--limits", "2", "--epsilon", "1", "--runs", "1",
             "--processes", "1", "--report", "compare.html", "--json")),
        (2, ("release", *here, *SPEND, "--out", "no")),
        (2, ("release", *here, "--table", "visit", *SPEND, "--out", "no")),
        (2, ("release", *here, "--query", "SELEC 1", *SPEND, "--out", "no")),
        (2, ("release", address, address, *FLAGS, *table, *SPEND, "--out", "no")),
        (2, ("release", *here, *table, "--delimiter", ";", *SPEND, "--out", "no")),
        (2, ("release", address, "--user", "nobody", *FLAGS[2:], *table, *SPEND, "--out", "no")),
        (3, ("release", address.replace("/postgres?", "/nowhere?"), *FLAGS, *table, *SPEND, "--out", "no")),
        (3, ("release", address.replace("@/", "@[bad/"), *FLAGS, *table, *SPEND, "--out", "no", "--json")),
        (2, ("release", f"s3://{SECRET}:{SECRET}-5@b/a.csv?nonsense={SECRET}", *FLAGS, *SPEND, "--out", "no")),
        (2, ("release", f"odd://{SECRET}:{SECRET}@bucket/a.csv", *FLAGS, *SPEND, "--out", "no")),
        (2, ("release", f"adbc+odd:{SECRET}@bucket", *FLAGS, *SPEND, "--out", "no")),
    ):  # fmt: skip
        done = run(*arguments)
        assert done.code == code, (arguments, done.err)
        outputs.append(done.out + done.err)
    assert not any(SECRET in output for output in outputs)
    assert SECRET.encode() not in _everything(work)
    titles = server.execute("SELECT query || coalesce(application_name, '') FROM pg_stat_activity").fetchall()
    assert SECRET not in str(titles)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="arguments are overwritten on Linux alone")
def test_a_password_is_not_among_the_arguments_of_the_process(
    work: Path, address: str, server: psycopg.Connection[Any], program: Callable[..., subprocess.Popen[bytes]]
) -> None:
    server.execute("BEGIN")
    server.execute("LOCK TABLE visits IN ACCESS EXCLUSIVE MODE")  # so that the program waits
    started = program("check", address, *FLAGS, "--table", "visits", cwd=work)
    try:
        listed, end = Path(f"/proc/{started.pid}/cmdline"), time.monotonic() + 60
        shown = listed.read_bytes()
        while (b"xxx" not in shown or SECRET.encode() in shown) and time.monotonic() < end:
            assert started.poll() is None
            shown = listed.read_bytes()  # in between, some of what is secret may still stand there
            time.sleep(0.01)
        assert b"postgresql://postgres:xxx" in shown
        assert SECRET.encode() not in shown
    finally:
        server.execute("ROLLBACK")
        out, err = started.communicate(timeout=60)
    assert started.returncode == 1, err
    assert SECRET.encode() not in out + err


# The ledger, when a server goes away


@pytest.fixture
def charged(run: Run, work: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """A ledger with a budget, and the flags that charge it."""
    monkeypatch.setenv("HEADCOUNT_LEDGER_KEY", str(work / "key"))
    assert run("ledger", "create", "--dataset", "visits", "--epsilon", "9", "--ledger", "sqlite:///l.db").code == 0
    return "--ledger", "sqlite:///l.db", "--dataset", "visits@w1", "--analyst", "ann"


def _account(work: Path) -> tuple[str, int, int]:
    with Ledger("sqlite:///l.db", key=work / "key") as ledger:
        shown = ledger.show("visits").to_json()
    return str(shown["epsilon"]["spent"]), shown["requests"]["open"], shown["requests"]["refunded"]


def _kill(server: psycopg.Connection[Any], held: source.Postgres) -> None:
    """End the session of a source, as a server does that goes down."""
    pid = held._run("SELECT pg_backend_pid() AS pid").column(0)[0].as_py()
    server.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


def _kill_before(
    act: Callable[..., Any], server: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(held: source.Postgres, *arguments: Any) -> Any:
        _kill(server, held)
        return act(held, *arguments)

    monkeypatch.setattr(source.Postgres, act.__name__, killed)


def test_a_server_that_goes_away_before_anything_is_read_is_refunded(
    run: Run, work: Path, address: str, charged: tuple[str, ...], server: psycopg.Connection[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    _kill_before(source.Postgres.check, server, monkeypatch)
    done = run("release", address, *FLAGS, "--table", "visits", *SPEND, "--out", "out", *charged)
    assert done.code == 3
    assert "is gone or cannot be reached" in done.complaint
    assert _account(work) == ("0", 0, 1)
    assert not (work / "out").exists()


def test_a_server_that_goes_away_while_it_is_read_stays_charged(
    run: Run, work: Path, address: str, charged: tuple[str, ...], server: psycopg.Connection[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    _kill_before(source.Postgres.stream, server, monkeypatch)
    done = run("release", address, *FLAGS, "--table", "visits", *SPEND, "--out", "out", *charged)
    assert done.code == 2
    assert "failed after the data was opened" in done.complaint
    assert _account(work) == ("1", 1, 0)
    assert not (work / "out").exists()


def test_another_query_is_another_request(run: Run, work: Path, lite: str, charged: tuple[str, ...]) -> None:
    for number, flags in enumerate(
        (
            ("--table", "visits"),
            ("--query", "SELECT * FROM visits"),
            ("--query", "SELECT * FROM visits;"),
            ("--query", "SELECT * FROM visits WHERE venue = 'tea'"),
        )
    ):
        done = run("release", lite, *FLAGS, *flags, *SPEND, "--out", f"out{number}", *charged)
        assert done.code == 0, done.err
    assert _account(work)[0] == "3"  # a semicolon makes no other query


def test_a_value_that_fails_a_query_is_not_shown_to_an_analyst(
    run: Run, work: Path, address: str, charged: tuple[str, ...]
) -> None:
    query = 'SELECT "user", venue, 1 / (stars - 5) AS odd FROM visits'
    done = run("release", address, *FLAGS, "--query", query, *SPEND, "--out", "out", *charged)
    assert "failed after the data was opened" in done.complaint
    assert "division" in run("check", address, *FLAGS, "--query", query).complaint
