"""Releases that are open: those looked at last are kept in memory, up to so many bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from headcount.errors import DataError
from headcount.releases import folder_digest, load
from headcount.studio.exploring.opened import Opened

MOST_BYTES = 512 * 1024**2
"""How much the tables of open releases take together; the one that is looked at may be larger."""


@dataclass(eq=False)
class _Place:
    lock: threading.Lock = field(default_factory=threading.Lock)
    opened: Opened | None = None


@dataclass(eq=False)
class Shelf:
    """Open releases by the digest of their folders; whoever asks at the same time waits for one who reads."""

    most_bytes: int = MOST_BYTES
    _places: OrderedDict[str, _Place] = field(default_factory=OrderedDict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def open(self, digest: str, folder: Path) -> Opened:
        """Return the release of a digest, read from its folder if it is not open; the folder must still be that."""
        with self._lock:
            place = self._places.setdefault(digest, _Place())
            self._places.move_to_end(digest)
        with place.lock:
            if place.opened is None:
                place.opened = _read(digest, folder)
            opened = place.opened
        self._make_room(digest)
        return opened

    def held(self) -> list[str]:
        """Return the digests of what is open, the one looked at last at the end."""
        with self._lock:
            return [each for each, place in self._places.items() if place.opened is not None]

    def _make_room(self, kept: str) -> None:
        with self._lock:
            sizes = {each: place.opened.nbytes for each, place in self._places.items() if place.opened is not None}
            taken = sum(sizes.values())
            for digest, size in sizes.items():
                if taken <= self.most_bytes:
                    return
                if digest != kept:
                    del self._places[digest]
                    taken -= size


def _read(digest: str, folder: Path) -> Opened:
    try:
        same = folder_digest(folder) == digest
    except OSError:
        same = False
    if not same:
        raise DataError("the files of this release are gone, or are not what was released", remedy="restore them")
    return Opened(load(folder))
