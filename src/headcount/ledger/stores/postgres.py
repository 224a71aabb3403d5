"""PostgreSQL store of a ledger, for teams."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from headcount._internal.extras import remedy
from headcount.errors import SurroundingsError, UsageError
from headcount.ledger.stores.store import WAIT, Store
from headcount.ledger.stores.transactions import EngineTransaction, Transaction


class PostgresStore(Store):
    """A ledger in a PostgreSQL database."""

    kind = "postgresql"

    def __init__(self, url: str) -> None:
        try:
            self.url = sa.make_url(url).set(drivername="postgresql+psycopg")
        except sa.exc.ArgumentError as error:
            raise UsageError(
                "this is no URL of a PostgreSQL database", remedy="such as postgresql://server/db"
            ) from error
        super().__init__(self.url.set(drivername="postgresql").render_as_string(hide_password=True))

    @contextlib.contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Open a transaction that sees one state of the database, and changes nothing."""
        with self._explain_errors(), self.engine.connect() as connection:
            connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield EngineTransaction(connection)

    def _has_tables(self, run: Transaction) -> bool:
        # a scan of the catalogue: to_regclass may answer from before the lock that was waited for
        row = run.first_row(
            "SELECT 1 FROM pg_catalog.pg_class "
            "WHERE relname = 'headcount_schema' AND pg_catalog.pg_table_is_visible(oid)"
        )
        return row is not None

    def _connect(self) -> sa.Engine:
        try:  # whoever waited for the lock must see what was written meanwhile, whatever the server's default
            engine = sa.create_engine(self.url, pool_pre_ping=True, isolation_level="READ COMMITTED")
        except ImportError as error:
            raise UsageError(
                "a PostgreSQL ledger needs the package psycopg",
                remedy=remedy("'psycopg[binary]'", "postgres"),
            ) from error

        def prepare(connection: Any, _record: object) -> None:
            with connection.cursor() as cursor:
                cursor.execute("SELECT current_setting('fsync'), current_setting('synchronous_commit')")
                fsync, commit = cursor.fetchone()
                if fsync == "off":
                    raise SurroundingsError(
                        f"the server of {self.shown} runs with fsync = off and may lose what it acknowledged",
                        remedy="set fsync = on in postgresql.conf",
                    )
                if commit == "off":
                    cursor.execute("SET synchronous_commit = on")
                cursor.execute(f"SET lock_timeout = '{WAIT}s'")
            connection.commit()

        sa.event.listen(engine, "connect", prepare)
        return engine

    def _lock(self, run: Transaction) -> None:
        run.first_row("SELECT id FROM headcount_ledger WHERE id = 1 FOR UPDATE")

    def _lock_schema(self, run: Transaction) -> None:
        run.first_row("SELECT pg_advisory_xact_lock(7238015)")

    def _explain(self, cause: BaseException) -> tuple[str, str]:
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
