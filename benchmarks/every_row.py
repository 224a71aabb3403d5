"""All rows of ``python -m benchmarks``, by name."""

from collections.abc import Callable

from benchmarks import rows
from benchmarks.bench import Bench
from benchmarks.contest_rows import contest
from benchmarks.cost_rows import costs
from benchmarks.model_rows import models, wide_table
from benchmarks.row import Row

ROWS: dict[str, Callable[[Bench], list[Row]]] = {
    "sra": rows.sra,
    "sra-memory": rows.sra_memory,
    "sra-cold": rows.sra_cold,
    "hpa": rows.hpa,
    "hpa-memory": rows.hpa_memory,
    "adaptive": rows.adaptive,
    "adaptive-memory": rows.adaptive_memory,
    "sparse": rows.sparse,
    "text": rows.text,
    "csv": rows.csv,
    "noise": rows.noise,
    "packed": rows.packed,
    "gs": rows.gs,
    "dpsense": rows.sensing,
    "import": rows.importing,
    "help": rows.helping,
    "top": rows.topping,
    "first-release": rows.first_release,
    "growth": rows.growth,
    "costs": costs,
    "rivals": contest,
    "models": models,
    "mbi": wide_table,
}
