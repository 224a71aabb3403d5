"""One Spark session per test run: two cores, little memory; tests are skipped without Java."""

from __future__ import annotations

import os
import runpy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from headcount.engines.spark.engine import SparkEngine
from headcount.engines.spark.session import open_session
from headcount.errors import SurroundingsError

JAVA_TOOL = Path(__file__).parents[2] / "tools" / "packaging" / "java.py"
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # jobs are too short to be worth compiling well
CONF = {
    "spark.master": "local[2, 3]",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


@cache
def session() -> Any:
    """Return the session, started when it is first asked for; skip the test where there is no Java."""
    try:
        os.environ.update(runpy.run_path(str(JAVA_TOOL))["environment"]())
    except SurroundingsError as error:
        pytest.skip(f"NOT TESTED: {error}, or run `python tools/packaging/java.py`")
    os.environ.setdefault("SPARK_SUBMIT_OPTS", QUICK)
    return open_session(CONF)


def engine(partitions: int = 2) -> SparkEngine:
    """Return an engine in that session."""
    return SparkEngine(session(), partitions)
