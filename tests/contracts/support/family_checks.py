"""Contract checks of proven methods of every family; see method_checks for methods of counts."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headcount.accounting.budget import Grant
from headcount.accounting.guarantee import Guarantee, Standing
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.errors import GrantError
from headcount.events.log import EventLog
from headcount.methods.method import Method, section
from headcount.methods.request import ChargedRequest
from headcount.noise import SeededNoise
from headcount.releases.release import Release, load
from tests.contracts.support.method_checks import _with_parts, recorded_spending
from tests.contracts.support.recording_engine import Asking, check_engine_validates_before_reading
from tests.reference.engine import ReferenceEngine
from tests.support.curator_runs import ran


@dataclass(frozen=True)
class Case:
    """A method of a family, logs to release with it that differ in nothing public, and how it is asked for.

    ``rows`` says whether the reference engine can run it too.
    """

    method: Method
    log: EventLog
    other: EventLog
    request: ChargedRequest
    delta: str | None = None
    on_reference: bool = True

    def grant(self, epsilon: str = "0.7") -> Grant:
        """Return a grant of what the method needs."""
        return Grant(epsilon, self.delta)

    def release(self, log: EventLog | None = None, *, seed: int = 1, engine: Engine | None = None) -> Release:
        """Return a seeded release."""
        return self.method.release(log or self.log, self.grant(), SeededNoise(seed), engine)


def check_spends_exactly(case: Case) -> None:
    """The whole grant is spent, nothing but the grant is spent, and nothing is left to spend."""
    grant = case.grant()
    with recorded_spending() as spent:
        case.method.release(case.log, grant, SeededNoise(1))
    assert grant.is_spent, "a part of the grant is left unspent"
    own = set(map(id, _with_parts(grant)))
    assert all(id(grant) in own for grant in spent), "a grant was spent that nobody handed over"
    for act in (grant.spend, lambda: grant.split({"a": Decimal(1)}, {"a": Decimal(1)} if case.delta else None)):
        with pytest.raises(GrantError):
            act()


def check_refuses_a_spent_grant(case: Case) -> None:
    """A grant that is spent already buys nothing."""
    spent = case.grant()
    spent.spend()
    with pytest.raises(GrantError):
        case.method.release(case.log, spent, SeededNoise(1))


def check_promises_the_grant(case: Case) -> None:
    """The guarantee is the grant's, known without data, and free to ask for; so is the noise that is announced."""
    grant = case.grant()
    promised = case.method.guarantee(grant)
    case.method.noise_distributions(case.log, grant)
    assert not grant.is_spent, "asking what is promised spent the grant"
    assert (promised.epsilon, promised.delta) == (Decimal("0.7"), Decimal(case.delta or 0))
    assert promised.standing is Standing.PROVEN
    assert promised.assumes, "does not say what it takes for granted"
    assert Guarantee.from_json(json.loads(json.dumps(promised.to_json()))) == promised
    assert case.release().guarantee == promised


def check_announces_its_noise(case: Case) -> None:
    """The noise announced without data is the noise that is drawn."""
    announced, drawn = case.method.noise_distributions(case.log, case.grant()), case.release().noise
    assert announced.items() <= dict(drawn).items()


def check_marks_simulation(case: Case) -> None:
    """Seeded output says that it is simulated: in the value, in its story and in its file."""
    release = case.release()
    assert release.simulated
    assert not release.is_private
    assert "not private" in release.explain()
    assert release.to_json()["simulated"] is True


def check_round_trips(case: Case) -> None:
    """A saved release reads back as it was: tables, guarantee, laws and story."""
    release = case.release()
    with tempfile.TemporaryDirectory() as folder:
        back = load(release.save(Path(folder) / "kept"))
    assert back.to_json() == release.to_json()
    assert {name: table.to_pydict() for name, table in back.tables.items()} == {
        name: table.to_pydict() for name, table in release.tables.items()
    }


def check_engines_agree(case: Case) -> None:
    """The same seed gives the same release on every engine."""
    if not case.on_reference:
        return
    local, two = case.release(engine=LocalEngine()), case.release(engine=ReferenceEngine())
    assert _values(local) == _values(two)


def check_order_of_rows(case: Case) -> None:
    """The same records in another order give the same release."""
    table = pa.Table.from_batches(list(case.log.source.batches(case.log.source.names)))
    turned = table.take(pa.array(range(table.num_rows - 1, -1, -1)))
    source = type(case.log.source)(turned)  # type: ignore[call-arg]
    assert _values(case.release()) == _values(case.release(dataclasses.replace(case.log, source=source)))


def check_hides_the_log(case: Case) -> None:
    """Of two logs that differ in nothing public, the releases have the same tables, columns and rows of items."""
    before, two = case.release(), case.release(case.other)
    assert before.to_json().keys() == two.to_json().keys()
    assert before.noise.keys() == two.noise.keys()
    for name in before.tables.keys() & two.tables.keys():
        assert before.tables[name].column_names == two.tables[name].column_names
    assert (before.catalogue, before.guarantee, before.counts) == (two.catalogue, two.guarantee, two.counts)


def check_is_documented(case: Case) -> None:
    """The file says why it is private, and the method is a frozen value without a seed."""
    assert len(section(type(case.method), "Why it is private")) > 100
    assert section(type(case.method), "Reference")
    with pytest.raises(dataclasses.FrozenInstanceError):
        case.method.limit = 1  # type: ignore[attr-defined]
    names = {field.name for field in dataclasses.fields(case.method)}  # type: ignore[arg-type]
    assert not names & {"seed", "random_state"}


def check_requests_round_trip_and_run(case: Case) -> None:
    """A request survives JSON, builds this method, and the curator runs it with real noise."""
    request = case.request
    assert type(request).model_validate_json(request.model_dump_json()) == request
    assert type(request.build()) is type(case.method)
    release = ran(request, case.log)
    assert release.is_private
    assert release.request.keys() == {"events", request.command}
    assert release.guarantee == request.guarantee()


def check_asks_for_what_it_declares(case: Case) -> None:
    """An engine is asked for nothing but the kinds of bounds that the method declares."""
    engine = Asking()
    case.release(engine=engine)
    engine.check_declared(case.method)


def check_engine_that_cannot_is_refused(case: Case) -> None:
    """An engine that lacks one of them is refused before anything is reserved."""
    check_engine_validates_before_reading(case.request, case.log)


def _values(release: Release) -> dict[str, Any]:
    return {name: table.to_pydict() for name, table in release.tables.items()}


CHECKS: tuple[Callable[[Case], None], ...] = (
    check_spends_exactly,
    check_refuses_a_spent_grant,
    check_promises_the_grant,
    check_announces_its_noise,
    check_marks_simulation,
    check_round_trips,
    check_engines_agree,
    check_order_of_rows,
    check_hides_the_log,
    check_is_documented,
    check_requests_round_trip_and_run,
    check_asks_for_what_it_declares,
    check_engine_that_cannot_is_refused,
)
