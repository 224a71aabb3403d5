"""The topics of a released tag model as lists of words."""

from __future__ import annotations

from typing import Any

from headcount.errors import UsageError
from headcount.releases.release import Release


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
