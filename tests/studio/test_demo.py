"""The demo: ways in that exist nowhere else, and what is in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headcount.studio.access import Role
from headcount.studio.app import app_of
from headcount.studio.demo import PASSWORD, PEOPLE, furnish
from headcount.studio.settings import Settings
from headcount.studio.studio import Studio
from tests.studio.conftest import Browser


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Studio]:
    made = Studio(Settings(tmp_path / "demo", demo=True))
    yield made
    made.stop()


@pytest.mark.parametrize("role", Role)
def test_a_button_lets_in_as_either(demo: Studio, role: Role) -> None:
    for each, name in PEOPLE.items():
        demo.people.create(name, each, PASSWORD)
    opened = Browser(app_of(demo))
    assert "As curator" in opened.get("/sign-in").text
    assert opened.post(f"/demo/{role}").status_code == 303
    assert opened.visitor().role is role


def test_elsewhere_there_are_no_such_ways_in(studio: Studio, client: Callable[..., Any]) -> None:
    studio.people.create(f"{PEOPLE[Role.CURATOR]}-too", Role.CURATOR, PASSWORD)
    opened = client(None)
    assert "As curator" not in opened.get("/sign-in").text
    assert opened.post("/demo/curator").status_code == 404


@pytest.mark.slow
def test_the_city_has_a_release_that_analysts_see_and_one_that_waits(demo: Studio) -> None:
    furnish(demo)
    visitors = {each.role: each.visitor() for each in demo.people.listed()}
    seen = {role: demo.releases.listed(who) for role, who in visitors.items()}
    assert [each.state for each in seen[Role.CURATOR]] == ["review", "published"]
    assert [each.state for each in seen[Role.ANALYST]] == ["published"]
    city = demo.datasets.listed(visitors[Role.ANALYST])[0]
    assert str(demo.datasets.left(visitors[Role.ANALYST], city.id)) == "2"
