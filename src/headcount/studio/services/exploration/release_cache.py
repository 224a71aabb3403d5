"""A cache of open releases, least recently used first out, bounded in bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from headcount.errors import DataError
from headcount.releases.folder_files import folder_digest
from headcount.releases.release import load
from headcount.studio.services.exploration.opened_release import OpenedRelease
from headcount.studio.services.exploration.single_flight import SingleFlight

MOST_BYTES = 512 * 1024**2
"""How much the tables of open releases take together; the one that is looked at may be larger."""


@dataclass(eq=False)
class ReleaseCache:
    """Open releases by the digest of their folders; whoever asks at the same time waits for one who reads."""

    most_bytes: int = MOST_BYTES
    _once: SingleFlight = field(default_factory=SingleFlight, repr=False)
    _sizes: OrderedDict[str, int] = field(default_factory=OrderedDict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def open(self, digest: str, folder: Path) -> OpenedRelease:
        """Return the release of a digest, read from its folder if it is not open: the folder must be the same."""
        opened = self._once(digest, lambda: _read(digest, folder))
        with self._lock:
            self._sizes[digest] = opened.nbytes
            self._sizes.move_to_end(digest)
            while sum(self._sizes.values()) > self.most_bytes and len(self._sizes) > 1:
                self._once.forget(self._sizes.popitem(last=False)[0])
        return opened

    def held(self) -> list[str]:
        """Return the digests of what is open, the one looked at last at the end."""
        with self._lock:
            return list(self._sizes)


def _read(digest: str, folder: Path) -> OpenedRelease:
    try:
        same = folder_digest(folder) == digest
    except OSError:
        same = False
    if not same:
        raise DataError("the files of this release are gone, or are not what was released", remedy="restore them")
    return OpenedRelease(load(folder))
