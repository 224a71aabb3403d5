"""Recall of private top-k rankings: ``python -m benchmarks.quality.top_k_rankings [--runs N]``.

The table in docs/methods/index.md comes from it. With ``--people`` direct top-K joins in, and the tables are those
in docs/rank.md; with ``-k 100`` the one of long rankings: as ``rank`` makes them, by peeling alone and by counts
alone. With ``--delta`` it is the one of long rankings with δ, with seeded noise. The logs are made up, so the
truth is known; with HEADCOUNT_DATA set to a folder that holds MovieLens-1M and others as Parquet, those are
measured too. Never do this with a private log.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow.parquet as pq

import headcount as hc
from headcount.accounting.budget import Grant
from headcount.engines.local.engine import LocalEngine
from headcount.lab.compare.caching_engine import CachingEngine
from headcount.lab.synthetic.logs import checkins, ratings
from headcount.methods.counts.adaptive import Adaptive
from headcount.methods.rankings import top_k
from headcount.methods.rankings.top_k import DirectTopK
from headcount.noise import SeededNoise
from headcount.releases.formatting import per_cent

PUBLISHED = {"scores": "0.1", "items": "0.45", "edges": "0.45"}
DEFAULT = {"scores": "0.3", "items": "0.35", "edges": "0.35"}
SETTINGS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("adaptive", {"method": "adaptive"}),
    ("lpa, limit 1000", {"method": "lpa", "limit": 1000}),
    ("sra, limit 10", {"method": "sra", "limit": 10}),
    ("hpa, limit 10, scores 0.1", {"method": "hpa", "limit": 10, "shares": PUBLISHED}),
    ("hpa, limit 10, scores 0.3", {"method": "hpa", "limit": 10, "shares": DEFAULT}),
)

Ranking = Callable[[hc.EventLog, int, str], hc.Release]
"""Makes a release to be ranked, from a log, k and ε."""


def ranked(log: hc.EventLog, k: int, epsilon: str) -> hc.Release:
    """As ``headcount rank`` does it."""
    release: hc.Release = hc.rank(log, k=k, epsilon=epsilon)
    return release


def peeled(log: hc.EventLog, k: int, epsilon: str) -> hc.Release:
    """By peeling, whatever the number of places, with all of ε."""
    with mock.patch.object(top_k, "FEW_ROUNDS", k):
        return ranked(log, k, epsilon)


def counted(**setting: Any) -> Ranking:
    """By a release of all item counts."""

    def make(log: hc.EventLog, _: int, epsilon: str) -> hc.Release:
        return hc.release(log, epsilon=epsilon, what="items", **setting)

    return make


SHORT: dict[str, Ranking] = {
    "rank": ranked,
    "sra, limit 10": counted(method="sra", limit=10),
    "hpa, limit 10": counted(method="hpa", limit=10),
}
LONG: dict[str, Ranking] = {"rank": ranked, "peeling alone": peeled, "adaptive counts": counted(method="adaptive")}
REAL = ("movielens-1m", "gowalla-10core", "fimi-retail", "foursquare-nyc")
CHOSEN_ON = (
    "movielens-1m", "gowalla-10core", "fimi-retail", "hetrec-lastfm-plays", "git-homebrew-core", "bms-webview-1",
)  # fmt: skip
CONFIRMED_ON = (
    "uci-online-retail", "foursquare-nyc", "kosarak-prefix", "movielens-100k", "msweb", "git-definitelytyped",
)  # fmt: skip
"""Logs that the choice between both ways with δ was made on, and those that were looked at afterwards."""

Seeded = Callable[[hc.EventLog, int, Grant, SeededNoise, CachingEngine], hc.Release]
"""Makes a release to be ranked with δ, from a log, k, a grant, noise and an engine."""


def ranked_with_delta(
    log: hc.EventLog, k: int, grant: Grant, noise: SeededNoise, engine: CachingEngine
) -> hc.Release:
    """As ``headcount rank --delta`` does it."""
    return DirectTopK(k=k).release(log, grant, noise, engine)


def picked(log: hc.EventLog, k: int, grant: Grant, noise: SeededNoise, engine: CachingEngine) -> hc.Release:
    """By picks, with all of ρ."""
    with mock.patch.object(top_k, "FEW_ROUNDS", k):
        return ranked_with_delta(log, k, grant, noise, engine)


def counted_with_delta(
    log: hc.EventLog, _: int, grant: Grant, noise: SeededNoise, engine: CachingEngine
) -> hc.Release:
    """By all item counts with Gaussian noise."""
    return Adaptive(what="items", noise="gaussian").release(log, grant, noise, engine)


WITH_DELTA: dict[str, Seeded] = {
    "rank": ranked_with_delta, "picks alone": picked, "adaptive counts": counted_with_delta
}  # fmt: skip


def logs(folder: Path) -> Iterator[tuple[str, hc.EventLog, list[tuple[Any, int]]]]:
    """Each log with its name and its true ranking."""
    city = checkins(folder)
    context = hc.weekday("time")
    log = hc.read_events(city.visits, user="user", item="venue", items=city.venues, context=context)
    yield "check-ins", log, true_ranking(city.visits, "venue")
    films = ratings(folder)
    log = hc.read_events(films.ratings, user="user", item="item", items=films.movies, context=context)
    yield "film ratings", log, true_ranking(films.ratings, "item")
    real = Path(os.environ.get("HEADCOUNT_DATA", ".")) / "movielens-1m.parquet"
    if real.exists():
        items = str(real.with_name("movielens-1m-items.parquet"))
        log = hc.read_events(real, user="user", item="item", items=items, context="gender", contexts="F,M")
        yield "MovieLens-1M", log, true_ranking(real, "item")


def true_ranking(path: Path, column: str) -> list[tuple[Any, int]]:
    """Items and their numbers of records, most counted first; as text, which ids of a CSV catalogue are."""
    return Counter(map(str, pq.read_table(path, columns=[column])[column].to_pylist())).most_common()


def recalls(
    log: hc.EventLog, truth: list[tuple[Any, int]], epsilon: str, setting: dict[str, Any]
) -> tuple[float, float, float]:
    """How much of the true top 10 and top 100 one release finds, and of the top 10's records it counts."""
    release = hc.release(log, epsilon=epsilon, **setting)
    ranking = [str(row["item"]) for row in release.top(100)]
    best = [item for item, _ in truth[:100]]
    ids = map(str, release.items["item"].to_pylist())
    counts = dict(zip(ids, release.items["count"].to_pylist(), strict=True))
    counted = sum(counts[item] for item in best[:10]) / sum(count for _, count in truth[:10])
    return len({*ranking[:10]} & {*best[:10]}) / 10, len({*ranking} & {*best}) / 100, counted


