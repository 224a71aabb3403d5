"""Counting queries in SQL: the cells they take, held against DuckDB on one person a cell; and what is refused."""

from __future__ import annotations

import itertools

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.errors import HeadcountError, UnknownNameError, UsageError
from headcount.events.grid import Grid
from headcount.methods.queries.sql import counts_of, split_statements

GRID = Grid.from_mapping(
    {
        "age": {"edges": [0, 18, 30, 65, 120]},
        "job": {"values": ["clerk", "it's", "cook"]},
        "pay-rate": {"edges": [0.0, 1.5, 3.0]},
    }
)
PEOPLE = pa.table(
    dict(
        zip(
            ("age", "job", "pay-rate"),
            map(
                list, zip(*itertools.product((5, 20, 40, 70), ("clerk", "it's", "cook"), (1.0, 2.0)), strict=True)
            ),
            strict=True,
        )
    )
)
"""One person in the middle of every cell, in the order of the cells."""


@pytest.mark.parametrize(
    "condition",
    [
        "age >= 18",
        "age < 30 OR age >= 65",
        "NOT (age < 30 AND job = 'cook')",
        "age BETWEEN 18 AND 64",
        "age NOT BETWEEN 18 AND 64",
        'age <= 29 AND "pay-rate" < 1.5',
        "30 > age",
        "18 <= age AND 64 >= age",
        "job IN ('clerk', 'it''s')",
        "job NOT IN ('clerk')",
        "job <> 'cook' AND NOT age > 64",
        "job != 'cook'",
        '"pay-rate" >= 1.5',
        "age > -3",
        "age >= 18.0",
        "age > 17.5",
        "(job = 'cook' OR job = 'clerk') AND (age < 18 OR \"pay-rate\" >= 1.5) AND NOT age >= 65",
    ],
)
def test_conditions_take_the_cells_that_duckdb_takes(condition: str) -> None:
    (query,) = counts_of(f"SELECT COUNT(*) FROM people WHERE {condition}", GRID)
    connection = duckdb.connect()
    connection.register("people", PEOPLE)
    taken = connection.sql(f"SELECT {condition} FROM people").fetchall()
    assert query.mask.tolist() == [row[0] for row in taken]
    assert query.cell == ()


def test_group_by_asks_for_every_cell_of_its_columns() -> None:
    queries = list(counts_of("SELECT job, age, COUNT(*) FROM people WHERE age >= 30 GROUP BY job, age", GRID))
    assert len(queries) == 12
    assert queries[0].cell == (("job", "clerk"), ("age", "0..17"))
    assert np.sum([query.mask for query in queries], axis=0).tolist() == [
        age >= 30 for age in PEOPLE["age"].to_pylist()
    ]
    empty = [query for query in queries if not query.mask.any()]
    assert len(empty) == 6, "cells that the condition leaves out are asked for as well: all are public"


