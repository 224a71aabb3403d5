"""Pin what is installed now, with the hashes of all files of each version: ``make lock``.

``requirements.lock`` holds what a user gets: the package's dependencies, those of its extras without Spark, and
what builds it. ``requirements-dev.lock`` holds what the tests need as well. Both serve Linux, macOS and Windows.
uv, in a folder of its own, resolves them; it writes no address of an index.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTHON = "3.11.5"  # soupsieve needs it
BUILD = "hatchling>=1.27\neditables\n"
EXTRAS = ("duckdb", "lab", "postgres", "studio")


def main() -> None:
    """Write both files."""
    freeze = [sys.executable, "-m", "pip", "freeze", "--all", "--exclude-editable", "--exclude", "setuptools"]
    pins = subprocess.run(freeze, check=True, capture_output=True, text=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        constraints = Path(folder) / "pins.txt"
        constraints.write_text(pins, encoding="utf-8")
        venv.create(Path(folder) / "uv", with_pip=True)
        python = Path(folder) / "uv" / ("Scripts" if os.name == "nt" else "bin") / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "uv"], check=True)
        command: list[str | Path] = [
            *(python, "-m", "uv", "pip", "compile", "pyproject.toml", "-", "--quiet"),
            *("--universal", "--python-version", PYTHON, "--generate-hashes", "--no-header", "--no-annotate"),
            *("--constraint", constraints),
        ]
        extras: list[str | Path] = [part for extra in EXTRAS for part in ("--extra", extra)]
        locked = ROOT / "requirements.lock"
        compile_to(locked, [*command, *extras], BUILD)
        more: list[str | Path] = [*command, "--constraint", locked, "--all-extras", "--group", "dev"]
        compile_to(ROOT / "requirements-dev.lock", more, BUILD + "pip>=25.1\n")


def compile_to(file: Path, command: list[str | Path], requirements: str) -> None:
    """Resolve the package's requirements and some more, and write them to a file."""
    file.unlink(missing_ok=True)
    subprocess.run([*command, "--output-file", file], input=requirements, text=True, check=True, cwd=ROOT)


if __name__ == "__main__":
    main()
