"""Synthetic users with tag assignments, drawn from a released tag model.

Each is about a few topics, in shares drawn around how much all topics weigh, and tags resources accordingly. How
many tags each has follows from the released weights: a person with n pairs has a weight of √n in all, or of 1
where noise is pure ε and n cannot be seen. Drawing costs nothing and may be repeated.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount._internal.arrays import Floats
from headcount.errors import UsageError
from headcount.methods.tags.denoise import topics
from headcount.releases.release import Release

USUAL = 20
"""Pairs of a person where the release does not say how many: a public guess."""

FEW_TOPICS = 1.0
"""How evenly topics are spread over a person: the smaller, the fewer."""


def synthesize(release: Release, seed: int) -> pa.Table:
    """Draw a table of user, resource and tag."""
    if "model/people" not in release.tables:
        raise UsageError("this release holds no model of people", remedy="release with the method tag-model")
    users = max(0, round(release.tables["model/people"]["users"][0].as_py()))
    resources, tags, weights = _weights(release)
    draws = np.random.Generator(np.random.PCG64(seed))
    mean = _pairs_per_user(float(weights.sum()), users, gaussian="model/together" in release.tables)
    sizes = draws.geometric(1 / mean, size=users)
    many = len(set(release.tables["model/topics"]["topic"].to_pylist()))
    about, words = topics(weights, many)
    heavy = about.sum(axis=0) / max(float(about.sum()), 1e-12)
    about = about / np.maximum(about.sum(axis=0), 1e-12)
    shares = draws.dirichlet(np.maximum(FEW_TOPICS * heavy, 1e-6), size=users)
    user, resource, tag = ([np.empty(0, dtype=np.int64)] for _ in range(3))
    for person in range(users):
        for topic, some in enumerate(draws.multinomial(sizes[person], shares[person])):
            if some:
                user.append(np.full(some, person))
                resource.append(draws.choice(resources.size, some, p=about[:, topic] / about[:, topic].sum()))
                tag.append(draws.choice(tags.size, some, p=words[topic] / words[topic].sum()))
    triples = np.unique(np.stack([np.concatenate(parts) for parts in (user, resource, tag)]), axis=1)
    named = {"user": np.array([f"synthetic-{n + 1}" for n in range(users)], dtype=object)[triples[0]]}
    return pa.table(
        {
            "user": pa.array(named["user"], pa.string()),
            "resource": pa.array(resources[triples[1]], pa.string()),
            "tag": pa.array(tags[triples[2]], pa.string()),
        }
    )


def _weights(release: Release) -> tuple[NDArray[np.object_], NDArray[np.object_], Floats]:
    """Return what to draw from: resources, tags and weights; if pairs were not measured, tags are alike on all."""
    if "model/pairs" in release.tables:
        pairs = release.tables["model/pairs"]
        names, words = (np.array(pairs[entry].to_pylist(), dtype=object) for entry in ("resource", "tag"))
        resources, tags = (np.array(list(dict.fromkeys(entry)), dtype=object) for entry in (names, words))
        weights = pairs["weight"].to_numpy().reshape(resources.size, tags.size)
        return resources, tags, np.maximum(weights, 1e-9)
    sides = []
    for table, role in (("model/resources", "resource"), ("model/tags", "tag")):
        kept = release.tables[table].filter(release.tables[table]["stands_out"])
        ids = np.array(kept[role].to_pylist(), dtype=object)
        sides.append((ids, np.maximum(kept["weight"].to_numpy(), 1e-9)))
    (resources, left), (tags, right) = sides
    return resources, tags, np.outer(left, right / right.sum())


def _pairs_per_user(total: float, users: int, *, gaussian: bool) -> float:
    """Return how many pairs a person has about: √n is what they weigh, on average over people.

    >>> _pairs_per_user(300.0, 100, gaussian=True), _pairs_per_user(50.0, 100, gaussian=True)
    (9.0, 1.0)
    """
    if not gaussian or not users:
        return float(USUAL)
    return max(1.0, (total / users) ** 2)
