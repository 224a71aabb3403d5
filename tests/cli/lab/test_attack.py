"""``headcount attack knn``: what it prints, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Run
from tests.lab.recommender import synthetic_ratings


@pytest.fixture
def ratings(tmp_path: Path) -> tuple[str, ...]:
    dataset = synthetic_ratings.ratings(seed=3, users=80, items=60, share=0.3)
    table = pa.table({"who": dataset.users, "film": [f"f{n}" for n in dataset.items], "stars": dataset.values})
    pq.write_table(table, tmp_path / "ratings.parquet")
    flags = ("--user", "who", "--item", "film", "--value", "stars", "--value-range", "1,5")
    return ("attack", "knn", str(tmp_path / "ratings.parquet"), *flags)


SMALL = ("--victims", "5", "--known", "4", "--guesses", "3")


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("user-knn", {"metric": "cos", "k": 6, "looks": "once", "fakes": 6}),
        ("item-knn", {"metric": "cos", "k": 6, "looks": "twice", "meanwhile": 0.001}),
        ("pncf-published", {"by": "user", "epsilon": "1", "looks": "once"}),
    ],
)
def test_json_says_what_was_done_and_what_came_of_it(
    run: Run, ratings: tuple[str, ...], method: str, expected: dict[str, object]
) -> None:
    done = run(*ratings, *SMALL, "--method", method, "-k", "6", "--json")
    assert done.code == 0, done.err
    assert "NOT PRIVATE" in done.err
    data = done.data
    assert {name: data[name] for name in expected} == expected
    assert (data["attack"], data["method"], data["victims"], data["known"]) == ("knn", method, 5, 4)
    assert 0 <= data["recovered"] <= data["guessed"] <= 15
    assert set(data["baselines"]) == {"uniform", "popular", "absent"}
    if method == "user-knn":
        assert data["recovered"] == 15


def test_words_and_the_same_with_a_catalogue(run: Run, ratings: tuple[str, ...]) -> None:
    given = (*ratings, *SMALL, "--method", "user-knn", "-k", "6")
    done = run(*given)
    assert done.code == 0, done.err
    assert "15 of 15 guesses were right. 5 people were attacked" in " ".join(done.out.split())
    assert "the same attack without the victim" in done.out
    listed = ",".join(f"f{n}" for n in range(60))
    assert run(*given, "--items", listed, "--json").data["recovered"] == 15


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (("--method", "item-knn", "--epsilon", "1"), "item-knn cannot use --epsilon"),
        (("--method", "private", "-k", "5"), "private cannot use -k"),
        (("--method", "user-knn", "--by", "item"), "user-knn cannot use --by"),
        (("--method", "user-knn", "--delta", "1e-6"), "user-knn cannot use --delta"),
        (("--method", "user-knn", "--meanwhile", "0.1"), "--meanwhile is for two looks"),
        (("--method", "item-knn", "--fakes", "3"), "--fakes is for one look"),
        (("--method", "item-knn", "--meanwhile", "lots"), "meanwhile must be a share"),
        (("--method", "user-knn", "--victims", "0"), "victims must be a whole number of at least 1"),
        (("--method", "user-knn", "--victims", "900"), "which a victim must have"),
        (("--method", "svd"), "'svd' is not one of"),
        ((), "missing option '--method'"),
    ],
)
def test_what_the_caller_can_mend(
    run: Run, ratings: tuple[str, ...], flags: tuple[str, ...], complaint: str
) -> None:
    done = run(*ratings, *flags)
    assert done.code == 2
    assert complaint in done.complaint


def test_ratings_need_a_value(run: Run, ratings: tuple[str, ...]) -> None:
    done = run(*ratings[:7], "--method", "user-knn")
    assert done.code == 2
    assert "ratings need a value" in done.complaint
