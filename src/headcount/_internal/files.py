"""Files: writes flushed to disk (fsync), and private temporary folders that go even if their process is killed.

The owner of a folder holds a lock on it, which the operating system lets go of when the owner ends. The next
process that makes or looks for a scratch folder removes those of its user whose lock is free. Where folders cannot
be locked, as on Windows and some network file systems, stale folders stay.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import weakref
from pathlib import Path

PREFIX = "headcount-scratch-"
"""Builds without locks used ``headcount-``: their folders may belong to a process that runs."""


class ScratchFolder:
    """A folder that goes when nothing refers to this object, when the program ends, or soon after it is killed.

    >>> scratch = ScratchFolder()
    >>> remove_stale()
    >>> scratch.path.is_dir()
    True
    >>> scratch.delete()
    >>> scratch.path.is_dir()
    False
    """

    def __init__(self, prefix: str = PREFIX, parent: Path | None = None) -> None:
        remove_stale(prefix, parent)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
            self.lock = _lock(self.path, wait=True)
            if self.path.exists():  # else another process removed it as stale before it was locked
                break
            _release(self.lock)
        self.delete = weakref.finalize(self, _delete, self.path, self.lock)


def remove_stale(prefix: str = PREFIX, parent: Path | None = None) -> None:
    """Remove folders of this user whose owner was killed; leave those of running processes and of other users."""
    with contextlib.suppress(OSError):
        place = Path(tempfile.gettempdir()) if parent is None else parent
        for path in [path for path in place.iterdir() if path.name.startswith(prefix)]:
            lock = _lock(path, wait=False)
            if lock is not None and os.fstat(lock).st_uid == os.geteuid():
                shutil.rmtree(path, ignore_errors=True)
            _release(lock)


def _lock(path: Path, *, wait: bool) -> int | None:
    """Return a handle that holds the lock of a folder; None if another process holds it, or locks do not exist."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(handle)
        return None
    return handle


def _delete(path: Path, lock: int | None) -> None:
    shutil.rmtree(path, ignore_errors=True)
    _release(lock)


def _release(lock: int | None) -> None:
    if lock is not None:
        os.close(lock)


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
