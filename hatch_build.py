"""Wheel build hook: compile the kernels ahead of time; without them Numba compiles at run time."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
LIBRARY = "src/headcount/prebuilt_kernels"


class CustomBuildHook(BuildHookInterface):  # type: ignore[misc]
    """Compiles the kernels of a wheel; for an editable install ``make test`` and ``make bench`` do."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Have the library made, and the wheel be one for this kind of machine."""
        if self.target_name != "wheel" or version == "editable":
            return
        command: list[str | Path] = [sys.executable, ROOT / "tools" / "packaging" / "prebuild.py"]
        if subprocess.run(command, check=False).returncode == 0:  # noqa: S603
            build_data["artifacts"].append(f"{LIBRARY}/*")
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
