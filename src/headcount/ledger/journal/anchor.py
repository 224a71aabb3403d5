"""The anchor: length and last digest of the journal in a file outside the database, against rollback.

It is written and synced before any event is read. A database that later ends before the anchor has lost entries: a
backup was put back, a write-ahead log was cut, somebody deleted the tail. The anchor never goes back.

Two slots are written in turn, so that a torn write spoils at most the newer one; each is signed.
"""

from __future__ import annotations

import contextlib
import errno
import hmac
import json
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headcount._internal.files import fsync_paths
from headcount.errors import RefusedError, SurroundingsError
from headcount.ledger.journal.entries import canonical, mac_of
from headcount.ledger.journal.keys import config_folder
from headcount.releases.folder_integrity import refuse_special

_SLOT = 512


@dataclass(frozen=True)
class Mark:
    """An entry that someone has noted: its number and its MAC."""

    count: int
    head: str


class Anchor:
    """The anchor file of one journal on this machine.

    >>> import tempfile
    >>> anchor = Anchor(Path(tempfile.mkdtemp()) / "anchor", "journal-1", b"key")
    >>> anchor.read() is None
    True
    >>> anchor.advance(Mark(7, "head of 7"))
    >>> anchor.advance(Mark(5, "head of 5"))
    >>> anchor.read()
    Mark(count=7, head='head of 7')
    """

    def __init__(self, path: Path, chain: str, key: bytes | None) -> None:
        refuse_special(path)
        self.path = path
        self.chain = chain
        self._key = key
        self._handle: tuple[int, int] | None = None  # process and descriptor
        self._threads = threading.Lock()

    @classmethod
    def place(cls, given: str | os.PathLike[str] | None, chain: str) -> Path:
        """Return where the anchor lies: given, ``HEADCOUNT_LEDGER_ANCHOR``, or beside the configuration."""
        named = given or os.environ.get("HEADCOUNT_LEDGER_ANCHOR")
        return Path(named) if named else config_folder() / "anchors" / f"{chain}.anchor"

    def read(self) -> Mark | None:
        """Return the newest mark, None if there is no anchor; refuse one that cannot be trusted."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SurroundingsError(f"the anchor {self.path} cannot be read ({error.strerror})") from error
        return self._newest(data)[0]

    def advance(self, mark: Mark) -> None:
        """Note an entry, and see that it is on the disk; an anchor that is further already stays."""
        if self._key is None:
            raise RefusedError("an anchor is written with the key alone")
        try:
            handle = self._open()
            with self._threads, _locked(handle):
                os.lseek(handle, 0, os.SEEK_SET)
                data = os.read(handle, 2 * _SLOT)
                newest, slot = self._newest(data)
                if newest is not None and newest.count >= mark.count:
                    return
                if len(data) < 2 * _SLOT:  # room for both, so that a disk that is full later does not matter
                    _write(handle, len(data), b" " * (2 * _SLOT - len(data)))
                _write(handle, slot * _SLOT, self._slot(mark))
                _sync(handle)
        except OSError as error:
            raise SurroundingsError(
                f"the anchor {self.path} cannot be written ({error.strerror}); what was reserved stays charged",
                remedy="make room, or set HEADCOUNT_LEDGER_ANCHOR to a file that can be written",
            ) from error

    def _open(self) -> int:
        if self._handle is None or self._handle[0] != os.getpid():
            self.close()
            is_new = not self.path.exists()
            if is_new:
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
            if is_new:
                os.fsync(handle)
                fsync_paths(self.path.parent)
            self._handle = os.getpid(), handle
        return self._handle[1]

    def close(self) -> None:
        """Let go of the file."""
        if self._handle is not None:
            os.close(self._handle[1])  # after a fork, each process has its own descriptors
            self._handle = None

    def _slot(self, mark: Mark) -> bytes:
        data = {"chain": self.chain, "count": mark.count, "head": mark.head}
        signed = canonical({**data, "mac": mac_of(self._key or b"", "anchor " + canonical(data))})
        return signed.ljust(_SLOT - 1).encode("ascii") + b"\n"

    def _newest(self, data: bytes) -> tuple[Mark | None, int]:
        """Return the newest mark, and the slot to write next."""
        marks = [self._mark(data[start : start + _SLOT]) for start in (0, _SLOT)]
        valid_marks = [mark for mark in marks if mark is not None]
        if not valid_marks:
            if data.strip(b"\0 \n"):
                raise RefusedError(
                    f"the anchor {self.path} is damaged, or belongs to another ledger or key",
                    remedy="find out what happened, and restore it",
                )
            return None, 0
        newest = max(valid_marks, key=lambda mark: mark.count)
        return newest, 1 - marks.index(newest)

    def _mark(self, slot: bytes) -> Mark | None:
        try:
            data = json.loads(slot)
            mac = data.pop("mac")
            right = data["chain"] == self.chain and (
                self._key is None or hmac.compare_digest(mac, mac_of(self._key, "anchor " + canonical(data)))
            )
            return Mark(data["count"], data["head"]) if right else None
        except (ValueError, KeyError, TypeError, AttributeError):
            return None


def _write(handle: int, place: int, data: bytes) -> None:
    os.lseek(handle, place, os.SEEK_SET)
    if os.write(handle, data) != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _sync(handle: int) -> None:
    if sys.platform == "linux":
        os.fdatasync(handle)
    else:
        os.fsync(handle)


@contextlib.contextmanager
def _locked(handle: int) -> Iterator[None]:
    if sys.platform == "win32":
        import msvcrt

        os.lseek(handle, 4 * _SLOT, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
        try:
            yield
        finally:
            os.lseek(handle, 4 * _SLOT, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)
