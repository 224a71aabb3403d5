"""Adjacent logs: pairs of logs that differ in all records of one user.

A pair is described by small numbers, so that it can be written down, handed to other processes and copied many
times into one log. The person comes first in the log: if choices hang on row numbers, everybody's change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headcount.methods.recommender.rating_prediction import FEWEST_ITEMS
from headcount.releases.formatting import some

RELATED = FEWEST_ITEMS
"""Among so many items relations of ratings are released, if they must be."""

PAIRED = 29
"""Of so many items co-counts are released, where more are to choose from."""

COLUMNS_CELLS = 64
"""Pairs with so many items are about tables of several columns, where a method can tell."""

History = tuple[int, ...]
"""The items of one person's records, by their number in the catalogue; repeats count."""


@dataclass(frozen=True)
class Pair:
    """A crowd, and a person who is with them or is not; ``items`` is the size of the public catalogue.

    The person has so many ``blanks`` beside: rows of theirs that name no item, and count for nothing.
    """

    name: str
    story: str
    items: int
    crowd: tuple[History, ...]
    person: History
    blanks: int = 0

    def __post_init__(self) -> None:
        if any(not 0 <= item < self.items for history in (*self.crowd, self.person) for item in history):
            raise ValueError(f"pair {self.name!r} has items outside of its catalogue of {self.items}")

    def records(self, *, present: bool) -> list[tuple[int, int]]:
        """Return user and item of every record, the person's first if they are there."""
        users = [self.person, *self.crowd] if present else [(), *self.crowd]
        return [(user, item) for user, history in enumerate(users) for item in history]

    def to_json(self) -> dict[str, object]:
        """Return the pair as plain data."""
        return {
            "name": self.name,
            "story": self.story,
            "items": self.items,
            "crowd": [list(history) for history in self.crowd],
            "person": list(self.person),
            **({"blanks": self.blanks} if self.blanks else {}),
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
        Pair("a blank", "a person with a row that names no item beside one that does", 2, ((0,), (0, 1)), (0,), 1),
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


def crowded(limit: int) -> Pair:
    """Return a pair for methods that shrink small counts away."""
    story = "a person among many with one record: counts so large that hardly anything is shrunk away"
    return Pair("in a crowd", story, 2, ((0,),) * 300, (0,) * limit)


def raters() -> Iterator[Pair]:
    """Pairs for ratings: a person at their limit, far above it, among others, and who decides what is compared."""
    yield Pair("rates one", "a person with a single rating", 2, ((1,),), (0,))
    yield Pair("rates some", "a person whose ratings just count in full", 6, (), tuple(range(6)))
    yield Pair("rates much", "a person whose ratings must be made smaller to count", 200, (), tuple(range(200)))
    yield Pair("among others", "a person who rates what all others do", 4, ((0, 1, 2),) * 5, (0, 1, 2, 3))
    story = "a person with the only ratings, of two of one item more than relations are released among"
    yield Pair("one item too many", story, RELATED + 1, (), (RELATED - 1, RELATED))


def visitors() -> Iterator[Pair]:
    """Pairs for visits: one item, a person at the limit, far above it, among others, and who decides on pairs."""
    yield Pair("one item", "a person with a single item", 2, (), (0,))
    yield Pair("at the limit", "a person with as many items as count fully", 12, (), tuple(range(10)))
    yield Pair("many items", "a person whose items must be weighed down to count", 60, (), tuple(range(60)))
    yield Pair("among others", "a person who has what all others have", 4, ((0, 1, 2),) * 5, (0, 1))
    yield Pair("one item too many", "a person with the only items, in more than pairs are of", 21, (), (19, 20))


def collectors() -> Iterator[Pair]:
    """Pairs for co-counts of 29 items at limit 1: one pair of items, three, many, and who decides which."""
    yield Pair("two items", "a person with one pair of items", 2, (), (0, 1))
    yield Pair("three items", "a person with three pairs, of which each counts by a third", 3, (), (0, 1, 2))
    yield Pair("many items", "a person with far more pairs than count", PAIRED + 1, (), tuple(range(PAIRED + 1)))
    yield Pair("among others", "a person who has what all others have", 4, ((0, 1, 2),) * 5, (0, 1))
    story = "a person with the only items, two of one more than are counted in pairs"
    yield Pair("one item too many", story, PAIRED + 1, (), (PAIRED - 1, PAIRED))


def measured(limit: int) -> Iterator[Pair]:
    """Pairs for the median of values, which are the numbers of items: who moves it from one side to the other.

    Of the first one all others are at 3: values above and below are as far from the median. The person is
    at the upper end: that brings those above nearer and takes those below further away, each by half of what one
    person weighs. That is the worst there is. Those below are fewer, so that little makes up for it.
    """
    heavy = (3,) * limit
    yield Pair(
        "beyond a tie", "a person above two others who have the same value", 11, (heavy,) * 2, (10,) * limit
    )
    yield Pair("the only value", "a person with the only value", 11, (), (5,) * limit)
    yield Pair("far too many values", "a person with more values than count", 11, (heavy,) * 2, (10,) * 5 * limit)
    yield Pair("a blank", "a person with a record without a value", 11, (heavy,) * 2, (10,) * limit, 1)


def scattered(limit: int) -> Iterator[Pair]:
    """Pairs for queries over a table of several columns, where a table is fitted, and perhaps given up."""
    yield Pair("several columns", "a person with the only records", COLUMNS_CELLS, (), (0,) * limit)
    crowd = tuple((cell,) for cell in range(COLUMNS_CELLS) if cell.bit_count() % 2)
    story = "a person where all others are in cells that no two columns tell"
    yield Pair("what columns do not tell", story, COLUMNS_CELLS, crowd, (0,) * limit)


def refuting() -> Pair:
    """Return the pair that CIM is refuted with: a crowd that its first table is off by nearly the threshold for.

    Of 1,024 cells, the first half holds 22 of 103 records, where the table says a half: that is 0.286 apart, 3.6
    noise scales below the threshold of 0.3. One more record inside makes it 5.6 scales. So 200 rounds without an
    update happen in about 6 % of all runs without the person, and in 69 % with them, at ε = 1.
    """
    crowd = ((0,),) * 22 + ((1000,),) * 81
    story = "a person who lets a table stay as it is, for 200 rounds of one query, where it nearly could not"
    return Pair("200 rounds", story, 1024, crowd, (0,))


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
