"""Releases written into a studio without a job, for tests of pages and the API."""

from __future__ import annotations

import uuid
from typing import Any

from headcount.releases.folder_integrity import folder_digest
from headcount.releases.release import Release
from headcount.studio.access import Role, Visitor
from headcount.studio.store import schema
from headcount.studio.studio import Studio


def visitor_of(studio: Studio, name: str) -> Visitor:
    """Return who somebody is to services."""
    person = next(user for user in studio.accounts.listed() if user.name == name)
    return Visitor(person.id, person.name, Role(person.role))


def put(studio: Studio, release: Release, *, state: str = "published", owner: str = "cora", **fields: Any) -> str:
    """Put a release into a studio, of a dataset of its own kind; return its id."""
    key, who = uuid.uuid4().hex, visitor_of(studio, owner)
    folder = release.save(studio.settings.releases / key)
    with studio.store.writing() as run:
        dataset = run.execute(schema.datasets.select().where(schema.datasets.c.name == "visits")).first()
        if dataset is None:
            row = {"id": uuid.uuid4().hex, "name": "visits", "about": "", "reads": "events", "version": None}
            kept = {
                "source": {"files": ["visits.csv"]},
                "flags": {"user": "user", "item": "item"},
                "state": "open",
            }
            run.execute(schema.datasets.insert().values(**row, **kept, made_by=who.id, created=1.0))
            dataset = run.execute(schema.datasets.select().where(schema.datasets.c.name == "visits")).first()
        assert dataset is not None
        run.execute(
            schema.releases.insert().values(
                **{
                    "id": key, "dataset": dataset.id, "job": None, "owner": who.id, "family": "counts",
                    "title": "Where people go", "note": "", "folder": key, "digest": folder_digest(folder),
                    "state": state, "created": 2.0, "published": 3.0 if state == "published" else None, **fields,
                }
            )
        )  # fmt: skip
    return key
