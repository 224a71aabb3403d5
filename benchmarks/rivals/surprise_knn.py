"""Surprise's neighbourhood methods on a split that it is handed, as its guide shows them.

    python -m benchmarks.rivals.surprise_knn SPLIT.npz --k 40

prints one JSON document: the MAE of each method. KNNBasic is the thesis' item-based prediction, KNNWithMeans its
user-based one; ``pearson`` and ``cosine`` look at co-rated sets.
"""

import argparse
import json

import numpy as np
from surprise import Dataset, KNNBasic, KNNWithMeans, Reader

NAMES = {"pcc": "pearson", "cos": "cosine"}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("split")
    parser.add_argument("--k", type=int, required=True)
    given = parser.parse_args()
    split = np.load(given.split)
    rows = zip(*(split[name].tolist() for name in ("users", "items", "values")), strict=True)
    data = Dataset(Reader(rating_scale=(1, 5)))
    train = data.construct_trainset([(*row, None) for row in rows])
    errors = {}
    for by, kind in (("item", KNNBasic), ("user", KNNWithMeans)):
        for metric, name in NAMES.items():
            model = kind(k=given.k, sim_options={"name": name, "user_based": by == "user"}, verbose=False)
            model.fit(train)
            pairs = zip(split["asked_users"].tolist(), split["asked_items"].tolist(), strict=True)
            predictions = np.array([model.predict(*pair).est for pair in pairs])
            errors[f"{by}-{metric}"] = float(np.abs(predictions - split["truth"]).mean())
    print(json.dumps(errors))


if __name__ == "__main__":
    main()
