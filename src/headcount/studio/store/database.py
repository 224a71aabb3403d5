"""Connections and transactions of the studio's database, in SQLite or PostgreSQL.

One transaction writes at a time, so that its reads still hold when it writes: in SQLite by ``BEGIN IMMEDIATE``, in
PostgreSQL by a lock that ends with the transaction. A committed transaction is on the disk.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from headcount._internal.extras import remedy
from headcount.errors import SurroundingsError, UsageError
from headcount.studio.store.schema import METADATA

_WAIT = 60
"""Seconds that a writer waits for its turn."""
_CONNECTIONS = 40
_LOCK = 7238016
"""What writers in PostgreSQL wait for; any number that nobody else uses."""


class StudioDatabase:
    """The tables of the studio, in a database that is made when it is not there.

    >>> import tempfile
    >>> from headcount.studio.store.schema import accounts
    >>> store = StudioDatabase(f"sqlite:///{tempfile.mkdtemp()}/studio.db")
    >>> with store.reading() as run:
    ...     run.execute(sa.select(sa.func.count()).select_from(accounts)).scalar_one()
    0
    >>> store.close()
    """

    def __init__(self, url: str) -> None:
        self._engine = _engine_of(url)
        self._is_server = self._engine.dialect.name == "postgresql"
        with self.writing() as run:
            METADATA.create_all(run)

    @contextlib.contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Open a transaction that sees one state of the database."""
        with self._translating_errors(), self._engine.connect() as run:
            if self._is_server:
                run.execution_options(isolation_level="REPEATABLE READ")
            with run.begin():
                yield run

    @contextlib.contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Open a transaction that nobody writes beside; it is kept when this ends without an error."""
        with self._translating_errors(), self._engine.connect() as run:
            run.execution_options(writing=True)
            with run.begin():
                if self._is_server:
                    run.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
                yield run

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @contextlib.contextmanager
    def _translating_errors(self) -> Iterator[None]:
        try:
            yield
        except sa.exc.IntegrityError:  # who writes knows what may be there already
            raise
        except (sa.exc.DataError, UnicodeEncodeError) as error:  # half a character, a NUL, too long a text
            raise UsageError("this text cannot be kept", remedy="leave out characters that are none") from error
        except sa.exc.SQLAlchemyError as error:
            raise SurroundingsError(
                "the database of the studio failed", remedy="see the log of the server, and try again"
            ) from error


def _engine_of(url: str) -> sa.Engine:
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError as error:
        raise UsageError("this is no URL of a database", remedy="such as sqlite:///studio.db") from error
    kind = parsed.get_backend_name()
    if kind == "sqlite" and parsed.database and parsed.database != ":memory:" and not parsed.query:
        return _file(Path(parsed.database))
    if kind in ("postgresql", "postgres"):
        try:
            return sa.create_engine(
                parsed.set(drivername="postgresql+psycopg"),
                pool_pre_ping=True,
                pool_size=_CONNECTIONS,
                isolation_level="READ COMMITTED",  # who waited for the lock sees what was written meanwhile
            )
        except ImportError as error:
            raise UsageError(
                "a studio in PostgreSQL needs the package psycopg",
                remedy=remedy("'psycopg[binary]'", "postgres"),
            ) from error
    raise UsageError(
        "the studio is kept in a SQLite file or in PostgreSQL",
        given=kind,
        remedy="such as sqlite:///studio.db or postgresql://server/db",
    )


def _file(path: Path) -> sa.Engine:
    with contextlib.suppress(OSError):  # what is wrong is said when it is opened
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(path)),
        connect_args={"timeout": _WAIT, "check_same_thread": False},
        pool_size=_CONNECTIONS,
    )

    def prepare(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # transactions are begun below, not by the driver
        cursor = connection.cursor()
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "trusted_schema = OFF"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    def begin(connection: sa.Connection) -> None:
        writing = connection.get_execution_options().get("writing")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    sa.event.listen(engine, "connect", prepare)
    sa.event.listen(engine, "begin", begin)
    return engine
