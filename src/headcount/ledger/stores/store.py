"""Base of ledger stores: transactions, schema version, errors; and the choice of a store by URL.

A store knows how to begin a transaction that nobody else writes beside, and how to make it durable. SQLite writes
ahead with ``synchronous=FULL`` and begins with ``BEGIN IMMEDIATE``; in PostgreSQL whoever writes first locks the
one row of ``headcount_ledger``, and ``synchronous_commit`` is never off. What the database says when something
fails is put into one sentence that says what to do.

Writing goes through SQLAlchemy. Importing it takes longer than everything else that ``headcount ledger show``
does, so it is imported where it is needed, and a SQLite file is read without it.

``journal`` is the truth. ``datasets``, ``accounts`` and ``outcomes`` are what follows from it, kept so that a
request is judged without reading the journal; ``headcount ledger verify`` works them out again and compares.
Amounts are exact decimals, as text. In ``accounts`` the analyst '' stands for the dataset as a whole. ``windows``
is ``accounts`` once more for each window, of budgets that have some. ``allowances`` says what analysts may spend
who have an amount of their own.

A migration, once released, is never changed; a new one is added at the end of :data:`MIGRATIONS`.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from headcount.errors import SurroundingsError, UsageError
from headcount.ledger.stores.transactions import EngineTransaction, Transaction

if TYPE_CHECKING:
    import sqlalchemy as sa

WAIT = 120  # seconds that a writer waits for its turn

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # one row: the random name of this journal, and which key signs it
        "CREATE TABLE headcount_ledger (id INTEGER PRIMARY KEY, chain TEXT NOT NULL, key_id TEXT NOT NULL)",
        "CREATE TABLE headcount_schema (id INTEGER PRIMARY KEY, version INTEGER NOT NULL)",
        "CREATE TABLE journal (number BIGINT PRIMARY KEY, dataset TEXT NOT NULL, body TEXT NOT NULL, "
        "mac TEXT NOT NULL)",
        "CREATE TABLE datasets (name TEXT PRIMARY KEY, budget TEXT NOT NULL)",
        "CREATE TABLE accounts (dataset TEXT NOT NULL, analyst TEXT NOT NULL, loss TEXT NOT NULL, "
        "delta TEXT NOT NULL, open BIGINT NOT NULL, published BIGINT NOT NULL, refunded BIGINT NOT NULL, "
        "PRIMARY KEY (dataset, analyst))",
        "CREATE TABLE outcomes (reservation BIGINT PRIMARY KEY, entry BIGINT NOT NULL, identity TEXT, "
        "folder TEXT, digest TEXT)",
        "CREATE INDEX outcomes_by_identity ON outcomes (identity, entry)",
    ),
    ("CREATE INDEX journal_by_dataset ON journal (dataset, number)",),
    (
        # "window" is a word of SQL
        "CREATE TABLE windows (dataset TEXT NOT NULL, analyst TEXT NOT NULL, number BIGINT NOT NULL, "
        "loss TEXT NOT NULL, delta TEXT NOT NULL, open BIGINT NOT NULL, published BIGINT NOT NULL, "
        "refunded BIGINT NOT NULL, PRIMARY KEY (dataset, number, analyst))",
    ),
    (
        "CREATE TABLE allowances (dataset TEXT NOT NULL, analyst TEXT NOT NULL, epsilon TEXT NOT NULL, "
        "PRIMARY KEY (dataset, analyst))",
    ),
)

VERSION = len(MIGRATIONS)


class Store(ABC):
    """A database that holds a ledger, or can."""

    kind: str

    def __init__(self, shown: str) -> None:
        self.shown = shown
        self._engine: sa.Engine | None = None
        self._process = 0

    @property
    def engine(self) -> sa.Engine:
        """The connections of this process; a forked one opens its own."""
        if self._engine is not None and self._process != os.getpid():
            self._engine.dispose(close=False)
            self._engine = None
        if self._engine is None:
            self._engine, self._process = self._connect(), os.getpid()
        return self._engine

    def close(self) -> None:
        """Close all connections."""
        if self._engine is not None:
            self._engine.dispose(close=self._process == os.getpid())
            self._engine = None

    @contextlib.contextmanager
    def writing(self) -> Iterator[Transaction]:
        """Open a transaction that nobody else writes beside; it is durable when this ends without an error."""
        with self._explain_errors(), self.engine.connect() as connection:
            with connection.begin():
                transaction = self._transaction(connection)
                self._lock(transaction)
                self._check_age(int(transaction.first_row("SELECT version FROM headcount_schema")[0]))
                yield transaction
            self._check_place()

    @abstractmethod
    def reading(self) -> contextlib.AbstractContextManager[Transaction]:
        """Open a transaction that sees one state of the database, and changes nothing."""

    def version(self) -> int:
        """Return the version of the schema, 0 if there is no ledger here."""
        if not self.exists():
            return 0
        with self.reading() as run:
            return self._version(run)

    def _version(self, run: Transaction) -> int:
        return int(run.first_row("SELECT version FROM headcount_schema")[0]) if self._has_tables(run) else 0

    def check_version(self) -> None:
        """Refuse a database without a ledger, and one of another age."""
        version = self.version()
        if version == 0:
            raise self._nothing_here()
        self._check_age(version)

    def _nothing_here(self) -> UsageError:
        return UsageError(f"there is no ledger at {self.shown}", remedy="make one with `headcount ledger create`")

    def _check_age(self, version: int) -> None:
        if version < VERSION:
            raise SurroundingsError(
                f"the ledger at {self.shown} has schema {version}, and this program needs schema {VERSION}; "
                "nothing was changed",
                remedy="make a backup, then run `headcount ledger upgrade`",
            )
        if version > VERSION:
            raise SurroundingsError(
                f"the ledger at {self.shown} has schema {version}, which is newer than this program's {VERSION}",
                remedy="use a newer version of Headcount",
            )

    def migrate(self, *, target: int = VERSION, fresh: Mapping[str, str] | None = None) -> None:
        """Bring the schema up to date in one transaction; ``fresh`` fills the row of a ledger that is new."""
        self._prepare()
        if fresh is None and not self.version():
            raise self._nothing_here()
        with self._explain_errors(), self.engine.connect() as connection, connection.begin():
            run = self._transaction(connection)
            self._lock_schema(run)
            old = self._version(run)
            for step in MIGRATIONS[old:target]:
                for statement in step:
                    run.run(statement)
            if not old and fresh is not None:
                run.run("INSERT INTO headcount_ledger (id, chain, key_id) VALUES (1, :chain, :key_id)", **fresh)
                run.run("INSERT INTO headcount_schema (id, version) VALUES (1, :version)", version=target)
            elif old < target:
                run.run("UPDATE headcount_schema SET version = :version", version=target)
        self._settle()

    def _settle(self) -> None:
        """See that a new ledger is found again even if what is written later gets lost."""
        return

    @contextlib.contextmanager
    def _explain_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._in_words(error) from error
        except Exception as error:
            if "sqlalchemy" not in sys.modules or not isinstance(
                error, sys.modules["sqlalchemy"].exc.SQLAlchemyError
            ):
                raise
            raise self._in_words(getattr(error, "orig", None) or error) from error

    def _in_words(self, cause: BaseException) -> SurroundingsError:
        lines = str(cause).strip().splitlines()
        problem, remedy = self._explain(cause)
        return SurroundingsError(
            f"the ledger at {self.shown} {problem} ({lines[0] if lines else repr(cause)})", remedy=remedy
        )

    def exists(self) -> bool:
        """Whether there is a database at all."""
        return True

    def _prepare(self) -> None:
        """Make ready a place for a new ledger."""
        return

    @abstractmethod
    def _connect(self) -> sa.Engine: ...

    @abstractmethod
    def _has_tables(self, run: Transaction) -> bool: ...

    @abstractmethod
    def _explain(self, cause: BaseException) -> tuple[str, str]: ...

    def _transaction(self, connection: sa.Connection) -> Transaction:
        return EngineTransaction(connection)

    def _lock(self, run: Transaction) -> None:  # noqa: ARG002
        """Wait until nobody else writes."""
        return

    def _lock_schema(self, run: Transaction) -> None:  # noqa: ARG002
        """Wait until nobody else makes tables."""
        return

    def _check_place(self) -> None:
        """Refuse to acknowledge what was written to a place that is no longer there."""
        return


def open_store(url: str) -> Store:
    """Return the store that a URL names.

    >>> open_store("mysql://server/db")
    Traceback (most recent call last):
    headcount.errors.UsageError: a ledger is kept in SQLite or PostgreSQL, not 'mysql'; such as \
sqlite:///headcount.db or postgresql://server/db
    """
    scheme, colon, _ = url.partition("://")
    if colon and scheme == "sqlite":
        from headcount.ledger.stores.sqlite import SQLiteStore

        return SQLiteStore(url)
    if colon and scheme in ("postgresql", "postgres", "postgresql+psycopg"):
        from headcount.ledger.stores.postgres import PostgresStore

        return PostgresStore(url)
    raise UsageError(
        "a ledger is kept in SQLite or PostgreSQL",
        given=scheme,
        remedy="such as sqlite:///headcount.db or postgresql://server/db",
    )
