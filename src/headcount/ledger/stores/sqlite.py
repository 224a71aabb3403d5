"""SQLite store of a ledger."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headcount.errors import RefusedError, SurroundingsError, UsageError
from headcount.ledger.stores.store import WAIT, Store
from headcount.ledger.stores.transactions import FileTransaction, Transaction
from headcount.releases.folder_integrity import refuse_special

if TYPE_CHECKING:
    import sqlalchemy as sa


_NO_INDEX = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)


def _code_of(error: BaseException) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


class SQLiteStore(Store):
    """A ledger in a SQLite file."""

    kind = "sqlite"

    def __init__(self, url: str) -> None:
        name = url.removeprefix("sqlite://")
        if not name.startswith("/") or name[1:] in ("", ":memory:") or name.startswith("/file:") or "?" in name:
            raise UsageError(
                "a SQLite ledger is kept in a file that is named without options",
                given=url,
                remedy="such as sqlite:///headcount.db",
            )
        self.path = Path(name[1:]).absolute()
        refuse_special(self.path)
        self._inode = 0
        super().__init__(url)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Open a transaction that sees one state of the file, and changes nothing."""
        with self._explain_errors():
            self._prepare()
            with contextlib.closing(self._connect_to_read()) as connection:
                connection.execute("BEGIN")
                yield FileTransaction(connection)

    def _connect_to_read(self) -> sqlite3.Connection:
        """Open the file without need of write access to it.

        Where its folder is not writable either, SQLite cannot make its index of the newest entries. Without such
        entries, in the file that ends in ``-wal``, the database is complete as it is.
        """
        connection = self._open_to_read("mode=rw")
        try:
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        except sqlite3.OperationalError as error:
            connection.close()
            ahead = Path(f"{self.path}-wal")
            if _code_of(error) not in _NO_INDEX or (ahead.exists() and ahead.stat().st_size):
                raise
            connection = self._open_to_read("immutable=1")
        return connection

    def _open_to_read(self, how: str) -> sqlite3.Connection:
        connection = sqlite3.connect(f"{self.path.as_uri()}?{how}", uri=True, timeout=WAIT, isolation_level=None)
        connection.execute("PRAGMA query_only = ON")
        return connection

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
        self._check_mode()

    def _check_mode(self) -> None:
        """Refuse a file that anybody on the machine may write to; a group may share it."""
        try:
            mode = self.path.stat().st_mode
        except OSError:  # it is not there yet, or what is wrong is said when it is opened
            return
        if os.name == "posix" and mode & stat.S_IWOTH:
            raise RefusedError(
                f"anybody may write to the ledger {self.path} (mode {stat.S_IMODE(mode):04o})",
                remedy=f"run `chmod o-w {self.path}`, then `headcount ledger verify`",
            )

    def _settle(self) -> None:
        with self._explain_errors(), contextlib.closing(sqlite3.connect(self.path, timeout=WAIT)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

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

    def _transaction(self, connection: sa.Connection) -> Transaction:
        # SQLAlchemy pools and commits; statements go to the driver itself, in a third of the time
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)  # noqa: S101
        return FileTransaction(driver)

    def _has_tables(self, run: Transaction) -> bool:
        return run.first_row("SELECT 1 FROM sqlite_master WHERE name = 'headcount_schema'") is not None

    def _connect(self) -> sa.Engine:
        import sqlalchemy as sa

        self._check_mode()
        with contextlib.suppress(OSError):  # what is wrong is said when it is opened
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        url = sa.URL.create("sqlite", database=str(self.path))
        engine = sa.create_engine(url, connect_args={"timeout": WAIT})

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
            connection.exec_driver_sql("BEGIN IMMEDIATE")

        sa.event.listen(engine, "connect", prepare)
        sa.event.listen(engine, "begin", begin)
        return engine

    def _explain(self, cause: BaseException) -> tuple[str, str]:
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
        }.get(_code_of(cause), ("failed", "run `headcount ledger verify`"))
