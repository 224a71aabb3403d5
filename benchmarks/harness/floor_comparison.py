"""Release time beside only reading the file: ``python -m benchmarks.harness.floor_comparison TASK …``.

``pair``   floor and release in turns, so that a change of the machine's load hits both
``alone``  one release and nothing else, for the peak memory of its process
``packed`` releases from the log and from a packed store of it in turns
``noise``  bulk noise and OpenDP's vector noise in turns
``import`` how long ``import headcount`` takes in a fresh interpreter
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

COLUMNS = ["user", "item", "weekday"]
CONTEXTS = list(range(7))
SCALE = 20  # half of epsilon 1 for each table, sensitivity 10


def stream_columns(log: Path, read_dictionary: list[str]) -> int:
    """The floor: PyArrow streams the columns, nothing is done with them."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(log, pre_buffer=False, read_dictionary=read_dictionary) as reader:
        return sum(batch.num_rows for batch in reader.iter_batches(columns=COLUMNS))


def release(log: Path, catalogue: Path, *, method: str, epsilon: str = "1") -> list[Any]:
    import headcount as hc

    events = hc.read_events(
        str(log), user="user", item="item", context="weekday", contexts=CONTEXTS, items=str(catalogue)
    )
    released = hc.release(events, epsilon=epsilon, method=method, limit=limit_of(method))
    return [released.items, released.edges]


def limit_of(method: str) -> int | None:
    """The adaptive method finds its own limit."""
    return None if method == "adaptive" else 10


def timed(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def pair(given: argparse.Namespace) -> dict[str, Any]:
    dictionaries = ["user", "item"] if given.read_dictionary else []
    release(given.warm_up, given.catalogue, method=given.method)
    stream_columns(given.warm_up, dictionaries)
    floor: list[float] = []
    ours: list[float] = []
    for _ in range(given.repeat):
        floor.append(timed(lambda: stream_columns(given.log, dictionaries)))
        ours.append(timed(lambda: release(given.log, given.catalogue, method=given.method)))
    return {"floor": floor, "ours": ours}


def packed(given: argparse.Namespace) -> dict[str, Any]:
    """Pack the log, then release from it and from its store in turns."""
    import tempfile

    import headcount as hc

    def store_of(log: Path, folder: str) -> str:
        events = hc.read_events(
            str(log), user="user", item="item", context="weekday", contexts=CONTEXTS, items=str(given.catalogue)
        )
        return str(hc.pack(events, folder))

    def again(store: str) -> None:
        hc.release(hc.read_events(store), epsilon="1", method=given.method, limit=limit_of(given.method))

    results: dict[str, Any] = {"first": [], "second": []}
    with tempfile.TemporaryDirectory(dir=given.log.parent) as folder:
        release(given.warm_up, given.catalogue, method=given.method)
        again(store_of(given.warm_up, f"{folder}/small"))
        results["pack"] = timed(lambda: store_of(given.log, f"{folder}/store"))
        results["bytes"] = sum(path.stat().st_size for path in Path(folder, "store").iterdir())
        for _ in range(given.repeat):
            results["first"].append(timed(lambda: release(given.log, given.catalogue, method=given.method)))
            results["second"].append(timed(lambda: again(f"{folder}/store")))
    return results


def alone(given: argparse.Namespace) -> dict[str, Any]:
    return {"tables": [[table.num_rows] for table in release(given.log, given.catalogue, method=given.method)]}


def noise(given: argparse.Namespace) -> dict[str, Any]:
    """Samples per second of both: OpenDP on as many cells as the job has, ours on a long vector."""
    import numpy as np
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    opendp = dp.m.make_laplace(*space, scale=float(SCALE))
    bulk = bulk_noise()
    short = [0] * 142_160
    long = np.zeros(given.samples, dtype=np.int64)
    opendp(short)
    bulk(long[:1000])
    rates: dict[str, list[float]] = {"opendp": [], "ours": []}
    for _ in range(given.repeat):
        rates["opendp"].append(len(short) / timed(lambda: opendp(short)))
        rates["ours"].append(len(long) / timed(lambda: bulk(long)))
    return rates


def bulk_noise() -> Callable[[Any], Any]:
    """Our bulk sampler: integers in, the same with discrete Laplace noise of scale ``SCALE`` out."""
    from fractions import Fraction

    from headcount.accounting.noise_distributions import DiscreteLaplace
    from headcount.noise import laplace
    from headcount.noise.randomness import OperatingSystemNoise

    law, source = DiscreteLaplace(Fraction(SCALE)), OperatingSystemNoise()
    return lambda values: values + laplace.draw(law, values.size, source)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("task", choices=["pair", "packed", "alone", "noise", "import"])
    parser.add_argument("log", type=Path, nargs="?")
    parser.add_argument("--catalogue", type=Path)
    parser.add_argument("--method", default="sra")
    parser.add_argument("--warm-up", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--samples", type=int, default=10_000_000)
    parser.add_argument("--read-dictionary", action="store_true")
    given = parser.parse_args()
    if given.task == "import":
        before = set(sys.modules)
        started = time.perf_counter()
        import headcount  # noqa: F401

        results: dict[str, Any] = {"seconds": time.perf_counter() - started}
        results["modules"] = len(set(sys.modules) - before)
    else:
        results = {"pair": pair, "packed": packed, "alone": alone, "noise": noise}[given.task](given)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
