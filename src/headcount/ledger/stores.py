"""Where a ledger is kept: a SQLite file, or a PostgreSQL database for teams; the same behaviour.

A store knows how to begin a transaction that nobody else writes beside, and how to make it durable. SQLite writes
ahead with ``synchronous=FULL`` and begins with ``BEGIN IMMEDIATE``; in PostgreSQL whoever writes first locks the
one row of ``headcount_ledger``, and ``synchronous_commit`` is never off. What the database says when something
fails is put into one sentence that says what to do.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError, SQLAlchemyError

from headcount.errors import SurroundingsError, UsageError
from headcount.ledger.schema import MIGRATIONS, VERSION

WAIT = 120  # seconds that a writer waits for its turn


class Transaction:
    """Statements on an open connection."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def run(self, sql: str, /, **values: Any) -> None:
        """Run a statement."""
        self._connection.execute(_text(sql), values)

    def run_many(self, sql: str, rows: list[dict[str, Any]]) -> None:
        """Run a statement once for each row."""
        self._connection.execute(_text(sql), rows)

    def one(self, sql: str, /, **values: Any) -> Any:
        """Return the first row, or None."""
        return self._connection.execute(_text(sql), values).first()

    def all(self, sql: str, /, **values: Any) -> list[Any]:
        """Return all rows."""
        return list(self._connection.execute(_text(sql), values))

    def walk(self, sql: str, /, **values: Any) -> Iterator[Any]:
        """Return row after row, without holding them all."""
        streamed = self._connection.execution_options(yield_per=1000)
        yield from streamed.execute(_text(sql), values)


_TEXTS: dict[str, sa.TextClause] = {}


def _text(sql: str) -> sa.TextClause:
    if sql not in _TEXTS:
        _TEXTS[sql] = sa.text(sql)
    return _TEXTS[sql]


