"""Opens a stored release for a visitor who may see it; packs it; shows its first rows for review."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from headcount.methods.registry import table
from headcount.releases.release import Release, load
from headcount.studio.access import Visitor, check_curator
from headcount.studio.services.exploration import views as parts
from headcount.studio.services.exploration.downloads import zip_of
from headcount.studio.services.exploration.opened_release import OpenedRelease
from headcount.studio.store.releases import StoredRelease
from headcount.studio.studio import Studio

_EXCERPT_ROWS = 10


@dataclass(frozen=True)
class VisibleRelease:
    """An open release that the visitor may see."""

    stored: StoredRelease
    opened: OpenedRelease

    @property
    def base(self) -> str:
        """The address of its page; all its other addresses begin with it."""
        return f"/releases/{self.stored.id}"

    def shown(self, here: str) -> dict[str, Any]:
        """Return what all its pages show: title, views, and which of them this is."""
        tables = parts.table_summaries(self.opened)
        views = [
            ("", parts.title_of(self.opened.main or "")),
            *((view.address, view.title) for view in parts.views(self.opened)),
            *(
                (f"tables/{other.name}", other.title)
                for other in tables
                if other.name != self.opened.main and other.rows
            ),
        ]
        return {
            "known": self.stored,
            "release": self.opened.release,
            "part": parts.part(self.opened),
            "base": self.base,
            "views": [*views, ("promise", "The promise"), ("downloads", "Downloads")],
            "here": here,
        }


class Excerpt(NamedTuple):
    """A table with its first rows: columns with how they are set, and cells as text."""

    title: str
    rows: int
    columns: list[tuple[str, str]]
    cells: list[list[str]]


def open_release(studio: Studio, visitor: Visitor, release: str) -> VisibleRelease:
    """Open a release; one that the visitor may not see is as unknown as one that does not exist."""
    stored = studio.releases.get(visitor, release)
    return VisibleRelease(stored, studio.release_cache.open(stored.digest, studio.releases.folder_of(stored)))


def zipped_folder(studio: Studio, read: VisibleRelease) -> bytes:
    """Return the folder of a release as a ZIP, which ``headcount.load`` reads once it is unpacked."""
    folder = studio.releases.folder_of(read.stored)
    return zip_of(folder, list(read.opened.release.tables), read.stored.digest)


def review_release(studio: Studio, visitor: Visitor, release: str) -> tuple[StoredRelease, Release, list[Excerpt]]:
    """Return a release with the first rows of each table, as a curator reviews it."""
    check_curator(visitor)
    stored = studio.releases.get(visitor, release)
    loaded = load(studio.releases.folder_of(stored))
    return stored, loaded, [_excerpt(name, content) for name, content in loaded.tables.items()]


def decide_release(
    studio: Studio, visitor: Visitor, release: str, *, title: str, note: str, decision: str
) -> None:
    """Keep title and note of a release, and publish or withhold it if that is the decision."""
    check_curator(visitor)
    studio.releases.retitle(visitor, release, title=title, note=note)
    if decision == "publish":
        studio.releases.publish(visitor, release)
    elif decision == "withhold":
        studio.releases.withhold(visitor, release)


def _excerpt(name: str, content: pa.Table) -> Excerpt:
    by_count = content.sort_by([("count", "descending")]) if "count" in content.column_names else content
    rows = by_count.slice(0, _EXCERPT_ROWS).to_pylist()
    numbers = {column for column in content.column_names if rows and isinstance(rows[0][column], int | float)}
    columns = [(column, "number" if column in numbers else "text") for column in content.column_names]
    cells = [[_text(row[column]) for column, _ in columns] for row in rows]
    return Excerpt(table(name).title or name.capitalize(), content.num_rows, columns, cells)


def _text(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:,.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
