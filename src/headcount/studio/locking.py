"""The lock of a studio's folder: two servers on one folder would work on every job twice."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from headcount.errors import SurroundingsError, UsageError


class FolderLock:
    """Holds a folder until it is released or the process ends, also by a kill: the operating system sees to that.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> lock = FolderLock(folder)
    >>> FolderLock(folder)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    headcount.errors.UsageError: another server uses ...; stop that server, or choose another --data
    >>> lock.release()
    >>> FolderLock(folder).release()
    """

    def __init__(self, folder: Path) -> None:
        self._handle: int | None = None
        handle = os.open(folder / "server.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(handle)
        except OSError as error:
            os.close(handle)
            if isinstance(error, BlockingIOError | PermissionError):
                raise UsageError(
                    f"another server uses {folder}", remedy="stop that server, or choose another --data"
                ) from None
            raise SurroundingsError(
                f"{folder} cannot be locked ({error.strerror})", remedy="choose a --data on a local disk"
            ) from error
        self._handle = handle

    def release(self) -> None:
        """Let another server use the folder."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _lock(handle: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
