"""In every family a method with a sixth of its noise is found out, and so are choices by numbers without noise.

Seeds are fixed; that the methods themselves are not accused is in ``test_methods`` and ``make test-slow``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headcount.accounting.budget import Grant
from headcount.bounds import Bound
from headcount.bounds.values.value_histograms import UserValues
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog
from headcount.lab.audit.audit import audit
from headcount.lab.audit.replay_audit import replay_audit
from headcount.lab.audit.target_registry import pairs_for, target
from headcount.methods.method import Method
from headcount.methods.recommender.co_occurrence import CoOccurrence
from headcount.methods.recommender.rating_model import RatingModel
from headcount.methods.recommender.visit_model import VisitModel
from headcount.methods.registry import build
from headcount.noise import NoiseSource
from headcount.releases.release import Release
from tests.mutants.audited.mutant import declared_one


@dataclass(frozen=True)
class Loud:
    """A method that spends six times what it was granted."""

    inner: Any

    @classmethod
    def build_method(cls, name: str, parameters: Mapping[str, Any]) -> Method:
        loud: Any = cls(build(name, parameters))
        method: Method = loud
        return method

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        grant.spend()
        released: Release = self.inner.release(log, Grant(6 * grant.epsilon), noise, engine)
        return released


@pytest.mark.parametrize(
    ("name", "pair", "runs"),
    [
        ("sra", "at the limit", 4_000),
        ("gs-r", "at the limit", 400),
        ("co-counts", "two items", 400),
        ("tag-model", "at the limit", 400),
        ("histogram", "a tie", 400),
        ("auto", "a tie", 400),
        ("residuals", "a tie", 400),
        pytest.param("quantiles", "beyond a tie", 1_000, marks=pytest.mark.slow),
        pytest.param("visits", "at the limit", 800, marks=pytest.mark.slow),
    ],
)
def test_too_little_noise_is_detected_in_every_family(name: str, pair: str, runs: int) -> None:
    pairs = [candidate for candidate in pairs_for(name, 2) if candidate.name == pair]
    broken = audit(replace(target(name, 2, Decimal(1)), make=Loud.build_method), pairs, runs)
    assert broken.violation, broken.sentence()


class HalfAPerson(LocalEngine):
    """Says of the weights of values that one person moves them by half of what they may."""

    def measure(self, log: EventLog, bound: Bound[Any], secret: bytes) -> Any:
        measured = super().measure(log, bound, secret)
        if not isinstance(bound, UserValues):
            return measured
        return declared_one(measured, measured.sensitivity.l1 // 2)


def test_noise_for_half_a_user_is_detected_in_quantiles() -> None:
    """All that a choice pays for is moved by one person: a replay sees the half that is not paid for."""
    audit_target, pairs = target("quantiles", 2, Decimal(1)), pairs_for("quantiles", 2)
    sound = replay_audit(audit_target, pairs)
    assert not sound.violation, sound.sentence()
    assert max(pair_result.epsilon for pair_result in sound.pairs) == 1
    broken = replay_audit(replace(audit_target, engine=HalfAPerson), pairs)
    assert broken.violation
    assert "spreads 2 of what is declared" in broken.sentence()


@dataclass(frozen=True, kw_only=True)
class ChoosesByCounts(CoOccurrence):
    """Counts pairs of the items that most people really have."""

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        honest = super().release(log, grant, noise, engine)
        most = most_common(log, self.items)
        table = honest.tables["model/pairs"]
        pairs = [(first, other) for first in most for other in most if first < other]
        named = [pa.array([pair[place] for pair in pairs]) for place in (0, 1)]
        table = table.set_column(0, "item", named[0]).set_column(1, "other", named[1])
        return replace(honest, tables={**honest.tables, "model/pairs": table})


@dataclass(frozen=True, kw_only=True)
class ComparesByCounts(RatingModel):
    """Releases relations of the items that really have most ratings."""

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        honest = super().release(log, grant, noise, engine)
        table = honest.tables["model/factors"]
        named = pa.array(most_common(log, table.num_rows))
        tables = {**honest.tables, "model/factors": table.set_column(0, "item", named)}
        return replace(honest, tables=tables)


@dataclass(frozen=True, kw_only=True)
class RelatesByCounts(VisitModel):
    """Releases factors of the items that people really have."""

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        honest = super().release(log, grant, noise, engine)
        table = honest.tables["model/factors"]
        named = pa.array(most_common(log, table.num_rows))
        return replace(honest, tables={**honest.tables, "model/factors": table.set_column(0, "item", named)})


def most_common(log: EventLog, many: int) -> list[int]:
    """Return the items with most ratings, without any noise."""
    listed = [item for batch in log.source.batches([log.roles.item]) for item in batch.column(0).to_pylist()]
    counts = np.bincount(np.array(listed, dtype=np.int64), minlength=len(log.catalogue.ids))
    return [int(place) for place in np.sort(np.argsort(-counts, kind="stable")[:many])]


BROKEN: Mapping[str, Any] = {"co-counts": ChoosesByCounts, "private": ComparesByCounts, "visits": RelatesByCounts}
DELTAS = {"visits": Decimal("1e-6")}
"""Of those that relate items with δ alone."""


def mutant_method(name: str, parameters: Mapping[str, Any]) -> Method:
    method: Method = BROKEN[name](**parameters)
    return method


@pytest.mark.parametrize("name", ["co-counts", "private", pytest.param("visits", marks=pytest.mark.slow)])
def test_items_selected_without_noise_are_detected(name: str) -> None:
    """At the price of ε = 1 all items are as likely to be left out, but for a little."""
    pairs = [pair for pair in pairs_for(name, 2) if pair.name == "one item too many"]
    audit_target = target(name, 2, Decimal(1), DELTAS.get(name, Decimal(0)))
    result = audit(replace(audit_target, make=mutant_method), pairs, 120)
    assert result.violation, result.sentence()
