"""A user table: a log with one row per user, read through the bins of its columns, without items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headcount._internal.python_surface import document_parameters
from headcount.errors import UsageError
from headcount.events.log import EventLog, read_events
from headcount.events.log_parameters import KEPT, READERS
from headcount.events.notation import Separators
from headcount.events.roles import store_path
from headcount.events.sources.databases.table_or_query import TableOrQuery
from headcount.events.sources.files.formats import TextOptions
from headcount.events.sources.source import ROW, RowAsUserSource, open_source


@document_parameters(READERS["people"].flags(), people="Where the table is: see above.")
def read_people(
    people: Any,
    *,
    user: str | None = None,
    where: str | Sequence[str] = (),
    since: str | None = None,
    until: str | None = None,
    time: str | None = None,
    decimal: Separators = None,
    thousands: Separators = None,
    time_format: str | None = None,
    timezone: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    header: bool = True,
    format: str | None = None,  # noqa: A002  (the name of the flag)
    table: str | None = None,
    query: str | None = None,
    drop_nulls: bool = True,
) -> EventLog:
    """Describe a user table: a path, several paths, or any Arrow-compatible object.

    Reads column names and types, no rows. Queries count the cells of a grid over its columns, so there is no item,
    and the user column stands in for it. Without ``user`` every row is taken for one user with no other row: the
    guarantee says so, and it is wrong for a log whose rows are events.

    >>> import pyarrow as pa
    >>> read_people(pa.table({"id": ["ann", "bob"], "age": [30, 70]}), user="id").roles.user
    'id'
    >>> read_people(pa.table({"age": [30, 70]})).source.assumes[0]
    'every row is one person, and nobody has two: the place of a row stands for the user id'
    """
    words = {name: value for name, value in locals().items() if name != "people"}
    if store_path(people) is not None:
        raise UsageError("a packed store holds items, not the columns that bins are of", remedy="query the table")
    if user is not None:
        return read_events(people, item=user, **words)
    text = TextOptions(delimiter, encoding, header, format)
    rows = RowAsUserSource.over(open_source(people, text, TableOrQuery(table, query)))
    kept = {name: value for name, value in words.items() if name in KEPT and name != "user"}
    return read_events(rows, user=ROW, item=ROW, **kept)
