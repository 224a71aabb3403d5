"""A fitted recommender: a released model applied to one user's own ratings or items. Post-processing only."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from headcount._internal.arrays import Floats, Integers
from headcount._internal.python_surface import class_errors_in_python
from headcount.errors import DataError, UnknownNameError, UsageError, param
from headcount.methods.recommender import PREDICTIONS, VISITS
from headcount.methods.recommender.factors import Cooccurrence
from headcount.methods.recommender.rating_prediction import RatingFactors
from headcount.methods.recommender.visit_factors import VisitFactors, context_lifts, item_shares
from headcount.releases.item_lookup import ItemNames
from headcount.releases.release import Release, load
from headcount.releases.top_k import match_context

Row = dict[str, Any]

ITEMS, FACTORS, PAIRS, NEIGHBOURS = "model/items", "model/factors", "model/pairs", "model/neighbours"
EDGES = "model/edges"


@class_errors_in_python
@dataclass(frozen=True)
class NeighbourModel:
    """What was released of ratings, or of who has what; used where a person's own ratings are.

    Items are named by their id or, where that is unique, by their label.

    >>> from headcount.accounting.budget import Grant
    >>> from headcount.events.log import EventLog
    >>> from headcount.methods.recommender.rating_model import RatingModel
    >>> from headcount.noise import SeededNoise
    >>> stars = [(f"u{n}", item, 5 if item == "tea" else 2) for n in range(400) for item in ("tea", "rye")]
    >>> log = EventLog.of(stars, items=["rye", "tea"], value_range=(1, 5))
    >>> model = NeighbourModel(RatingModel().release(log, Grant("4", "1e-6"), SeededNoise(1)))
    >>> model.predict({"rye": 3}, ["tea"])[0]["rating"] > 4.5
    True
    """

    release: Release

    def __post_init__(self) -> None:
        if ITEMS not in self.release.tables:
            raise DataError(
                "this release holds no model of ratings", remedy="make one with headcount neighbours fit"
            )

    def __repr__(self) -> str:
        promise, many = self.release.guarantee.short(), f"{self.release.tables[ITEMS].num_rows:,} items"
        return f"<NeighbourModel by {self.release.method}: {promise}; {many}>"

    def _repr_html_(self) -> str:
        return self.release._repr_html_()

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> NeighbourModel:
        """Read a model's folder."""
        return cls(load(folder))

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the model's folder."""
        return self.release.save(folder, force=force)

    def explain(self) -> str:
        """Say in numbered plain sentences what was done and what is promised."""
        return self.release.explain()

    @property
    def range(self) -> tuple[float, float]:
        """The declared range of ratings."""
        given = self.release.request.get("events", {}).get("value_range", "1,5")
        low, high = (float(end) for end in given.split(","))
        return low, high

    def predict(self, own: Mapping[Any, float], items: list[Any] | None = None) -> list[Row]:
        """Return what a person with such ratings would give to items: to those asked for, or to all others."""
        expected, rated = self._expected(own)
        wanted = [place for place in range(len(self._ids)) if place not in rated]
        if items is not None:
            wanted = [self.place(item) for item in items]
        return [self._row(place, rating=float(expected[place])) for place in wanted]

    def recommend(
        self, own: Mapping[Any, float] | Iterable[Any], k: int = 10, context: str | None = None
    ) -> list[Row]:
        """Return the ``k`` items that a person would like best, of those that are not their own.

        A model of ratings is given a person's ratings, one of visits their items; the latter may know contexts.
        """
        if self.knows_visits:
            return self._expected_items(own, k, context)
        if context is not None:
            raise UsageError(
                "a model of ratings knows no contexts", given=context, remedy=f"leave {param.context} out"
            )
        if not isinstance(own, Mapping):
            raise UsageError(
                "this model needs ratings, not items alone", remedy="give ratings, such as {'tea': 4}"
            )
        rows = sorted(self.predict(own), key=lambda row: -row["rating"])[:k]
        return [{"rank": rank, **row} for rank, row in enumerate(rows, 1)]

    def _expected_items(self, own: Iterable[Any], k: int, context: str | None) -> list[Row]:
        """Recommend by what a person has; ratings, where they are given, are not looked at."""
        places = np.array(sorted({self.place(item) for item in own}), dtype=np.int64)
        scores = self.habits.scores(places, None if context is None else self.lifts(context))
        scores[places] = -np.inf
        best = np.argsort(-scores, kind="stable")[: min(k, scores.size - places.size)].tolist()
        return [{"rank": rank, **self._row(at, score=float(scores[at]))} for rank, at in enumerate(best, 1)]

    @property
    def knows_visits(self) -> bool:
        """Whether it was learnt from who has what, and recommends from a person's items."""
        return self.release.method == VISITS

    def lifts(self, context: str) -> Floats:
        """Return how much more each item weighs in a context than items do in general; for a model of visits."""
        contexts = self.release.contexts
        if EDGES not in self.release.tables or contexts is None:
            raise UsageError(
                "this model knows no contexts",
                given=context,
                remedy=f"leave {param.context} out, or fit with {param.context}",
            )
        lifts: Floats = self._lifts[:, contexts.index(match_context(contexts, context))]
        return lifts

    def related(self, item: Any, k: int = 10) -> list[Row]:
        """Return the ``k`` items that belong to one most."""
        place = self.place(item)
        places, scores = self._related(place)
        rows = zip(places[:k].tolist(), scores[:k].tolist(), strict=True)
        return [{"rank": rank, **self._row(at, score=score)} for rank, (at, score) in enumerate(rows, 1)]

    @property
    def predicts_named(self) -> bool:
        """Whether it holds ratings that were predicted for named people, and nothing to predict others from."""
        return PREDICTIONS.name in self.release.tables

    def predictions(self, user: Any = None, items: list[Any] | None = None) -> list[Row]:
        """Return what was predicted for named people when it was fitted: all of it, or for a person or items."""
        if not self.predicts_named:
            raise UsageError(
                "this model holds no predictions for named people",
                remedy=f"predict from a person's own ratings, with {param.user_ratings('FILE')}",
            )
        rows = self.release.tables[PREDICTIONS.name].to_pylist()
        users = dict.fromkeys(row["user"] for row in rows)
        if user is not None and str(user) not in users:
            raise UnknownNameError.among("person", user, users, where="what was asked")
        wanted = None if items is None else {self.place(item) for item in items}
        return [
            {"user": row["user"], **self._row(place, rating=row["rating"])}
            for row, place in zip(rows, (self.place(row["item"]) for row in rows), strict=True)
            if (user is None or row["user"] == str(user)) and (wanted is None or place in wanted)
        ]

    def place(self, item: Any) -> int:
        """Return where an item is in the catalogue, by its id or label."""
        return self._names.place(item)

    def _expected(self, own: Mapping[Any, float]) -> tuple[Floats, set[int]]:
        """Predict a rating for every item, in the declared range."""
        listed = NEIGHBOURS in self.release.tables
        if self.predicts_named:
            raise UsageError(
                "this model holds predictions for named people, and cannot predict for others",
                remedy=f"leave the ratings out, or fit one without {param.asked}",
            )
        if not listed and "offset" not in self.release.tables[ITEMS].column_names:
            raise UsageError(
                f"a model of {self.release.method} knows no ratings, so it predicts none",
                remedy=f"ask it to recommend, or for related items; or fit one with {param.method('private')}",
            )
        low, high = self.range
        rated = {self.place(item): _number(item, value) for item, value in own.items()}
        if len(rated) != len(own):
            raise UsageError("an item is rated twice, by its id and its label", remedy="rate it once")
        places = np.array([*rated], dtype=np.int64)
        for item, value in own.items():
            if not low <= float(value) <= high:
                raise UsageError(
                    f"the rating of {item!r} must lie between {low:g} and {high:g}, as those of the model do",
                    given=value,
                    remedy="stretch it to that range",
                )
        values = np.array([*rated.values()], dtype=np.float64)
        if listed:
            return self._by_neighbours(places, values), set(rated)
        expected = self.tastes.predict(places, 1 + 4 * (values - low) / (high - low))
        return low + (expected - 1) / 4 * (high - low), set(rated)

    def _by_neighbours(self, places: Integers, values: Floats) -> Floats:
        """Predict by the neighbours of each item that the person rated; else it is the mean of what they gave."""
        if not places.size:
            raise UsageError(
                "a model of neighbours predicts from ratings, and there are none", remedy="rate at least one item"
            )
        items, others, similarity = self._neighbours
        given = np.zeros(len(self._ids))
        given[places] = values
        spoken = np.isin(others, places)
        weights, none = np.maximum(similarity[spoken], 0.0), np.zeros(given.size)
        fallback = np.full(given.size, values.mean())
        return weighted_vote(items[spoken], weights, given[others[spoken]], none, fallback, self.range)

    def _related(self, place: int) -> tuple[Integers, Floats]:
        if PAIRS in self.release.tables:
            return self._related_by_counts(place)
        if NEIGHBOURS in self.release.tables:
            items, others, similarity = self._neighbours
            mine = np.flatnonzero(items == place)
            order = mine[np.argsort(-similarity[mine], kind="stable")]
            return others[order], similarity[order]
        if self.predicts_named:
            raise UsageError(
                "this model holds predictions for named people, and no relations between items",
                remedy=f"fit one without {param.asked}",
            )
        knows = self.habits if self.knows_visits else self._in_pairs
        if not knows.factors.size:
            raise UsageError(
                "this model holds no relations between items: they would have drowned in noise",
                remedy=f"fit one with {param.method('co-counts')}, with more ε, or on more people",
            )
        places, cosines = knows.similar(place)
        if not places.size:
            raise self._unrelated(place, knows.places.size)
        return places, cosines

    def _related_by_counts(self, place: int) -> tuple[Integers, Floats]:
        """Read what belongs together off the numbers of people who have both."""
        places, counts = self._co_counts
        at = np.flatnonzero(places == place)
        if not at.size:
            raise self._unrelated(place, counts.size)
        others, lifts = counts.related(int(at[0]))
        return places[others], lifts

    @cached_property
    def _co_counts(self) -> tuple[Integers, Cooccurrence]:
        """The places of items whose pairs were released, and the numbers of people who have both."""
        table = self.release.tables[PAIRS]
        size = (1 + math.isqrt(1 + 8 * table.num_rows)) // 2
        names = table["item"][: size - 1].to_pylist()[:1] + table["other"][: size - 1].to_pylist()
        deviation = self.release.noise[PAIRS].variance ** 0.5
        return self._places(names), Cooccurrence(table["count"].to_numpy(), size, deviation)

    def _unrelated(self, place: int, size: int) -> UsageError:
        return UsageError(
            f"{self._name(place)} is not among the items whose relations were released",
            remedy=f"these are the {size:,} that most people have",
        )

    def _row(self, place: int, **numbers: float) -> Row:
        return {"item": self._items["item"][place].as_py(), "label": self._labels[place], **numbers}

    def _name(self, place: int) -> str:
        return str(self._labels[place] or self._ids[place])

    @property
    def _items(self) -> Any:
        return self.release.tables[ITEMS]

    @cached_property
    def _ids(self) -> list[str]:
        return [str(item) for item in self._items["item"].to_pylist()]

    @cached_property
    def _labels(self) -> list[str | None]:
        labels: list[str | None] = self._items["label"].to_pylist()
        return labels

    @cached_property
    def _names(self) -> ItemNames:
        return ItemNames.index(self._ids, self._labels)

    def _places(self, ids: list[Any]) -> Integers:
        return np.array([self._names.by_id[str(item)] for item in ids], dtype=np.int64)

    @cached_property
    def _neighbours(self) -> tuple[Integers, Integers, Floats]:
        """Items, their neighbours by their places, and how similar these are."""
        table = self.release.tables[NEIGHBOURS]
        items, others = (self._places(table[name].to_pylist()) for name in ("item", "neighbour"))
        return items, others, table["similarity"].to_numpy()

    @cached_property
    def tastes(self) -> RatingFactors:
        """Offsets and factors, by the places of items in the catalogue."""
        return RatingFactors(self._items["offset"].to_numpy(), *self._factors)

    @cached_property
    def _in_pairs(self) -> RatingFactors:
        """The tastes of items whose pairs were released: factors of others predict, but point where noise does."""
        support, tastes = self._items["support"].to_numpy(), self.tastes
        most = np.argsort(-support, kind="stable")[: self.release.chosen["model"]["items"]]
        kept = np.isin(tastes.places, most)
        return replace(tastes, places=tastes.places[kept], factors=tastes.factors[kept])

    @cached_property
    def habits(self) -> VisitFactors:
        """Shares and factors, by the places of items in the catalogue; of a model of visits."""
        users = float(self.release.chosen["model"]["people"])
        return VisitFactors(item_shares(self._items["count"].to_numpy(), users), *self._factors)

    @cached_property
    def _lifts(self) -> Floats:
        """How much more each item weighs in each context; the last column is the unknown one."""
        edges = self.release.tables[EDGES]["count"].to_numpy().reshape(len(self._ids), -1)
        return context_lifts(self._items["count"].to_numpy(), edges, self.release.noise[EDGES].variance)

    @property
    def _factors(self) -> tuple[Integers, Floats]:
        """Places of the items that have factors, and these; none have any where nothing stood out of noise."""
        if FACTORS not in self.release.tables:
            return np.empty(0, dtype=np.int64), np.empty((0, 0))
        table = self.release.tables[FACTORS]
        places = self._places(table["item"].to_pylist())
        return places, np.array(table["factors"].to_pylist(), dtype=np.float64).reshape(places.size, -1)


def _number(item: Any, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not np.isfinite(number):
        raise UsageError(f"the rating of {item!r} must be a number", given=value, remedy="for example 4")
    return number


def weighted_vote(
    question: Integers,
    weights: Floats,
    votes: Floats,
    base: Floats,
    fallback: Floats,
    within: tuple[float, float],
) -> Floats:
    """Return base + Σ w · vote / Σ |w| of each question, cut to a range; the fallback if no neighbour has weight.

    ``question`` says for each neighbour which question it answers.

    >>> weights, votes = np.array([3.0, 1.0]), np.array([5.0, 1.0])
    >>> weighted_vote(np.array([0, 0]), weights, votes, np.zeros(2), np.full(2, 2.5), (1, 5))
    array([4. , 2.5])
    """
    above = np.bincount(question, weights * votes, minlength=base.size)
    below = np.bincount(question, np.abs(weights), minlength=base.size)
    mean_vote = np.divide(above, below, out=np.zeros(base.size), where=below > 0)
    return np.clip(np.where(below > 0, base + mean_vote, fallback), *within)
