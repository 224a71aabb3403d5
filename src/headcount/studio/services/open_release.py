"""One release that somebody looks at: what the studio knows of it, and what is in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import Request

from headcount.studio.access import visitor
from headcount.studio.services.exploration import views as parts
from headcount.studio.services.exploration.opened_release import Opened
from headcount.studio.studio import Studio, studio_of

if TYPE_CHECKING:
    from headcount.studio.store.releases import Published


@dataclass(frozen=True)
class Reading:
    """A release that the one who asks may see, and that is open."""

    known: Published
    opened: Opened

    @property
    def base(self) -> str:
        """The address of its page, below which all of it is found."""
        return f"/releases/{self.known.id}"

    def shown(self, here: str) -> dict[str, Any]:
        """Return what all its pages show: what it is called, where one can go, and where this is."""
        views = [
            ("", parts.title_of(self.opened.main or "")),
            *((each.address, each.title) for each in self._views()),
        ]
        return {
            "known": self.known,
            "release": self.opened.release,
            "part": parts.part(self.opened),
            "base": self.base,
            "views": [*views, ("promise", "The promise"), ("downloads", "Downloads")],
            "here": here,
        }

    def _views(self) -> list[parts.View]:
        others = [each for each in parts.held(self.opened) if each.name != self.opened.main and each.rows]
        return [*parts.views(self.opened), *(parts.View(f"tables/{each.name}", each.title) for each in others)]


def reading(request: Request, release: str) -> Reading:
    """Open a release for the one who asks; what is not theirs to see is as unknown as what does not exist."""
    return opened(studio_of(request), studio_of(request).releases.get(visitor(request), release))


def opened(studio: Studio, known: Published) -> Reading:
    """Open a release that was found."""
    return Reading(known, studio.shelf.open(known.digest, studio.releases.folder_of(known)))
