"""Ordering of a ranking: sentences on its resolution, and contexts without significant counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headcount.releases.formatting import in_random_order


def undecided_contexts(chosen: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the contexts of which a ranking says that nothing can be told.

    >>> undecided_contexts({"ranking": {"by": "counts", "nothing told": ["Saturday"]}})
    ('Saturday',)
    """
    return tuple(chosen.get("ranking", {}).get("nothing told", ()))


def describe_order(chosen: Mapping[str, Any]) -> list[str]:
    """Say below how many people apart items of a ranking are in random order, if it is a ranking that tells.

    >>> describe_order({"ranking": {"by": "peeling", "apart": 21}}), describe_order({"items": {"limit": 4}})
    (['Items fewer than 21 people apart are in random order.'], [])
    """
    ranking = chosen.get("ranking", {})
    sentences = [in_random_order(ranking["apart"])] if "apart" in ranking else []
    if not ranking.get("confirmed", True):
        sentences.append("The counts behind it do not confirm each other: its order may be mere chance.")
    return sentences
