"""Databases as sources: declared types, one snapshot, only reading, and what goes wrong."""

from __future__ import annotations

import gc
import itertools
import os
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi as adbc
import duckdb
import psycopg
import pyarrow as pa
import pytest

import headcount as hc
from headcount.errors import DataError, SurroundingsError, UnknownNameError, UsageError
from headcount.events.sources import source as readers
from headcount.events.sources.databases import database
from headcount.events.sources.databases.database import DatabaseSource
from headcount.events.sources.databases.duckdb_files import CONFINED, Duck, _spill_folder
from headcount.events.sources.databases.table_or_query import TableOrQuery
from headcount.events.sources.files import formats
from tests.support import servers

ROWS = [("ann", "tea", 5), ("bob", "rye", 3), ("bob", "tea", 4)]
_NUMBERS = itertools.count()
WORDS: dict[str, Any] = {"user": "who", "item": "what", "items": "tea,rye"}


@pytest.fixture
def server() -> Iterator[psycopg.Connection[Any]]:
    """A schema of its own on a real server, with a table of visits."""
    name = f"visits_{os.getpid()}_{next(_NUMBERS)}"
    with psycopg.connect(servers.postgres().get_uri(), autocommit=True) as connection:
        connection.execute("SET lock_timeout = '5s'")
        connection.execute(f"CREATE SCHEMA {name}")
        connection.execute(f"SET search_path = {name}")
        connection.execute("CREATE TABLE visits (who text, what text, stars int, pages int[])")
        connection.cursor().executemany("INSERT INTO visits VALUES (%s, %s, %s)", ROWS)
        yield connection


def schema_of(server: psycopg.Connection[Any]) -> str:
    schema_row = server.execute("SELECT current_schema()").fetchone()
    assert schema_row is not None
    return str(schema_row[0])


@pytest.fixture
def address(server: psycopg.Connection[Any]) -> str:
    """Where the visits are, with a password that nobody asks for."""
    host = servers.postgres().get_uri().partition("host=")[2]
    return f"postgresql://postgres:planted@/postgres?host={host}&options=-csearch_path%3D{schema_of(server)}"


@pytest.fixture
def lite(tmp_path: Path) -> Path:
    """An SQLite file with a table of visits."""
    path = tmp_path / "visits.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = wal")
        database.execute("CREATE TABLE visits (who text, what text, stars integer)")
        database.executemany("INSERT INTO visits VALUES (?, ?, ?)", ROWS)
        database.commit()
    return path


@pytest.fixture
def duck(tmp_path: Path) -> Path:
    """A DuckDB file with a table of visits."""
    path = tmp_path / "visits.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE visits (who text, what text, stars int)")
        database.executemany("INSERT INTO visits VALUES (?, ?, ?)", ROWS)
    return path


def opened(events: Any, **options: str) -> DatabaseSource:
    source = readers.open_source(events, target=TableOrQuery(**options))
    assert isinstance(source, DatabaseSource)
    return source


def column(source: DatabaseSource, name: str) -> list[Any]:
    return [value for batch in source.batches([name]) for value in batch.column(0).to_pylist()]


# Types are those that are declared