def logs_of_people(folder: Path) -> Iterator[tuple[str, hc.EventLog, Counter[Any]]]:
    """Each log with its name and how many people have each item; the catalogue of a real log is its items."""
    city, films = checkins(folder), ratings(folder)
    yield user_counts_of("check-ins", city.visits, "venue", city.venues)
    yield user_counts_of("film ratings", films.ratings, "item", films.movies)
    for name in REAL:
        real = Path(os.environ.get("HEADCOUNT_DATA", ".")) / f"{name}.parquet"
        if real.exists():
            yield user_counts_of(name, real, "item", None)


def user_counts_of(name: str, path: Path, item: str, items: Any) -> tuple[str, hc.EventLog, Counter[Any]]:
    """Count people per item, and describe the log."""
    pairs = pq.read_table(path, columns=["user", item]).drop_null().group_by(["user", item]).aggregate([])
    people = Counter(pairs[item].to_pylist())
    log = hc.read_events(
        path, user="user", item=item, items=sorted(people) if items is None else items, count="users"
    )
    return name, log, Counter({str(item): number for item, number in people.items()})  # as ids of a CSV are


def recall_of_users(user_counts: Counter[Any], k: int, release: hc.Release) -> float:
    """How much of the top K a release finds; whatever has as many people as the last of them is right."""
    least = user_counts.most_common(k)[-1][1]
    return sum(user_counts[str(row["item"])] >= least for row in release.top(k)) / k


