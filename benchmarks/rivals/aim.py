"""OpenDP's AIM on a table of bins that it is handed, with its default settings but for the size of the model.

    python -m benchmarks.rivals.aim TABLE.npz --rho 0.015 --max-size 8 --out TABLES.npz [--rounds N] [--quick]

writes the estimated counts of all pairs and triples of columns, and prints one JSON document: wall and CPU seconds
from the table in memory to these counts, and how many tables were measured. A line an estimate goes to stderr.
With ``--quick`` tables of the model are computed by NumPy: the error is AIM's, the time is not.
"""

import argparse
import json
import sys
import time
from itertools import combinations
from typing import Any

import numpy as np
import opendp.prelude as dp
import polars as pl
from opendp.extras.mbi import mirror_descent

from benchmarks.rivals import quick_projection


def estimator(*given: Any, **more: Any) -> Any:
    """The default one, and a sign of life."""
    model = mirror_descent(*given, **more)
    print(f"{time.process_time():,.0f} s: a model of {len(model.cliques)} cliques", file=sys.stderr, flush=True)
    return model


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("table")
    parser.add_argument("--rho", type=float, required=True)
    parser.add_argument("--max-size", type=float, required=True, help="of the model, in MB")
    parser.add_argument("--out", required=True)
    parser.add_argument("--rounds", type=int, help="at most; AIM's own default is 16 a column")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    if given.quick:
        quick_projection.install()
    dp.enable_features("contrib")
    held = np.load(given.table)
    codes, shape = held["codes"], [int(size) for size in held["shape"]]
    names = [f"c{place}" for place in range(len(shape))]
    begin, cpu = time.perf_counter(), time.process_time()
    context = dp.Context.compositor(
        data=pl.DataFrame({name: codes[:, place] for place, name in enumerate(names)}).lazy(),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=given.rho),
    )
    # cuts between whole numbers: every bin is known, and there is none for what is missing
    cuts = {name: list(range(size - 1)) for name, size in zip(names, shape, strict=True)}
    algorithm = dp.mbi.AIM(queries=3, max_size=given.max_size, rounds=given.rounds, estimator=estimator)
    table = context.query(rho=given.rho).contingency_table(cuts=cuts, algorithm=algorithm).release()
    marginals = {
        " ".join(map(str, places)): np.asarray(table.project([names[place] for place in places]))
        for size in (2, 3)
        for places in combinations(range(len(shape)), size)
    }
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    np.savez(given.out, **marginals)  # type: ignore[arg-type]
    print(json.dumps({"seconds": seconds, "cpu": cpu, "measured": len(table.marginals.flatten())}))


if __name__ == "__main__":
    main()
