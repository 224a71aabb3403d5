"""FolkRank: tag ranking for a user and a resource by a random walk over the tagging graph.

Users, resources and tags are the nodes of one graph; each assignment joins its three by an edge for each pair. A
weight of 1 is spread over all nodes and passed on along the edges, A w; a part 1 - λ of it returns in each step to
where the preference p wants it: everywhere a little, and far more to the user and the resource asked about (1 +
the number of users, and 1 + the number of resources). What is ranked is how much more weight a tag has with the
preference than without any (λ = 1): else what everybody uses would always win.

Both are linear in the preference. So where users and resources are asked about often, the part of each is worked
out once, and a question adds two of them up.

Departures from the paper
    Ten steps are always made. The thesis stops earlier if a step moves less than 1e-6, and from there on all
    further steps together move less than 2.4e-6.

Reference
    A. Hotho, R. Jäschke, C. Schmitz, G. Stumme. Information Retrieval in Folksonomies: Search and Ranking. ESWC
    2006. R. Jäschke, L. Marinho, A. Hotho, L. Schmidt-Thieme, G. Stumme. Tag Recommendations in Folksonomies.
    PKDD 2007.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Floats
from headcount._internal.extras import require_package
from headcount.events.tag_log import Tagging

Integers = NDArray[np.integer[Any]]

DAMPING = 0.7
STEPS = 10
_TOGETHER = 32  # columns that are passed on at once: few enough to stay in the cache
_CHUNK = 512  # resources whose parts are held at once


class FolkRank:
    """Ranks tags by a random walk over tag assignments.

    >>> many = Tagging.from_codes([0, 0, 1], [0, 1, 0], [0, 1, 0], people=2, resources=2, tags=2)
    >>> FolkRank(many).top(np.array([1]), np.array([0]), 1).tolist()
    [[0]]
    """

    def __init__(self, tagging: Tagging, damping: float = DAMPING, steps: int = STEPS) -> None:
        self.tagging, self.damping, self.steps = tagging, damping, steps
        self._users, self._tags_from = tagging.people, tagging.people + tagging.resources
        self.nodes = self._tags_from + tagging.tags

    @cached_property
    def walk(self) -> Any:
        """How weight is passed on, as a sparse matrix whose columns sum to 1, or to 0 where there is no edge."""
        with require_package("FolkRank", "scipy", "lab"):
            from scipy import sparse

        tagging, ones = self.tagging, np.ones(self.tagging.size)
        ends = (tagging.user, tagging.resource + self._users, tagging.tag + self._tags_from)
        pairs = [(ends[a], ends[b]) for a in range(3) for b in range(3) if a != b]
        rows, columns = (np.concatenate(side) for side in zip(*pairs, strict=True))
        edges = sparse.csr_matrix((np.tile(ones, 6), (rows, columns)), shape=(self.nodes, self.nodes))
        degrees = np.asarray(edges.sum(axis=0)).ravel()
        return (edges @ sparse.diags(1 / np.maximum(degrees, 1))).tocsr()

    @cached_property
    def _to_tags(self) -> Any:
        """The rows of the walk that end in tags."""
        return self.walk[self._tags_from :]

    def scores(self, users: Integers, resources: Integers) -> Iterator[tuple[Integers, Floats]]:
        """Yield the places of some questions, and how much each tag gains for each of them; in no fixed order."""
        total = self.nodes + self._users + self.tagging.resources
        common = self._reached(np.ones((self.nodes, 1)))[:, 0] / total + self._left - self._without
        unique_resources, which = np.unique(resources, return_inverse=True)
        unique_users, who = np.unique(users, return_inverse=True)
        if unique_users.size + unique_resources.size > users.size:  # hardly anything is asked about twice
            for first in range(0, users.size, _CHUNK):
                places = np.arange(first, min(first + _CHUNK, users.size))
                pairs = [(users[places], self._users), (resources[places] + self._users, self.tagging.resources)]
                yield places, self._parts(pairs) / total + common
            return
        of_users = self._parts([(unique_users, self._users)]) / total
        order = np.argsort(which, kind="stable")
        ends = np.cumsum(np.bincount(which))
        for first in range(0, unique_resources.size, _CHUNK):
            some = unique_resources[first : first + _CHUNK]
            parts = self._parts([(some + self._users, self.tagging.resources)]) / total
            places = order[(ends[first - 1] if first else 0) : ends[first + some.size - 1]]
            yield places, of_users[who[places]] + parts[which[places] - first] + common

    def top(self, users: Integers, resources: Integers, k: int) -> Integers:
        """Return the ``k`` best tags for each user and resource, best first; of equal ones the first listed."""
        best = np.empty((users.size, min(k, self.tagging.tags)), dtype=np.int64)
        for places, scores in self.scores(users, resources):
            best[places] = best_places(scores, k)
        return best

    @cached_property
    def _left(self) -> Floats:
        """What is left on the tags of the weight that all began with."""
        weights = np.full((self.nodes, 1), 1 / self.nodes)
        for _ in range(self.steps):
            weights = self.damping * (self.walk @ weights)
        return np.asarray(weights[self._tags_from :, 0])

    @cached_property
    def _without(self) -> Floats:
        """The weights of the tags without any preference."""
        weights = np.full((self.nodes, 1), 1 / self.nodes)
        for _ in range(self.steps):
            weights = self.walk @ weights
        return np.asarray(weights[self._tags_from :, 0])

    def _parts(self, wanted: Sequence[tuple[Integers, int]]) -> Floats:
        """Return what each tag gets from preferences for nodes, each of some weight, a row for each preference."""
        size = wanted[0][0].size
        parts = np.empty((size, self.tagging.tags))
        for first in range(0, size, _TOGETHER):
            columns = np.arange(min(_TOGETHER, size - first))
            preference = np.zeros((self.nodes, columns.size))
            for nodes, weight in wanted:
                preference[nodes[first + columns], columns] += weight
            parts[first : first + columns.size] = self._reached(preference).T
        return parts

    def _reached(self, preference: Floats) -> Floats:
        """Return the weights of the tags that begin with none and are fed by a preference.

        A preference for a few nodes is still sparse when it is passed on first, and in the end tags alone count.
        """
        with require_package("FolkRank", "scipy", "lab"):
            from scipy import sparse

        fed = (1 - self.damping) * preference
        weights = fed
        for step in range(1, self.steps):
            walk = self._to_tags if step == self.steps - 1 else self.walk
            passed = (walk @ sparse.csc_matrix(weights)).toarray() if step == 1 else walk @ weights
            weights = self.damping * passed
            weights += fed[self.nodes - weights.shape[0] :]
        return np.asarray(weights[weights.shape[0] - self.tagging.tags :])


def best_places(scores: Floats, k: int) -> Integers:
    """Return the places of the ``k`` largest scores of each row, largest first; of equal ones the first.

    >>> best_places(np.array([[1.0, 3.0, 3.0, 2.0]]), 3).tolist()
    [[1, 2, 3]]
    """
    k = min(k, scores.shape[1])
    bar = -np.partition(-scores, k - 1, axis=1)[:, k - 1 : k]
    best = np.empty((scores.shape[0], k), dtype=np.int64)
    for row, (row_scores, least) in enumerate(zip(scores, bar[:, 0], strict=True)):
        candidates = np.flatnonzero(row_scores >= least)
        best[row] = candidates[np.argsort(-row_scores[candidates], kind="stable")[:k]]
    return best
