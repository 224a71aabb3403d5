"""Public scores of items: what is read, in which order, by which digest; and what is wrong with others."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.errors import CallerError, UsageError
from headcount.methods.counts.public_scores import PublicScores

PLAIN = {"tea": 12, "rye": 0.5, "oat": -3}
TEXT = "score,note,item\n12,a,tea\n0.50,b,rye\n-3.0,c,oat\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "scores.csv").write_text(TEXT, encoding="utf-8")
    table = pa.table({"item": list(PLAIN), "score": pa.array([12, 0.5, -3], pa.float64())})
    pq.write_table(table, tmp_path / "scores.parquet")
    return tmp_path


def test_files_tables_and_mappings_say_the_same(folder: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame({"item": list(PLAIN), "score": list(PLAIN.values())})
    same = [
        PublicScores.read(source)
        for source in (
            PLAIN, str(folder / "scores.csv"), folder / "scores.parquet", frame,
            pq.read_table(folder / "scores.parquet"),
            {"oat": "-3", "rye": np.float64(0.5), "tea": Decimal("12.00")},
        )
    ]  # fmt: skip
    assert len({scores.digest for scores in same}) == 1
    assert re.fullmatch("sha256:[0-9a-f]{64}", str(same[0]))
    assert all(scores == same[0] for scores in same)
    assert PublicScores.read({**PLAIN, "tea": 13}) != same[0]
    assert PublicScores.read({**PLAIN, "fig": 1}) != same[0]


def test_items_without_a_score_come_last_even_after_negative_ones() -> None:
    scores = PublicScores.read({**PLAIN, "not in the catalogue": 99})
    assert scores.ranked(["fig", "oat", "rye", "tea"]).values.tolist() == [0, 1, 2, 3]
    assert (scores.listed(["fig", "oat", "rye", "tea"]), scores.listed(["fig"])) == (3, 0)


def test_whole_numbers_are_items_as_they_are_in_a_catalogue() -> None:
    scores = PublicScores.read({7: 1, "008": 2})
    assert scores.ranked([7, 8, 9]).values.tolist() == scores.ranked(["7", "8", "9"]).values.tolist() == [1, 0, 0]


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False) | st.floats(-1e300, 1e300), min_size=1))
def test_the_order_is_exact(values: list[Any]) -> None:
    """As fractions are ordered, whatever the digits, and a float as it is written."""
    ranks = PublicScores.read(dict(enumerate(values))).ranked(range(len(values))).values
    exact = [Decimal(repr(value)) if isinstance(value, float) else value for value in values]
    for value, rank in zip(exact, ranks, strict=True):
        assert [value < other for other in exact] == (rank < ranks).tolist()
        assert [value == other for other in exact] == (rank == ranks).tolist()


def test_neither_digits_nor_exponents_are_rounded_off() -> None:
    near = {
        "a": "1." + "0" * 60 + "1",
        "b": "1." + "0" * 60 + "2",
        "c": "1e999999999",
        "d": "1e-999999999",
        "e": 0,
    }
    assert PublicScores.read(near).ranked(list(near)).values.tolist() == [3, 4, 5, 2, 1]


def csv(text: str) -> Callable[[Path], str]:
    def write(folder: Path) -> str:
        (folder / "bad.csv").write_text(text, encoding="utf-8")
        return str(folder / "bad.csv")

    return write


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (csv("item,score\ntea,1\ntea,2\n"), ("bad.csv", "'item'", "'tea' twice", "remove one")),
        (csv("item,score\ntea,many\n"), ("bad.csv", "'score'", "'tea'", "'many'", "such as 12")),
        (csv("item,score\ntea,\n"), ("bad.csv", "'score'", "'tea'", "none", "remove the row")),
        (csv("item,score\ntea,nan\n"), ("bad.csv", "'score'", "'nan'")),
        (csv("item,score\ntea,-inf\n"), ("bad.csv", "'score'", "'-inf'")),
        (csv("item,score\ntea,1_000\n"), ("bad.csv", "'score'", "'1_000'")),
        (csv("item,score\n,3\n"), ("bad.csv", "'item'", "without an item")),
        (csv("item,score\n"), ("bad.csv", "no item has a score")),
        (csv("venue,score\ntea,1\n"), ("column 'item'", "bad.csv", "'venue'")),
        (csv("item,points\ntea,1\n"), ("column 'score'", "bad.csv", "'points'")),
        (lambda folder: folder / "absent.csv", ("absent.csv", "not a file", "scores=FILE")),
        (lambda folder: folder, ("not a file",)),
        (lambda _: {"tea": float("inf")}, ("'score'", "'tea'", "inf")),
        (lambda _: {"tea": float("nan")}, ("'score'", "'tea'", "nan")),
        (lambda _: {"tea": None}, ("'score'", "'tea'", "none")),
        (lambda _: {"tea": True}, ("'score'", "'tea'", "True")),
        (lambda _: {1.5: 1}, ("'item'", "1.5")),
        (lambda _: {7: 1, "7": 2}, ("'7' twice",)),
        (lambda _: 7, ("scores must be", "7")),
    ],
)
def test_what_is_wrong_is_named(make: Callable[[Path], Any], parts: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(CallerError) as raised:
        PublicScores.read(make(tmp_path))
    assert raised.value.remedy
    for part in parts:
        assert part in str(raised.value)


def test_a_digest_can_be_compared_and_not_be_used() -> None:
    scores = PublicScores.read(PLAIN)
    loaded = PublicScores.read(str(scores))
    assert loaded == scores
    with pytest.raises(UsageError, match="only the digest"):
        loaded.ranked(["tea"])
