"""Static query analysis: which parts of a SQL query let rows of one user affect rows of another.

The guarantee is about the rows of one user, so a query must not let them affect the rows of another. This cannot
be decided in general: a view, a function or a joined table may hold anything. So a release from a query assumes it
and names the parts of the query that speak against it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from headcount.errors import UsageError, param

VIEWS = "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal"
TAKEN = "the query looks at each person's rows by themselves"


def assumption(query: str, dialect: str | None = None) -> str:
    """Return the assumption about a query.

    >>> assumption("SELECT customer, venue FROM visits WHERE venue <> 'till'")
    "the query looks at each person's rows by themselves"
    >>> assumption("SELECT * FROM visits ORDER BY time LIMIT 5")
    "the query looks at each person's rows by themselves, although it has LIMIT"
    """
    constructs = crossings(query, dialect)
    if constructs is None:
        return f"{TAKEN}, although Headcount cannot parse it"
    return f"{TAKEN}, although it has {', '.join(constructs)}" if constructs else TAKEN


def crossings(query: str, dialect: str | None = None) -> tuple[str, ...] | None:
    """Return the parts of a query with which rows may decide about other rows; None if it cannot be parsed.

    >>> crossings("SELECT user, rank() OVER (ORDER BY n) FROM (SELECT user, count(*) AS n FROM t GROUP BY user)")
    ('GROUP BY', 'an aggregate', 'a window function')
    >>> crossings("SELECT * FROM a UNION ALL SELECT * FROM b"), crossings("SELECT * FROM a UNION SELECT * FROM b")
    ((), ('UNION',))
    """
    statement = _parsed(query, dialect)
    if statement is None or statement.key == "create":
        return None
    constructs = set(_constructs_in(statement))
    return tuple(name for name in _ORDER if name in constructs)


def refuse_text_files(query: str, views: Mapping[str, str]) -> None:
    """Refuse a query of DuckDB that reads a text file whose rows decide types, itself or through its views.

    Then one row could decide whether a release succeeds. Views are given as the statements that define them.

    >>> refuse_text_files("SELECT * FROM seen", {"seen": "CREATE VIEW seen AS SELECT * FROM 'log.csv'"})
    Traceback (most recent call last):
    headcount.errors.UsageError: --query or a view reads a text file of which DuckDB guesses the types from its \
rows; give Headcount the file itself, or write read_csv('FILE', auto_detect = false, columns = {...}, \
delim = ',', header = true)
    """
    from sqlglot import exp

    views = {name.lower(): text for name, text in views.items()}
    texts = [query]
    while texts:
        text = texts.pop()
        statement = _parsed(text, "duckdb")
        tables = [] if statement is None else list(statement.find_all(exp.Table))
        sources = [text] if statement is None else [table.this.sql("duckdb") for table in tables]
        names = re.findall(r"\w+", text) if statement is None else [table.name for table in tables]
        if any(_is_guessed(source.lower()) for source in sources):
            raise UsageError(
                f"{param.query} or a view reads a text file of which DuckDB guesses the types from its rows",
                remedy="give Headcount the file itself, or write read_csv('FILE', auto_detect = false, "
                "columns = {...}, delim = ',', header = true)",
            )
        texts += filter(None, (views.pop(name.lower(), None) for name in names))


def _parsed(query: str, dialect: str | None) -> Any:
    """Return a query, or the definition of a view, as it can be parsed; None if it cannot."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        statements = [part for part in sqlglot.parse(query, dialect=dialect) if part is not None]
    except (SqlglotError, RecursionError):
        return None
    is_read = len(statements) == 1 and isinstance(statements[0], sqlglot.exp.Query | sqlglot.exp.Create)
    return statements[0] if is_read else None


_ORDER = (
    "GROUP BY", "DISTINCT", "LIMIT", "OFFSET", "UNION", "INTERSECT", "EXCEPT", "JOIN", "a sample", "PIVOT",
    "an aggregate", "a window function", "a subquery",
)  # fmt: skip
_TEXT_FILE = re.compile(r"\b(read_(csv|json|ndjson|xlsx)|sniff_csv)|\.(csv|tsv|txt|json|jsonl|ndjson|xlsx)\b")


def _constructs_in(statement: Any) -> Iterator[str]:
    from sqlglot import exp

    kinds = (
        (exp.Group, "GROUP BY"), (exp.Distinct, "DISTINCT"), (exp.Limit | exp.Fetch, "LIMIT"),
        (exp.Offset, "OFFSET"), (exp.Intersect, "INTERSECT"), (exp.Except, "EXCEPT"),
        (exp.TableSample, "a sample"), (exp.Pivot, "PIVOT"), (exp.Window, "a window function"),
    )  # fmt: skip
    for node in statement.walk():
        yield from (name for kind, name in kinds if isinstance(node, kind))
        if isinstance(node, exp.Union) and node.args.get("distinct"):
            yield "UNION"
        elif isinstance(node, exp.Join) and not isinstance(node.this, exp.Unnest | exp.Lateral):
            yield "JOIN"
        elif isinstance(node, exp.AggFunc) and not _of_one_row(node):
            yield "an aggregate"
        elif isinstance(node, exp.Query) and node is not statement and not _is_selected_from(node):
            yield "a subquery"


def _is_guessed(source: str) -> bool:
    """Tell whether DuckDB looks at the rows of a text file to say how they are read."""
    return bool(_TEXT_FILE.search(source)) and "auto_detect = false" not in source


def _of_one_row(function: Any) -> bool:
    """Tell the largest and the smallest of several values of a row, as SQLite writes it, from aggregates."""
    from sqlglot import exp

    return isinstance(function, exp.Max | exp.Min) and bool(function.expressions)


def _is_selected_from(query: Any) -> bool:
    """Whether a query stands where a table could: its rows go on, and are judged by what is in it."""
    from sqlglot import exp

    above = query.parent
    while isinstance(above, exp.Subquery | exp.Paren):
        above = above.parent
    return isinstance(above, exp.From | exp.Join | exp.CTE | exp.SetOperation) or above is None
