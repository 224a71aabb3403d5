"""The ratings of a log: one for each pair of user and item, within the declared range."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from headcount.errors import UsageError
from headcount.events.log import EventLog, read_events
from headcount.lab.recommender.raw_ratings import ratings_of

ROWS = pa.table(
    {
        "who": ["ann", "bob", "ann", "ann", "bob", "cyn"],
        "what": ["tea", "rye", "tea", "rye", "elsewhere", "oat"],
        "stars": [1.0, 9.0, 4.0, 2.0, 3.0, -2.0],
        "many": [1, 1, 3, 1, 1, 0],
    }
)


def read(**words: Any) -> EventLog:
    usual = {"items": "rye,tea,oat", "value": "stars", "value_range": "1,5"}
    return read_events(ROWS, user="who", item="what", **(usual | words))


def pairs(log: EventLog) -> dict[tuple[int, int], float]:
    ratings, _ = ratings_of(log)
    places = zip(ratings.users.tolist(), ratings.items.tolist(), strict=True)
    return dict(zip(places, ratings.values.tolist(), strict=True))


def test_repeats_become_their_mean_and_values_are_cut_to_the_range() -> None:
    assert pairs(read()) == {(0, 0): 2.0, (0, 1): 2.5, (1, 0): 5.0, (2, 2): 1.0}


def test_a_row_weighs_as_many_records_as_it_stands_for() -> None:
    assert pairs(read(times="many")) == {(0, 0): 2.0, (0, 1): 3.25, (1, 0): 5.0}


def test_conditions_hold() -> None:
    assert pairs(read(where="stars < 2")) == {(0, 1): 1.0, (1, 2): 1.0}
    assert pairs(read(where="stars > 100")) == {}


def test_users_of_raw_ratings_are_identified_by_their_ids() -> None:
    assert ratings_of(read()).people == {"ann": 0, "bob": 1, "cyn": 2}
    assert ratings_of(read(items="rye,tea")).people == {"ann": 0, "bob": 1}
    numbered = read_events(
        pa.table({"u": [70, 7], "i": ["a", "a"], "r": [1, 2]}),
        user="u", item="i", items="a", value="r", value_range="1,5",
    )  # fmt: skip
    assert ratings_of(numbered).people == {"70": 0, "7": 1}


def test_what_has_no_ratings_is_refused() -> None:
    with pytest.raises(UsageError, match="ratings need a value"):
        ratings_of(read(value=None, value_range=None))
    with pytest.raises(UsageError, match="ratings need a catalogue"):
        ratings_of(read(items=None, select_items=True))
