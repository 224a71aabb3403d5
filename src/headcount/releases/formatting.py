"""Formatting of released numbers, and of the order of a ranking, for terminal and pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any


def whole(number: float) -> str:
    """Write a number without decimals, with thousands separators and a true minus sign.

    >>> whole(1234.5678), whole(-1234.0), whole(-0.3)
    ('1,235', '−1,234', '0')
    """
    return f"{round(number):,}".replace("-", "−")


def per_cent(share: float | Decimal, digits: int = 0) -> str:
    """Write a share in per cent, as all pages and commands do.

    >>> per_cent(0.95), per_cent(0.025, 1)
    ('95 %', '2.5 %')
    """
    return f"{100 * share:.{digits}f} %"


def some(number: int, noun: str, plural: str | None = None) -> str:
    """Write how many there are of something.

    >>> some(1, "record"), some(2500, "record"), some(0, "person", "people")
    ('1 record', '2,500 records', '0 people')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def in_random_order(apart: int, *, will: bool = False, more: str = "") -> str:
    """Say how far apart items must be to be told apart.

    >>> in_random_order(140)
    'Items fewer than 140 people apart are in random order.'
    """
    return f"Items fewer than {apart:,} people apart {'will be' if will else 'are'} in random order{more}."


def listed(names: Sequence[str]) -> str:
    """Write names one after the other.

    >>> listed(["Monday"]), listed(["Monday", "Friday", "Sunday"])
    ('Monday', 'Monday, Friday and Sunday')
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


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
