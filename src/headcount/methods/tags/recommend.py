"""Post-processing of a released tag model: topic lists, and tag recommendations from a user's own tags.

A person's own tags are used where they ask and go nowhere else: what they see tells about them to them alone.
Everything else is released, so recommendations cost nothing, however many there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from headcount._internal.arrays import Floats
from headcount.errors import UnknownNameError, UsageError
from headcount.releases.release import Release

OF_OTHERS = 0.2
"""What the tags of others weigh beside a person's own."""

POPULAR = 3.0
"""The weight of popular tags that every resource is taken to have beside its own."""


@dataclass(frozen=True)
class ReleasedModel:
    """What a release says of tags: how popular each is, and how much it weighs on some resources.

    >>> model = ReleasedModel(("funny", "sad"), np.array([3.0, 1.0]), {"film": np.array([0.0, 9.0])}, {}, {})
    >>> [row["tag"] for row in model.recommend("film", k=2)], [row["tag"] for row in model.recommend("play", k=1)]
    (['sad', 'funny'], ['funny'])
    >>> [row["tag"] for row in model.recommend("film", k=2, mine=["dull", "dull", "sad"])]
    ['dull', 'sad']
    """

    tags: tuple[str, ...]
    popular: Floats
    on: Mapping[str, Floats]
    names: Mapping[str, str]
    """The resource that a label stands for."""
    labels: Mapping[str, str]
    """The label of a tag."""

    @classmethod
    def from_release(cls, release: Release) -> ReleasedModel:
        """Read a release."""
        if "model/tags" not in release.tables:
            raise UsageError("this release holds no tag model", remedy="make one with `headcount tags release`")
        words, resources = release.tables["model/tags"], release.tables["model/resources"]
        tags = tuple(words["tag"].to_pylist())
        stands_out = np.asarray(words["stands_out"].to_numpy(zero_copy_only=False), dtype=np.bool_)
        popular = np.where(stands_out, np.maximum(words["weight"].to_numpy(), 0.0), 0.0)
        on: dict[str, Floats] = {}
        if "model/pairs" in release.tables:
            on = _rows(release, {tag: place for place, tag in enumerate(tags)})
        pairs = zip(resources["resource"].to_pylist(), resources["label"].to_pylist(), strict=True)
        names = {label or resource: resource for resource, label in pairs}
        named = dict(zip(tags, words["label"].to_pylist(), strict=True))
        labels = {tag: label for tag, label in named.items() if label}
        return cls(
            tags,
            popular,
            on,
            names | {resource: resource for resource in resources["resource"].to_pylist()},
            labels,
        )

    def resource(self, given: str) -> str:
        """Return the resource that an id or a label stands for."""
        if self.names and given not in self.names:
            raise UnknownNameError.among("resource", given, self.names)
        return self.names.get(given, given)

    def knows(self, given: str) -> bool:
        """Tell whether the tags of a resource were measured; for others the popular ones have to do.

        >>> model = ReleasedModel(("funny",), np.array([3.0]), {"film": np.array([9.0])}, {}, {})
        >>> model.knows("film"), model.knows("play")
        (True, False)
        """
        return self.resource(given) in self.on

    def of_others(self, resource: str) -> Floats:
        """Return which part of a resource's tags each tag makes up, as far as the model knows."""
        total = float(self.popular.sum())
        popular = self.popular / total if total else np.full(self.popular.size, 1 / max(self.popular.size, 1))
        weights = self.on.get(resource)
        if weights is None:
            return np.asarray(popular)
        return np.asarray((weights + POPULAR * popular) / (float(weights.sum()) + POPULAR))

    def recommend(self, resource: str, *, k: int, mine: Iterable[str] = ()) -> list[dict[str, Any]]:
        """Return the best tags for a resource; ``mine`` are a person's own, one for each assignment."""
        scores = dict(zip(self.tags, (OF_OTHERS * self.of_others(self.resource(resource))).tolist(), strict=True))
        by_label = {label: tag for tag, label in self.labels.items()}
        own = Counter(by_label.get(own_tag, own_tag) for own_tag in mine)
        for tag, times in own.items():
            scores[tag] = scores.get(tag, 0.0) + times / own.total()
        best = sorted(scores.items(), key=lambda scored_tag: -scored_tag[1])[:k]
        return [
            {"rank": rank, "tag": tag, "label": self.labels.get(tag), "score": score}
            for rank, (tag, score) in enumerate(best, 1)
        ]


def _rows(release: Release, places: Mapping[str, int]) -> dict[str, Floats]:
    """Return the weights of all tags on each resource that was measured."""
    pairs = release.tables["model/pairs"]
    resources, tags = pairs["resource"].to_pylist(), pairs["tag"].to_pylist()
    many = tags.index(tags[0], 1) if tags.count(tags[0]) > 1 else len(tags)
    weights = pairs["weight"].to_numpy().reshape(-1, many)
    at = np.array([places[tag] for tag in tags[:many]])
    rows = {}
    for name, row in zip(resources[::many], weights, strict=True):
        rows[name] = np.zeros(len(places))
        rows[name][at] = row
    return rows


def topic_lists(release: Release, k: int) -> list[dict[str, Any]]:
    """Return each topic with its part of all weight and its ``k`` largest tags."""
    if "model/topics" not in release.tables:
        raise UsageError("this release holds no topics", remedy="release with the method tag-model")
    words = release.tables["model/tags"]
    labels = dict(zip(words["tag"].to_pylist(), words["label"].to_pylist(), strict=True))
    topics: dict[int, dict[str, Any]] = {}
    for row in release.tables["model/topics"].to_pylist():
        topic = topics.setdefault(row["topic"], {"topic": row["topic"], "weight": row["weight"], "tags": []})
        topic["tags"].append({"tag": row["tag"], "name": labels[row["tag"]] or row["tag"], "share": row["share"]})
    total = sum(released_topic["weight"] for released_topic in topics.values()) or 1.0
    for topic in topics.values():
        topic["weight"] /= total
        topic["tags"] = sorted(topic["tags"], key=lambda tag: -tag["share"])[:k]
    return list(topics.values())
