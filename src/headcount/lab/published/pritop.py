"""PriTop exactly as the thesis has it: a topic model, and each person's tags replaced by others of their topics.

It exists so that published results can be reproduced and refuted. It runs only where the caller says research, and
everything it writes says that the claim is not established.

1. Topics are found by Gibbs sampling, and noise of scale 2/ε is added to the counts behind Pr(z | t, r), afresh
   for every pair of a resource and a tag. Each of a person's assignments belongs to its most probable topic.
2. How many tags a person has in each of their topics gets noise of scale 4/ε; the most probable tags of a topic
   are added, or a person's least probable ones deleted.
3. Every tag is replaced by one of its topic, drawn with probability proportional to exp(ε q / 8), where q is 1
   less the Jensen-Shannon divergence of the two tags' topics; none is drawn twice.

Why it is not private
    There is a row for each person, and it lists the resources that they tagged: whether somebody is there can be
    read off. Each of a person's tags costs ε/4 anew, which is not added up. Noise that is redrawn for every pair
    averages out. And one assignment can change the topics that sampling ends with altogether, so the sensitivity
    of 1 that the noise is for does not hold.

How the thesis is read where it is silent
    Noise goes to the topics that a person has, as its algorithm 3 says, not to all. A tag is a candidate in the
    topic that it is drawn for most. What is added goes to a random one of a person's resources.

Reference
    T. Zhu. Differential Privacy and Its Application. PhD thesis, Deakin University, 2014, chapter 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount.arrays import Floats
from headcount.bounding import check_limit
from headcount.budget import Grant, Priced
from headcount.engines.engine import Engine
from headcount.engines.tag_sums import tagging_of
from headcount.events.log import EventLog
from headcount.events.tagged import TagLog
from headcount.events.tagging import Tagging
from headcount.guarantee import Guarantee, Standing
from headcount.lab.published.tag_rows import assignments_release
from headcount.lab.tagging.topics import ALPHA, BETA, Topics, divergences, fit_topics
from headcount.method import Bounds, Staged
from headcount.noise import NoiseSource
from headcount.releases import Release

Integers = NDArray[np.integer[Any]]
Draws = np.random.Generator

_REASON = (
    "every person gets a row with the resources they tagged, the cost of replacing each tag is not added up, and "
    "noise that is redrawn for every pair averages out"
)
_CHUNK = 4096  # pairs whose noise is drawn at once
_LEAST = 1e-12  # what a noisy count below zero becomes


@dataclass(frozen=True, kw_only=True)
class PriTopPublished(Staged):
    """PriTop: every person's tags, replaced by others of the same topics.

    >>> PriTopPublished().guarantee(Grant("1")).short()
    'ε = 1 claimed, not established'
    """

    name: ClassVar[str] = "pritop-published"
    standing: ClassVar[Standing] = Standing.CLAIMED
    reason: ClassVar[str | None] = _REASON
    bounds: ClassVar[Bounds] = ()

    topics: int = 100

    def __post_init__(self) -> None:
        check_limit(self.topics, "topics")

    def guarantee(self, priced: Priced) -> Guarantee:
        """What the thesis claims."""
        return Guarantee(epsilon=priced.epsilon, standing=Standing.CLAIMED, reason=_REASON)

    def check(self, log: EventLog) -> None:
        """Refuse what it cannot use; its noise, if any, is unknown before the data is read."""
        TagLog.of_log(log)

    def release(
        self,
        log: EventLog,
        grant: Grant,
        noise: NoiseSource,
        engine: Engine | None = None,  # noqa: ARG002
    ) -> Release:
        """Replace everybody's tags."""
        grant.price.check_pure("PriTop")
        tagged, guarantee = TagLog.of_log(log), self.guarantee(grant)
        exact = tagging_of(tagged)
        grant.spend()
        draws = np.random.Generator(np.random.PCG64(int.from_bytes(noise.key(), "little")))
        model = fit_topics(exact, self.topics, int(draws.integers(0, 1 << 62)))
        done = replaced(exact, model, float(grant.epsilon), draws)
        steps = (
            f"Tags were sorted into {self.topics:,} topics, and everybody's tags replaced by others of the same "
            "topics, drawn at random; the resources that each person tagged stayed what they are.",
        )
        return assignments_release(self.name, guarantee, done.tagging, tagged, steps, noise)


@dataclass(frozen=True)
class Replaced:
    """What is published, and for each tag in a topic of a person how far it was moved: 1 if it was deleted."""

    tagging: Tagging
    users: Integers
    distances: Floats


