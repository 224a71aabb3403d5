"""The top-K forecast in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.releases.formatting import some

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headcount.lab.plan.top_k_forecast import Expected

_ALIKE = 0.5  # items: a smaller difference decides nothing


def readable(counts: Expected, epsilon: str) -> str:
    """Say from how many people on a count of a release tells something."""
    if counts.readable is None:
        return f"At ε = {epsilon} no count of a single item is readable."
    users = some(max(counts.readable, counts.grain), "person", "people")
    return f"At ε = {epsilon}, counts of items that {users} or more have are readable."


def better_command(forecasts: Sequence[Expected]) -> Expected:
    """Return the way to go: where both find about as many, counts, which tell more."""
    rank, release = forecasts
    return release if release.right >= rank.right - _ALIKE else rank


def sentences(forecasts: Sequence[Expected]) -> str:
    """Say whether the top K will be right, and which way is the better one."""
    chosen = better_command(forecasts)
    k, right = chosen.k, chosen.right
    if right >= 0.9 * k:
        lines = [f"Yes: about {right:.0f} of {k:,} will be right."]
    elif right >= 0.5 * k:
        lines = [f"For the most part: about {right:.0f} of {k:,} will be right."]
    else:
        lines = [f"No: about {right:.0f} of {k:,} will be right. Ask for fewer, or spend more."]
    if chosen.high - chosen.low > 0.3 * k:
        lines[0] += (
            " How popular items are matters much here: with --kth, or from a release (--activity), the range is "
            "smaller."
        )
    return " ".join([*lines, _why(forecasts)])


def _why(forecasts: Sequence[Expected]) -> str:
    rank, release = forecasts
    if better_command(forecasts) is rank:
        return "A ranking without counts is the better way:"
    more = "more" if release.right > rank.right + _ALIKE else "as many"
    return f"Counts that are ranked find {more}, and tell more:"