def test_all_users_are_one_count() -> None:
    (query,) = counts_of("select count(*) from anything", GRID)
    assert np.all(query.mask)


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        (
            "SELECT COUNT(*) FROM p WHERE age < 20",
            "cuts the bin 18..29 at 20, and the edges are 0, 18, 30, 65, 120",
        ),
        ("SELECT COUNT(*) FROM p WHERE age = 20", "cuts the bin 18..29"),
        ("SELECT COUNT(*) FROM p WHERE age BETWEEN 18 AND 65", "cuts the bin 65..119 at 65"),
        ('SELECT COUNT(*) FROM p WHERE "pay-rate" <= 1.5', "write < or >="),
        ("SELECT COUNT(*) FROM p WHERE job < 'cook'", "no order"),
        ("SELECT COUNT(*) FROM p WHERE age = 'old'", "bins of numbers"),
        ("SELECT COUNT(*) FROM p WHERE age = age", "no constant"),
        ("SELECT COUNT(*) FROM p WHERE age + 1 > 18", "no column"),
        ("SELECT COUNT(*) FROM p WHERE age IS NULL", "not understood"),
        ("SELECT COUNT(*) FROM p WHERE job LIKE 'c%'", "not understood"),
        ("SELECT COUNT(*) FROM p WHERE age IN (SELECT 1)", "not understood"),
        ("SELECT COUNT(*) FROM p WHERE", "not understood|names no table|COUNT"),
        ("SELECT COUNT(*", "not understood"),
        ("SELECT COUNT(age) FROM p", "something else"),
        ("SELECT COUNT(DISTINCT age) FROM p", "something else"),
        ("SELECT SUM(age) FROM p", "something else"),
        ("SELECT age, COUNT(*) FROM p", "something else"),
        ("SELECT COUNT(*), COUNT(*) FROM p", "something else"),
        ("SELECT COUNT(*) FROM p GROUP BY age + 1", "columns alone"),
        ("SELECT COUNT(*) FROM p GROUP BY age, age", "twice"),
        ("SELECT COUNT(*) FROM p HAVING COUNT(*) > 3", "having"),
        ("SELECT COUNT(*) FROM p JOIN q ON p.a = q.a", "joins"),
        ("SELECT COUNT(*) FROM p LIMIT 1", "limit"),
        ("WITH q AS (SELECT 1) SELECT COUNT(*) FROM q", "with"),
        ("SELECT COUNT(*) FROM (SELECT * FROM p)", "names no table"),
        ("SELECT COUNT(*)", "names no table"),
        ("DROP TABLE p", "no SELECT"),
        ("SELECT COUNT(*) FROM p TABLESAMPLE (10 PERCENT)", "has sample"),
        ("SELECT COUNT(*) FROM p GROUP BY job WITH ROLLUP", "has rollup"),
        ("SELECT COUNT(*) FROM p GROUP BY ROLLUP (job)", "columns alone"),
        ("SELECT COUNT(*) FROM p GROUP BY job WITH CUBE", "has cube"),
        ("SELECT COUNT(*) FROM p GROUP BY ALL", "has all"),
        ("SELECT COUNT(*) FROM p FOR SYSTEM_TIME AS OF '2020-01-01'", "has version"),
        ("SELECT COUNT(*) FROM p WITH (NOLOCK)", "has hints"),
        ("SELECT COUNT(*) FROM p PIVOT (COUNT(x) FOR y IN (1))", "has pivots"),
        ("SELECT COUNT(*) FROM other.p", "has db"),
        ("SELECT COUNT(*) FROM p AS q(a, b)", "has columns"),
        ("SELECT COUNT(*) FROM p('x')", "names no table"),
        ("SELECT COUNT(*) FROM p WHERE q.age < 18", "another table than p"),
        ("SELECT COUNT(*) FROM p WHERE other.p.age < 18", "has db"),
        ("SELECT COUNT(*) FROM p GROUP BY q.job", "another table than p"),
        ("SELECT COUNT(*) FROM p WHERE age BETWEEN SYMMETRIC 65 AND 18", "has symmetric"),
        ("SELECT COUNT(* EXCEPT (age)) FROM p", "has except"),
        ("SELECT COUNT(*, 1) FROM p", "has expressions"),
        ("SELECT AS STRUCT COUNT(*) FROM p", "has kind"),
        ("SELECT COUNT(*) FROM p; SELECT COUNT(*) FROM p", "no SELECT"),
        ("SELECT COUNT(*) FROM p WHERE age < 1e999", "no number"),
        ("SELECT COUNT(*) FROM p WHERE age > -1e999", "no number"),
        (f"SELECT COUNT(*) FROM p WHERE age < {'9' * 5000}", "no number"),
        ("SELECT COUNT(*) FROM p WHERE age < 5e", "no number"),
        (f"SELECT COUNT(*) FROM p WHERE {'(' * 3000}age < 18{')' * 3000}", "nested too deeply"),
        (f"SELECT COUNT(*) FROM p WHERE {'NOT ' * 3000}age < 18", "nested too deeply"),
        (f"SELECT COUNT(*) FROM p WHERE {' OR '.join(['age < 18'] * 5000)}", "nested too deeply"),
    ],
)
def test_what_is_no_count_of_cells_is_refused(statement: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        list(counts_of(statement, GRID))


def test_unknown_names_are_suggested() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'age'"):
        list(counts_of("SELECT COUNT(*) FROM p WHERE aeg < 18", GRID))
    with pytest.raises(UnknownNameError, match="did you mean 'cook'"):
        list(counts_of("SELECT COUNT(*) FROM p WHERE job = 'cok'", GRID))


def test_files_are_split_at_semicolons_outside_of_texts() -> None:
    text = """-- first; not a statement
    SELECT COUNT(*) FROM p WHERE job = 'a;b -- c'; /* and; so on */
    SELECT COUNT(*)
      FROM p WHERE "x;y" < 3;;"""
    assert split_statements(text) == (
        "SELECT COUNT(*) FROM p WHERE job = 'a;b -- c'",
        'SELECT COUNT(*) FROM p WHERE "x;y" < 3',
    )
    assert split_statements(" ; -- nothing\n") == ()


def test_a_table_may_have_an_alias() -> None:
    for prefix in ("people.", "P.", "p.", ""):
        statement = f"SELECT COUNT(*) FROM people AS p WHERE {prefix}age < 18"
        assert next(iter(counts_of(statement, GRID))).mask.sum() == 6


WORDS = (
    "SELECT", "COUNT(*)", "COUNT", "FROM", "people", "p", "WHERE", "GROUP BY", "age", "job", "\"pay-rate\"",
    "AND", "OR", "NOT", "IN", "BETWEEN", "(", ")", ",", ".", "=", "<", "<=", "<>", "18", "30", "-", "1e400",
    "1.5", "'cook'", "''", "'", "\"", ";", "--", "/*", "*/", "*", "AS", "JOIN", "ON", "NULL", "IS", "LIKE",
    "CASE", "WHEN", "THEN", "END", "::", "CAST", "OVER", "UNION", "ALL", "DISTINCT", "LIMIT", "TABLESAMPLE",
    "ROLLUP", "WITH", "FOR", "SYSTEM_TIME", "@", "$1", "?", "{", "}", "[", "]", "0x1F", "1_000", "\u0000",
    "\u00e9", "\ud800", "N'x'", "INTERVAL", "DATE", "TRUE", "EXISTS",
)  # fmt: skip
statements = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join),
    st.lists(st.sampled_from(WORDS), max_size=12).map(
        lambda more: "SELECT COUNT(*) FROM people WHERE " + " ".join(more)
    ),
    st.lists(st.sampled_from(WORDS), max_size=8).map(lambda more: "SELECT COUNT(*) FROM people " + " ".join(more)),
)


