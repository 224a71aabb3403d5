"""Number of items that private selection releases: ``python -m benchmarks.quality.item_selection``.

Ours, through :class:`headcount.methods.partition_selection.plan.Selection` as users get it, against published
mechanisms at the limit that is best in hindsight on that log (:mod:`benchmarks.quality.published_selections`), all
with the whole of ε and δ, side by side. Seeded noise makes the figures reproducible. The logs must be public:
nothing here is
private. The table of docs/unknown-catalogues.md comes from it.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import headcount as hc
from benchmarks.quality.published_selections import RIVALS, Baskets, laplace
from headcount.accounting.budget import Grant
from headcount.engines.local.engine import LocalEngine
from headcount.methods.partition_selection.plan import Selection
from headcount.noise import SeededNoise

TUNING_LOGS = (
    "movielens-1m", "gowalla-10core", "fimi-retail", "kosarak-prefix", "git-homebrew-core", "movielens-100k",
    "bms-webview-1", "hetrec-lastfm-tags", "uci-online-retail", "git-definitelytyped",
)  # fmt: skip
"""All of these were looked at while constants were chosen."""

HELD_OUT_LOGS = ("msweb", "foursquare-nyc", "hetrec-lastfm-plays", "hetrec-movielens-tags")
"""None of these was, before everything was fixed."""

PRICES = (("1", "1e-6"), ("1", "1e-10"), ("0.2", "1e-6"), ("0.2", "1e-10"))
BEFORE = 10
"""The limit that was the default before there was none."""


def main() -> None:
    """Print a row for each log and price."""
    parser = argparse.ArgumentParser(description="Compare ways to select items.")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--logs", default=",".join((*TUNING_LOGS, *HELD_OUT_LOGS)))
    arguments = parser.parse_args()
    names = list(RIVALS)
    print("log", "ε", "δ", "ours", "of the best", *names, f"limit {BEFORE}", sep=" | ")
    ratios, gains = [], []
    for log in arguments.logs.split(","):
        for price, ours, best, before in rows(log, arguments.runs):
            top = max(best.values())
            ratio = ours / top if top else 1.0
            shown = [f"{best[name]:.0f}" for name in names]
            print(log, *price, f"{ours:.0f}", f"{ratio:.2f}", *shown, f"{before:.0f}", sep=" | ", flush=True)
            if max(top, ours) >= 1:
                ratios.append(ratio)
                gains.append(math.log((ours + 0.5) / (before + 0.5)))
    print(f"worst ratio {min(ratios):.2f}; against limit {BEFORE}: {math.exp(float(np.mean(gains))):.1f} times")
    print("(numbers of items plus one half, in the geometric mean, where anything is found)")


def rows(log: str, runs: int) -> Iterator[tuple[tuple[str, str], float, dict[str, float], float]]:
    """Yield each price, what we select, what rivals do at their best limits, and what was selected before."""
    table = _table(log)
    events = hc.read_events(table, user="user", item="item", select_items=True)
    baskets, engine = _baskets(table), LocalEngine()
    for price in PRICES:
        epsilon, delta = float(price[0]), float(price[1])
        ours = [
            Selection().select(events, Grant(*price), SeededNoise(run), engine)[1]["items"] for run in range(runs)
        ]
        best = {
            name: max(
                float(
                    np.mean(
                        [rival(baskets, epsilon, delta, limit, np.random.default_rng(run)) for run in range(runs)]
                    )
                )
                for limit in limits
            )
            for name, (rival, limits) in RIVALS.items()
        }
        before = [laplace(baskets, epsilon, delta, BEFORE, np.random.default_rng(run)) for run in range(runs)]
        yield price, float(np.mean(ours)), best, float(np.mean(before))


def _table(log: str) -> pa.Table:
    item = "tag" if log.endswith("-tags") else "item"
    table = pq.read_table(Path(os.environ["HEADCOUNT_DATA"]) / f"{log}.parquet", columns=["user", item])
    return table.rename_columns(["user", "item"]).drop_null()


def _baskets(table: pa.Table) -> Baskets:
    users, items = (pc.dictionary_encode(table[name].combine_chunks()) for name in ("user", "item"))
    size = len(items.dictionary)
    pairs, own = np.unique(
        users.indices.to_numpy().astype(np.int64) * size + items.indices.to_numpy(), return_counts=True
    )
    numbers = np.bincount(pairs // size)
    return Baskets(np.concatenate([[0], np.cumsum(numbers)]), pairs % size, own, size)


if __name__ == "__main__":
    main()
