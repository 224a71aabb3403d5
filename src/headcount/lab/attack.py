"""The sybil attack on k-nearest-neighbour recommenders: fake users copy known items and read the others.

The attacker knows ``known`` ratings of a victim, and can look in two ways.

*Once*: ``fakes`` accounts give exactly the known ratings. A system that looks for similar people then finds the
other fakes, and the victim: what it recommends to a fake is what the victim rated besides. Every fake reads one
list; the items that stand in most lists, and first, are the guesses.

*Twice*: for each known item there is a fake that rated this one alone, and so reads which items go with it. It
reads before and after the victim rated the rest. Every rating of the victim moves one item up in all of these
lists at once; the items that rose in most lists are the guesses. Others rate as well in the meantime: a share
``meanwhile`` of all ratings of others comes between both looks, too. This is what the attack comes to where items
are compared, since no fake can become the neighbour of an item.

What the guesses are held against
    *uniform*: as many items drawn from all that the attacker does not know already. *popular*: drawn in proportion
    to how many people rated them, without the victim. *absent*: the same attack on the same ratings, without the
    victim or, for two looks, without what the victim did in the meantime: what can be guessed of somebody from
    what others did. A system that protects people gives the same with and without, so that ``absent`` is what
    chance means for it; the other two say what an attacker could do without the system.

Reference
    J. A. Calandrino, A. Kilzer, A. Narayanan, E. W. Felten, V. Shmatikov. "You Might Also Like": Privacy Risks of
    Collaborative Filtering. IEEE Symposium on Security and Privacy 2011.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from headcount._internal.arrays import Codes, Flags, Floats
from headcount.errors import Parameter, UsageError, param
from headcount.lab.as_published import pncf
from headcount.lab.recommender import neighbourhood
from headcount.lab.recommender.neighbourhood import fit_ratings
from headcount.lab.recommender.ratings import Ratings
from headcount.noise import NoiseSource

Reader = Callable[[Codes, Floats, int], Codes]
"""What somebody with these items and values is recommended, best first, at most so many."""


class Recommender(Protocol):
    """Learns from ratings, and then answers readers."""

    def __call__(self, ratings: Ratings) -> Reader:
        """Return what answers readers."""


@dataclass(frozen=True)
class Plain:
    """An item- or user-based neighbourhood method."""

    settings: neighbourhood.Neighbourhood

    def __call__(self, ratings: Ratings) -> Reader:
        """Read as one more user."""

        def read(items: Codes, values: Floats, count: int) -> Codes:
            return neighbourhood.recommend(ratings.joined(items, values, 1), ratings.n_users, self.settings, count)

        return read


@dataclass(frozen=True)
class AsPublished:
    """PNCF as published: every reading draws neighbours anew."""

    settings: pncf.Settings
    noise: NoiseSource

    def __call__(self, ratings: Ratings) -> Reader:
        """Read as one more user."""

        def read(items: Codes, values: Floats, count: int) -> Codes:
            joined = ratings.joined(items, values, 1)
            return pncf.recommend(joined, ratings.n_users, self.settings, count, self.noise)

        return read


@dataclass(frozen=True)
class Private:
    """The proven method: one private model is fitted, and whoever reads does so from it alone."""

    epsilon: str
    delta: str | None
    within: tuple[float, float]
    noise: NoiseSource

    def __call__(self, ratings: Ratings) -> Reader:
        """Fit once; a reader's own ratings stay with the reader."""
        return fit_ratings(ratings, self.epsilon, self.delta, self.within, self.noise).recommend


