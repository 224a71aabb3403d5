"""The demo: ways in that exist nowhere else, and what is in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headcount.studio.access import Role
from headcount.studio.app import app_for_studio
from headcount.studio.demo import ACCOUNTS, PASSWORD, fill_demo
from headcount.studio.settings import Settings
from headcount.studio.studio import Studio
from tests.studio.conftest import Browser
from tests.studio.support.dataset import left


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Studio]:
    studio = Studio(Settings(tmp_path / "demo", demo=True))
    yield studio
    studio.stop()


@pytest.mark.parametrize("role", Role)
def test_a_button_lets_in_as_either(demo: Studio, role: Role) -> None:
    for user_role, name in ACCOUNTS.items():
        demo.accounts.create(name, user_role, PASSWORD)
    opened = Browser(app_for_studio(demo))
    assert "As curator" in opened.get("/sign-in").text
    assert opened.post(f"/demo/{role}").status_code == 303
    assert opened.visitor().role is role


def test_elsewhere_there_are_no_such_ways_in(studio: Studio, client: Callable[..., Any]) -> None:
    studio.accounts.create(f"{ACCOUNTS[Role.CURATOR]}-too", Role.CURATOR, PASSWORD)
    opened = client(None)
    assert "As curator" not in opened.get("/sign-in").text
    assert opened.post("/demo/curator").status_code == 404


@pytest.mark.slow
def test_the_city_has_a_release_that_analysts_see_and_one_that_waits(demo: Studio) -> None:
    fill_demo(demo)
    visitors = {user.role: user.visitor() for user in demo.accounts.listed()}
    visible = {role: demo.releases.listed(who) for role, who in visitors.items()}
    assert [release.state for release in visible[Role.CURATOR]] == ["review", "published"]
    assert [release.state for release in visible[Role.ANALYST]] == ["published"]
    city = demo.datasets.listed(visitors[Role.ANALYST])[0]
    assert str(left(demo, visitors[Role.ANALYST], city.id)) == "2"
