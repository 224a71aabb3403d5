"""Accuracy of tag recommendation: one resource of each user is hidden and its tags are predicted.

Nothing here is private: hidden tags are read from the log. It is for the curator's eyes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Floats
from headcount.bounds import Bound, Measured_co
from headcount.bounds.tags.tag_weights import TagBound
from headcount.events.log import EventLog
from headcount.events.tag_log import Tagging, TagLog
from headcount.lab.tags.folkrank import FolkRank, best_places
from headcount.methods.tags.recommend import OF_OTHERS, ReleasedModel
from headcount.releases.release import Release

Integers = NDArray[np.integer[Any]]

LONGEST = 10
"""Lists of up to so many tags are measured."""


@dataclass(frozen=True)
class Hidden:
    """The assignments that are left, and the tags to be found again: of one resource of each user.

    ``tags[starts[n] : starts[n + 1]]`` are the hidden tags of question n, of ``users[n]`` and ``resources[n]``.
    """

    left: Tagging
    users: Integers
    resources: Integers
    tags: Integers
    starts: Integers

    def some(self, many: int) -> Hidden:
        """Ask no more than so many of the questions, spread evenly over the users."""
        kept = np.unique(np.linspace(0, self.users.size - 1, min(many, self.users.size)).astype(np.int64))
        tags = [self.tags[self.starts[at] : self.starts[at + 1]] for at in kept]
        starts = np.concatenate([[0], np.cumsum([post_tags.size for post_tags in tags])]).astype(np.int64)
        return Hidden(self.left, self.users[kept], self.resources[kept], np.concatenate(tags), starts)

    def own_tags(self) -> Iterator[Integers]:
        """Return the tags that each asking user has left, one for each assignment."""
        starts = np.searchsorted(self.left.user, self.users)
        ends = np.searchsorted(self.left.user, self.users, side="right")
        for first, last in zip(starts, ends, strict=True):
            yield self.left.tag[first:last]


def leave_one_out(tagging: Tagging, seed: int) -> Hidden:
    """Hide one resource of each user, drawn at random."""
    draws = np.random.Generator(np.random.PCG64(seed))
    new = np.ones(tagging.size, dtype=np.bool_)
    new[1:] = (tagging.user[1:] != tagging.user[:-1]) | (tagging.resource[1:] != tagging.resource[:-1])
    posts = np.flatnonzero(new)
    lots = draws.random(posts.size)
    order = np.lexsort((lots, tagging.user[posts]))
    first = np.ones(order.size, dtype=np.bool_)
    first[1:] = tagging.user[posts][order][1:] != tagging.user[posts][order][:-1]
    chosen = np.zeros(posts.size, dtype=np.bool_)
    chosen[order[first]] = True
    hidden = chosen[np.cumsum(new) - 1]
    hidden_posts = posts[chosen]
    places = np.flatnonzero(hidden)
    starts = np.append(np.searchsorted(places, hidden_posts), places.size)
    return Hidden(
        tagging.where(~hidden),
        tagging.user[hidden_posts],
        tagging.resource[hidden_posts],
        tagging.tag[places],
        starts,
    )


def recall_and_precision(hidden: Hidden, best: Integers) -> tuple[Floats, Floats]:
    """Return the mean recall and precision of the first 1, 2, … tags of each list.

    >>> hidden = leave_one_out(Tagging.from_codes([0, 0], [0, 0], [1, 2], people=1, resources=1, tags=3), 1)
    >>> recall_and_precision(hidden, np.array([[2, 0, 1]]))[0].tolist()
    [0.5, 0.5, 1.0]
    """
    recall, precision = np.zeros(best.shape[1]), np.zeros(best.shape[1])
    for ranked_tags, (first, last) in zip(
        best, zip(hidden.starts[:-1], hidden.starts[1:], strict=True), strict=True
    ):
        hits = np.cumsum(np.isin(ranked_tags, hidden.tags[first:last]))
        recall += hits / (last - first)
        precision += hits / np.arange(1, best.shape[1] + 1)
    return recall / len(best), precision / len(best)


def by_folkrank(hidden: Hidden, learnt: Tagging | None = None) -> Integers:
    """Recommend by FolkRank over the assignments that are left, or over others in their place."""
    return FolkRank(hidden.left if learnt is None else learnt).top(hidden.users, hidden.resources, LONGEST)


def by_popularity(hidden: Hidden, weights: Floats) -> Integers:
    """Recommend the tags of the largest weight to everybody."""
    return np.repeat(best_places(weights[None, :], LONGEST), hidden.users.size, axis=0)


def by_model(hidden: Hidden, release: Release, *, own: bool) -> Integers:
    """Recommend by a released tag model, with each person's own tags that are left, or without."""
    model, predicted = ReleasedModel.from_release(release), np.empty((hidden.users.size, LONGEST), dtype=np.int64)
    names = release.tables["model/resources"]["resource"].to_pylist()
    for at, (tags, resource) in enumerate(zip(hidden.own_tags(), hidden.resources.tolist(), strict=True)):
        scores = OF_OTHERS * model.of_others(names[resource])
        if own and tags.size:
            scores = scores + np.bincount(tags, minlength=scores.size) / tags.size
        predicted[at] = best_places(scores[None, :], LONGEST)[0]
    return predicted


def semantic_loss(users: Integers, distances: Floats) -> float:
    """Return how far the tags of users have moved, on average over each user's tags and then over users.

    ``distances`` are those between a user's tag and what stands in its place, from 0 to 1; 1 where nothing does.

    >>> semantic_loss(np.array([0, 0, 1]), np.array([0.0, 1.0, 0.2]))
    0.35
    """
    many = np.bincount(users)
    return float(loss_by_user(users, distances, many.size)[many > 0].mean())


def loss_by_user(users: Integers, distances: Floats, people: int) -> Floats:
    """Return how far the tags of each user have moved, on average; 0 for those who have none."""
    many = np.bincount(users, minlength=people)
    return np.asarray(np.bincount(users, distances, minlength=people) / np.maximum(many, 1))


@dataclass(frozen=True)
class Assignments:
    """An engine that measures assignments at hand, whatever the log holds."""

    tagging: Tagging

    def can(self, kind: type[Bound[Any]]) -> bool:
        """Say whether a bound is of tags."""
        return issubclass(kind, TagBound)

    def measure(self, log: EventLog, bound: Bound[Measured_co], secret: bytes) -> Measured_co:  # noqa: ARG002
        """Add up what the bound makes of each person's assignments."""
        if not isinstance(bound, TagBound):
            raise TypeError(f"assignments tell nothing of {bound}")
        measured: Any = bound.seal(TagLog.of_log(log), bound.sums_of(self.tagging))
        result: Measured_co = measured
        return result
