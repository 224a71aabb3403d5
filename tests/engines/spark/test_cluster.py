"""Spark as it is run for real: a standalone cluster of two workers, of which one dies; and speculative tasks."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support import spark_session

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
LOOPBACK, ANOTHER = "127.0.0.1", "127.0.0.2"
SMALL = {"spark.executor.memory": "512m", "spark.cores.max": "2"}
PATIENCE = 240  # seconds that anything may take


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    spark_session.session()  # or skip: there is no Java
    draw = np.random.default_rng(3)
    rows = pa.table({"user": draw.integers(0, 900, 9_000), "item": draw.choice(["tea", "rye"], 9_000)})
    pq.write_table(rows, tmp_path / "visits.parquet", row_group_size=1_000)
    (tmp_path / "begun").mkdir()
    return tmp_path / "visits.parquet"


def _environment() -> dict[str, str]:
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return {**os.environ, "PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": LOOPBACK}


def _start(visits: Path, seconds: float, conf: dict[str, str]) -> subprocess.Popen[str]:
    settings = {**{key: value for key, value in spark_session.CONF.items() if key != "spark.master"}, **conf}
    command = [sys.executable, "-m", "tests.engines.spark.cluster", str(visits), str(visits.parent / "begun")]
    return subprocess.Popen(
        [*command, str(seconds), json.dumps(settings)],
        env=_environment(),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def _outcome(program: subprocess.Popen[str]) -> Any:
    printed, _ = program.communicate(timeout=PATIENCE)
    assert program.returncode == 0
    return json.loads(printed)


def _wait_for(what: Callable[[], Any]) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.2)


@contextmanager
def _daemon(kind: str, *arguments: str, folder: Path, host: str = LOOPBACK) -> Iterator[subprocess.Popen[bytes]]:
    import pyspark

    home = Path(pyspark.__file__).parent
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *arguments]
    environment = {
        **_environment(),
        "SPARK_HOME": str(home),
        "SPARK_WORKER_DIR": str(folder),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LOCAL_IP": host,
    }
    with (folder / f"{kind}.log").open("wb") as log:
        program = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        yield program
    finally:
        _end(program)


def _end(program: subprocess.Popen[bytes]) -> None:
    """End a daemon and the executors that it started; they are in a session of their own."""
    try:
        os.killpg(program.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    program.wait(timeout=PATIENCE)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        return int(listener.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex((LOOPBACK, port)) == 0


@contextmanager
def _cluster(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Start a cluster of two workers, which are two machines to Spark; give its address and the first worker."""
    port, pages = _free_port(), _free_port()
    folders = [folder / name for name in ("master", "one", "two")]
    for node_folder in folders:
        node_folder.mkdir()
    address = f"spark://{LOOPBACK}:{port}"
    at_master = ("--host", LOOPBACK, "--port", str(port), "--webui-port", str(pages))
    own = ("--cores", "1", "--memory", "700m", "--webui-port", "0", address)
    with (
        _daemon("master.Master", *at_master, folder=folders[0]),
        _daemon("worker.Worker", "--host", LOOPBACK, *own, folder=folders[1]) as first,
        _daemon("worker.Worker", "--host", ANOTHER, *own, folder=folders[2], host=ANOTHER),
    ):
        _wait_for(partial(_listens, port))
        for node_folder in folders[1:]:
            _wait_for(partial(_registered, node_folder / "worker.Worker.log"))
        yield address, first


def _registered(log: Path) -> bool:
    return "Successfully registered" in log.read_text()


def test_a_worker_of_a_cluster_that_dies_changes_nothing(visits: Path, tmp_path: Path) -> None:
    begun = visits.parent / "begun"
    with _cluster(tmp_path) as (address, first):
        program = _start(visits, 20, {"spark.master": address, **SMALL})
        _wait_for(lambda: len(list(begun.iterdir())) >= 3)
        _end(first)
        outcome = _outcome(program)
    assert outcome["equal"]
    assert outcome["total"] > 0


def test_speculation_changes_nothing(visits: Path, tmp_path: Path) -> None:
    often = {"interval": "100ms", "multiplier": "1.1", "quantile": "0.5"}
    conf = {"spark.speculation": "true", **{f"spark.speculation.{key}": value for key, value in often.items()}}
    with _cluster(tmp_path) as (address, _):
        outcome = _outcome(_start(visits, 60, {"spark.master": address, **SMALL, **conf}))
    assert outcome["equal"]
    assert outcome["total"] > 0
    assert outcome["attempts"] == 2, "nothing was speculated"
