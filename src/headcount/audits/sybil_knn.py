"""The sybil attack on recommenders: fake users who copy what is known of somebody, and read what else they did.

The attacker knows ``known`` ratings of a victim and makes ``fakes`` accounts that give exactly these. A system that
looks for similar people then finds the other fakes, and the victim: what it recommends to a fake is what the victim
rated besides. Every fake reads one list; the items that stand in most lists, and first, are the attacker's guesses.

What the guesses are held against
    *uniform*: as many items drawn from all that the attacker does not know already. *popular*: drawn in proportion
    to how many people rated them, without the victim. *absent*: the same attack on the same ratings without the
    victim: what can be guessed of somebody from what others did. A system that protects people gives the same with
    and without the victim, so that ``absent`` is what chance means for it; the other two say what an attacker could
    do without the system.

Reference
    J. A. Calandrino, A. Kilzer, A. Narayanan, E. W. Felten, V. Shmatikov. "You Might Also Like": Privacy Risks of
    Collaborative Filtering. IEEE Symposium on Security and Privacy 2011.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from headcount.audits.recommenders import Reader, Recommender
from headcount.errors import UsageError
from headcount.neighbours.ratings import Codes, Floats, Ratings

LEVEL = 0.95
_RESAMPLES = 2_000
BASELINES = ("uniform", "popular", "absent")


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Who is attacked, with what knowledge and how many fakes, and how many items are guessed of each victim."""

    victims: int = 100
    known: int = 8
    fakes: int = 40
    guesses: int = 10
    seed: int = 1

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value < (0 if name == "seed" else 1):
                raise UsageError(f"{name} must be at least 1", given=value, remedy=f"try --{name} 10")


@dataclass(frozen=True)
class Attempt:
    """What came of one victim: items recovered, guessed and hidden, and what each baseline recovers on average."""

    recovered: int
    guessed: int
    hidden: int
    uniform: float
    popular: float
    absent: float


@dataclass(frozen=True)
class Finding:
    """What came of all victims."""

    attempts: tuple[Attempt, ...]
    seed: int

    def total(self, name: str) -> float:
        """Add up a number over the victims."""
        return float(sum(getattr(each, name) for each in self.attempts))

    def times(self, baseline: str) -> float:
        """Say how many times as many items were recovered as by a baseline."""
        return _ratio(self.total("recovered"), self.total(baseline))

    def interval(self, baseline: str) -> tuple[float, float]:
        """Return where that number lies with 95 % confidence, by drawing the victims again (bootstrap)."""
        drawn = self._drawn()
        ours = np.array([each.recovered for each in self.attempts], dtype=np.float64)[drawn].sum(axis=1)
        theirs = np.array([getattr(each, baseline) for each in self.attempts])[drawn].sum(axis=1)
        ratios = [_ratio(mine, other) for mine, other in zip(ours.tolist(), theirs.tolist(), strict=True)]
        low, high = np.quantile(ratios, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="inverted_cdf")
        return float(low), float(high)

    def _drawn(self) -> Any:
        draws = np.random.Generator(np.random.PCG64(self.seed))
        return draws.integers(0, len(self.attempts), (_RESAMPLES, len(self.attempts)))

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain data; who the victims are is not in it."""
        return {
            "victims": len(self.attempts),
            "recovered": int(self.total("recovered")),
            "guessed": int(self.total("guessed")),
            "hidden": int(self.total("hidden")),
            "confidence": LEVEL,
            "baselines": {
                name: {
                    "recovered": round(self.total(name), 2),
                    "times": _plain(self.times(name)),
                    "interval": [_plain(end) for end in self.interval(name)],
                }
                for name in BASELINES
            },
        }


def mount(
    ratings: Ratings,
    recommender: Recommender,
    attack: Attack,
    progress: Callable[[str, int, int | None], None] = lambda *_: None,
) -> Finding:
    """Attack some random users, each with fakes of their own, and count what is recovered of them."""
    draws = np.random.Generator(np.random.PCG64(attack.seed))
    able = np.flatnonzero(ratings.counts >= attack.known + attack.guesses)
    if able.size < attack.victims:
        raise UsageError(
            f"{able.size:,} people have {attack.known + attack.guesses} ratings or more, which a victim must have",
            given=attack.victims,
            remedy=f"try --victims {max(1, able.size)}, or a smaller --known",
        )
    attempts = []
    for done, victim in enumerate(draws.choice(able, attack.victims, replace=False).tolist()):
        progress("attacking", done, attack.victims)
        many = int(ratings.counts[victim])
        places = np.sort(draws.choice(many, attack.known, replace=False))
        attempts.append(_attempt(ratings, victim, places, recommender, attack))
    return Finding(tuple(attempts), attack.seed)


def _attempt(ratings: Ratings, victim: int, places: Any, recommender: Recommender, attack: Attack) -> Attempt:
    items, values = ratings.of_user(victim)
    known, given = items[places], values[places]
    hidden = np.setdiff1d(items, known)
    absent = ratings.only(ratings.users != victim)
    guessed = _guesses(ratings, recommender, known, given, attack)
    control = _guesses(absent, recommender, known, given, attack)
    popularity = np.bincount(absent.items, minlength=ratings.n_items).astype(np.float64)
    popularity[known] = 0.0
    return Attempt(
        recovered=int(np.isin(guessed, hidden).sum()),
        guessed=guessed.size,
        hidden=hidden.size,
        uniform=guessed.size * hidden.size / (ratings.n_items - known.size),
        popular=guessed.size * float(popularity[hidden].sum() / max(popularity.sum(), 1.0)),
        absent=float(np.isin(control, hidden).sum()),
    )


def _guesses(ratings: Ratings, recommender: Recommender, items: Codes, values: Floats, attack: Attack) -> Codes:
    """Let every fake read its list; the one that reads is one of them, so that one fewer is in the ratings."""
    reader = recommender(ratings.joined(items, values, attack.fakes - 1))
    return agreed(lists(reader, items, values, attack), items, attack.guesses)


def lists(reader: Reader, items: Codes, values: Floats, attack: Attack) -> list[Codes]:
    """Return one list for each fake; if the second is like the first the others are not asked for."""
    found = [reader(items, values, attack.guesses)]
    while len(found) < attack.fakes:
        found.append(reader(items, values, attack.guesses))
        if len(found) == 2 and np.array_equal(found[0], found[1]):
            break
    return found


def agreed(found: Sequence[Codes], known: Codes, count: int) -> Codes:
    """Return the items in most lists, of equals the one with the better ranks.

    >>> two = [np.array([7, 3], dtype=np.int32), np.array([3, 9], dtype=np.int32)]
    >>> agreed(two, np.array([9], dtype=np.int32), 5)
    array([3, 7], dtype=int32)
    """
    votes: dict[int, list[int]] = {}
    for each in found:
        for rank, item in enumerate(each.tolist()):
            votes.setdefault(item, []).append(rank)
    for item in known.tolist():
        votes.pop(item, None)
    order = sorted(votes, key=lambda item: (-len(votes[item]), sum(votes[item]), item))
    return np.array(order[:count], dtype=np.int32)


def _ratio(ours: float, theirs: float) -> float:
    return ours / theirs if theirs > 0 else (float("inf") if ours > 0 else 1.0)


def _plain(value: float) -> float | None:
    """JSON has no infinity."""
    return round(value, 3) if np.isfinite(value) else None
