"""The command of the cluster guide, run for real: the wheel under ``spark-submit``, with a master of its own."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from tests.support import spark_session

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


def documented(name: str) -> str:
    """Return a part of the cluster guide."""
    guide = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8").split("## On a cluster")[1]
    patterns = {"command": r"(spark-submit \\\n(?:.*\\\n)+.*)\n```", "program": r"two\s+lines, `(.*)` and `(.*)`:"}
    match = re.search(patterns[name], guide)
    assert match is not None
    return "\n".join(match.groups())


def command_of(guide: str, visits: Path, out: Path) -> list[str]:
    """Return the documented command, with what a machine by itself has in place of what a cluster has."""
    here = {
        "yarn": "local[2]", "hdfs:///logs/visits": str(visits), "venues.csv": "tea,rye", "weekly/": str(out),
        "spark.executor.memory=4g": "spark.driver.memory=1g",
    }  # fmt: skip
    words = [here.get(word, word) for word in shlex.split(guide.replace("\\\n", " "))]
    packed = words.index("--archives")  # the environment is here already
    return words[:packed] + words[packed + 2 :]


def test_the_wheel_is_submitted_as_documented(tmp_path: Path) -> None:
    spark_session.session()  # or skip: there is no Java
    import pyspark

    pip = [sys.executable, "-m", "pip", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)], check=True)
    (wheel,) = tmp_path.glob("headcount-*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(tmp_path / "site"), str(wheel)], check=True)
    (tmp_path / "submit.py").write_text(documented("program"), encoding="utf-8")
    (tmp_path / "visits").mkdir()
    users = pa.array(range(600))
    pq.write_table(pa.table({"user": users, "venue": ["tea", "rye"] * 300}), tmp_path / "visits" / "one.parquet")
    home = Path(pyspark.__file__).parent
    command = command_of(documented("command"), tmp_path / "visits", tmp_path / "weekly")
    done = subprocess.run(
        [str(home / "bin" / command[0]), *command[1:], "--method", "sra", "--limit", "1", "--json", "--quiet"],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site"), "PYSPARK_PYTHON": sys.executable,
             "SPARK_LOCAL_IP": "127.0.0.1"},
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["method"] == "sra"
    release = hc.load(tmp_path / "weekly")
    assert all(abs(count - 300) < 60 for count in release.items["count"].to_pylist())  # fails once in e^60