LEVEL = 0.95
WATCHED = 100
"""Items that a fake reads of what goes with a known one."""
_RESAMPLES = 2_000
BASELINES = ("uniform", "popular", "absent")


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Who is attacked, with what knowledge and how many fakes, and how many items are guessed of each victim."""

    victims: int = 100
    known: int = 8
    fakes: int = 40
    guesses: int = 10
    looks: Literal["once", "twice"] = "once"
    meanwhile: float = 0.001
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("victims", "known", "fakes", "guesses"):
            if getattr(self, name) < 1:
                raise UsageError(
                    f"{name} must be at least 1", given=getattr(self, name), remedy=f"try {Parameter(name, 10)}"
                )
        if not 0 <= self.meanwhile <= 1 / 2:
            raise UsageError("meanwhile must be a share from 0 to 0.5", given=self.meanwhile)


@dataclass(frozen=True)
class Victim:
    """What came of one victim: items recovered, guessed and hidden, and what each baseline recovers on average."""

    recovered: int
    guessed: int
    hidden: int
    uniform: float
    popular: float
    absent: float


@dataclass(frozen=True)
class AttackResult:
    """What came of all victims."""

    victims: tuple[Victim, ...]
    seed: int

    def total(self, name: str) -> float:
        """Add up a number over the victims."""
        return float(sum(getattr(victim, name) for victim in self.victims))

    def times(self, baseline: str) -> float:
        """Say how many times as many items were recovered as by a baseline."""
        return _ratio(self.total("recovered"), self.total(baseline))

    def interval(self, baseline: str) -> tuple[float, float]:
        """Return where that number lies with 95 % confidence, by drawing the victims again (bootstrap)."""
        drawn = self._drawn()
        ours = np.array([victim.recovered for victim in self.victims], dtype=np.float64)[drawn].sum(axis=1)
        theirs = np.array([getattr(victim, baseline) for victim in self.victims])[drawn].sum(axis=1)
        ratios = [_ratio(mine, other) for mine, other in zip(ours.tolist(), theirs.tolist(), strict=True)]
        low, high = np.quantile(ratios, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="inverted_cdf")
        return float(low), float(high)

    def _drawn(self) -> Any:
        draws = np.random.Generator(np.random.PCG64(self.seed))
        return draws.integers(0, len(self.victims), (_RESAMPLES, len(self.victims)))

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain data; who the victims are is not in it."""
        return {
            "victims": len(self.victims),
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
) -> AttackResult:
    """Attack some random users, each with fakes of their own, and count what is recovered of them."""
    draws = np.random.Generator(np.random.PCG64(attack.seed))
    able = np.flatnonzero(ratings.counts >= attack.known + attack.guesses)
    if able.size < attack.victims:
        raise UsageError(
            f"{able.size:,} people have {attack.known + attack.guesses} ratings or more, which a victim must have",
            given=attack.victims,
            remedy=f"try {param.victims(max(1, able.size))}, or a smaller {param.known}",
        )
    victims = []
    for done, victim in enumerate(draws.choice(able, attack.victims, replace=False).tolist()):
        progress("attacking", done, attack.victims)
        items, _ = ratings.of_user(victim)
        auxiliary_items = np.sort(draws.choice(items, attack.known, replace=False))
        scene = Scene.from_ratings(
            ratings, victim, auxiliary_items, draws.random(ratings.values.size) < attack.meanwhile
        )
        victims.append(_attempt(scene, recommender, attack))
    return AttackResult(tuple(victims), attack.seed)


@dataclass(frozen=True)
class Scene:
    """One victim: what the attacker knows of them, what is hidden, and the ratings with and without them."""

    auxiliary_items: Codes
    given: Floats
    hidden: Codes
    whole: Ratings
    absent: Ratings
    idle: Ratings
    before: Ratings

    @classmethod
    def from_ratings(cls, ratings: Ratings, victim: int, auxiliary_items: Codes, late: Flags) -> Scene:
        """Set the scene; ``late`` are the ratings of others that come between two looks."""
        items, values = ratings.of_user(victim)
        own, is_auxiliary = ratings.users == victim, np.isin(items, auxiliary_items)
        hides = own & ~np.isin(ratings.items, auxiliary_items)
        return cls(
            auxiliary_items=items[is_auxiliary],
            given=values[is_auxiliary],
            hidden=items[~is_auxiliary],
            whole=ratings,
            absent=ratings.only(~own),
            idle=ratings.only(~hides),
            before=ratings.only(~hides & (own | ~late)),
        )


