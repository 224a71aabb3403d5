"""Flush files and folder entries to disk (fsync)."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def fsync_paths(*paths: Path) -> None:
    """See that files, and the names in folders, are on the disk."""
    for path in paths:
        if sys.platform == "win32" and path.is_dir():
            continue  # names are written through there
        handle = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
