"""All rows of ``python -m benchmarks``, by name."""

from collections.abc import Callable

from benchmarks.harness.measurements import Bench
from benchmarks.harness.result_row import Row
from benchmarks.report import headcount_rows
from benchmarks.report.model_rows import models, wide_table
from benchmarks.report.rival_rows import contest
from benchmarks.report.scaling_rows import costs

ROWS: dict[str, Callable[[Bench], list[Row]]] = {
    "sra": headcount_rows.sra,
    "sra-memory": headcount_rows.sra_memory,
    "sra-cold": headcount_rows.sra_cold,
    "hpa": headcount_rows.hpa,
    "hpa-memory": headcount_rows.hpa_memory,
    "adaptive": headcount_rows.adaptive,
    "adaptive-memory": headcount_rows.adaptive_memory,
    "sparse": headcount_rows.sparse,
    "text": headcount_rows.text,
    "csv": headcount_rows.csv,
    "noise": headcount_rows.noise,
    "packed": headcount_rows.packed,
    "gs": headcount_rows.gs,
    "dpsense": headcount_rows.sensing,
    "import": headcount_rows.importing,
    "help": headcount_rows.helping,
    "top": headcount_rows.topping,
    "first-release": headcount_rows.first_release,
    "growth": headcount_rows.growth,
    "costs": costs,
    "rivals": contest,
    "models": models,
    "mbi": wide_table,
}
