"""Time of GS's search for the group size; run as ``python -m benchmarks.performance.group_size_search NAME …``.

The data have the shapes of the paper's (table 2): as many users and columns, popularity after Zipf, one sampled
record per user, and discrete Laplace noise of scale 2/ε. At d = 17,770 a plain NumPy loop over w runs beside it
and must find the same errors.
"""

import json
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.bounds.draws import GOLDEN, mix
from headcount.methods.counts.smoothing.grouping import size_errors

SHAPES = {"netflix": (480_189, 17_770, 17_000), "document": (8_200_000, 141_043, 436),
          "checkin": (196_591, 5_977_758, 2_175)}  # users, columns, limit  # fmt: skip
EPSILONS = ("1", "0.1")
KEY = bytes(range(16))


def sample(users: int, d: int, epsilon: float) -> NDArray[np.int64]:
    random = np.random.default_rng(1)
    law = 1 / np.arange(1, d + 1)
    exact = random.permutation(random.multinomial(users, law / law.sum()))
    stop = -np.expm1(-epsilon / 2)  # the difference of two geometric variables is discrete Laplace
    return np.asarray(exact + random.geometric(stop, d) - random.geometric(stop, d), dtype=np.int64)


def naive_errors(noisy: NDArray[np.int64], limit: int, scale: float, key: bytes) -> NDArray[np.float64]:
    """What anyone would write: for each w all group means, put back on the columns and compared."""
    ordered = limit * np.sort(noisy).astype(np.float64)
    d = noisy.size
    k0, k1 = np.frombuffer(key, dtype="<u8").astype(np.uint64)[:, None]
    steps = np.arange(1, d + 1, dtype=np.uint64) * np.uint64(GOLDEN)
    errors = np.empty(d)
    for w in range(1, d + 1):
        starts = np.arange(d // w) * w
        sizes = np.full(d // w, w)
        sizes[-1] += d % w
        bits = mix(mix(mix(k0 + steps[w - 1]) + k1) + steps[: d // w]) >> np.uint64(11)
        u = (bits.astype(np.float64) + 0.5) * 2.0**-53
        noise = np.where(u < 0.5, np.log(2 * u), -np.log(2 * (1 - u)))
        means = (np.add.reduceat(ordered, starts) + scale * noise) / sizes
        errors[w - 1] = np.abs(ordered - np.repeat(means, sizes)).sum()
    return errors


def measure(name: str) -> dict[str, Any]:
    users, d, limit = SHAPES[name]
    seconds_by_epsilon: dict[str, list[float]] = {}
    chosen: dict[str, int] = {}
    for epsilon in EPSILONS:
        noisy = sample(users, d, float(epsilon))
        seconds_by_epsilon[epsilon] = []
        for _ in range(3):
            started = time.perf_counter()
            errors = size_errors(noisy, limit, 2 * limit / float(epsilon), KEY)
            seconds_by_epsilon[epsilon].append(time.perf_counter() - started)
        chosen[epsilon] = int(np.argmin(errors)) + 1
    return {"d": d, "seconds": seconds_by_epsilon, "chosen": chosen}


def measure_naive() -> float:
    users, d, limit = SHAPES["netflix"]
    noisy = sample(users, d, 1.0)
    started = time.perf_counter()
    naive = naive_errors(noisy, limit, 2.0 * limit, KEY)
    taken = time.perf_counter() - started
    ours = size_errors(noisy, limit, 2.0 * limit, KEY)
    if not np.allclose(ours, naive, rtol=1e-9, atol=0) or np.argmin(ours) != np.argmin(naive):
        sys.exit("the fast search and the naive one differ")
    return taken


def main() -> None:
    size_errors(sample(1000, 100, 1.0), 10, 20.0, KEY)  # so that the kernel is compiled
    print(json.dumps({"naive": measure_naive(), **{name: measure(name) for name in sys.argv[1:]}}))


if __name__ == "__main__":
    main()
