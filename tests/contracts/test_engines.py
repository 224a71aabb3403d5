"""Every engine keeps every contract."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headcount.engines.engine import Engine
from headcount.engines.local import LocalEngine
from headcount.engines.reference import ReferenceEngine
from tests.contracts import engine_checks

ENGINES: dict[str, Callable[[], Engine]] = {
    "reference": ReferenceEngine,
    "local": LocalEngine,
    "local, one thread": lambda: LocalEngine(threads=1),
    "local, four threads, 64 bytes": lambda: LocalEngine(threads=4, memory=64),
    "local, three threads, 2 kB": lambda: LocalEngine(threads=3, memory=2_000),
}


HEAVY = {engine_checks.check_law_of_the_choice}  # for the reference and one engine; the others equal it anyway


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("check", engine_checks.CHECKS, ids=lambda check: str(check.__name__))
def test_contract(check: Callable[[Engine], None], name: str) -> None:
    if check not in HEAVY or name in ("reference", "local"):
        check(ENGINES[name]())
