"""Neighbours: pairs of logs that differ in one person, with everything they ever did.

A pair is described by small numbers, so that it can be written down, handed to other processes and copied many
times into one log. The person comes first in the log: if choices hang on row numbers, everybody's change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headcount.answers.words import some

History = tuple[int, ...]
"""The items of one person's records, by their number in the catalogue; repeats count."""


@dataclass(frozen=True)
class Pair:
    """A crowd, and a person who is with them or is not; ``items`` is the size of the public catalogue."""

    name: str
    story: str
    items: int
    crowd: tuple[History, ...]
    person: History

    def __post_init__(self) -> None:
        if any(not 0 <= item < self.items for history in (*self.crowd, self.person) for item in history):
            raise ValueError(f"pair {self.name!r} has items outside of its catalogue of {self.items}")

    def records(self, *, present: bool) -> list[tuple[int, int]]:
        """Return user and item of every record, the person's first if they are there."""
        people = [self.person, *self.crowd] if present else [(), *self.crowd]
        return [(user, item) for user, history in enumerate(people) for item in history]

    def to_json(self) -> dict[str, object]:
        """Return the pair as plain data."""
        return {
            "name": self.name,
            "story": self.story,
            "items": self.items,
            "crowd": [list(history) for history in self.crowd],
            "person": list(self.person),
        }


def crafted(limit: int) -> tuple[Pair, ...]:
    """Return the pairs that are worst for some bound or some mistake in it, for a limit on a person's records.

    >>> [pair.name for pair in crafted(2)][:3]
    ['at the limit', 'above the limit', 'below the limit']
    >>> crafted(2)[1].records(present=False)
    []
    """
    many = 3 * limit + 1
    busy = tuple(tuple(range(4)) * limit for _ in range(3))
    return (
        Pair("at the limit", "a person with as many records as count, all of one item", 2, (), (0,) * limit),
        Pair("above the limit", "a person with more records than count, all of one item", 2, (), (0,) * many),
        Pair("below the limit", "a person with a single record", 2, ((1,),), (0,)),
        Pair(
            "of many items",
            "a person with more different items than count, each once",
            max(3, limit + 1),
            (),
            tuple(range(max(3, limit + 1))),
        ),
        Pair(
            "among busy people",
            "a person before others who all have more records than count: whose choices hang on whom?",
            4,
            busy,
            (0,) * limit,
        ),
        Pair("a tie", "a person who breaks a tie of two items", 2, ((0,), (1,)), (0,) * limit),
        Pair(
            "the heaviest", "a person with far more records than all others", 3, ((0,), (1,)), (0,) * (5 * limit)
        ),
        Pair(
            "the lightest",
            "a person with one record where all others have several",
            3,
            ((0, 1, 1), (0, 0, 1)),
            (2,),
        ),
        Pair(
            "past an edge of activity",
            "a person with one record more than a bin of the activity histogram takes",
            2,
            ((0, 1),),
            (0,) * (2 * limit + 1),
        ),
    )


def swaying(limit: int) -> Pair:
    """Return a pair for methods that let all people's records decide which records of each one count.

    Item 0 leads item 1 by a little more than noise hides, if all of everybody's records are looked at; if only one
    of each is, because the person has no more, chance decides between them.
    """
    undecided, leading = (0,) * limit + (1,) * limit, (0,) * limit + (2,) * limit
    return Pair(
        "swaying a crowd",
        "a person with one record where all others have several and are nearly undecided between two items",
        3,
        (undecided,) * 400 + (leading,) * 60,
        (2,),
    )


def drawn(histories: Sequence[History], items: int, chosen: Sequence[int]) -> tuple[Pair, ...]:
    """Return pairs from a log: everybody, and everybody but one of the chosen people."""
    return tuple(
        Pair(
            f"person {number} of the log",
            f"a person with {some(len(histories[number]), 'record')}, taken out of the log",
            items,
            tuple(history for other, history in enumerate(histories) if other != number),
            histories[number],
        )
        for number in chosen
    )
