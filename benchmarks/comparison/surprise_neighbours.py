"""Rating prediction by nearest neighbours, against Surprise: ``-m benchmarks.comparison.surprise_neighbours``.

Both predict the same fifth of everybody's ratings of MovieLens 100K from the same rest. Surprise runs in a virtual
environment of its own. The run fails if a MAE differs by more than 2 %.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.comparison.rival_environments import ROOT, Rival, bare_environment, environment
from headcount.lab.datasets.by_name import load
from headcount.lab.recommender.candidates import SIDES, Split, split_share_per_user
from headcount.lab.recommender.neighbourhood import Neighbourhood, predict
from headcount.lab.recommender.similarity import METRICS
from headcount.lab.replicate.pncf import WITHIN, ratings_in, with_ratings

SURPRISE = Rival("surprise", "surprise_knn", "surprise.txt")
K, SEED, TOLERANCE = 40, 0, 0.02


def ours(split: Split) -> dict[str, tuple[float, float]]:
    """The MAE and the seconds of each method."""
    results = {}
    for by in SIDES:
        for metric in METRICS:
            begin = time.perf_counter()
            predictions = predict(
                split.train, split.queries, Neighbourhood(by=by, metric=metric, k=K, within=WITHIN)
            )
            results[f"{by}-{metric}"] = split.mean_absolute_error(predictions), time.perf_counter() - begin
    return results


def theirs(split: Split) -> dict[str, float]:
    """The MAE of each method in Surprise."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "split.npz"
        train, queries = split.train, split.queries
        queries_and_truth = {"asked_users": queries.users, "asked_items": queries.items, "truth": split.truth}
        np.savez(path, users=train.users, items=train.items, values=train.values, **queries_and_truth)  # type: ignore[arg-type]
        command = [
            str(environment(SURPRISE)),
            "-m",
            f"benchmarks.rivals.{SURPRISE.module}",
            str(path),
            "--k",
            str(K),
        ]
        env = {**bare_environment(), "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", help="folder with movielens-100k.parquet; by default HEADCOUNT_DATA")
    split = split_share_per_user(ratings_in(with_ratings(load("movielens-100k", parser.parse_args().data))), SEED)
    rival, worst = theirs(split), 0.0
    print(f"{'MAE, k = 40':<12} {'Headcount':>10} {'Surprise':>10} {'apart':>8} {'seconds':>8}")
    for name, (error, seconds) in ours(split).items():
        apart = error / rival[name] - 1
        worst = max(worst, abs(apart))
        print(f"{name:<12} {error:>10.4f} {rival[name]:>10.4f} {apart:>+8.2%} {seconds:>8.2f}")
    return int(worst > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
