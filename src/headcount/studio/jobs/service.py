"""Work as the pages see it: looks that charge nothing, and the runner of the queue."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headcount.errors import UnknownNameError, UsageError
from headcount.ledger import Ledger
from headcount.studio import uploads
from headcount.studio.access import NotAllowedError, Role, Visitor
from headcount.studio.jobs.ipc import Told
from headcount.studio.jobs.job_request import NARROWING, READING
from headcount.studio.jobs.plan_pool import Looking
from headcount.studio.jobs.runner import Runner
from headcount.studio.settings import Settings
from headcount.studio.store.datasets import Dataset, Datasets
from headcount.studio.store.jobs import Job, Jobs
from headcount.studio.store.releases import Releases

LOOKS = ("plan", "columns", "inspect", "log", "forecast")
_FOR_ALL = ("plan", "forecast")
"""Looks that open no row: for analysts, too."""
_SERVER = Visitor(role=Role.CURATOR, name="the studio")


class Work:
    """The processes of a studio."""

    def __init__(
        self, settings: Settings, jobs: Jobs, datasets: Datasets, releases: Releases, ledger: Ledger
    ) -> None:
        self._settings, self._jobs, self._datasets, self._releases = settings, jobs, datasets, releases
        self.runner = Runner(settings, jobs, datasets, ledger)
        self._looking = Looking()
        jobs.wake = self.runner.wake

    def start(self) -> None:
        """Begin to work on what waits, and have a process ready that looks."""
        uploads.tidy(self._settings)
        self.runner.start()
        self._warming = threading.Thread(target=self._looking.warm, name="studio-warming", daemon=True)
        self._warming.start()

    def stop(self) -> None:
        """End all processes; jobs that run are looked at when the studio starts again."""
        if hasattr(self, "_warming"):
            self._warming.join()
        self.runner.stop()
        self._looking.close()

    def look(
        self,
        visitor: Visitor,
        kind: str,
        *,
        dataset: str | None = None,
        source: Mapping[str, Any] | None = None,
        flags: Mapping[str, Any] | None = None,
        family: str | None = None,
        asked: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Look at something in another process, and charge nothing.

        ``plan`` says what a ``family``'s request would promise and cost on a ``dataset``. ``columns`` and
        ``inspect`` are for curators: of a dataset, or of a ``source`` that is none yet.
        """
        if kind not in LOOKS:
            raise UnknownNameError.among("look", kind, LOOKS)
        if kind not in _FOR_ALL and not visitor.is_curator:
            raise NotAllowedError("raw data is for curators", remedy="ask a curator")
        said = dict(asked or {})
        reads = kind == "plan" and any(name in said for name in READING if name not in NARROWING)
        if reads and not visitor.is_curator:  # the contexts of a forecast are a figure
            raise NotAllowedError("how a log is read is for curators to say", remedy="leave it out")
        told = Told.of(
            self._settings,
            kind,
            self._about(visitor, dataset, source, flags),
            family=family,
            asked=said,
            analyst=visitor.name,
            by_curator=visitor.is_curator,
            **(self._known(visitor, dataset) if kind == "plan" and dataset is not None else {}),
        )
        return self._looking.look(told)

    def ask(
        self, visitor: Visitor, *, dataset: str, family: str, asked: Mapping[str, Any], title: str = ""
    ) -> Job:
        """Plan a release, then put it into the queue: a request that the budget refuses starts no process."""
        self.look(visitor, "plan", dataset=dataset, family=family, asked=asked)
        return self._jobs.ask(visitor, dataset=dataset, family=family, asked=asked, title=title)

    def again(self, visitor: Visitor, job: str) -> Job:
        """Put into the queue once more what a job was asked for; a release is planned first."""
        held = self._jobs.get(visitor, job)
        if held.is_over and held.kind == "release":
            self.look(visitor, "plan", dataset=held.dataset, family=held.family, asked=held.asked)
        return self._jobs.again(visitor, job)

    def page(self, visitor: Visitor, job: str) -> Path:
        """Return the page that a comparison or a reproduction wrote: to be served to curators, in a sandbox."""
        held = self._jobs.get(visitor, job)
        path = self.runner.page_of(held)
        if not visitor.is_curator or held.state != "done" or not path.is_file():
            raise UnknownNameError("there is no such page", remedy="look at the list of jobs")
        return path

    def once(self) -> bool:
        """Work on the job that has waited longest, here and now; False if nothing waits."""
        return self.runner.once()

    def _known(self, visitor: Visitor, dataset: str) -> dict[str, Any]:
        """Return what an analyst knows of a dataset: which charges count, and which releases they see."""
        if visitor.is_curator:
            return {}
        seen = [each.digest for each in self._releases.listed(visitor, dataset=dataset)]
        return {"seen": seen, **self._datasets.shown(visitor, dataset)}

    def _about(
        self,
        visitor: Visitor,
        dataset: str | None,
        source: Mapping[str, Any] | None,
        flags: Mapping[str, Any] | None,
    ) -> Dataset:
        if dataset is not None:
            self._datasets.get(visitor, dataset)  # whether they see it at all
            return self._datasets.get(_SERVER, dataset)
        if source is None:
            raise UsageError("neither a dataset nor a source is named", remedy="name one")
        return Dataset("", "", "", "events", dict(source), dict(flags or {}), None, "draft", "", 0.0)