class Store(ABC):
    """A database that holds a ledger, or can."""

    kind: str

    def __init__(self, url: sa.URL) -> None:
        self.url = url
        self.shown = url.render_as_string(hide_password=True)
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
        with self._told(), self.engine.connect() as connection:
            connection.execution_options(headcount_writes=True)
            with connection.begin():
                transaction = Transaction(connection)
                self._check_age(self._lock(transaction))
                yield transaction
            self._check_place()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Open a transaction that sees one state of the database, and changes nothing."""
        with self._told(), self.engine.connect() as connection:
            self._see_one_state(connection)
            with connection.begin():
                yield Transaction(connection)

    def version(self) -> int:
        """Return the version of the schema, 0 if there is no ledger here."""
        if not self.exists():
            return 0
        with self._told(), self.engine.connect() as connection:
            if not sa.inspect(connection).has_table("headcount_schema"):
                return 0
            row = Transaction(connection).one("SELECT version FROM headcount_schema")
        return int(row.version) if row else 0

    def check_version(self) -> None:
        """Refuse a database without a ledger, and one of another age."""
        version = self.version()
        if version == 0:
            raise UsageError(
                f"there is no ledger at {self.shown}", remedy="make one with `headcount ledger create`"
            )
        self._check_age(version)

    def _check_age(self, version: int) -> None:
        if version < VERSION:
            raise SurroundingsError(
                f"the ledger at {self.shown} has schema {version}, and this program needs schema {VERSION}; "
                "nothing was changed",
                remedy="make a backup, then open it once with Ledger(url, upgrade=True)",
            )
        if version > VERSION:
            raise SurroundingsError(
                f"the ledger at {self.shown} has schema {version}, which is newer than this program's {VERSION}",
                remedy="use a newer version of Headcount",
            )

    def migrate(self, *, target: int = VERSION, fresh: Mapping[str, str] | None = None) -> None:
        """Bring the schema up to date in one transaction; ``fresh`` fills the row of a ledger that is new."""
        self._prepare()
        with self._told(), self.engine.connect() as connection:
            connection.execution_options(headcount_writes=True)
            with connection.begin():
                self._lock_schema(connection)
                run = Transaction(connection)
                old = 0
                if sa.inspect(connection).has_table("headcount_schema"):
                    old = int(run.one("SELECT version FROM headcount_schema").version)
                if not old and fresh is None:
                    raise UsageError(
                        f"there is no ledger at {self.shown}", remedy="make one with `headcount ledger create`"
                    )
                for step in MIGRATIONS[old:target]:
                    for statement in step:
                        run.run(statement)
                if not old and fresh is not None:
                    run.run(
                        "INSERT INTO headcount_ledger (id, chain, key_id) VALUES (1, :chain, :key_id)", **fresh
                    )
                    run.run("INSERT INTO headcount_schema (id, version) VALUES (1, :version)", version=target)
                elif old < target:
                    run.run("UPDATE headcount_schema SET version = :version", version=target)
        self._settle()

    def _settle(self) -> None:
        """See that a new ledger is found again even if what is written later gets lost."""
        return

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except IntegrityError:
            raise
        except SQLAlchemyError as error:
            raise self._in_words(error) from error

    def _in_words(self, error: SQLAlchemyError) -> SurroundingsError:
        cause = str(error.orig if isinstance(error, DBAPIError) else error).strip().splitlines()
        problem, remedy = self._explain(error)
        return SurroundingsError(
            f"the ledger at {self.shown} {problem} ({cause[0] if cause else error!r})", remedy=remedy
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
    def _explain(self, error: SQLAlchemyError) -> tuple[str, str]: ...

    def _lock(self, transaction: Transaction) -> int:
        """Wait until nobody else writes; return the version of the schema."""
        return int(transaction.one("SELECT version FROM headcount_schema").version)

    def _check_place(self) -> None:
        """Refuse to acknowledge what was written to a place that is no longer there."""
        return

    def _lock_schema(self, connection: sa.Connection) -> None:  # noqa: ARG002
        """Wait until nobody else makes tables."""
        return

    def _see_one_state(self, connection: sa.Connection) -> None:  # noqa: ARG002
        """Let all statements of a reading transaction see the same state."""
        return


class SQLiteStore(Store):
    """A ledger in a SQLite file."""

    kind = "sqlite"

    def __init__(self, url: sa.URL) -> None:
        if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
            raise UsageError(
                "a ledger in memory would forget what was spent",
                given=url.render_as_string(),
                remedy="name a file, such as sqlite:///headcount.db",
            )
        self.path = Path(url.database).absolute()
        self._inode = 0
        super().__init__(url)

    def exists(self) -> bool:
        """Whether the file is there and not empty."""
        try:
            return self.path.stat().st_size > 0
        except FileNotFoundError:
            return False
        except OSError as error:
            raise SurroundingsError(
                f"the ledger at {self.shown} cannot be looked at ({error.strerror})"
            ) from error

    def _prepare(self) -> None:
        if not self.path.parent.is_dir():
            raise UsageError(
                f"the folder {self.path.parent} does not exist", remedy="make it, or name another file"
            )

    def _settle(self) -> None:
        with self._told(), self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    def _check_place(self) -> None:
        try:
            same = self.path.stat().st_ino == self._inode
        except OSError:
            same = False
        if not same:
            self.close()
            raise SurroundingsError(
                f"the ledger at {self.shown} was removed or replaced while in use, so what was just written may "
                "be lost",
                remedy="put it back, then run `headcount ledger verify`",
            )

    def _connect(self) -> sa.Engine:
        engine = sa.create_engine(self.url.set(database=str(self.path)), connect_args={"timeout": WAIT})

        def prepare(connection: Any, _record: object) -> None:
            connection.isolation_level = None  # transactions are begun below, not by the driver
            cursor = connection.cursor()
            cursor.execute(f"PRAGMA busy_timeout = {WAIT * 1000}")
            if cursor.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                cursor.execute("PRAGMA journal_mode = WAL")
            cursor.execute("PRAGMA synchronous = FULL")
            cursor.execute("PRAGMA trusted_schema = OFF")
            cursor.close()
            self._inode = self.path.stat().st_ino

        def begin(connection: sa.Connection) -> None:
            writes = connection.get_execution_options().get("headcount_writes", False)
            connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

        sa.event.listen(engine, "connect", prepare)
        sa.event.listen(engine, "begin", begin)
        return engine

    def _explain(self, error: SQLAlchemyError) -> tuple[str, str]:
        cause = error.orig if isinstance(error, DBAPIError) else None
        code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
        return {
            sqlite3.SQLITE_FULL: ("cannot be written: the disk is full", "make room and try again"),
            sqlite3.SQLITE_IOERR: ("cannot be read or written", "see whether the disk is full or failing"),
            sqlite3.SQLITE_READONLY: (
                "cannot be written: it is read-only",
                "allow writing to the file and its folder",
            ),
            sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "see whether the folder exists and may be written"),
            sqlite3.SQLITE_BUSY: ("is busy: others write all the time", "try again"),
            sqlite3.SQLITE_NOTADB: ("is no SQLite database", "name another file, or restore it from a backup"),
            sqlite3.SQLITE_CORRUPT: ("is damaged", "restore it from a backup, then run `headcount ledger verify`"),
        }.get(code, ("failed", "run `headcount ledger verify`"))


class PostgresStore(Store):
    """A ledger in a PostgreSQL database."""

    kind = "postgresql"

    def _connect(self) -> sa.Engine:
        try:
            engine = sa.create_engine(self.url, pool_pre_ping=True, pool_size=2)
        except ImportError as error:
            raise UsageError(
                "a PostgreSQL ledger needs the package psycopg", remedy="pip install 'headcount[postgres]'"
            ) from error

        def prepare(connection: Any, _record: object) -> None:
            with connection.cursor() as cursor:
                cursor.execute("SHOW synchronous_commit")
                if cursor.fetchone()[0] == "off":
                    cursor.execute("SET synchronous_commit = on")
                cursor.execute(f"SET lock_timeout = '{WAIT}s'")
            connection.commit()

        sa.event.listen(engine, "connect", prepare)
        return engine

    def _lock(self, transaction: Transaction) -> int:
        transaction.one("SELECT id FROM headcount_ledger WHERE id = 1 FOR UPDATE")
        return super()._lock(transaction)

    def _lock_schema(self, connection: sa.Connection) -> None:
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(7238015)"))

    def _see_one_state(self, connection: sa.Connection) -> None:
        connection.execution_options(isolation_level="REPEATABLE READ")

    def _explain(self, error: SQLAlchemyError) -> tuple[str, str]:
        cause = error.orig if isinstance(error, DBAPIError) else None
        state = getattr(cause, "sqlstate", None) or ""
        if state == "53100":
            return "cannot be written: the disk is full", "make room on the server and try again"
        if state == "25006":
            return "cannot be written: it is read-only", "use the primary server"
        if state == "42501":
            return "may not be used by this database user", "grant the rights, or use another user"
        if state == "55P03":
            return "is busy: others write all the time", "try again"
        if state in ("", "57P01", "57P02", "57P03") or state.startswith("08"):
            return (
                "is gone or cannot be reached; what was being reserved may be charged",
                "see whether the server runs, then look at `headcount ledger history`",
            )
        return "failed", "run `headcount ledger verify`"


def open_store(url: str) -> Store:
    """Return the store that a URL names.

    >>> open_store("mysql://server/db")
    Traceback (most recent call last):
    headcount.errors.UsageError: a ledger is kept in SQLite or PostgreSQL, not 'mysql'; such as \
sqlite:///headcount.db or postgresql://server/db
    """
    try:
        parsed = sa.make_url(url)
        backend = parsed.get_backend_name()
    except (ArgumentError, NoSuchModuleError):
        parsed, backend = None, url.partition(":")[0]
    if parsed is not None and parsed.drivername in ("sqlite", "sqlite+pysqlite"):
        return SQLiteStore(parsed)
    if parsed is not None and backend in ("postgresql", "postgres"):
        return PostgresStore(parsed.set(drivername="postgresql+psycopg"))
    raise UsageError(
        "a ledger is kept in SQLite or PostgreSQL",
        given=backend,
        remedy="such as sqlite:///headcount.db or postgresql://server/db",
    )