def measure_user_rankings(runs: int, k: int) -> None:
    """Print how much of the top K by people is found, and how often a long ranking was one of counts."""
    ways = SHORT if k <= top_k.FEW_ROUNDS else LONG
    more = [] if ways is SHORT else ["by counts"]
    print(f"| log | ε | {' | '.join([*ways, *more])} |")
    print(f"|---|---|{'---:|' * len([*ways, *more])}")
    with tempfile.TemporaryDirectory() as folder:
        for name, log, people in logs_of_people(Path(folder)):
            for epsilon in ("0.1", "0.5"):
                shares, chosen = [], []
                for make in ways.values():
                    releases = [make(log, k, epsilon) for _ in range(runs)]
                    shares.append(statistics.mean(recall_of_users(people, k, release) for release in releases))
                    chosen += [release.chosen.get("ranking", {}).get("by") for release in releases]
                last = [f"{chosen.count('counts')} of {runs}" for _ in more]
                cells = " | ".join([*(per_cent(share, 1) for share in shares), *last])
                print(f"| {name} | {epsilon} | {cells} |", flush=True)


def measure_with_delta(runs: int, k: int, delta: str, names: Sequence[str], epsilons: Sequence[str]) -> None:
    """Print how much of the top K by people is found with δ, by run numbers as seeds."""
    print(f"| log | ε | {' | '.join(WITH_DELTA)} | ± | by counts |")
    print(f"|---|---|{'---:|' * (len(WITH_DELTA) + 2)}")
    for name in names:
        path = Path(os.environ.get("HEADCOUNT_DATA", ".")) / f"{name}.parquet"
        if not path.exists():
            continue
        _, log, people = user_counts_of(name, path, "item", None)
        engine = CachingEngine(LocalEngine(threads=1), name)  # nothing that is measured here is drawn
        for epsilon in epsilons:
            shares: dict[str, list[float]] = {command: [] for command in WITH_DELTA}
            by = []
            for command, make in WITH_DELTA.items():
                for seed in range(runs):
                    engine.begin()
                    release = make(log, k, Grant(epsilon, delta), SeededNoise(seed), engine)
                    shares[command].append(recall_of_users(people, k, release))
                    by += [release.chosen["ranking"]["by"]] if command == "rank" else []
            error = statistics.stdev(shares["rank"]) / math.sqrt(runs)
            cells = " | ".join(per_cent(statistics.mean(recall_list), 1) for recall_list in shares.values())
            counted = f"{by.count('counts')} of {runs}"
            print(f"| {name} | {epsilon} | {cells} | {per_cent(error, 1)} | {counted} |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what private rankings find of the true one.")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--people", action="store_true", help="rank by people, and directly too")
    parser.add_argument("-k", type=int, default=10, help="with --people: how many places")
    parser.add_argument("--delta", help="with --people: measure long rankings with this δ, such as 1e-6")
    parser.add_argument("--logs", default=",".join((*CHOSEN_ON, *CONFIRMED_ON)), help="with --delta: which")
    parser.add_argument("--epsilon", default="0.1,0.5,1", help="with --delta: which")
    arguments = parser.parse_args()
    runs = arguments.runs
    if arguments.delta is not None:
        names, epsilons = arguments.logs.split(","), arguments.epsilon.split(",")
        measure_with_delta(runs, arguments.k, arguments.delta, names, epsilons)
        return 0
    if arguments.people:
        measure_user_rankings(runs, arguments.k)
        return 0
    print("| log | ε | method | top 10 found | top 100 found | records of the top 10 counted |")
    print("|---|---|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for name, log, truth in logs(Path(folder)):
            for epsilon in ("0.5", "1"):
                for label, setting in SETTINGS:
                    run_recalls = [recalls(log, truth, epsilon, setting) for _ in range(runs)]
                    shares = [per_cent(statistics.mean(column)) for column in zip(*run_recalls, strict=True)]
                    print(f"| {name} | {epsilon} | {label} | {' | '.join(shares)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
