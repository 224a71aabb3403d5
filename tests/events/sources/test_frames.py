"""Values of object columns: the text of each value depends on that value alone, and none makes reading fail."""

from __future__ import annotations

import time
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from headcount.events.sources.frames import texts_of


class Unhashable(str):
    __slots__ = ()

    def __hash__(self) -> int:
        raise ValueError


class Unequal(str):
    __slots__ = ()

    def encode(self, *_: Any) -> bytes:
        return b""


class Raising:
    @property
    def item(self) -> Any:
        raise RuntimeError


class Nowhere(tzinfo):
    def utcoffset(self, _: datetime | None) -> Any:
        raise ValueError

    dst = tzname = utcoffset


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


@pytest.mark.parametrize(
    "value",
    [10**5_000, -(10**5_000), "\ud800", Unequal("\ud800"), Raising(), datetime(2026, 1, 1, tzinfo=Nowhere())],
    ids=["digits", "negative digits", "surrogate", "text that lies", "property", "time zone"],
)
def test_a_value_that_has_no_text_is_missing(value: object, items: Any) -> None:
    for name in ("user", "item"):
        rows: dict[str, list[object]] = {"user": ["ann", "bob"], "item": ["tea", "tea"]}
        rows[name][1] = value
        assert items(pd.DataFrame(rows, dtype=object)) == {"tea": 1}


def test_a_text_of_an_own_class_is_text() -> None:
    assert texts_of([Unhashable("tea"), Unequal("tea")]).to_pylist() == ["tea", "tea"]


def test_long_texts_of_objects_take_no_memory_and_are_missing(items: Any) -> None:
    (text,) = texts_of(["é" * 100_000]).to_pylist()
    assert len(text) < 2_100
    assert items(pd.DataFrame({"user": ["ann", "b" * 100_000], "item": ["tea", "tea"]}, dtype=object)) == {
        "tea": 1
    }
