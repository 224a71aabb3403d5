"""The studio object: settings, database, ledger and the services over them."""

from __future__ import annotations

from fastapi import Request

from headcount.ledger import Ledger
from headcount.studio.folder_lock import FolderLock
from headcount.studio.jobs.service import JobService
from headcount.studio.security.middleware import Cookies
from headcount.studio.services.exploration.release_cache import ReleaseCache
from headcount.studio.settings import Settings
from headcount.studio.store.audit_log import AuditLog
from headcount.studio.store.database import StudioDatabase
from headcount.studio.store.datasets import Datasets
from headcount.studio.store.jobs import Jobs
from headcount.studio.store.releases import Releases
from headcount.studio.store.users import Users


class Studio:
    """What the pages and the API work with. It is there once made; work in the queue begins with ``start``."""

    def __init__(self, settings: Settings) -> None:
        for folder in (settings.data, settings.files, settings.releases):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.settings = settings
        self.cookies = Cookies(settings)
        self._lock = FolderLock(settings.data)
        self.store = StudioDatabase(settings.store_url)
        self.ledger = Ledger(settings.ledger_url)
        self.users = Users(self.store)
        self.audit_log = AuditLog(self.store)
        self.datasets = Datasets(settings, self.store, self.ledger)
        self.jobs = Jobs(settings.limits, self.store, self.datasets)
        self.releases = Releases(settings, self.store)
        self.release_cache = ReleaseCache()
        self.work = JobService(settings, self.jobs, self.datasets, self.releases, self.ledger)

    def set_up_link(self) -> str | None:
        """Return a new link for the first curator, which ends earlier ones; None once somebody can sign in."""
        secret = self.users.set_up()
        return None if secret is None else self.link(secret)

    def link(self, secret: str) -> str:
        """Return the link of an invitation."""
        return f"{self.settings.base_url}/welcome/{secret}"

    def start(self) -> None:
        """Begin to work on what waits."""
        self.work.start()

    def stop(self) -> None:
        """End all work, and let go of the databases."""
        self.work.stop()
        self.ledger.close()
        self.store.close()
        self._lock.release()


def studio_of(request: Request) -> Studio:
    """Return the studio that a request is made to."""
    studio: Studio = request.app.state.studio
    return studio
