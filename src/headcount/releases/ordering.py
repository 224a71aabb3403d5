"""What a ranking says of its own order, from what was chosen for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headcount.releases.formatting import in_random_order


def told_nothing(chosen: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the contexts of which a ranking says that nothing can be told.

    >>> told_nothing({"ranking": {"by": "counts", "nothing told": ["Saturday"]}})
    ('Saturday',)
    """
    return tuple(chosen.get("ranking", {}).get("nothing told", ()))


def order_words(chosen: Mapping[str, Any]) -> list[str]:
    """Say below how many people apart items of a ranking are in random order, if it is a ranking that tells.

    >>> order_words({"ranking": {"by": "peeling", "apart": 21}}), order_words({"items": {"limit": 4}})
    (['Items fewer than 21 people apart are in random order.'], [])
    """
    ranking = chosen.get("ranking", {})
    told = [in_random_order(ranking["apart"])] if "apart" in ranking else []
    if not ranking.get("confirmed", True):
        told.append("The counts behind it do not confirm each other: its order may be mere chance.")
    return told
