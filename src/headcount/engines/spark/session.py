"""Find or open a Spark session, check Java first, report progress, and translate Spark's errors."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headcount._internal.extras import remedy
from headcount.bounds.engine_interface import Progress, silent
from headcount.engines.spark.environment import error_in
from headcount.errors import USE_LOCAL_ENGINE, DataError, HeadcountError, SurroundingsError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JAVA = 17
"""The oldest Java that Spark 4 runs on."""

_POLL_SECONDS = 0.5
_QUIET = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR", "spark.ui.enabled": "false"}


def open_session(conf: Mapping[str, str]) -> SparkSession:
    """Return the session that is active, or a new one: as Spark is configured, and then as asked for here."""
    if importlib.util.find_spec("pyspark") is None:
        raise UsageError("Spark is not installed", remedy=f"{remedy('pyspark', 'spark')}, or {USE_LOCAL_ENGINE}")
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return _configured(active, conf)
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # else Java runs already, as under spark-submit
        check_java()
    builder: Any = SparkSession.builder.appName("headcount")
    for key, value in {**_new_only(), **conf}.items():
        builder = builder.config(key, value)
    _use_this_python(conf)
    try:
        with _hushed():
            session: SparkSession = builder.getOrCreate()
    except Exception as error:
        raise to_headcount_error(error, "Spark could not be started") from error
    return session


def _configured(active: SparkSession, conf: Mapping[str, str]) -> SparkSession:
    """Set what can still be set of a session that runs; refuse what cannot, and is something else."""
    for key, value in conf.items():
        if active.conf.isModifiable(key):
            active.conf.set(key, value)
        elif active.sparkContext.getConf().get(key) != value:
            raise UsageError(
                f"{key} cannot be changed while Spark runs", remedy="leave it out, or stop the session"
            )
    return active


def table_of(session: SparkSession, name: str) -> DataFrame:
    """Return a table of Spark's catalogues."""
    try:
        frame = session.table(name)
        _ = frame.schema
    except Exception as error:
        raise DataError(
            f"Spark has no table {name!r} ({first_line(error)})", remedy="check the name, and Spark's catalogues"
        ) from error
    return frame


def check_java() -> None:
    """Refuse to go on without a Java that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java") if not home else str(Path(home) / "bin" / "java")
    remedy = f"install OpenJDK {JAVA} or newer, and put it on the PATH or name its folder in JAVA_HOME"
    try:
        output = subprocess.run(  # noqa: S603
            [java or "java", "-version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise SurroundingsError("Spark needs Java, and none was found", remedy=remedy) from error
    version = java_version(output.stderr + output.stdout)
    if version is not None and version < JAVA:
        raise SurroundingsError(f"Spark needs Java {JAVA} or newer, and this is Java {version}", remedy=remedy)


def java_version(output: str) -> int | None:
    """Return the number of a Java version, None if it is not told.

    >>> [java_version(each) for each in ('openjdk version "17.0.9" 2023', 'java version "1.8.0_292"', '?')]
    [17, 8, None]
    """
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(match[1]) if match else None


@contextmanager
def set_for_now(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Let settings of a session be others for a while."""
    before = {key: session.conf.get(key, None) for key in settings}
    try:
        for key, value in settings.items():
            session.conf.set(key, value)
        yield
    finally:
        for key, old in before.items():
            session.conf.unset(key) if old is None else session.conf.set(key, old)


def to_headcount_error(error: Exception, what: str) -> HeadcountError:
    """Return what a failed job is told as: an error of a task as itself, all else in one line."""
    if isinstance(error, HeadcountError):
        return error
    message = str(error)
    own = error_in(message)
    if own is not None:
        return own
    if "No module named 'headcount'" in message:
        return SurroundingsError(
            "an executor of Spark has no headcount",
            remedy="install it on all machines, for example with spark.archives; see docs/engines.md",
        )
    return SurroundingsError(f"{what} ({first_line(error)})", remedy="see the log of Spark, then run again")


def first_line(error: Exception) -> str:
    """Return the first line of what an error says, and not too much of it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:200]


@contextmanager
def _hushed() -> Iterator[None]:
    """Let a Java that is started here say on its standard error what nobody asked for; it keeps that for life."""
    try:
        own = os.dup(2)
    except OSError:  # a program without one
        yield
        return
    sys.stderr.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(own, 2)
        os.close(own)
        os.close(nowhere)


def _new_only() -> dict[str, str]:
    """Return what a session of our own is like, unless a file or spark-submit says otherwise."""
    from pyspark import SparkConf

    given = SparkConf()
    return {key: value for key, value in _QUIET.items() if not given.contains(key)}


def _use_this_python(conf: Mapping[str, str]) -> None:
    """Let workers on this machine run the Python that runs here."""
    from pyspark import SparkConf

    given, key = SparkConf(), "spark.pyspark.python"
    master = conf.get("spark.master") or given.get("spark.master", None) or "local[*]"
    if master.startswith("local") and key not in conf and not given.contains(key):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


@contextmanager
def report_progress(session: SparkSession, progress: Progress, stage: str) -> Iterator[None]:
    """Report the finished tasks of active stages while the body runs."""
    if progress is silent:
        yield
        return
    tracker, over = session.sparkContext.statusTracker(), threading.Event()

    def poll() -> None:
        while not over.wait(_POLL_SECONDS):
            infos = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
            stages = [info for info in infos if info is not None]
            if stages:
                progress(
                    stage, sum(info.numCompletedTasks for info in stages), sum(info.numTasks for info in stages)
                )

    progress(stage, 0, None)
    watcher = threading.Thread(target=poll, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
