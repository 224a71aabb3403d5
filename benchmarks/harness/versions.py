"""Versions of Headcount and its dependencies, read without importing them: the parent process stays small."""

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

from benchmarks.comparison.rival_environments import ROOT

OURS = ("numpy", "numba", "pyarrow", "opendp")


def headcount_version() -> str:
    """The version in the source tree and the commit it is at."""
    number = (ROOT / "src" / "headcount" / "version.py").read_text().split('"')[-2]
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return f"{number} ({commit})" if commit else number


def underneath() -> str:
    """Python and what Headcount computes with."""
    names = [f"Python {sys.version.split()[0]}"]
    for name in OURS:
        try:
            names.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(names)
