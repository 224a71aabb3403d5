"""Surprise's item-based neighbourhood model of a log of ratings: how long it takes to fit.

    python -m benchmarks.rivals.surprise_fit LOG

prints one JSON document: the seconds from the file to its training set, and of the fit itself. KNNBasic with the
cosine of co-rated sets compares every two items that somebody rated, without noise and without a bound: it is what
a private model of ratings stands for.
"""

import argparse
import json
import time

import pyarrow.parquet as pq
from surprise import Dataset, KNNBasic, Reader


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("log")
    given = parser.parse_args()
    begin = time.perf_counter()
    columns = pq.read_table(given.log, columns=["user", "item", "stars"]).columns
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    train = Dataset(Reader(rating_scale=(1, 5))).construct_trainset([(*row, None) for row in rows])
    prepared = time.perf_counter()
    KNNBasic(sim_options={"name": "cosine", "user_based": False}, verbose=False).fit(train)
    print(json.dumps({"prepare": prepared - begin, "fit": time.perf_counter() - prepared}))


if __name__ == "__main__":
    main()
