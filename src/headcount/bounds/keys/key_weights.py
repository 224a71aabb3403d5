"""Key weights for private item selection: each user spreads one unit of weight over their own items.

Plain user counts of items are in key_support.

A round's noisy weights are taken as released for every item there could be, also for those that nobody has;
users look up those of their own items. So :class:`KeyHints` are public by what paid for their noise, but the
*list* of items they hold is not: it is never shown, and only what a user has is looked up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headcount._internal.arrays import Draws, Flags, Integers
from headcount.bounds import draws
from headcount.bounds.bound import Bound, check_limit
from headcount.bounds.bounded import SEAL, Sensitivity
from headcount.bounds.engine_interface import Passes
from headcount.bounds.kernels.draws import user_keys
from headcount.bounds.keys.item_cache import UserItems, items_of_users, observed_items
from headcount.errors import UsageError
from headcount.events.encode.passes import Reading
from headcount.events.log import EventLog

Rule = Literal["shares", "roots", "one"]

UNITS = {"shares": 1 << 12, "roots": 1 << 16, "one": 1}
"""What one unit of weight is as a whole number, by rule."""

MAX_HINT = 1 << 11
"""The largest factor under the rule "roots": squares of 512 of them, times 2^32, stay within 63 bits."""

NO_ITEM_CAP = 2**31 - 1


class KeyHints:
    """How much earlier rounds speak for each item: a factor of 0 or more, larger for more.

    Under the rule "one" a quarter of the users, drawn by lot, follow ``steady`` factors, if there are any.
    """

    __slots__ = ("_factors", "_ids", "_steady")

    def __init__(self, ids: pa.Array, factors: Integers, steady: Integers | None = None) -> None:
        self._ids, self._factors, self._steady = ids, factors, factors if steady is None else steady

    @property
    def sensitive_ids(self) -> pa.Array:
        """The items, a list that is private: for the noise layer, and for tests."""
        return self._ids

    @property
    def factors(self) -> Integers:
        """The factor of each."""
        return self._factors

    def steady_of(self, ids: pa.Array) -> Integers:
        """Return the steady factors of some items."""
        return KeyHints(self._ids, self._steady).factors_of(ids)

    def factors_of(self, ids: pa.Array) -> Integers:
        """Return the factors of some items; 0 for one that did not come up.

        >>> KeyHints(pa.array(["tea", "rye"]), np.array([5, 7])).factors_of(pa.array(["rye", "oat"])).tolist()
        [7, 0]
        """
        if not len(self._ids):
            return np.zeros(len(ids), dtype=np.int64)
        places = pc.fill_null(pc.index_in(ids, value_set=self._ids.cast(ids.type)), -1).to_numpy()
        return np.where(places < 0, 0, self._factors[places])

    def __repr__(self) -> str:
        return "<KeyHints>"


class BoundedKeyWeights:
    """What users gave to each item, in all: made by :meth:`KeyWeights.seal`, accepted by noise, shown to nobody.

    One user adds at most one unit in all ("shares"), a vector of L2 norm at most one unit ("roots"), or 1 to
    one item ("one"). Under "roots" a user with n items gives none of them more than ``ceilings`` says for n.
    Listed are the items that somebody may give weight to: a list that is private, and so is its length.
    """

    __slots__ = ("_bound", "_ids", "_weights")

    def __init__(self, ids: pa.Array, weights: Integers, bound: KeyWeights, seal: object) -> None:
        if seal is not SEAL:
            raise TypeError("BoundedKeyWeights are made by headcount.bounds alone; see KeyWeights.seal")
        self._ids, self._weights, self._bound = ids, weights, bound
        self._weights.flags.writeable = False

    @property
    def bound(self) -> KeyWeights:
        """What was measured, which is public."""
        return self._bound

    @property
    def rule(self) -> Rule:
        """What one user adds at most."""
        return self._bound.rule

    @property
    def unit(self) -> int:
        """How many steps one unit of weight has."""
        return UNITS[self.rule]

    @property
    def sensitive_ids(self) -> pa.Array:
        """The items, sorted: for the noise layer, and for tests."""
        return self._ids

    @property
    def sensitive_weights(self) -> Integers:
        """The weight of each item: for the noise layer, and for tests."""
        return self._weights

    def with_others(self, other: BoundedKeyWeights) -> BoundedKeyWeights:
        """Add other users: nobody may be in both; see :meth:`~headcount.bounds.bounded.Bounded.with_others`."""
        if self._bound != other._bound:
            raise ValueError(f"{self} and {other} are not of the same bound")
        both = pa.concat_arrays([self._ids, other._ids.cast(self._ids.type)]).dictionary_encode()
        weights = np.zeros(len(both.dictionary), dtype=np.int64)
        np.add.at(weights, both.indices.to_numpy(), np.concatenate([self._weights, other._weights]))
        return self._bound.seal(both.dictionary, weights, np.ones(weights.size, dtype=np.bool_))

    def __repr__(self) -> str:
        return f"<BoundedKeyWeights by {self.rule}>"


@dataclass(frozen=True)
class KeyWeights(Bound[BoundedKeyWeights]):
    """Each user's weight over at most ``most`` random ones of their different items, by a rule.

    ``shares``: the same share of one unit for each; ``roots``: in proportion to the factors of the hints (1
    without any), together one unit in L2, none above the ceiling for so many items; ``one``: 1 for the item
    that the hints speak for most, a random one of several.

    ``ceilings`` has a number of items and a weight in each entry: users with at most so many items give none
    more than that. The same secret keeps the same items of a user in every round.
    """

    sensitivity: ClassVar[Sensitivity] = Sensitivity.of_l1(UNITS["shares"])
    """How far one user moves weights by shares."""

    rule: Rule
    most: int = NO_ITEM_CAP
    ceilings: tuple[tuple[int, int], ...] = ()
    hints: KeyHints | None = None

    def __post_init__(self) -> None:
        check_limit(self.most, "most")
        if self.rule == "roots":
            if self.most > 512 or not self.ceilings or self.ceilings[-1][0] < self.most:
                raise UsageError("roots are for at most 512 items of a person, with a ceiling for each number")
            if self.hints is not None and self.hints.factors.max(initial=0) > MAX_HINT:
                raise UsageError("a hint is too large")

    def reading(self, log: EventLog) -> Reading:
        """Items as they come up."""
        return observed_items(log)

    def ceilings_of(self, items: Integers) -> Integers:
        """Return the most weight that users with so many items give one of them.

        >>> KeyWeights("roots", 4, ((1, 9), (4, 6))).ceilings_of(np.array([1, 2, 4])).tolist()
        [9, 6, 6]
        """
        numbers, weights = (np.array(column, dtype=np.int64) for column in zip(*self.ceilings, strict=True))
        return np.asarray(weights[np.searchsorted(numbers, items)])

    def measure(self, passes: Passes, log: EventLog, secret: bytes) -> BoundedKeyWeights:
        """Add up what each user gives to their items."""
        held = items_of_users(passes, log, secret)
        ids, users, codes = held.items.ids, held.users, held.codes
        factors = np.ones(len(ids), dtype=np.int64) if self.hints is None else self.hints.factors_of(ids)
        if self.rule == "one":
            by = factors[codes]
            if self.hints is not None:
                lots = draws.follow_steady_hints(user_keys(held.people.raw, secret))
                by = np.where(lots[users], self.hints.steady_of(ids)[codes], by)
            codes = codes[_first(users, -by, held.draws_of(users, codes, secret))]
            chosen = np.bincount(codes, minlength=len(ids)).astype(np.int64)
            return self.seal(ids, chosen, chosen > 0)
        kept = _kept(held, self.most, secret)
        users, codes = users[kept], codes[kept]
        sizes = np.minimum(held.sizes, self.most)[users]
        if self.rule == "shares":
            there, weights = np.ones(codes.size, dtype=np.bool_), UNITS["shares"] // sizes
        else:
            there, weights = factors[codes] > 0, _roots(users, factors[codes], held.sizes.size)
            weights = np.minimum(weights, self.ceilings_of(sizes))
        summed = np.bincount(codes, weights, minlength=len(ids)).astype(np.int64)  # below 2^53, so exact
        return self.seal(ids, summed, np.bincount(codes[there], minlength=len(ids)) > 0)

    def seal(self, ids: pa.Array, weights: Integers, has_users: Flags | Sequence[bool]) -> BoundedKeyWeights:
        """Turn sums into weights; ``has_users`` are the items that somebody keeps, under the bound's rule.

        >>> weights = KeyWeights("shares").seal(pa.array(["tea", "rye"]), np.array([3, 0]), [True, False])
        >>> weights, weights.sensitive_ids.to_pylist()
        (<BoundedKeyWeights by shares>, ['tea'])
        """
        kept = np.asarray(has_users, dtype=np.bool_)
        ids, weights = ids.filter(pa.array(kept)), weights[kept]
        order = pc.sort_indices(ids)
        return BoundedKeyWeights(ids.take(order), weights[order.to_numpy()], self, SEAL)


def _roots(users: NDArray[np.int32], factors: Integers, n_users: int) -> Integers:
    """Return what each item gets so that squares sum to the unit's at most, in proportion to the factors."""
    squares = factors**2
    of_all = np.bincount(users, squares, minlength=n_users).astype(np.int64)[users]
    return _whole_roots(UNITS["roots"] ** 2 * squares // np.maximum(of_all, 1))


def _whole_roots(numbers: Integers) -> Integers:
    """Return square roots of numbers below 2^54, rounded down.

    >>> _whole_roots(np.array([0, 1, 3, 4, 2**52 - 1, 2**52])).tolist()
    [0, 1, 1, 2, 67108863, 67108864]
    """
    roots = np.floor(np.sqrt(numbers.astype(np.float64))).astype(np.int64)
    roots -= roots**2 > numbers
    return np.asarray(roots + ((roots + 1) ** 2 <= numbers))


def _kept(held: UserItems, most: int, secret: bytes) -> Flags:
    """Say which pairs count: all of users with at most ``most`` items, so many random ones of the others'."""
    kept = held.sizes[held.users] <= most
    rows = np.flatnonzero(~kept)
    if rows.size:
        users, codes = held.users[rows], held.codes[rows]
        order = np.lexsort((held.draws_of(users, codes, secret), users))
        begins = np.flatnonzero(np.diff(users[order], prepend=-1))
        places = np.arange(rows.size) - np.repeat(begins, np.diff(begins, append=rows.size))
        kept[rows[order[places < most]]] = True
    return kept


def _first(users: NDArray[np.int32], by: Integers, ties: Draws) -> Integers:
    """Return the row of each user that comes first."""
    order = np.lexsort((ties, by, users))
    return order[np.diff(users[order], prepend=-1) > 0]
