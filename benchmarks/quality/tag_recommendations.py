"""Recall of private tag recommendations: ``python -m benchmarks.quality.tag_recommendations lastfm|movielens``.

One resource of each person is hidden, and its tags are to be among the ten that are recommended: by a private tag
model, with the person's own tags and without, and by the most popular tags, all at the same ε and δ. Beside them
FolkRank, which is not private, on the first hiding. Shares and weights were chosen on half A of Last.fm; half B is
the other one.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from headcount.accounting.budget import Grant
from headcount.bounds import NO_SECRET
from headcount.bounds.tags.tag_weights import TagWeights
from headcount.events.tag_log import Tagging, TagLog
from headcount.lab.compare.tags import (
    Assignments,
    by_folkrank,
    by_model,
    by_popularity,
    leave_one_out,
    recall_and_precision,
)
from headcount.methods.tags.model import TagModel
from headcount.noise import SeededNoise, add_noise

DELTA = "1e-6"
EPSILONS = ("0.5", "1", "2", "4", "8", "16")


def assignments(name: str, half: str | None) -> Tagging:
    """Read who tagged what how, everybody or one half of the people."""
    folder = Path(os.environ.get("HEADCOUNT_DATA", "../shared/data"))
    table = pq.read_table(folder / f"hetrec-{name}-tags.parquet", columns=["user", "resource", "tag"])
    user, resource, tag = (np.unique(column.to_numpy(), return_inverse=True)[1] for column in table.columns)
    resources, tags = int(resource.max()) + 1, int(tag.max()) + 1
    if half is not None:
        first = np.random.default_rng(7).random(int(user.max()) + 1) < 0.5
        kept = first[user] == (half == "A")
        user, resource, tag = np.unique(user[kept], return_inverse=True)[1], resource[kept], tag[kept]
    return Tagging.from_codes(user, resource, tag, people=int(user.max()) + 1, resources=resources, tags=tags)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=["lastfm", "movielens"])
    parser.add_argument("--half", choices=["A", "B"])
    parser.add_argument("--pure", action="store_true", help="without δ")
    parser.add_argument("--runs", type=int, default=6)
    given = parser.parse_args()
    begin = time.perf_counter()
    tagging, delta = assignments(given.name, given.half), None if given.pure else DELTA
    names = [[str(place) for place in range(size)] for size in (tagging.resources, tagging.tags)]
    log = TagLog.listing([], resources=names[0], vocabulary=names[1])
    for epsilon in EPSILONS:
        recalls: dict[str, list[float]] = {"model and own tags": [], "model alone": [], "popular tags": []}
        for seed in range(given.runs):
            hidden, noise = leave_one_out(tagging, seed), SeededNoise(seed)
            release = TagModel().release(log, Grant(epsilon, delta), noise, Assignments(hidden.left))
            weights = add_noise(
                Assignments(hidden.left).measure(log, TagWeights("l1" if given.pure else "l2"), NO_SECRET),
                Grant(epsilon, delta),
                noise,
            )
            best = {
                "model and own tags": by_model(hidden, release, own=True),
                "model alone": by_model(hidden, release, own=False),
                "popular tags": by_popularity(hidden, weights.counts),
            }
            for name, ranked_tags in best.items():
                recalls[name].append(float(recall_and_precision(hidden, ranked_tags)[0][-1]))
        recall_texts = "   ".join(f"{name} {np.mean(values):.3f}" for name, values in recalls.items())
        print(f"ε = {epsilon:<4} {recall_texts}", flush=True)
    hidden = leave_one_out(tagging, 0)
    print(f"FolkRank, not private: {recall_and_precision(hidden, by_folkrank(hidden))[0][-1]:.3f}")
    print(f"{time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