POSTGRES = {
    "smallint": ("7", pa.int16(), 7),
    "bigint": ("7", pa.int64(), 7),
    "double precision": ("'NaN'", pa.float64(), "nan"),
    "numeric(10, 2)": ("7", pa.string(), "7.00"),
    "numeric": ("1e400", pa.string(), "1" + "0" * 400),
    "uuid": ("'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", pa.string(), "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    "jsonb": ("'[1]'", pa.string(), "[1]"),
    "inet": ("'10.0.0.1'", pa.string(), "10.0.0.1/32"),
    "mood": ("'glad'", pa.string(), "glad"),
    "short": ("'tea'", pa.string(), "tea"),
    "char(5)": ("'tea'", pa.string(), "tea  "),
    "timestamp": ("'infinity'", pa.timestamp("us"), None),
    "timestamp(3)": ("'294276-01-01'", pa.timestamp("us"), None),
    "timestamptz": ("'-infinity'", pa.timestamp("us", "UTC"), None),
    "date": ("'infinity'", pa.date32(), None),
}


def test_types_of_postgresql(server: psycopg.Connection[Any], address: str) -> None:
    server.execute("CREATE TYPE mood AS ENUM ('sad', 'glad')")
    server.execute("CREATE DOMAIN short AS varchar(9)")
    columns = {f"c{number}": kind for number, kind in enumerate(POSTGRES)}
    server.execute(f"CREATE TABLE kinds ({', '.join(f'{name} {kind}' for name, kind in columns.items())})")
    server.execute(f"INSERT INTO kinds VALUES ({', '.join(value for value, *_ in POSTGRES.values())})")
    source = opened(address, table="kinds")
    for name, kind in columns.items():
        _, declared, expected = POSTGRES[kind]
        assert source.type_of(name) == declared, kind
        values = column(source, name)
        assert [str(value) for value in values] == [str(expected)], kind


@pytest.mark.parametrize("kind", ["bytea", "int[]", "interval", "time", "money", "point", "oid"])
def test_a_type_that_cannot_be_read_is_refused_by_name(
    kind: str, server: psycopg.Connection[Any], address: str
) -> None:
    server.execute(f"CREATE TABLE odd (who text, what {kind})")
    with pytest.raises(DataError, match=r"'what' of .* cannot be read; cast it with query="):
        hc.read_events(address, table="odd", **WORDS)
    assert opened(address, table="odd").names == ["who"]
    query = "SELECT who, CAST(what AS varchar) AS what FROM odd"
    if kind != "point":  # which has no such cast
        assert hc.read_events(address, query=query, **WORDS).columns == ("who", "what")


def test_types_of_duckdb(tmp_path: Path) -> None:
    kinds = {
        "HUGEINT": ("170141183460469231731687303715884105727", pa.string()),
        "DECIMAL(6, 2)": ("7", pa.decimal128(6, 2)),
        "UUID": ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", pa.string()),
        "TIMESTAMP_NS": ("'infinity'::timestamp", pa.timestamp("ns")),
        "TIMESTAMPTZ": ("'infinity'::timestamp::timestamptz", pa.timestamp("us", "UTC")),
        "DATE": ("'infinity'", pa.date32()),
    }
    with duckdb.connect(str(tmp_path / "kinds")) as database:
        database.execute(f"CREATE TABLE k ({', '.join(f'c{at} {kind}' for at, kind in enumerate(kinds))}, b BLOB)")
        database.execute(f"INSERT INTO k VALUES ({', '.join(value for value, _ in kinds.values())}, NULL)")
    source = opened(f"duckdb://{tmp_path / 'kinds'}", table="k")
    assert [source.type_of(name) for name in source.names] == [kind for _, kind in kinds.values()]
    types = [column(source, name)[0] for name in source.names]
    assert types[0] == "170141183460469231731687303715884105727"
    assert types[3:] == [None, None, None]
    with pytest.raises(DataError, match=r"'b' of .* holds BLOB"):
        source.type_of("b")


def test_sqlite_holds_what_it_likes_and_is_read_as_declared(tmp_path: Path) -> None:
    path, values = tmp_path / "loose.db", [1, 2.5, "three", b"four", None, 9007199254740993]
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE loose (i integer, r real, t text, n numeric, a)")
        database.executemany("INSERT INTO loose VALUES (?, ?, ?, ?, ?)", [[value] * 5 for value in values])
        database.commit()
    source = opened(f"sqlite:///{path}", table="loose")
    assert [source.type_of(name) for name in "irtna"] == [pa.int64(), pa.float64(), *3 * [pa.string()]]
    assert column(source, "i") == [1, None, None, None, None, 9007199254740993]
    assert column(source, "r") == [1.0, 2.5, None, None, None, 9007199254740992.0]
    texts = ["1", "2.5", "three", None, None, "9007199254740993"]
    assert [column(source, name) for name in "tna"] == [texts, texts, texts]


# All passes see the same rows, and nothing is changed


def test_a_table_of_postgresql_is_read_in_one_snapshot(server: psycopg.Connection[Any], address: str) -> None:
    source = opened(address, table="visits")
    server.execute("INSERT INTO visits VALUES ('eve', 'tea')")
    first = column(source, "who")
    server.execute("DELETE FROM visits")
    assert sorted(first) == sorted(column(source, "who")) == ["ann", "bob", "bob"]


@pytest.mark.parametrize(
    "target", [{"table": "random_visits"}, {"query": "SELECT *, random() AS luck FROM visits"}]
)
def test_what_may_differ_is_run_once(
    target: dict[str, str], server: psycopg.Connection[Any], address: str
) -> None:
    server.execute("CREATE VIEW random_visits AS SELECT *, random() AS luck FROM visits")
    source = opened(address, **target)
    first = column(source, "luck")
    server.execute("INSERT INTO visits VALUES ('eve', 'tea')")
    assert column(source, "luck") == first
    assert len(first) == 3


def test_an_interrupted_first_pass_leaves_nothing(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(formats, "BATCH_ROWS", 1)
    monkeypatch.setattr(database, "HELD", 0)
    source = opened(address, query="SELECT * FROM visits")
    passing = source.batches(["who"])
    next(passing)
    assert len(list(tmp_path.iterdir())) == 1
    passing.close()  # type: ignore[attr-defined]
    assert not list(tmp_path.iterdir())
    assert len(column(source, "who")) == 3
    assert len(list(tmp_path.iterdir())) == 1
    del source, passing
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("held", [0, 60, 10**6])
def test_rows_are_kept_in_memory_and_more_of_them_in_a_file(
    held: int, duck: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is fetched twice, lost or doubled where memory ends in the midst of the first pass."""
    (tmp_path / "spools").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "spools"))
    monkeypatch.setattr(formats, "BATCH_ROWS", 1)
    monkeypatch.setattr(database, "HELD", held)
    source = opened(f"duckdb://{duck}", query="SELECT *, random() AS luck FROM visits")
    first = column(source, "luck")
    assert len(first) == 3
    assert column(source, "luck") == first
    assert len(list((tmp_path / "spools").iterdir())) == (held < 10**6)


def test_row_count_and_range_of_integers_are_available_in_duckdb(duck: Path, address: str) -> None:
    """So that people with whole numbers for ids need no table of them, as with a Parquet file."""
    where, query = f"duckdb://{duck}", "SELECT * FROM visits"
    for source in (opened(where, table="visits"), opened(where, query=query)):
        low, high = source.whole_range("stars") or (0, 0)
        stars = column(source, "stars")
        assert (low, high, source.rows) == (min(stars), max(stars), 3)
    none = opened(where, query="SELECT * FROM visits WHERE false")
    assert (none.whole_range("stars"), none.rows) == (None, 0)
    far = opened(address, query=query)
    assert (far.whole_range("stars"), far.rows) == (None, None)


def test_a_table_of_sqlite_is_read_in_one_snapshot(lite: Path) -> None:
    source = opened(f"sqlite:///{lite}", table="visits")
    with closing(sqlite3.connect(lite)) as other:
        other.execute("DELETE FROM visits WHERE who = 'bob'")
        other.commit()
    assert column(source, "who") == column(source, "who") == ["ann", "bob", "bob"]


def test_only_the_needed_columns_are_queried(address: str) -> None:
    source = opened(address, table="visits")
    assert source.relation.selecting(["who"]) == 'SELECT "who" AS "who" FROM "visits"'
    assert [batch.schema.names for batch in source.batches(["what", "who"])] == [["what", "who"]]


def test_nothing_can_be_written(server: psycopg.Connection[Any], address: str, lite: Path, duck: Path) -> None:
    server.execute("CREATE SEQUENCE counter")
    with pytest.raises(DataError, match=r"read-only transaction.*it may only read"):
        column(opened(address, query="SELECT nextval('counter') AS who"), "who")
    for where, sql in (
        (address, "DELETE FROM visits"),
        (address, "SELECT 1) AS q; DELETE FROM visits; SELECT * FROM (SELECT 1"),
        (f"sqlite:///{lite}", "SELECT 1) AS q; DELETE FROM visits; SELECT * FROM (SELECT 1"),
        (f"duckdb://{duck}", "SELECT 1) AS q; DELETE FROM visits; SELECT * FROM (SELECT 1"),
        ("duckdb://", f"SELECT 1) AS q; COPY (SELECT 1) TO '{duck}.csv'; SELECT * FROM (SELECT 1"),
    ):
        with pytest.raises(DataError):
            opened(where, query=sql)
    assert sorted(column(opened(address, table="visits"), "who")) == ["ann", "bob", "bob"]
    assert not Path(f"{duck}.csv").exists()


# Names


def test_a_table_may_be_qualified_and_quoted(server: psycopg.Connection[Any], address: str, duck: Path) -> None:
    server.execute('CREATE TABLE "Our.visits" AS SELECT * FROM visits')
    for name in (f"{schema_of(server)}.visits", '"Our.visits"', f'{schema_of(server)}."Our.visits"'):
        assert len(column(opened(address, table=name), "who")) == 3
    for name in ("visits", "main.visits", "visits.main.visits"):
        assert len(column(opened(f"duckdb://{duck}", table=name), "who")) == 3


def test_a_table_that_does_not_exist_is_named_among_those_that_do(address: str, lite: Path, duck: Path) -> None:
    for where in (address, f"sqlite:///{lite}", f"duckdb://{duck}"):
        with pytest.raises(UnknownNameError, match=r"'visit' is not in .*; did you mean 'visits'\?"):
            opened(where, table="visit")


def test_requests_that_do_not_fit_are_refused(address: str, tmp_path: Path) -> None:
    both = {"table": "visits", "query": "SELECT 1"}
    for given, options, message in (
        (address, {}, "is a database; give table=NAME or query="),
        (address, both, "table= and query= are given both"),
        (address, {"query": " ; "}, "query= is empty"),
        (address, {"table": "a..b"}, "table= must be a name"),
        ([address, "visits.csv"], {"table": "visits"}, "cannot be mixed"),
        ("visits.csv", {"table": "visits"}, "table= is for databases, and visits.csv is none"),
        (pa.table({"who": ["ann"]}), {"query": "SELECT 1"}, "query= is for databases"),
        (address, {"table": "visits", "delimiter": ";"}, "delimiter= is for files"),
    ):
        with pytest.raises(UsageError, match=message):
            hc.read_events(given, **WORDS, **options)  # type: ignore[arg-type]


def test_a_driver_that_is_missing_is_named_with_what_works_from_a_clone(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    for module, where in (("adbc_driver_postgresql", address), ("duckdb", "duckdb://")):
        monkeypatch.setitem(__import__("sys").modules, module, None)
        with pytest.raises(UsageError, match=r"run pip install '\.\[\w+\]' in your clone of Headcount"):
            opened(where, table="visits")


# What a program hands over


class Ibis:
    """What is used of an expression of Ibis'."""

    def __init__(self, table: pa.Table) -> None:
        self.table, self.runs = table, 0

    def limit(self, n: int) -> Ibis:
        return Ibis(self.table.slice(0, n))

    def to_pyarrow_batches(self) -> pa.RecordBatchReader:
        self.runs += 1
        return self.table.to_reader()


def test_connections_relations_and_expressions(
    server: psycopg.Connection[Any], address: str, lite: Path, duck: Path
) -> None:
    ibis = Ibis(pa.table({"who": ["ann", "bob", "bob"], "what": ["tea", "rye", "tea"]}))
    with (
        adbc.connect(address) as through_adbc,
        duckdb.connect(str(duck), read_only=True) as of_duckdb,
        closing(sqlite3.connect(lite)) as of_sqlite,
    ):
        for given, options in (
            (through_adbc, {"table": "visits"}),
            (through_adbc, {"query": "SELECT who, what FROM visits"}),
            (server, {"table": "visits"}),
            (of_sqlite, {"query": "SELECT * FROM visits"}),
            (of_duckdb, {"table": "visits"}),
            (of_duckdb.sql("SELECT * FROM visits WHERE stars > 0"), {}),
            (ibis, {}),
        ):
            log = hc.read_events(given, **WORDS, **options)  # type: ignore[arg-type]
            assert (hc.check(log).records, hc.check(log).people) == (3, 2), given
        with pytest.raises(UsageError, match="is a database; give"):
            hc.read_events(of_duckdb, **WORDS)
        with pytest.raises(UsageError, match="table= is for databases, and the Ibis is none"):
            hc.read_events(ibis, table="visits", **WORDS)
    assert ibis.runs == 1


def test_rows_of_a_dbapi_connection_are_text_value_by_value(server: psycopg.Connection[Any]) -> None:
    server.execute("CREATE TABLE kinds (u uuid, n numeric, t timestamp, b bytea)")
    server.execute(
        "INSERT INTO kinds VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 7.50, '2026-03-06 10:00', 'x')"
    )
    source = opened(server, table="kinds")
    assert {source.type_of(name) for name in source.names} == {pa.string()}
    values = [column(source, name) for name in source.names]
    assert values == [["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"], ["7.50"], ["2026-03-06 10:00:00"], [None]]


def test_any_adbc_driver_by_its_name(address: str) -> None:
    source = opened(f"adbc+postgresql:{address}", table="visits")
    assert source.name == "adbc+postgresql (visits)"
    assert sorted(column(source, "who")) == ["ann", "bob", "bob"]
    with pytest.raises(UsageError, match="guesses types"):
        opened("adbc+sqlite:visits.db", table="visits")
    with pytest.raises(UsageError, match=r"adbc\+nowhere names no ADBC driver"):
        opened("adbc+nowhere:ann:planted@there", table="visits")


# Failures


def test_a_connection_that_is_lost_half_way(server: psycopg.Connection[Any], address: str) -> None:
    server.execute("CREATE TABLE large AS SELECT repeat('x', 500) AS who FROM generate_series(1, 60000)")
    source = opened(address, table="large")
    passing = source.batches(["who"])
    assert next(passing).num_rows
    server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'COPY (%large%'")
    with pytest.raises(SurroundingsError, match="is gone or cannot be reached"):
        sum(batch.num_rows for batch in passing)
    with pytest.raises(SurroundingsError, match="is gone or cannot be reached"):
        column(source, "who")


def test_rights_and_names(server: psycopg.Connection[Any], address: str) -> None:
    server.execute("DROP ROLE IF EXISTS guest")
    server.execute("CREATE ROLE guest LOGIN PASSWORD 'planted'")
    try:
        server.execute(f"GRANT USAGE ON SCHEMA {schema_of(server)} TO guest")
        with pytest.raises(DataError, match=r"may not be read .*permission denied"):
            opened(address.replace("postgres:planted", "guest:planted"), table="visits")
    finally:
        server.execute(f"REVOKE ALL ON SCHEMA {schema_of(server)} FROM guest")
        server.execute("DROP ROLE guest")
    with pytest.raises(SurroundingsError, match="nowhere"):
        opened(address.replace("/postgres?", "/nowhere?"), table="visits")
    with pytest.raises(DataError, match=r"division by zero.*must not fail on any value"):
        column(opened(address, query="SELECT 1 / (stars - 5) AS who FROM visits"), "who")


def test_errors_hold_no_password() -> None:
    with pytest.raises(SurroundingsError) as raised:
        opened("postgresql://ann:planted@[bad/shop", table="visits")
    error: BaseException | None = raised.value
    while error is not None:
        assert "planted" not in f"{error!r} {error}"
        error = error.__context__


def test_environment_and_service_files_work_as_usual(
    server: psycopg.Connection[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = servers.postgres().get_uri().partition("host=")[2]
    name = f"{schema_of(server)}.visits"
    (tmp_path / "services").write_text(f"[shop]\nhost={host}\nuser=postgres\ndbname=postgres\npassword=planted\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    assert len(column(opened("postgresql://?service=shop", table=name), "who")) == 3
    for variable, value in (("PGHOST", host), ("PGUSER", "postgres"), ("PGDATABASE", "postgres")):
        monkeypatch.setenv(variable, value)
    assert len(column(opened("postgresql://", table=name), "who")) == 3


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("who,what\n" * 1000)
    for scheme in ("sqlite:///", "duckdb://"):
        with pytest.raises(DataError, match="cannot be read"):
            opened(f"{scheme}{tmp_path / 'text'}", table="visits")
        with pytest.raises(DataError, match="does not exist"):
            opened(f"{scheme}{tmp_path / 'nothing'}", table="visits")


@pytest.mark.parametrize("confined", ["", "1"])
def test_duckdb_spills_rows_into_a_scratch_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, confined: str
) -> None:
    place, file = tmp_path / "temporary", tmp_path / "spill.db"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setenv(CONFINED, confined)
    _spill_folder.cache_clear()
    duckdb.connect(file).execute("CREATE TABLE t AS SELECT i FROM range(3000000) r(i)").close()
    source, second = Duck(f"duckdb://{file}"), Duck(f"duckdb://{file}")
    source._connection.execute("SET memory_limit = '20MB'; SET threads = 1")
    rows = source._connection.sql("SELECT i, i % 7 AS j, hash(i) AS k FROM t ORDER BY k").to_arrow_reader(1000)
    rows.read_next_batch()
    spilled = [path for path in tmp_path.rglob("*") if path.is_file() and path != file]
    assert spilled
    assert {path.parent.parent for path in spilled} == {place}
    for data_source in (source, second):
        if confined:
            with pytest.raises(duckdb.Error):
                data_source._connection.execute("SELECT * FROM read_csv('/etc/passwd')")
            with pytest.raises(duckdb.Error):
                data_source._connection.execute("SET enable_external_access = true")
        data_source._connection.close()
    del rows
    _spill_folder.cache_clear()
    gc.collect()
    assert list(place.iterdir()) == []


def test_files_through_duckdb(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    for number in range(2):
        pq.write_table(pa.table({"who": ["ann", "bob"], "what": ["tea", "rye"]}), tmp_path / f"{number}.parquet")
    log = hc.read_events("duckdb://", query=f"SELECT * FROM '{tmp_path}/*.parquet'", **WORDS)
    assert hc.check(log).records == 4


def test_threads_may_take_turns(lite: Path) -> None:
    source, results = opened(f"sqlite:///{lite}", table="visits"), list[Any]()
    reader = threading.Thread(target=lambda: results.extend(column(source, "who")))
    reader.start()
    reader.join()
    assert results == column(source, "who")
