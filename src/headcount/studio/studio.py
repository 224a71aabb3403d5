"""The studio object: settings, database, ledger and stores; and what a route gets of a request to it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

from fastapi import Depends, Request

from headcount.errors import SurroundingsError, UsageError, param
from headcount.ledger import Ledger
from headcount.studio.access import Visitor
from headcount.studio.forms import collect_texts
from headcount.studio.jobs.service import JobService
from headcount.studio.security.middleware import Cookies
from headcount.studio.services.exploration.opened_release import ReleaseCache
from headcount.studio.settings import Settings
from headcount.studio.store.accounts import Accounts
from headcount.studio.store.audit_log import AuditLog
from headcount.studio.store.database import StudioDatabase
from headcount.studio.store.datasets import Datasets
from headcount.studio.store.jobs import Jobs
from headcount.studio.store.releases import Releases


class Studio:
    """What the pages and the API work with. Work in the queue begins with ``start``."""

    def __init__(self, settings: Settings) -> None:
        for folder in (settings.data, settings.files, settings.releases):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.settings = settings
        self.cookies = Cookies(settings)
        self._lock = FolderLock(settings.data)
        self.store = StudioDatabase(settings.store_url)
        self.ledger = Ledger(settings.ledger_url)
        self.accounts = Accounts(self.store)
        self.audit_log = AuditLog(self.store)
        self.datasets = Datasets(settings, self.store, self.ledger)
        self.jobs = Jobs(settings.limits, self.store, self.datasets)
        self.releases = Releases(settings, self.store)
        self.release_cache = ReleaseCache()
        self.work = JobService(settings, self.jobs, self.datasets, self.releases, self.ledger)

    def set_up_link(self) -> str | None:
        """Return a new link for the first curator, which ends earlier ones; None once an account can sign in."""
        secret = self.accounts.set_up()
        return None if secret is None else self.link(secret)

    def link(self, secret: str) -> str:
        """Return the link of an invitation."""
        return f"{self.settings.base_url}/welcome/{secret}"

    def start(self) -> None:
        """Begin to work on waiting jobs."""
        self.work.start()

    def stop(self) -> None:
        """End all work, and close the databases."""
        self.work.stop()
        self.ledger.close()
        self.store.close()
        self._lock.release()


@dataclass(frozen=True)
class _Call:
    """A request to a route: of which studio, and by which visitor."""

    request: Request
    studio: Studio
    visitor: Visitor


async def _call(request: Request) -> _Call:
    return _Call(request, request.app.state.studio, request.state.visitor)


Call: TypeAlias = Annotated[_Call, Depends(_call)]
"""The first parameter of a route: what services and templates need of its request."""


async def _sent(request: Request) -> dict[str, list[str]]:
    return collect_texts((await request.form()).multi_items())


Sent: TypeAlias = Annotated[dict[str, list[str]], Depends(_sent)]
"""The posted form of a route: texts by the names of fields."""


class FolderLock:
    """Locks a folder for one server until it is released or the process ends, even by a kill.

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
