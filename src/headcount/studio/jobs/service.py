"""The processes of a studio: quick tasks that charge nothing, and jobs that are planned before they are queued."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headcount.errors import UnknownNameError
from headcount.ledger import Ledger
from headcount.studio import uploads
from headcount.studio.access import NotAllowedError, Visitor
from headcount.studio.jobs.ipc import ANALYST_READ_FLAGS, CURATOR_READ_FLAGS, TaskMessage
from headcount.studio.jobs.plan_pool import PlanPool
from headcount.studio.jobs.runner import SERVER, Runner
from headcount.studio.settings import Settings
from headcount.studio.store.datasets import Datasets
from headcount.studio.store.jobs import Job, Jobs
from headcount.studio.store.releases import Releases

QUICK_TASKS = ("plan", "inspect", "log", "forecast")
_ANALYST_TASKS = ("plan", "forecast")
"""Tasks that open no row: for analysts, too."""


class JobService:
    """The processes of a studio."""

    def __init__(
        self, settings: Settings, jobs: Jobs, datasets: Datasets, releases: Releases, ledger: Ledger
    ) -> None:
        self._settings, self._jobs, self._datasets, self._releases = settings, jobs, datasets, releases
        self.runner = Runner(settings, jobs, datasets, ledger)
        self._plan_pool = PlanPool()
        jobs.wake = self.runner.wake

    def start(self) -> None:
        """Begin to work on what waits, and have a process ready that looks."""
        uploads.remove_partial_uploads(self._settings)
        self.runner.start()
        self._warming = threading.Thread(target=self._plan_pool.warm, name="studio-warming", daemon=True)
        self._warming.start()

    def stop(self) -> None:
        """End all processes; jobs that run are looked at when the studio starts again."""
        if hasattr(self, "_warming"):
            self._warming.join()
        self.runner.stop()
        self._plan_pool.close()

    def run_quick_task(
        self,
        visitor: Visitor,
        kind: str,
        *,
        dataset: str,
        family: str | None = None,
        asked: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Run a task about a dataset in another process, and charge nothing.

        Analysts may run ``plan`` and ``forecast``, which open no row. The other kinds are for curators.
        """
        if kind not in QUICK_TASKS:
            raise UnknownNameError.among("look", kind, QUICK_TASKS)
        if kind not in _ANALYST_TASKS and not visitor.is_curator:
            raise NotAllowedError("raw data is for curators", remedy="ask a curator")
        request_values = dict(asked or {})
        curator_flags = set(CURATOR_READ_FLAGS) - set(ANALYST_READ_FLAGS)
        if kind == "plan" and curator_flags & set(request_values) and not visitor.is_curator:
            # the contexts of a forecast are a figure
            raise NotAllowedError("how a log is read is for curators to say", remedy="leave it out")
        self._datasets.get(visitor, dataset)  # whether they see it at all
        message = TaskMessage.create(
            self._settings,
            kind,
            self._datasets.get(SERVER, dataset),
            family=family,
            asked=request_values,
            analyst=visitor.name,
            by_curator=visitor.is_curator,
            **(self._visible_to_analyst(visitor, dataset) if kind == "plan" else {}),
        )
        return self._plan_pool.run_quick_task(message)

    def ask(
        self, visitor: Visitor, *, dataset: str, family: str, asked: Mapping[str, Any], title: str = ""
    ) -> Job:
        """Plan a release, then put it into the queue: a request that the budget refuses starts no process."""
        self.run_quick_task(visitor, "plan", dataset=dataset, family=family, asked=asked)
        return self._jobs.ask(visitor, dataset=dataset, family=family, asked=asked, title=title)

    def again(self, visitor: Visitor, job: str) -> Job:
        """Put into the queue once more what a job was asked for; a release is planned first."""
        held = self._jobs.get(visitor, job)
        if held.is_over and held.kind == "release" and held.dataset is not None:
            self.run_quick_task(visitor, "plan", dataset=held.dataset, family=held.family, asked=held.asked)
        return self._jobs.again(visitor, job)

    def page(self, visitor: Visitor, job: str) -> Path:
        """Return the page that a comparison or a reproduction wrote: to be served to curators, in a sandbox."""
        held = self._jobs.get(visitor, job)
        path = self.runner.page_of(held)
        if not visitor.is_curator or held.state != "done" or not path.is_file():
            raise UnknownNameError("there is no such page", remedy="look at the list of jobs")
        return path

    def run_next(self) -> bool:
        """Work on the job that has waited longest, here and now; False if nothing waits."""
        return self.runner.run_next()

    def _visible_to_analyst(self, visitor: Visitor, dataset: str) -> dict[str, Any]:
        """Return what an analyst knows of a dataset: which charges count, and which releases they see."""
        if visitor.is_curator:
            return {}
        digests = [release.digest for release in self._releases.listed(visitor, dataset=dataset)]
        return {"visible_digests": digests, **self._datasets.shown(visitor, dataset)}
