"""The three private operations of PriTop: noisy topics, noisy weights, and replacement of tags.

See :mod:`headcount.lab.as_published.pritop` for what the thesis says of them and how it is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Floats
from headcount.events.tag_log import Tagging
from headcount.lab.tags.topics import ALPHA, BETA, Topics, entropies

Integers = NDArray[np.integer[Any]]
Draws = np.random.Generator


@dataclass(frozen=True)
class PrivateTopics:
    """What comes of counts with noise: the most probable topic of each assignment, and Pr(z | t), a row a tag."""

    topic: Integers
    shares: Floats

    @property
    def home(self) -> Integers:
        """The most probable topic of each tag; -1 where nobody uses it."""
        return np.where(self.shares.any(axis=1), self.shares.argmax(axis=1), -1)


@dataclass(frozen=True)
class Replaced:
    """What stands in place of each assignment (-1: nothing), what is added to whom, and what became of entries.

    An entry is a tag that a person has in a topic. ``distances`` say how far it was moved, 1 where nothing stands
    in its place; ``stays`` that the perturbation did not delete it. ``candidates`` says how many tags topics have.
    """

    before: Tagging
    new_tags: Integers
    owners: Integers
    added: Integers
    users: Integers
    topics: Integers
    stays: NDArray[np.bool_]
    distances: Floats
    candidates: Integers

    def published(self, draws: Draws) -> Tagging:
        """Put new tags in place of the old ones, and what is added onto random resources of its owners."""
        old, here, users = self.before, self.new_tags >= 0, np.arange(self.before.people)
        begin, end = (np.searchsorted(old.user, users, side) for side in ("left", "right"))
        at = begin[self.owners] + (draws.random(self.owners.size) * (end - begin)[self.owners]).astype(np.int64)
        return Tagging.from_codes(
            np.concatenate([old.user[here], self.owners]),
            np.concatenate([old.resource[here], old.resource[at]]),
            np.concatenate([self.new_tags[here], self.added]),
            people=old.people,
            resources=old.resources,
            tags=old.tags,
        )


def replaced(tagging: Tagging, model: Topics, epsilon: float, draws: Draws) -> Replaced:
    """Run the three operations, given the topics before any noise."""
    from headcount.lab.tags.kernels import replace_all

    private = private_topics(tagging, model, epsilon, draws)
    keys, of_entry = np.unique(_numbered(tagging, private.topic, model), return_inverse=True)
    rest, tag = np.divmod(keys, tagging.tags)
    user, topic = np.divmod(rest, model.many)
    changes = noisy_changes(tagging, model.many, epsilon, draws)
    stays = least_probable_go(user, topic, model.tags_of_topics[topic, tag], changes)
    home = private.home
    many = np.bincount(home[home >= 0], minlength=model.many)
    room = int(np.minimum(np.maximum(changes, 0), many).sum())
    new_tag, distances = np.full(keys.size, -1, dtype=np.int64), np.ones(keys.size)
    owners, added = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    count = replace_all(
        user.astype(np.int32),
        topic,
        tag.astype(np.int32),
        stays,
        changes,
        np.argsort(-model.tags_of_topics, axis=1, kind="stable").astype(np.int32),
        np.argsort(home, kind="stable")[np.count_nonzero(home < 0) :].astype(np.int32),
        np.concatenate([[0], np.cumsum(many)]),
        private.shares,
        entropies(private.shares),
        epsilon / 8,
        draws.integers(0, 1 << 64, dtype=np.uint64),
        new_tag,
        distances,
        owners,
        added,
    )
    return Replaced(tagging, new_tag[of_entry], owners[:count], added[:count], user, topic, stays, distances, many)


def private_topics(tagging: Tagging, model: Topics, epsilon: float, draws: Draws) -> PrivateTopics:
    """Find topics by counts with noise of scale 2/ε, drawn afresh for each pair (equation 4.3.5, algorithm 4)."""
    from headcount.lab.tags.kernels import noisy_shares

    keys = tagging.resource.astype(np.int64) * tagging.tags + tagging.tag
    pairs, of_pair, times = np.unique(keys, return_inverse=True, return_counts=True)
    resource, tag = np.divmod(pairs, tagging.tags)
    best, shares = np.empty(pairs.size, dtype=np.int64), np.zeros(model.of_tag.shape)
    noisy_shares(
        resource.astype(np.int32),
        tag.astype(np.int32),
        times,
        model.of_tag,
        model.of_resource,
        (ALPHA, BETA),
        2 / epsilon,
        draws.integers(0, 1 << 64, dtype=np.uint64),
        best,
        shares,
    )
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    return PrivateTopics(best[of_pair], shares)


def noisy_changes(tagging: Tagging, many: int, epsilon: float, draws: Draws) -> NDArray[np.int64]:
    """Return by how many tags each topic of each person grows or shrinks: Laplace(4/ε)^K (equation 4.3.6).

    Those without any tag have no profile, and no resource that tags could go to.
    """
    noise = draws.laplace(scale=4 / epsilon, size=(tagging.people, many))
    noise[np.bincount(tagging.user, minlength=tagging.people) == 0] = 0.0
    return np.rint(noise).astype(np.int64)


def least_probable_go(user: Integers, topic: Integers, probable: Floats, changes: Integers) -> NDArray[np.bool_]:
    """Say which entries stay where topics shrink: the most probable tags of each person (equation 4.3.8).

    >>> single, half = np.zeros(3, dtype=int), np.array([0.1, 0.3, 0.2])
    >>> least_probable_go(single, single, half, np.array([[-2]])).tolist()
    [False, True, False]
    """
    group = user * changes.shape[1] + topic
    order = np.lexsort((probable, group))
    rank = np.arange(order.size) - np.searchsorted(group[order], group[order])
    stays = np.empty(order.size, dtype=np.bool_)
    stays[order] = rank >= -changes[user, topic][order]
    return stays


def _numbered(tagging: Tagging, topic: Integers, model: Topics) -> Integers:
    """Return one number for user, topic and tag, in that order."""
    return (tagging.user.astype(np.int64) * model.many + topic) * tagging.tags + tagging.tag
