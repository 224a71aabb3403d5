"""The table name or SQL query that Headcount reads from a database (``--table``, ``--query``)."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from headcount.errors import UsageError, param

_REMEDY = f"give {param.table('NAME')} or {param.query} 'SELECT …'"


@dataclass(frozen=True)
class TableOrQuery:
    """A table by its name, which may be qualified, or a query.

    >>> TableOrQuery(table='shop."our visits"').parts
    ('shop', 'our visits')
    """

    table: str | None = None
    query: str | None = None

    def __post_init__(self) -> None:
        if self.table is not None and self.query is not None:
            raise UsageError(f"{param.table} and {param.query} are given both", remedy=_REMEDY)
        for flag, given in ((param.table, self.table), (param.query, self.query)):
            if given is not None and not given.strip(" \t\r\n;"):
                raise UsageError(f"{flag} is empty", remedy=_REMEDY)

    def __bool__(self) -> bool:
        return self.table is not None or self.query is not None

    def check(self, where: str) -> None:
        """Refuse a database of which neither a table nor a query is named."""
        if not self:
            raise UsageError(f"{where} is a database", remedy=_REMEDY)

    def refuse(self, where: str) -> None:
        """Refuse a table or a query of what is no database."""
        if self:
            flag = param.query if self.table is None else param.table
            raise UsageError(f"{flag} is for databases, and {where} is none", remedy="leave it out")

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the table's name, as they are written in the database; dots in quotes part nothing."""
        quoted_parts = re.findall(r'"(?:[^"]|"")*"|[^."]+', self.table or "")
        if ".".join(quoted_parts) != self.table or len(quoted_parts) > 3:
            raise UsageError(
                f"{param.table} must be a name, or several with dots",
                given=self.table,
                remedy="such as shop.visits",
            )
        return tuple(part[1:-1].replace('""', '"') if part.startswith('"') else part for part in quoted_parts)

    @property
    def quoted(self) -> str:
        """The table's name as SQL has it."""
        return ".".join(map(quoted, self.parts))

    @property
    def words(self) -> str:
        """What to call it."""
        return "a query" if self.table is None else self.table

    @property
    def subquery(self) -> str:
        """The query, to be selected from; a comment in its last line ends with that line."""
        return f"({(self.query or '').strip().rstrip(';')}\n) AS headcount_query"

    @property
    def digest(self) -> str | None:
        """What tells queries apart, without their words."""
        if self.query is None:
            return None
        return "sha256:" + hashlib.sha256(self.query.strip().rstrip(";").encode()).hexdigest()


NOTHING = TableOrQuery()


def quoted(name: str) -> str:
    """Return a name as SQL has it.

    >>> quoted('2" pipes')
    '"2"" pipes"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"
