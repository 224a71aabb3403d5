"""Compiled kernels of tag methods: topics by Gibbs sampling, PriTop's private topics, replacement of tags.

``sweep`` draws the topics of latent Dirichlet allocation by collapsed Gibbs sampling. ``noisy_shares`` is Pr(z |
t, r) from topic counts with fresh noise for every resource-tag pair (equation 4.3.5). ``replace_all`` deletes,
adds and replaces tags within topics (PriTop, Algorithm 5).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Codes, Floats
from headcount._internal.compiled import Word, compiled, inlined, uint64
from headcount.bounds.kernels.draws import GOLDEN, mix

Counts = NDArray[np.int64]


@inlined
def uniform(state: Word) -> Word:
    """Return a number in [0, 1) for a state of SplitMix64."""
    return np.int64(mix(state) >> uint64(11)) * 2.0**-53


@compiled
def sweep(
    resource: Codes,
    tag: Codes,
    topic: Codes,
    of_tag: Counts,
    of_resource: Counts,
    of_all: Counts,
    alpha: float,
    beta: float,
    seed: np.uint64,
    sweeps: int,
) -> None:
    """Draw every topic anew, ``sweeps`` times; counts are kept up to date."""
    many = of_all.size
    everything = of_tag.shape[0] * beta
    running = np.empty(many)
    state = seed
    for _ in range(sweeps):
        for at in range(tag.size):
            word, document, old = tag[at], resource[at], topic[at]
            of_tag[word, old] -= 1
            of_resource[document, old] -= 1
            of_all[old] -= 1
            total = 0.0
            for z in range(many):
                total += (of_tag[word, z] + beta) * (of_resource[document, z] + alpha) / (of_all[z] + everything)
                running[z] = total
            state += GOLDEN
            bar = uniform(state) * total
            new = 0
            while new < many - 1 and running[new] <= bar:
                new += 1
            topic[at] = new
            of_tag[word, new] += 1
            of_resource[document, new] += 1
            of_all[new] += 1


@inlined
def _laplace(drawn: Word, scale: float) -> Word:
    """Turn a number in [0, 1) into Laplace noise."""
    centred = drawn - 0.5
    return -math.copysign(scale, centred) * math.log(1.0 - 2.0 * abs(centred) + 2.0**-54)


@compiled
def noisy_shares(
    resource: Codes,
    tag: Codes,
    times: Counts,
    of_tag: Counts,
    of_resource: Counts,
    priors: tuple[float, float],
    scale: float,
    seed: np.uint64,
    best: Counts,
    shares: Floats,
) -> None:
    """Fill ``best``, the most probable topic of each pair, and add to ``shares`` of its tag, ``times`` over."""
    alpha, beta = priors
    many = of_tag.shape[1]
    of_topic = of_tag.sum(axis=0)
    all_tags, all_topics = of_tag.shape[0] * beta, many * alpha
    chances = np.empty(many)
    state = seed
    for at in range(tag.size):
        word, document = tag[at], resource[at]
        size = of_resource[document].sum()
        total, most = 0.0, 0
        for z in range(many):
            state += GOLDEN
            tag_noise = _laplace(uniform(state), scale)
            state += GOLDEN
            resource_noise = _laplace(uniform(state), scale)
            left = (max(of_tag[word, z] + tag_noise, 0.0) + beta) / (max(of_topic[z] - tag_noise, 0.0) + all_tags)
            right = (max(of_resource[document, z] + resource_noise, 0.0) + alpha) / (
                max(size - resource_noise, 0.0) + all_topics
            )
            chances[z] = left * right
            total += chances[z]
            if chances[z] > chances[most]:
                most = z
        best[at] = most
        for z in range(many):
            shares[word, z] += times[at] * chances[z] / total


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
    tag: int, candidates: Codes, free: int, shares: Floats, entropy: Floats, steepness: float, state: np.uint64
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
