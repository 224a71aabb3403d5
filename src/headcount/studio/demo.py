"""The demo: a synthetic city with a curator, an analyst, a budget and two releases."""

from __future__ import annotations

from typing import Any

from headcount.lab.synthetic.logs import checkins
from headcount.studio.access import Role
from headcount.studio.studio import Studio

ACCOUNTS = {Role.CURATOR: "cora", Role.ANALYST: "ann"}
PASSWORD = "everybody may look"  # noqa: S105 - a demo listens to this machine alone

_ABOUT = (
    "Half a year of check-ins in a made-up city: who visited which venue, and when. The list of venues is public. "
    "Nobody in it ever lived."
)
_READ = {"user": "user", "item": "venue", "items": "venues.csv", "context": "weekday:time"}
_REQUESTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Visits by weekday", {"epsilon": "1"}),
    ("Visits by weekday, nearer to the truth", {"epsilon": "2"}),
)
"""The first is published, the second is to be reviewed."""


def fill_demo(studio: Studio) -> None:
    """Put the made-up city into a studio that is new, before it is served."""
    accounts = {role: studio.accounts.create(name, role, PASSWORD) for role, name in ACCOUNTS.items()}
    curator = accounts[Role.CURATOR].visitor()
    checkins(studio.settings.files, users=20_000, venues=300, events=500_000)
    city = studio.datasets.register(
        curator, name="city", about=_ABOUT, source={"files": ["visits.parquet"]}, flags=_READ, version="2026-h1"
    )
    studio.datasets.open(curator, city.id, epsilon="8")
    studio.datasets.allow(curator, city.id, accounts[Role.ANALYST].id, "2")
    for title, request in _REQUESTS:
        studio.jobs.ask(curator, dataset=city.id, family="counts", asked=request, title=title)
    while studio.work.run_next():
        pass
    first = studio.releases.listed(curator)[-1]
    studio.releases.publish(curator, first.id)