def _attempt(scene: Scene, recommender: Recommender, attack: Attack) -> Victim:
    if attack.looks == "once":
        guessed, control = (copied(variant, scene, recommender, attack) for variant in (scene.whole, scene.absent))
    else:
        before = related(scene.before, scene, recommender)
        guessed, control = (
            rank_risen_items(before, related(variant, scene, recommender), scene.auxiliary_items, attack.guesses)
            for variant in (scene.whole, scene.idle)
        )
    popularity = np.bincount(scene.absent.items, minlength=scene.whole.n_items).astype(np.float64)
    popularity[scene.auxiliary_items] = 0.0
    return Victim(
        recovered=int(np.isin(guessed, scene.hidden).sum()),
        guessed=guessed.size,
        hidden=scene.hidden.size,
        uniform=guessed.size * scene.hidden.size / (scene.whole.n_items - scene.auxiliary_items.size),
        popular=guessed.size * float(popularity[scene.hidden].sum() / max(popularity.sum(), 1.0)),
        absent=float(np.isin(control, scene.hidden).sum()),
    )


def copied(ratings: Ratings, scene: Scene, recommender: Recommender, attack: Attack) -> Codes:
    """Guess by one look: the one that reads is one of the fakes, so that one fewer is in the ratings."""
    reader = recommender(ratings.joined(scene.auxiliary_items, scene.given, attack.fakes - 1))
    return combine_lists(
        read_lists(reader, scene.auxiliary_items, scene.given, attack), scene.auxiliary_items, attack.guesses
    )


def related(ratings: Ratings, scene: Scene, recommender: Recommender) -> list[Codes]:
    """Return what goes with each known item: what somebody is recommended who rated this one alone."""
    reader = recommender(ratings)
    pairs = zip(scene.auxiliary_items[:, None], scene.given[:, None], strict=True)
    return [reader(item, value, WATCHED) for item, value in pairs]


def read_lists(reader: Reader, items: Codes, values: Floats, attack: Attack) -> list[Codes]:
    """Return one list for each fake; if the second is like the first the others are not asked for."""
    item_lists = [reader(items, values, attack.guesses)]
    while len(item_lists) < attack.fakes:
        item_lists.append(reader(items, values, attack.guesses))
        if len(item_lists) == 2 and np.array_equal(item_lists[0], item_lists[1]):
            break
    return item_lists


def combine_lists(item_lists: Sequence[Codes], auxiliary_items: Codes, count: int) -> Codes:
    """Return the items in most lists, of equals the one with the better ranks.

    >>> two = [np.array([7, 3], dtype=np.int32), np.array([3, 9], dtype=np.int32)]
    >>> combine_lists(two, np.array([9], dtype=np.int32), 5)
    array([3, 7], dtype=int32)
    """
    votes: dict[int, list[int]] = {}
    for item_list in item_lists:
        for rank, item in enumerate(item_list.tolist()):
            votes.setdefault(item, []).append(rank)
    for item in auxiliary_items.tolist():
        votes.pop(item, None)
    order = sorted(votes, key=lambda item: (-len(votes[item]), sum(votes[item]), item))
    return np.array(order[:count], dtype=np.int32)


def rank_risen_items(before: Sequence[Codes], after: Sequence[Codes], auxiliary_items: Codes, count: int) -> Codes:
    """Return the items that rose, or came up, in most lists; of equals those that rose by more places.

    >>> before, after = ([np.array(item_list, dtype=np.int32)] for item_list in ([5, 6, 7], [7, 5, 8]))
    >>> rank_risen_items(before, after, np.zeros(0, dtype=np.int32), 5)
    array([7, 8], dtype=int32)
    """
    votes: dict[int, list[int]] = {}
    for old, new in zip(before, after, strict=True):
        ranks = {item: rank for rank, item in enumerate(old.tolist())}
        for rank, item in enumerate(new.tolist()):
            gain = ranks.get(item, old.size) - rank
            if item not in ranks or gain > 0:
                votes.setdefault(item, []).append(gain)
    for item in auxiliary_items.tolist():
        votes.pop(item, None)
    order = sorted(votes, key=lambda item: (-len(votes[item]), -sum(votes[item]), item))
    return np.array(order[:count], dtype=np.int32)


def _ratio(ours: float, theirs: float) -> float:
    return ours / theirs if theirs > 0 else (float("inf") if ours > 0 else 1.0)


def _plain(value: float) -> float | None:
    """JSON has no infinity."""
    return round(value, 3) if np.isfinite(value) else None
