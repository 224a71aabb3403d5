"""A compiled loop over what people tagged: which tags they gave, and which two together."""

from __future__ import annotations

from headcount.arrays import Integers
from headcount.compiling import Word, compiled


@compiled
def add_together(
    starts: Integers, tags: Integers, alone: Integers, together: Integers, size: Word, sums: Integers
) -> None:
    """Add what each person's tags weigh, alone and in pairs, to an upper triangle that lies row by row.

    A person's tags are different ones, in order; there are so many (``size``) in all.
    """
    for person in range(starts.size - 1):
        for one in range(starts[person], starts[person + 1]):
            row = tags[one] * size - tags[one] * (tags[one] + 1) // 2
            sums[row + tags[one]] += alone[person]
            for other in range(one + 1, starts[person + 1]):
                sums[row + tags[other]] += together[person]