@settings(max_examples=400, deadline=None)
@given(statements)
def test_any_text_is_understood_or_refused(statement: str) -> None:
    try:
        queries = list(counts_of(statement, GRID))
    except HeadcountError:
        return
    assert all(query.mask.shape == (GRID.cells,) and query.mask.dtype == bool for query in queries)


def test_values_are_matched_by_their_spelling_before_another_is_suggested() -> None:
    grid = Grid.from_mapping({"sex": {"values": ["Female", "Male"]}, "size": {"values": ["m", "M", "S"]}})
    (query,) = counts_of("SELECT COUNT(*) FROM t WHERE sex = ' male'", grid)
    assert query.mask.reshape(grid.shape).any(axis=1).tolist() == [False, True]
    (query,) = counts_of("SELECT COUNT(*) FROM t WHERE size IN ('M', 's')", grid)
    assert query.mask.reshape(grid.shape).any(axis=0).tolist() == [False, True, True]
    with pytest.raises(UnknownNameError, match="did you mean 'm'"):
        list(counts_of("SELECT COUNT(*) FROM t WHERE size = ' M '", grid))
    with pytest.raises(UnknownNameError, match="did you mean 'Male'"):
        list(counts_of("SELECT COUNT(*) FROM t WHERE sex = 'males'", grid))
