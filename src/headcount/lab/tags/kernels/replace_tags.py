"""Compiled deletion, addition and replacement of tags within topics (PriTop, Algorithm 5)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Codes, Floats
from headcount._internal.compiled import Word, compiled, inlined
from headcount.bounds.kernels.draws import GOLDEN
from headcount.lab.tags.kernels.uniform import uniform

Counts = NDArray[np.int64]


@inlined
def apart(shares: Floats, entropy: Floats, left: Word, right: Word) -> Word:
    """Return the Jensen-Shannon divergence of two tags' topics, in bits."""
    total = 0.0
    for z in range(shares.shape[1]):
        middle = 0.5 * (shares[left, z] + shares[right, z])
        if middle > 0.0:
            total -= middle * math.log2(middle)
    return min(max(total - 0.5 * (entropy[left] + entropy[right]), 0.0), 1.0)


@compiled
def selected(
    tag: int,
    candidates: Codes,
    free: int,
    shares: Floats,
    entropy: Floats,
    steepness: float,
    state: np.uint64,
) -> tuple[int, np.uint64]:
    """Draw the place of one of the first ``free`` candidates, with chances proportional to exp(-steepness d).

    A uniform draw that is kept with probability exp(-steepness d) has this law. Few are refused if ε is small, and
    none need d where even exp(-steepness) would keep them. If as many are refused as there are candidates, all are
    weighed: the draw begins afresh, so the law stays.
    """
    surely = math.exp(-steepness)
    for _ in range(free):
        state += GOLDEN
        place = int(uniform(state) * free)
        state += GOLDEN
        bar = uniform(state)
        if bar < surely or bar < math.exp(-steepness * apart(shares, entropy, tag, candidates[place])):
            return place, state
    running = np.empty(free)
    total = 0.0
    for number in range(free):
        total += math.exp(-steepness * apart(shares, entropy, tag, candidates[number]))
        running[number] = total
    state += GOLDEN
    return min(np.searchsorted(running, uniform(state) * total, side="right"), free - 1), state


@compiled
def replace_all(
    user: Codes,
    topic: Counts,
    tag: Codes,
    stays: NDArray[np.bool_],
    changes: Counts,
    probable: Codes,
    candidates: Codes,
    starts: Counts,
    shares: Floats,
    entropy: Floats,
    steepness: float,
    seed: np.uint64,
    replacement: Counts,
    moved: Floats,
    owners: Counts,
    added: Counts,
) -> int:
    """Replace the tags of entries that stay, and add as many as ``changes`` says; return how many were added.

    Entries are sorted by user and topic. Candidates of topic z are ``candidates[starts[z] : starts[z + 1]]``, and
    change their order; ``probable`` lists the tags of each topic, the most probable first. ``replacement`` and
    ``moved`` say of each entry what stands in its place and how far that is; they stay as they are where nothing
    does.
    """
    users, many = changes.shape
    own = np.full(probable.shape[1], -1, dtype=np.int64)
    state, at, count = seed, 0, 0
    for person in range(users):
        for which in range(many):
            first = at
            while at < tag.size and user[at] == person and topic[at] == which:
                own[tag[at]] = person * many + which
                at += 1
            mine = candidates[starts[which] : starts[which + 1]]
            free = mine.size
            for entry in range(first, at):
                if not stays[entry] or free == 0:
                    continue
                place, state = selected(tag[entry], mine, free, shares, entropy, steepness, state)
                replacement[entry] = mine[place]
                moved[entry] = apart(shares, entropy, tag[entry], mine[place])
                free -= 1
                mine[place], mine[free] = mine[free], mine[place]
            wanted, rank = changes[person, which], 0
            while wanted > 0 and free > 0 and rank < probable.shape[1]:
                word = probable[which, rank]
                rank += 1
                if own[word] == person * many + which:
                    continue
                place, state = selected(word, mine, free, shares, entropy, steepness, state)
                owners[count], added[count] = person, mine[place]
                count, wanted, free = count + 1, wanted - 1, free - 1
                mine[place], mine[free] = mine[free], mine[place]
    return count
