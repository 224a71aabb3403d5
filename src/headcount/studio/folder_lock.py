"""The lock of a studio's folder: one server at a time."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from headcount.errors import SurroundingsError, UsageError, param


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
        self._file = os.fdopen(os.open(folder / "server.lock", os.O_RDWR | os.O_CREAT, 0o600))
        try:
            _lock(self._file.fileno())
        except OSError as error:
            self.release()
            if not isinstance(error, BlockingIOError | PermissionError):
                raise SurroundingsError.writing(folder, error, param.data) from error
            remedy = f"stop that server, or choose another {param.data}"
            raise UsageError(f"another server uses {folder}", remedy=remedy) from None

    def release(self) -> None:
        """Let another server use the folder."""
        self._file.close()


def _lock(handle: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
