"""What a query's words say of whether one person's rows decide about another's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

import headcount as hc
from headcount.errors import UsageError
from headcount.events.log import read_events
from headcount.events.sources.databases.query_shape import TAKEN, assumption, crossings, refuse_text_files
from headcount.events.sources.source import assumptions_of

SINGLE = (
    "SELECT * FROM visits",
    "SELECT customer AS user, lower(venue) AS item FROM shop.visits WHERE stars > 3 AND venue IN ('a', 'b');",
    "WITH own AS (SELECT * FROM v WHERE n > 1) SELECT user, CASE WHEN n > 2 THEN 1 END AS m FROM own -- LIMIT",
    "SELECT * FROM (SELECT * FROM visits) AS v ORDER BY time",
    "SELECT * FROM march UNION ALL SELECT * FROM april",
    "SELECT 'LIMIT 5' AS item, max(a, b) AS m FROM visits",
)
CROSSING = {
    "SELECT user, item, count(*) FROM v GROUP BY user, item": ("GROUP BY", "an aggregate"),
    "SELECT max(time) FROM v": ("an aggregate",),
    "SELECT DISTINCT item FROM v": ("DISTINCT",),
    "SELECT * FROM v LIMIT 10 OFFSET 2": ("LIMIT", "OFFSET"),
    "SELECT * FROM v FETCH FIRST 5 ROWS ONLY": ("LIMIT",),
    "SELECT * FROM (SELECT * FROM v LIMIT 7) AS w": ("LIMIT",),
    "WITH w AS (SELECT * FROM v LIMIT 7) SELECT * FROM w": ("LIMIT",),
    "SELECT *, row_number() OVER (PARTITION BY item ORDER BY time) AS n FROM v": ("a window function",),
    "SELECT * FROM a UNION SELECT * FROM b": ("UNION",),
    "SELECT * FROM a EXCEPT SELECT * FROM b": ("EXCEPT",),
    "SELECT * FROM a INTERSECT SELECT * FROM b": ("INTERSECT",),
    "SELECT * FROM v JOIN w ON v.item = w.item": ("JOIN",),
    "SELECT * FROM v, w": ("JOIN",),
    "SELECT * FROM v WHERE item IN (SELECT item FROM w)": ("a subquery",),
    "SELECT * FROM v AS a WHERE EXISTS (SELECT 1 FROM v AS b WHERE b.item = a.item)": ("a subquery",),
    "SELECT *, (SELECT max(time) FROM v) AS t FROM v": ("an aggregate", "a subquery"),
    "SELECT * FROM v TABLESAMPLE BERNOULLI (10)": ("a sample",),
}
_READ = "SELECT * FROM read_csv('{}', header = true, columns = {{'user': 'VARCHAR', 'item': 'VARCHAR'}}, {})"
_DECLARED = "delim = ',', auto_detect = false"
GUESSED = (
    "SELECT * FROM 'log/*.csv'",
    "FROM 'log.NDJSON.gz' AS v",
    "SELECT * FROM read_csv('log', all_varchar = true)",
    "SELECT * FROM read_csv_auto('log')",
    "SELECT * FROM read_json('log')",
    "WITH own AS (SELECT * FROM 'log.tsv') SELECT * FROM own",
    "PIVOT 'log.csv' ON item",
    "SELECT * FROM (VALUES (1)) AS v(a) WHERE a IN (SELECT a FROM 'log.csv')",
    "SELECT * FROM seen",
    "SELECT * FROM main.Outer",
)
DECLARED = (
    "SELECT * FROM 'log.parquet'",
    "SELECT * FROM read_parquet('log')",
    "SELECT 'read_csv' AS user, '.csv' AS item FROM visits WHERE item <> 'log.csv'",
    "SELECT * FROM own",
    _READ.format("log", _DECLARED),
)
VIEWS = {
    "outer": 'CREATE VIEW "outer" AS SELECT * FROM seen;',
    "seen": "CREATE VIEW seen AS SELECT * FROM read_csv_auto('log.csv');",
    "own": "CREATE VIEW own AS SELECT * FROM own;",
}


@pytest.mark.parametrize("query", SINGLE)
def test_what_works_on_single_rows_is_taken_as_it_is(query: str) -> None:
    assert assumption(query, "sqlite") == TAKEN


@pytest.mark.parametrize("query", CROSSING)
@pytest.mark.parametrize("dialect", [None, "duckdb", "postgres"])
def test_what_lets_rows_decide_about_others_is_named(query: str, dialect: str | None) -> None:
    assert crossings(query, dialect) == CROSSING[query]


@pytest.mark.parametrize("query", GUESSED)
def test_a_text_file_whose_rows_decide_types_is_refused(query: str) -> None:
    """One row that is no number makes texts of a column of numbers: it would decide whether a release succeeds."""
    with pytest.raises(UsageError, match="guesses the types from its rows; give Headcount the file itself"):
        refuse_text_files(query, VIEWS)


@pytest.mark.parametrize("query", DECLARED)
def test_declared_types_are_taken(query: str) -> None:
    refuse_text_files(query, VIEWS)


def test_types_of_a_text_file_are_the_same_whatever_a_row_says(tmp_path: Path) -> None:
    types = []
    for number, row in enumerate(("", "3,tea\n", 'x,"\n')):
        path = tmp_path / f"{number}.csv"
        path.write_text(f"user,item\n1,7\n2,8\n{row}", encoding="utf-8")
        query = _READ.format(path, _DECLARED)
        log = hc.read_events("duckdb://", query=query, user="user", item="item", items=["7"])
        types.append(str(log.type_of("item")))
    assert types == ["string"] * 3


@pytest.mark.parametrize("row", ["", "3,tea\n", 'x,"\n'])
@pytest.mark.parametrize("opening", ["query", "view", "connection"])
def test_no_row_decides_how_a_guessed_file_is_refused(row: str, opening: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,item\n1,7\n2,8\n", encoding="utf-8")
    with duckdb.connect(str(tmp_path / "views.db")) as views:
        views.execute(f"CREATE VIEW seen AS SELECT * FROM '{path}'")
    path.write_text(f"user,item\n1,7\n2,8\n{row}", encoding="utf-8")
    words: dict[str, Any] = {"user": "user", "item": "item", "items": ["7"]}
    words |= {"table": "seen"} if opening == "view" else {"query": f"SELECT * FROM '{path}'"}
    with duckdb.connect() as connection:
        events = {"query": "duckdb://", "view": f"duckdb://{tmp_path / 'views.db'}", "connection": connection}[
            opening
        ]
        with pytest.raises(UsageError, match="guesses the types"):
            hc.read_events(events, **words)


@pytest.mark.parametrize("query", ["SELEC 1 FROM", "SELECT 1; SELECT 2", "(" * 5_000, "DROP TABLE v", ""])
def test_an_unparsable_query_is_reported_as_such(query: str) -> None:
    assert assumption(query) == f"{TAKEN}, although Headcount cannot parse it"


@pytest.fixture
def shop(tmp_path: Path) -> str:
    with duckdb.connect(str(tmp_path / "shop.db")) as connection:
        connection.execute("CREATE TABLE visits AS SELECT 'ann' AS user, 'tea' AS item")
    return f"duckdb://{tmp_path / 'shop.db'}"


def test_every_release_from_a_query_says_what_is_taken_for_granted(shop: str, tmp_path: Path) -> None:
    words: dict[str, Any] = {"user": "user", "item": "item", "items": ["tea"]}
    ways: list[tuple[dict[str, Any], tuple[str, ...]]] = [
        ({"table": "visits"}, ()),
        ({"query": "SELECT * FROM visits"}, (TAKEN,)),
        ({"query": "SELECT * FROM visits LIMIT 5"}, (f"{TAKEN}, although it has LIMIT",)),
    ]
    for options, expected in ways:
        log = read_events(shop, **options, **words)
        assert assumptions_of(log.source) == expected
        packed = read_events(hc.pack(log, tmp_path / "store", force=True))
        for event_log in (log, packed):
            release = hc.release(event_log, epsilon="1", method="sra", limit=1)
            assert release.guarantee.assumes[-1:] == expected or not expected
            assert (TAKEN in str(release.guarantee.assumes)) == bool(expected)
        selected = hc.release(
            read_events(shop, **options, user="user", item="item", select_items=True), epsilon="1", delta="1e-6"
        )
        assert (TAKEN in str(selected.guarantee.assumes)) == bool(expected)
