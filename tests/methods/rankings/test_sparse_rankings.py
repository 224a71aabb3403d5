"""Rankings of many cells: the same rankings, promises and prices, without the cells that nobody is in.

That the law is the same is tested in ``tests/noise/selection/test_top_k_sparse.py``. Here the threshold is put
down to 0, so that small logs go the way of large ones; where ε is huge, what is released is what was counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from headcount.accounting.budget import Grant
from headcount.bounds import BoundedCounts, CountBound, CountTable
from headcount.bounds.counts.users_per_column import SparseCounts, UsersPerColumn
from headcount.engines.local.engine import LocalEngine
from headcount.engines.local.pack import pack
from headcount.events.catalogue import Catalogue
from headcount.events.log import EventLog, read_events
from headcount.methods.rankings import top_k
from headcount.methods.rankings.top_k import DirectTopK
from headcount.noise import OperatingSystemNoise, SeededNoise, laplace, scale_for
from headcount.noise.selection import top_k as peeling
from tests.contracts.support.method_checks import CONTEXTS, EPSILON, recorded_spending, town
from tests.methods.rankings.test_top_k import EXACT, LOSSES, SHAPES, Once, compare
from tests.reference.engine import ReferenceEngine
from tests.reference.engine_in_parts import InParts
from tests.support.distributions import LEVEL
from tests.support.small_logs import scale_of

shapes = pytest.mark.parametrize("method", SHAPES.values(), ids=SHAPES)


@pytest.fixture
def _sparse() -> Iterator[None]:
    with mock.patch.object(top_k, "MANY_CELLS", 0):
        yield


class NoDenseCounts(InParts):
    """Refuses to count densely."""

    def count(self, log: EventLog, bound: CountBound, secret: bytes) -> BoundedCounts:
        raise AssertionError("counted all cells")


class NoSparseCounts(InParts):
    """Refuses to count sparsely."""

    def sparse(self, log: EventLog, table: CountTable, secret: bytes) -> SparseCounts:
        raise AssertionError("left cells out")


def test_the_number_of_cells_decides() -> None:
    log, method = town(), DirectTopK(k=2)
    for cells, engine in ((log.cells, NoSparseCounts()), (log.cells - 1, NoDenseCounts())):
        with mock.patch.object(top_k, "MANY_CELLS", cells):
            method.release(log, Grant(EPSILON), SeededNoise(1), engine)
    assert top_k.MANY_CELLS == 2**22


@pytest.mark.usefixtures("_sparse")
@pytest.mark.parametrize("context_of", ["record", "user"])
@pytest.mark.parametrize("per_context", [False, True])
def test_counts_what_the_dense_way_counts(context_of: Any, per_context: bool, tmp_path: Path) -> None:
    """Every item, with counts, zeros among them, of nearly no noise: from every engine and from a packed store."""
    log = replace(town(users=12, items=30), context_of=context_of)
    stored = replace(read_events(pack(log, tmp_path / "store")), context_of=context_of)
    method = DirectTopK(k=30, per_context=per_context, with_counts=True)

    def rows(log: EventLog, engine: Any) -> list[tuple[Any, ...]]:
        with mock.patch.object(top_k, "FEW_ROUNDS", 10**6):
            table = method.release(log, Grant(EXACT), SeededNoise(1), engine).ranking
        return sorted((row.get("context", ""), row["item"], row["count"]) for row in table.to_pylist())

    with mock.patch.object(top_k, "MANY_CELLS", 2**22):
        dense = rows(log, ReferenceEngine())
    assert 0 in {count for *_, count in dense}
    for source, engine in ((log, ReferenceEngine()), (log, NoDenseCounts()), (stored, NoDenseCounts())):
        assert rows(source, engine) == dense


@pytest.mark.usefixtures("_sparse")
@shapes
@pytest.mark.parametrize("context_of", ["record", "user"])
def test_spends_exactly_the_grant(method: DirectTopK, context_of: Any) -> None:
    grant, log = Grant(EPSILON), replace(town(), context_of=context_of)
    with recorded_spending() as spent:
        release = method.release(log, grant, SeededNoise(1), ReferenceEngine())
    assert grant.is_spent
    rankings, stages = len(CONTEXTS) if method.per_context else 1, 2 if method.with_counts else 1
    ranking_budget = Fraction(EPSILON) if context_of == "user" else Fraction(EPSILON) / rankings
    assert [part.exact for part in spent] == [ranking_budget / stages] * (rankings * stages)
    assert all(scale_of(law) == scale_for(method.k, ranking_budget / stages) for law in release.noise.values())
    assert method.noise_distributions(log, Grant(EPSILON)) == release.noise


@shapes
@pytest.mark.parametrize("context_of", ["record", "user"])
def test_equals_the_dense_ranking_in_public_parts(method: DirectTopK, context_of: Any) -> None:
    """Which way it went shows nowhere, and neither does the log."""
    descriptions = []
    for cells in (0, 2**22):
        for log in (town(), town(users=0), town(users=1, most=1)):
            with mock.patch.object(top_k, "MANY_CELLS", cells):
                release = method.release(
                    replace(log, context_of=context_of), Grant(EPSILON), OperatingSystemNoise(), LocalEngine()
                )
            described = {key: value for key, value in release.to_json().items() if key != "created"}
            descriptions.append((described, release.sentences(), release.ranking.schema, release.ranking.num_rows))
    assert all(description == descriptions[0] for description in descriptions)


class OnceSparsely(Once):
    """Counts each log once, sparsely too."""

    def __init__(self) -> None:
        super().__init__()
        self._sparse: dict[tuple[int, str], tuple[EventLog, SparseCounts]] = {}

    def sparse(self, log: EventLog, table: CountTable, secret: bytes) -> SparseCounts:
        key = (id(log.source), f"{log.context_of} {table}")
        if key not in self._sparse:
            self._sparse[key] = (log, ReferenceEngine().measure(log, UsersPerColumn(table), secret))
        return self._sparse[key][1]


@pytest.mark.slow
@pytest.mark.usefixtures("_sparse")
@pytest.mark.parametrize(("method", "context_of"), LOSSES, ids=repr)
def test_the_privacy_loss_is_at_most_epsilon(method: DirectTopK, context_of: str) -> None:
    with mock.patch("tests.methods.rankings.test_top_k.Once", OnceSparsely):
        assert compare(method, 2_000, context_of=context_of) > LEVEL


class OncePerRecord(OnceSparsely):
    """Counts people once per record, and seals it all the same."""

    def sparse(self, log: EventLog, table: CountTable, secret: bytes) -> SparseCounts:
        counts = ReferenceEngine().measure(replace(log, counting="records"), top_k.EVERYTHING, secret)
        values = getattr(counts, table).sensitive_values.ravel()
        there = np.flatnonzero(values)
        return UsersPerColumn.seal(there.astype(np.int32), values[there].astype(np.int32), values.size)


@pytest.mark.usefixtures("_sparse")
def test_counting_a_user_once_per_record_is_rejected() -> None:
    with mock.patch("tests.methods.rankings.test_top_k.Once", OncePerRecord):
        assert compare(DirectTopK(k=1), 1_000) < LEVEL


def test_a_catalogue_of_millions_is_ranked() -> None:
    """Five million items, of which three have people."""
    rows = [(n, item) for item, people in ((4_999_999, 60), (17, 40), (2_500_000, 20)) for n in range(people)]
    log = EventLog.of(rows, items=[1])
    log = replace(log, catalogue=Catalogue.of(range(5_000_000)))
    with mock.patch.object(laplace, "confirm"), mock.patch.object(peeling, "confirm"):
        release = DirectTopK(k=3, with_counts=True).release(log, Grant("50"), SeededNoise(1), NoDenseCounts())
    assert release.ranking["item"].to_pylist() == [4_999_999, 17, 2_500_000]
    assert release.ranking["count"].to_pylist() == [60, 40, 20]
