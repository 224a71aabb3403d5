"""A release of 100,000 items: how soon something is seen, and how soon what is typed or pressed has an effect."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from fastapi import FastAPI

from headcount.accounting.guarantee import Guarantee
from headcount.accounting.noise_distributions import DiscreteLaplace
from headcount.releases.folder_integrity import folder_digest
from headcount.releases.release import Release
from headcount.studio.access import Role
from headcount.studio.app import app_for_studio
from headcount.studio.settings import Settings
from headcount.studio.store import releases
from headcount.studio.studio import Studio
from tests.studio.browser.conftest import Visit, serving

PASSWORD = "four words are good"
ITEMS = 100_000
LAW = DiscreteLaplace(Fraction(20))
REPEATS = 20
FIRST_PAINT, INTERACTION = 1000.0, 100.0  # milliseconds, as issue 24 has them
SLACK = 4.0
"""A machine with other work is so much slower; what is promised is printed beside what was measured."""


@pytest.fixture(scope="module")
def long_list(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A studio with one published release, very long; returns the address of the release."""
    where: list[str] = []

    def make(port: int) -> FastAPI:
        studio = Studio(Settings(tmp_path_factory.mktemp("long"), port=port))
        cora = studio.accounts.create("cora", Role.CURATOR, PASSWORD).visitor()
        flags = {"user": "user", "item": "item", "items": "a,b"}
        (studio.settings.files / "log.csv").write_text("user,item\nu,a\n", encoding="utf-8")
        held = studio.datasets.register(cora, name="long", source={"files": ["log.csv"]}, flags=flags)
        studio.datasets.open(cora, held.id, epsilon="3")
        job = studio.jobs.ask(cora, dataset=held.id, family="counts", asked={"epsilon": "1"}, title="Very long")
        studio.jobs.cancel(cora, job.id)
        folder = release().save(studio.settings.releases / job.id)
        with studio.store.writing() as run:
            stored = releases.add(
                run, dataset=held.id, job=job.id, owner=str(cora.id), by_curator=True, family="counts",
                title="Very long", folder=job.id, digest=folder_digest(folder), requested_at=time.time(),
            )  # fmt: skip
        studio.releases.publish(cora, stored)
        where.append(f"/releases/{stored}")
        return app_for_studio(studio)

    with serving(make) as base:
        yield f"{base}{where[0]}"


def release() -> Release:
    counts = np.floor(1e6 / np.arange(1, ITEMS + 1)).astype(float)
    reach = float(LAW.half_width(0.95))
    names = [f"i{n:06}" for n in range(ITEMS)]
    labels = [f"Place {n * 7919 % ITEMS}" for n in range(ITEMS)]
    columns = {"item": names, "label": labels, "count": counts, "low": counts - reach, "high": counts + reach}
    return Release(
        method="sra",
        guarantee=Guarantee(epsilon=Decimal(1)),
        noise={"items": LAW},
        tables={"items": pa.table(columns)},
        bounded="at most 10 records per person",
        steps=("Each person kept at most 10 records.",),
        catalogue="sha256:abc",
        created="2031-02-03T04:05:06+00:00",
    )


@pytest.mark.slow
def test_a_long_list_is_quick(window: Callable[..., Visit], long_list: str) -> None:
    base, _, path = long_list.partition("/releases/")
    visit = window(base)
    page = visit.go(f"/sign-in?next=/releases/{path}")
    page.get_by_label("Name").fill("cora")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.locator("tbody[data-rows] tr").nth(9).wait_for()
    paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    paints = []
    for _ in range(5):
        visit.go(f"/releases/{path}")
        page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length > 0")
        paints.append(float(page.evaluate(paint)))
    searches = [effect(visit, f"Place {n * 137}") for n in range(1, REPEATS + 1)]
    sys.stdout.write(
        f"first paint {np.median(paints):.0f} ms (promised {FIRST_PAINT:.0f}), "
        f"search {np.median(searches):.0f} ms (promised {INTERACTION:.0f}), at most {max(searches):.0f}\n"
    )
    assert np.median(paints) <= SLACK * FIRST_PAINT
    assert np.median(searches) <= SLACK * INTERACTION


def effect(visit: Visit, words: str) -> float:
    """Return how many milliseconds pass from a request for a search until its rows stand in the page."""
    visit.page.evaluate(
        """() => { window.took = new Promise((done) => {
             let begun = 0;
             document.addEventListener("htmx:beforeRequest", () => (begun = performance.now()), { once: true });
             document.addEventListener("htmx:afterSettle", () => done(performance.now() - begun), { once: true });
           }); }"""
    )
    visit.page.locator("input[type=search]").first.fill(words)
    return float(visit.page.evaluate("window.took"))