def replaced(tagging: Tagging, model: Topics, epsilon: float, draws: Draws) -> Replaced:
    """Run the three operations of PriTop, given the topics before any noise."""
    topic = noisy_topics(tagging, model, epsilon, draws)
    entries, of_entry = np.unique(np.stack([tagging.user, topic, tagging.tag]), axis=1, return_inverse=True)
    of_entry = of_entry.ravel()
    chosen = _Choosing(model, epsilon, draws)
    new_tags = np.full(entries.shape[1], -1, dtype=np.int64)
    distances = np.ones(entries.shape[1])
    added: list[tuple[int, int]] = []
    new = np.ones(entries.shape[1], dtype=np.bool_)
    new[1:] = np.any(entries[:2, 1:] != entries[:2, :-1], axis=0)
    starts = np.flatnonzero(new)
    ends = np.append(starts[1:], entries.shape[1])[: starts.size]
    for first, last in zip(starts, ends, strict=True):
        user, which, own = int(entries[0, first]), int(entries[1, first]), entries[2, first:last]
        kept, more = chosen.perturbed(which, own)
        wanted = np.concatenate([own[kept], more])
        found, moved = chosen.selected(which, wanted)
        places = first + np.flatnonzero(kept)
        new_tags[places], distances[places] = found[: places.size], moved[: places.size]
        added += [(user, int(tag)) for tag in found[places.size :] if tag >= 0]
    here = new_tags[of_entry] >= 0
    begin, end = (np.searchsorted(tagging.user, np.arange(tagging.people), side) for side in ("left", "right"))
    owners = np.array([user for user, _ in added], dtype=np.int64)
    at = begin[owners] + (draws.random(owners.size) * (end - begin)[owners]).astype(np.int64)
    published = Tagging.of(
        np.concatenate([tagging.user[here], owners]),
        np.concatenate([tagging.resource[here], tagging.resource[at]]),
        np.concatenate([new_tags[of_entry][here], [tag for _, tag in added]]),
        people=tagging.people,
        resources=tagging.resources,
        tags=tagging.tags,
    )
    return Replaced(published, entries[0], distances)


def noisy_topics(tagging: Tagging, model: Topics, epsilon: float, draws: Draws) -> Integers:
    """Return the most probable topic of each assignment, by counts with noise of scale 2/ε (equation 4.3.5)."""
    pairs, of_pair = np.unique(np.stack([tagging.resource, tagging.tag]), axis=1, return_inverse=True)
    of_topic, of_resource = model.of_tag.sum(axis=0), model.of_resource.sum(axis=1)
    best = np.empty(pairs.shape[1], dtype=np.int64)
    for first in range(0, best.size, _CHUNK):
        resource, tag = pairs[:, first : first + _CHUNK]
        one, other = draws.laplace(scale=2 / epsilon, size=(2, tag.size, of_topic.size))
        left = _positive(model.of_tag[tag] + one + BETA) / _positive(of_topic - one + model.of_tag.shape[0] * BETA)
        below = of_resource[resource][:, None] - other + of_topic.size * ALPHA
        right = _positive(model.of_resource[resource] + other + ALPHA) / _positive(below)
        best[first : first + tag.size] = np.argmax(np.log(left) + np.log(right), axis=1)
    return best[of_pair.ravel()]


class _Choosing:
    """The random choices of one run: which tags of a topic are added or deleted, and what replaces each."""

    def __init__(self, model: Topics, epsilon: float, draws: Draws) -> None:
        self._epsilon, self._draws = epsilon, draws
        self._shares, self._probable = model.topics_of_tags, model.tags_of_topics
        self._order = np.argsort(-self._probable, axis=1, kind="stable")
        home = model.of_tag.argmax(axis=1)
        used = model.of_tag.any(axis=1)
        self._candidates = [np.flatnonzero((home == each) & used) for each in range(model.of_tag.shape[1])]
        self._known: dict[tuple[int, int], tuple[Floats, Floats]] = {}

    def perturbed(self, topic: int, own: Integers) -> tuple[NDArray[np.bool_], Integers]:
        """Say which of a person's tags in a topic stay, and which are added (equations 4.3.6 to 4.3.8)."""
        change = round(float(self._draws.laplace(scale=4 / self._epsilon)))
        kept = np.ones(own.size, dtype=np.bool_)
        if change < 0:
            kept[np.argsort(self._probable[topic, own], kind="stable")[:-change]] = False
        first = self._order[topic, : max(change, 0) + own.size]
        return kept, first[~np.isin(first, own)][: max(change, 0)]

    def selected(self, topic: int, wanted: Integers) -> tuple[Integers, Floats]:
        """Replace tags by candidates of their topic, none twice (algorithm 5); -1 where none is left."""
        candidates = self._candidates[topic]
        free = np.ones(candidates.size)
        found, moved = np.full(wanted.size, -1, dtype=np.int64), np.ones(wanted.size)
        for at, tag in enumerate(wanted.tolist()):
            away, weights = self._weighed(topic, tag)
            running = np.cumsum(weights * free)
            if not running.size or running[-1] <= 0:
                break
            place = int(np.searchsorted(running, self._draws.random() * running[-1], side="right"))
            found[at], moved[at], free[place] = candidates[place], away[place], 0.0
        return found, moved

    def _weighed(self, topic: int, tag: int) -> tuple[Floats, Floats]:
        """Return how far each candidate of a topic is from a tag, and how likely it replaces it."""
        if (topic, tag) not in self._known:
            away = divergences(self._shares[tag], self._shares[self._candidates[topic]])
            self._known[topic, tag] = away, np.exp(self._epsilon * (1 - away) / 8)
        return self._known[topic, tag]


def _positive(numbers: Floats) -> Floats:
    return np.maximum(numbers, _LEAST)
