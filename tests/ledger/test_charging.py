"""Releases that are charged, on both kinds of stores."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

import headcount as hc
from headcount.errors import RefusedError
from tests.support.ledger_stores import Place


def test_reserve_read_publish_reuse_and_refuse(place: Place, tmp_path: Path) -> None:
    ledger = place.open()
    ledger.create("town", "2", per_analyst="1.5")
    log = hc.EventLog.of([("ann", "tea"), ("bob", "rye")], items=["rye", "tea"])
    release = hc.release(log, epsilon="1", ledger=ledger, dataset="town@1", analyst="ann")
    release.save(tmp_path / "a")
    assert hc.release(log, epsilon="1", ledger=ledger, dataset="town@1", analyst="bob") == hc.load(tmp_path / "a")
    with pytest.raises(RefusedError, match="ann on town has spent"):
        hc.release(log, epsilon="1", ledger=ledger, dataset="town@2", analyst="ann")
    hc.release(log, epsilon="1", ledger=ledger, dataset="town@2", analyst="bob")
    with pytest.raises(RefusedError, match="town has spent"):
        hc.rank(log, k=1, epsilon="0.1", ledger=ledger, dataset="town", analyst="ann")
    account = ledger.show("town")
    assert (account.left, account.issued, account.open) == (Decimal(0), 1, 1)
    assert release.ledger is not None
    assert ledger.verify([(release.ledger["entry"], release.ledger["head"])]).ok
