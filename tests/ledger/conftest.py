"""A real PostgreSQL server, and places for ledgers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import servers
from tests.support.ledger_stores import COUNTER, KINDS, NewPlace, Place


@pytest.fixture(scope="session")
def postgres() -> Any:
    """A PostgreSQL server."""
    return servers.postgres()


@pytest.fixture
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewPlace]:
    """Make a place of either kind."""
    places: list[Place] = []

    def make(kind: str) -> Place:
        folder = tmp_path / f"place-{next(COUNTER)}"
        folder.mkdir()
        if kind == "sqlite":
            places.append(Place(f"sqlite:///{folder}/headcount.db", folder))
            return places[-1]
        places.append(Place(servers.new_schema(), folder))
        return places[-1]

    yield make
    for place in places:
        place.close()


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, new_place: NewPlace) -> Place:
    """Every kind of place, in turn."""
    return new_place(request.param)


@pytest.fixture
def sqlite_place(new_place: NewPlace) -> Place:
    """A SQLite file."""
    return new_place("sqlite")
