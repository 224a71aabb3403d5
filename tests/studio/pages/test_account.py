from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from headcount.studio.access import Role
from headcount.studio.app import app_for_studio
from headcount.studio.settings import Settings
from headcount.studio.studio import Studio
from tests.studio.conftest import PASSWORD, Browser

Client = Callable[[Role | str | None], Browser]


def test_the_first_curator_sets_up_the_studio(tmp_path: Path) -> None:
    studio = Studio(Settings(tmp_path / "new"))
    link = studio.set_up_link()
    assert link is not None
    browser = Browser(app_for_studio(studio))
    assert "first curator" in browser.get(link).text
    short = browser.post(link, data={"name": "Cora", "password": "short"})
    assert short.status_code == 400
    assert "12 to 200 characters" in short.text
    begun = browser.post(link, data={"name": "Cora", "password": PASSWORD})
    assert begun.status_code == 303
    assert begun.headers["location"] == "/"
    assert browser.visitor().name == "cora"
    assert browser.visitor().role is Role.CURATOR
    assert studio.set_up_link() is None
    assert browser.get(link).status_code == 404  # taken up once
    studio.stop()


def test_a_second_start_before_anybody_came_makes_the_earlier_link_worthless(tmp_path: Path) -> None:
    studio = Studio(Settings(tmp_path / "new"))
    first, second = studio.set_up_link(), studio.set_up_link()
    assert first is not None
    assert second is not None
    browser = Browser(app_for_studio(studio))
    assert browser.get(first).status_code == 404
    assert browser.get(second).status_code == 200
    studio.stop()


def test_the_oldest_curator_is_let_in_again_when_all_passwords_are_lost(studio: Studio) -> None:
    """As the page on security says it is done."""
    with sqlite3.connect(studio.settings.data / "studio.db") as connection:
        connection.execute("UPDATE studio_people SET password = NULL")
    connection.close()
    link = studio.set_up_link()
    assert link is not None
    opened = Browser(app_for_studio(studio))
    opened.post(link, data={"name": "cora", "password": PASSWORD})
    assert (opened.visitor().name, opened.visitor().role) == ("cora", Role.CURATOR)
    assert len(studio.accounts.listed()) == 3


def test_one_signs_in_and_out(browser: Callable[[], Browser]) -> None:
    opened = browser()
    assert opened.get("/account").headers["location"] == "/sign-in?next=/account"
    wrong = opened.sign_in("ann", "not the password")
    assert wrong.status_code == 401
    assert "name or the password" in wrong.text
    right = opened.post("/sign-in", data={"name": " Ann ", "password": PASSWORD, "next": "/account"})
    assert right.headers["location"] == "/account"
    opened.remember()
    cookie = opened.cookies.get(opened.studio.cookies.name)
    assert "You are ann, an analyst" in opened.get("/account").text
    assert opened.post("/sign-out").status_code == 303
    opened.cookies.set(opened.studio.cookies.name, str(cookie), domain=opened.base_url.host)
    assert opened.get("/account").status_code == 303  # a kept cookie is worth nothing


def test_a_token_is_shown_once_and_works_until_it_is_revoked(
    client: Client, browser: Callable[[], Browser]
) -> None:
    ann = client("ann")
    shown = ann.post("/account/tokens", data={"label": "my notebook"}).text
    secret = shown.split('id="made">')[1].split("<")[0]
    assert secret not in ann.get("/account").text
    program = browser()
    del program.headers["origin"]
    program.headers["authorization"] = f"Bearer {secret}"
    assert program.get("/account").status_code == 200
    (token,) = ann.studio.accounts.tokens(ann.visitor())
    assert token.last_used is not None
    assert secret not in ann.studio.settings.data.joinpath("studio.db").read_bytes().decode("latin-1")
    ann.post(f"/account/tokens/{token.id}/revoke")
    assert program.get("/account").status_code == 303


def test_a_new_password_ends_every_session(client: Client) -> None:
    here, there = client("ann"), client("ann")
    wrong = here.post("/account/password", data={"old": "not it at all", "new": "four other good words"})
    assert wrong.status_code == 400
    assert there.get("/account").status_code == 200
    assert (
        here.post("/account/password", data={"old": PASSWORD, "new": "four other good words"}).status_code == 303
    )
    assert here.get("/account").status_code == 200
    assert there.get("/account").status_code == 303
    here.remember()
    assert here.sign_in("ann").status_code == 401
    assert here.sign_in("ann", "four other good words").status_code == 303


@pytest.mark.parametrize("label", ["", " ", "x" * 81, "a\x00b"])
def test_a_token_needs_a_label(client: Client, label: str) -> None:
    assert client("ann").post("/account/tokens", data={"label": label}).status_code == 400
