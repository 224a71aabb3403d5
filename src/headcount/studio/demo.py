"""The demo: a made-up city with a curator, an analyst, a budget and two releases, ready in a few seconds."""

from __future__ import annotations

from headcount.studio.access import Role
from headcount.studio.studio import Studio

PEOPLE = {Role.CURATOR: "cora", Role.ANALYST: "ann"}
PASSWORD = "everybody may look"  # noqa: S105 - a demo listens to this machine alone


def furnish(studio: Studio) -> None:
    """Put the made-up city into a studio that is new."""
    for role, name in PEOPLE.items():
        studio.people.create(name, role, PASSWORD)
