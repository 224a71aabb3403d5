"""Opens a stored release for the visitor who may see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import Request

from headcount.studio.access import visitor
from headcount.studio.services.exploration import views as parts
from headcount.studio.services.exploration.opened_release import OpenedRelease
from headcount.studio.studio import Studio, studio_of

if TYPE_CHECKING:
    from headcount.studio.store.releases import StoredRelease


@dataclass(frozen=True)
class VisibleRelease:
    """A release that the one who asks may see, and that is open."""

    stored: StoredRelease
    opened: OpenedRelease

    @property
    def base(self) -> str:
        """The address of its page, below which all of it is found."""
        return f"/releases/{self.stored.id}"

    def shown(self, here: str) -> dict[str, Any]:
        """Return what all its pages show: what it is called, where one can go, and where this is."""
        views = [
            ("", parts.title_of(self.opened.main or "")),
            *((view.address, view.title) for view in self._views()),
        ]
        return {
            "known": self.stored,
            "release": self.opened.release,
            "part": parts.part(self.opened),
            "base": self.base,
            "views": [*views, ("promise", "The promise"), ("downloads", "Downloads")],
            "here": here,
        }

    def _views(self) -> list[parts.View]:
        others = [
            table for table in parts.table_summaries(self.opened) if table.name != self.opened.main and table.rows
        ]
        return [*parts.views(self.opened), *(parts.View(f"tables/{table.name}", table.title) for table in others)]


def open_release(request: Request, release: str) -> VisibleRelease:
    """Open a release for the one who asks; what is not theirs to see is as unknown as what does not exist."""
    return open_stored_release(studio_of(request), studio_of(request).releases.get(visitor(request), release))


def open_stored_release(studio: Studio, stored: StoredRelease) -> VisibleRelease:
    """Open a release that was found."""
    return VisibleRelease(stored, studio.release_cache.open(stored.digest, studio.releases.folder_of(stored)))
