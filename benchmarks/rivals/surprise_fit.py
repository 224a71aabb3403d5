"""Surprise's models of a log of ratings: how long they take to fit.

    python -m benchmarks.rivals.surprise_fit LOG --model KNNBasic

prints one JSON document: the seconds from the file to its training set, and of the fit itself. KNNBasic with the
cosine of co-rated sets compares every two items that somebody rated, without noise and without a bound: it is what
a private model of ratings stands for. It holds five tables of all pairs of items, and its time grows with the
squares of people's records. SVD, with the settings of its guide, grows with the records alone.
"""

import argparse
import json
import time

import pyarrow.parquet as pq
from surprise import SVD, Dataset, KNNBasic, Reader


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("log")
    parser.add_argument("--model", choices=("KNNBasic", "SVD"), required=True)
    given = parser.parse_args()
    begin = time.perf_counter()
    columns = pq.read_table(given.log, columns=["user", "item", "stars"]).columns
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    train = Dataset(Reader(rating_scale=(1, 5))).construct_trainset([(*row, None) for row in rows])
    prepared = time.perf_counter()
    by_items = {"name": "cosine", "user_based": False}
    model = SVD() if given.model == "SVD" else KNNBasic(sim_options=by_items, verbose=False)
    model.fit(train)
    print(json.dumps({"prepare": prepared - begin, "fit": time.perf_counter() - prepared}))


if __name__ == "__main__":
    main()
