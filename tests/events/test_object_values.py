"""Values of object columns: the text of each value depends on that value alone, and none makes reading fail."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from headcount.events.frames import texts_of


@pytest.mark.parametrize(
    "equal",
    [
        (0.0, -0.0),
        (np.float64(0), np.float64(-0.0)),
        (1, True),
        (1, 1.0),
        (Decimal("1.0"), Decimal("1.00")),
        (datetime(2026, 10, 25, 2, tzinfo=UTC), pd.Timestamp("2026-10-25 03:00", tz="Europe/Zurich")),
        (pd.Timestamp("2026-01-01", tz="UTC"), pd.Timestamp("2026-01-01 01:00", tz="Europe/Zurich")),
    ],
    ids=repr,
)
def test_equal_values_of_different_text_keep_their_own_text(equal: tuple[Any, Any]) -> None:
    assert equal[0] == equal[1]
    alone = [texts_of([value])[0].as_py() for value in equal]
    assert alone[0] != alone[1]
    assert texts_of(equal).to_pylist() == alone
    assert texts_of(equal[::-1]).to_pylist() == alone[::-1]


def test_an_early_row_does_not_change_the_items_of_other_users(items: Any) -> None:
    rows = pd.DataFrame({"user": ["ann", "bob"], "item": [0.0, 0.0]}, dtype=object)
    more = pd.concat([pd.DataFrame({"user": ["zed"], "item": [-0.0]}, dtype=object), rows])
    counts = [items(frame, ["0.0", "-0.0"]) for frame in (rows, more.reset_index(drop=True))]
    assert counts == [{"0.0": 2}, {"0.0": 2, "-0.0": 1}]


def test_numbers_of_equal_hash_take_no_longer() -> None:
    def seconds(step: int) -> float:
        values = [place * step for place in range(20_000)]
        begin = time.process_time()
        texts_of(values)
        return time.process_time() - begin

    assert seconds(2**61 - 1) < 10 * seconds(2**61 + 1) + 0.5  # with a table of hashes, about 20 seconds
