"""The ledger against a model of ten lines, over every sequence of steps that Hypothesis can think of."""

from __future__ import annotations

import json
import shutil
import tempfile
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from headcount.errors import RefusedError, UsageError
from headcount.ledger import Charge, Issued, Reservation
from tests.support.ledger_stores import Place

EPSILONS = st.sampled_from(["0.1", "0.25", "0.7", "1", "1.3"]).map(Decimal)
ANALYSTS = st.sampled_from(["ann", "bob"])
REQUESTS = st.integers(0, 3).map(lambda number: json.dumps({"k": number}))
VERSIONS = st.sampled_from(["w1", "w2", None])
WHOLE, PER_ANALYST = Decimal(3), Decimal(2)


class Model:
    """What a ledger does, without any of its care."""

    def __init__(self) -> None:
        self.spent: dict[int, tuple[str, Decimal]] = {}
        self.published: dict[tuple[str | None, str], str] = {}
        self.allowed: dict[str, Decimal] = {}

    def total(self, analyst: str | None = None) -> Decimal:
        return sum((cost for who, cost in self.spent.values() if analyst in (None, who)), Decimal(0))

    def affords(self, analyst: str, cost: Decimal) -> bool:
        return self.total() + cost <= WHOLE and self.total(analyst) + cost <= self.allowance_of(analyst)

    def allowance_of(self, analyst: str) -> Decimal:
        return self.allowed.get(analyst, PER_ANALYST)


class LedgerMachine(RuleBasedStateMachine):
    reserved, reading = Bundle("reserved"), Bundle("reading")

    @initialize()
    def create(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.place = Place(f"sqlite:///{self.folder}/headcount.db", self.folder)
        self.ledger = self.place.open()
        self.ledger.create("visits", WHOLE, per_analyst=PER_ANALYST)
        self.model, self.entries = Model(), 1

    def teardown(self) -> None:
        if hasattr(self, "place"):
            assert self.ledger.verify().ok
            self.place.close()
            shutil.rmtree(self.folder)

    @rule(
        target=reserved,
        epsilon=EPSILONS,
        analyst=ANALYSTS,
        request=REQUESTS,
        version=VERSIONS,
        again=st.booleans(),
    )
    def reserve(
        self, epsilon: Decimal, analyst: str, request: str, version: str | None, again: bool
    ) -> Reservation | None:
        published = None if again else self.model.published.get((version, request))
        try:
            reservation = self.ledger.reserve(
                "visits", version, analyst, request, "c", Charge(epsilon), again=again
            )
        except RefusedError:
            assert published is None
            assert not self.model.affords(analyst, epsilon)
            return None
        if isinstance(reservation, Issued):
            assert reservation.folder == published
            return None
        assert published is None
        assert self.model.affords(analyst, epsilon)
        self.entries += 1
        assert reservation.entry == self.entries
        self.model.spent[reservation.entry] = (analyst, epsilon)
        vars(reservation)["asked"] = (version, request)
        return reservation

    @rule(target=reading, reservation=consumes(reserved))
    def read(self, reservation: Reservation | None) -> Reservation | None:
        if reservation is not None:
            reservation.data_read()
        return reservation

    @rule(reservation=consumes(reserved))
    def refund(self, reservation: Reservation | None) -> None:
        if reservation is not None:
            reservation.refund("no file")
            del self.model.spent[reservation.entry]
            self.entries += 1

    @rule(reservation=reading)
    def refund_too_late(self, reservation: Reservation | None) -> None:
        if reservation is not None:
            with pytest.raises(UsageError):
                reservation.refund("a null")

    @rule(reservation=consumes(reading))
    def publish(self, reservation: Reservation | None) -> None:
        if reservation is not None:
            reservation.issue(f"out/{reservation.entry}", "digest")
            self.model.published[vars(reservation)["asked"]] = f"out/{reservation.entry}"
            self.entries += 1

    @rule(analyst=ANALYSTS, epsilon=st.sampled_from(["0", "0.6", "1.5", "2.5", "3.5"]).map(Decimal))
    def allow(self, analyst: str, epsilon: Decimal) -> None:
        try:
            self.ledger.allow("visits", analyst, epsilon)
        except (RefusedError, UsageError):
            assert epsilon > WHOLE or epsilon < self.model.total(analyst)
            return
        assert self.model.total(analyst) <= epsilon <= WHOLE
        self.model.allowed[analyst] = epsilon
        self.entries += 1

    @rule()
    def reopen(self) -> None:
        self.ledger.close()  # reservations at hand go on with the new connection

    @invariant()
    def agrees_with_the_model(self) -> None:
        if not hasattr(self, "place"):
            return
        account = self.ledger.show("visits")
        assert account.epsilon == self.model.total() <= WHOLE
        for analyst in account.analysts:
            assert analyst.analyst is not None
            assert (
                analyst.epsilon
                == self.model.total(analyst.analyst)
                <= self.model.allowance_of(analyst.analyst)
                == analyst.most
            )


TestLedger = LedgerMachine.TestCase
TestLedger.settings = settings(
    max_examples=25,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
