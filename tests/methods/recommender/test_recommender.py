"""A fitted model in use: names, ranges, errors, and the folder it is kept in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headcount as hc
from headcount.accounting.budget import Grant
from headcount.errors import DataError, UnknownNameError, UsageError
from headcount.methods.recommender.rating_model import RatingModel
from headcount.noise import SeededNoise

LABELS = hc.Catalogue.of(["t", "r", "f", "x", "y"], ["Tea", "Rye", "Fig", "Same", "Same"])


def log(low: float = 1, high: float = 5) -> hc.EventLog:
    stretch = (high - low) / 4
    rows = [
        (person, item, low + stretch * (stars - 1))
        for person in range(500)
        for item, stars in (("t", 5), ("r", 2), ("f", 3))
    ]
    return hc.EventLog.of(rows, items=LABELS, value_range=(low, high))


@pytest.fixture(scope="module")
def model() -> hc.NeighbourModel:
    return hc.fit_neighbours(log(), epsilon="20", delta="1e-6")


def test_items_are_named_by_id_or_label(model: hc.NeighbourModel) -> None:
    assert model.predict({"Rye": 2}, ["Tea"]) == model.predict({"r": 2}, ["t"])
    with pytest.raises(UnknownNameError, match="did you mean 'Rye'"):
        model.predict({"Ryee": 2})
    with pytest.raises(UnknownNameError):
        model.place("Same")  # two items have that label


def test_recommendations_leave_out_what_is_rated(model: hc.NeighbourModel) -> None:
    rows = model.recommend({"t": 5}, 10)
    assert [row["rank"] for row in rows] == [1, 2, 3, 4]
    assert "t" not in {row["item"] for row in rows}
    assert [row["rating"] for row in rows] == sorted((row["rating"] for row in rows), reverse=True)
    assert model.recommend({}, 1)[0]["label"] == "Tea"


def test_predictions_stay_within_the_declared_range() -> None:
    wide = hc.fit_neighbours(log(0, 100), epsilon="20", delta="1e-6")
    assert wide.range == (0.0, 100.0)
    predicted = [row["rating"] for row in wide.predict({"t": 100, "r": 100})]
    assert all(0 <= prediction <= 100 for prediction in predicted)
    assert wide.predict({"r": 25}, ["t"])[0]["rating"] > 75


def test_a_rating_lies_in_the_range_of_the_model(model: hc.NeighbourModel) -> None:
    with pytest.raises(UsageError, match=r"between 1 and 5.*not 9"):
        model.predict({"t": 9})


def test_a_label_may_be_given_without_its_bracket() -> None:
    films = hc.Catalogue.of(
        [1, 2, 3, 4], ["Toy Story (1995)", "Toy Story 2 (1999)", "Sabrina (1954)", "Sabrina (1995)"]
    )
    fitted = hc.fit_neighbours(hc.EventLog.of([(n, 1) for n in range(9)], items=films), epsilon="1")
    assert fitted.place("toy story") == 0
    assert fitted.place("Toy Story 2 (1999)") == 1
    with pytest.raises(UnknownNameError):
        fitted.place("Sabrina")  # which?


@pytest.mark.parametrize("value", ["good", None, float("nan")])
def test_a_rating_must_be_a_number(model: hc.NeighbourModel, value: Any) -> None:
    with pytest.raises(UsageError, match="must be a number"):
        model.predict({"t": value})


def test_an_item_is_rated_once(model: hc.NeighbourModel) -> None:
    with pytest.raises(UsageError, match="rated twice"):
        model.predict({"t": 5, "Tea": 4})


def test_relations_that_were_not_released_are_not_invented(model: hc.NeighbourModel) -> None:
    with pytest.raises(UsageError, match="no relations"):
        model.related("t")


def test_a_model_is_a_folder(model: hc.NeighbourModel, tmp_path: Path) -> None:
    folder = model.save(tmp_path / "model")
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*.parquet")) == ["model/items.parquet"]
    back = hc.NeighbourModel.load(folder)
    assert back.predict({"r": 2}) == model.predict({"r": 2})
    assert hc.load(folder).guarantee == model.release.guarantee
    assert model.release.is_private
    release = hc.release(log=hc.EventLog.of([("a", "t")], items=["t"]), epsilon="1")
    with pytest.raises(DataError, match="no model"):
        hc.NeighbourModel(release)


def test_a_model_holds_no_one_s_ratings(tmp_path: Path) -> None:
    """What is in the folder is tables of items: as many rows as the catalogue, whoever was in the log."""
    for people in (1, 500):
        rows = [(f"person-{n}", "t", 4) for n in range(people)]
        fitted = hc.fit_neighbours(hc.EventLog.of(rows, items=LABELS, value_range=(1, 5)), epsilon="1")
        folder = fitted.save(tmp_path / str(people))
        assert fitted.release.tables["model/items"].num_rows == 5
        assert not any(b"person-" in file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_items_may_be_selected() -> None:
    rows = [(n, "t", 4) for n in range(400)] + [(1, "secret", 5)]
    selecting = hc.EventLog.of(rows, items=None, value_range=(1, 5))
    import dataclasses

    selecting = dataclasses.replace(selecting, catalogue=_to_be_selected())
    fitted = hc.fit_neighbours(selecting, epsilon="4", delta="1e-6")
    assert fitted.release.tables["model/items"]["item"].to_pylist() == ["t"]
    assert "no public catalogue" in fitted.explain()


def _to_be_selected() -> Any:
    from headcount.events.catalogue import absent_or_read

    return absent_or_read(None, select_items=True)


def test_the_estimator_is_thin() -> None:
    recommender = hc.NeighbourRecommender(epsilon="20", delta="1e-6", relations=False)
    with pytest.raises(UsageError, match="call fit first"):
        recommender.predict([({}, "t")])
    assert recommender.fit(log()).predict([({"r": 2}, "t")])[0] > 4
    assert recommender.get_params() == {"epsilon": "20", "delta": "1e-6", "relations": False}
    with pytest.raises(UsageError, match="call fit first"):
        recommender.set_params(epsilon="1").predict([({}, "t")])


def test_seeded_models_say_so() -> None:
    release = RatingModel().release(log(), Grant("1"), SeededNoise(1))
    assert not release.is_private
