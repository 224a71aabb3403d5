"""Attacks of the OWASP list that need nothing but people: each is tried, and comes to nothing."""

from __future__ import annotations

import asyncio
import logging
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from itsdangerous import Signer

from headcount.errors import HeadcountError
from headcount.studio.access import AccessLevel, Role, router_for
from headcount.studio.app import app_for_studio
from headcount.studio.security import secrets as passwords
from headcount.studio.security.middleware import HEADERS, SecurityMiddleware
from headcount.studio.settings import Limits, Settings
from headcount.studio.store import accounts as accounts_module
from headcount.studio.store import sessions_and_tokens, throttling
from headcount.studio.store.accounts import Accounts
from headcount.studio.studio import Studio
from tests.studio.conftest import PASSWORD, Browser, people

Client = Callable[[Role | str | None], Browser]
Opened = Callable[..., Browser]


def _cookie(browser: Browser) -> str:
    return str(browser.cookies.get(browser.studio.cookies.name))


def _with_cookie(browser: Browser, value: str) -> Browser:
    browser.cookies.set(browser.studio.cookies.name, value, domain=browser.base_url.host, path="/")
    return browser


# Broken access control


def test_a_token_of_another_user_does_not_exist(client: Client) -> None:
    ann, bob = client("ann"), client("bob")
    token, _ = ann.studio.accounts.make_token(ann.visitor(), "mine")
    theirs = bob.delete(f"/api/v1/account/tokens/{token.id}")
    none = bob.delete(f"/api/v1/account/tokens/{'0' * 32}")
    assert theirs.status_code == none.status_code == 404
    assert theirs.json() == none.json()
    assert ann.studio.accounts.tokens(ann.visitor())[0].revoked is None


@pytest.mark.parametrize(
    "header", ["x-http-method-override", "x-method-override", "x-original-url", "x-rewrite-url"]
)
def test_headers_that_mean_another_request_mean_nothing(client: Client, header: str) -> None:
    ann = client("ann")
    assert ann.get("/account", headers={header: "/people"}).text.count("Your account") > 0
    assert ann.post("/people", headers={header: "GET"}).status_code == 403


def test_a_role_cannot_be_sent_along(client: Client, browser: Opened) -> None:
    cora = client("cora")
    for more in ({"disabled": False}, {"id": "7"}, {"role": "root"}, {"password": PASSWORD}):
        assert cora.post("/api/v1/people", json={"name": "dora", **more}).status_code == 422
    ann = client("ann")
    ann.post("/account/password", data={"old": PASSWORD, "new": "four other good words", "role": "curator"})
    ann.post("/account/tokens", data={"label": "x", "role": "curator", "person": "cora"})
    assert ann.visitor().role is Role.ANALYST


@pytest.mark.parametrize(
    "path",
    [
        "/static/../settings.py",
        "/static/..%2f..%2fsettings.py",
        "/static/%2e%2e/%2e%2e/settings.py",
        "/static/vendor/../../../studio/settings.py",
        "/static//etc/passwd",
        "/static/..\\settings.py",
        "/static/%00",
    ],
)
def test_no_path_leads_out_of_the_static_files(browser: Opened, path: str) -> None:
    opened = browser()
    assert opened.get(path).status_code == 404


def test_the_ways_into_a_demo_are_there_in_a_demo_alone(browser: Opened) -> None:
    for role in Role:
        assert browser().post(f"/demo/{role}").status_code == 404


# Cryptographic failures


def test_no_credential_is_stored_in_the_clear(client: Client) -> None:
    cora = client("cora")
    _, token = cora.studio.accounts.make_token(cora.visitor(), "notebook")
    link = cora.post("/api/v1/people", json={"name": "dora"}).json()["link"].rpartition("/")[2]
    session = _cookie(cora).rpartition(".")[0]
    held = b"".join(path.read_bytes() for path in cora.studio.settings.data.glob("studio.db*"))
    for secret in (token, link, session, PASSWORD):
        assert secret.encode() not in held
    assert b"$argon2id$" in held


def test_others_of_the_machine_read_nothing(studio: Studio) -> None:
    data = studio.settings.data
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    for name in ("studio.db", "session.key"):
        assert stat.S_IMODE((data / name).stat().st_mode) == 0o600


def test_a_cookie_is_for_the_server_alone(browser: Opened, tmp_path: Path) -> None:
    opened = browser()
    cookie = opened.sign_in("ann").headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    studio = Studio(Settings(tmp_path / "far", public_url="https://counts.example"))
    people(studio)
    far = Browser(app_for_studio(studio))
    answer = far.sign_in("ann")
    cookie = answer.headers["set-cookie"].lower()
    assert cookie.startswith("__host-")
    assert "secure" in cookie
    assert "domain" not in cookie
    assert "max-age=" in answer.headers["strict-transport-security"]
    studio.stop()


# Injection


@pytest.mark.parametrize(
    "name", ["' OR '1'='1", "ann'--", 'ann"; DROP TABLE studio_people;--', "ann\x00", "%", "a_n"]
)
def test_a_name_is_never_part_of_a_statement(client: Client, browser: Opened, name: str) -> None:
    assert browser().sign_in(name).status_code == 401
    cora = client("cora")
    assert cora.post("/api/v1/people", json={"name": name + "'"}).status_code in (400, 422)
    assert cora.get("/deeds", params={"person": name}).status_code in (200, 404, 422)
    assert len(cora.studio.accounts.listed()) == 3


def test_user_input_is_shown_as_text(client: Client, browser: Opened) -> None:
    bad = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
    ann = client("ann")
    ann.post("/account/tokens", data={"label": bad})
    ann.studio.audit_log.note(ann.visitor(), "looked", about=bad)
    pages = [
        ann.get("/account"),
        client("cora").get("/deeds"),
        browser().sign_in(bad),
        browser().get("/sign-in", params={"next": f"/{bad}"}),
        browser().get(f"/{bad}"),
        client("cora").post("/people", data={"name": bad}),
    ]
    for page in pages:
        assert "<script>alert" not in page.text
        assert "<img src=x" not in page.text
    assert "&lt;script&gt;alert(1)" in pages[0].text


@pytest.mark.parametrize("place", ["/a\r\nset-cookie: x=1", "/\nlocation: //evil.example", "/\u2028"])
def test_a_line_end_makes_no_header(browser: Opened, place: str) -> None:
    answer = browser().post("/sign-in", data={"name": "ann", "password": PASSWORD, "next": place})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"


# Cross-site requests


@pytest.mark.parametrize(
    "changed",
    [
        {"x-csrf-token": ""},
        {"x-csrf-token": "x" * 43},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:8001"},
        {"origin": "http://127.0.0.1:8000.evil.example"},
        {"origin": "https://127.0.0.1:8000"},
    ],
)
@pytest.mark.parametrize("address", ["/account/tokens", "/sign-out"])
def test_another_site_changes_nothing(client: Client, changed: dict[str, str], address: str) -> None:
    ann = client("ann")
    assert ann.post(address, data={"label": "x"}, headers=changed).status_code == 403
    assert ann.studio.accounts.tokens(ann.visitor()) == []


def test_who_names_no_origin_needs_no_session(client: Client) -> None:
    ann = client("ann")
    del ann.headers["origin"]
    assert ann.post("/account/tokens", data={"label": "x"}).status_code == 403


def test_the_token_of_another_users_page_is_worth_nothing(client: Client) -> None:
    ann, bob = client("ann"), client("bob")
    assert (
        bob.post("/account/tokens", data={"label": "x"}, headers={"x-csrf-token": ann.visitor().csrf}).status_code
        == 403
    )


def test_a_form_shows_the_token_in_a_field(client: Client) -> None:
    ann = client("ann")
    token = ann.headers.pop("x-csrf-token")
    assert ann.post("/account/tokens", data={"label": "x"}).status_code == 403
    assert ann.post("/account/tokens", data={"label": "x", "csrf": token}).status_code == 200
    assert ann.post("/account/tokens", files={"label": (None, "y"), "csrf": (None, token)}).status_code == 200
    assert ann.post("/account/tokens", files={"label": (None, "z"), "csrf": ("file", token)}).status_code == 403
    assert len(ann.studio.accounts.tokens(ann.visitor())) == 2


def test_another_site_cannot_sign_in_a_user(browser: Opened) -> None:
    opened = browser()
    opened.headers["origin"] = "https://evil.example"
    assert opened.sign_in("ann").status_code == 403
    assert opened.studio.cookies.name not in opened.cookies


# Sessions


def test_a_planted_session_is_not_continued(client: Client, browser: Opened) -> None:
    bob = client("bob")
    planted = _cookie(bob)
    victim = _with_cookie(browser(), planted)
    victim.remember()
    victim.sign_in("ann")
    assert _cookie(victim) != planted
    assert victim.visitor().name == "ann"
    assert bob.get("/account").status_code == 303  # the planted one has ended


def test_a_forged_cookie_is_refused(client: Client, browser: Opened) -> None:
    secret, _, signature = _cookie(client("ann")).rpartition(".")
    forged = [
        secret,
        f"{secret}.",
        f"{secret}.{signature[:-1]}",
        f"{secret[:-1]}.{signature}",
        Signer(b"another key").sign(secret).decode(),
        Signer(b"", salt="headcount.studio.session").sign(secret).decode(),
        "%C3%A9.%FF",
        "." * 5000,
    ]
    for value in forged:
        opened = browser()
        opened.headers["cookie"] = f"{opened.studio.cookies.name}={value}"
        assert opened.get("/account").status_code == 303, value


def test_a_key_that_was_cut_off_signs_nothing(tmp_path: Path) -> None:
    desk = tmp_path / "cut"
    Studio(Settings(desk)).stop()
    (desk / "session.key").write_bytes(b"")
    with pytest.raises(HeadcountError, match=r"session\.key is not whole"):
        Studio(Settings(desk))


def test_a_session_ends(studio: Studio) -> None:
    now = [1000.0]
    clocked = Accounts(studio.store, lambda: now[0])
    begun = clocked.sign_in("ann", PASSWORD, "here")
    now[0] += sessions_and_tokens.SESSION_SECONDS - 1
    assert clocked.of_session(begun.secret) is not None
    now[0] += 2
    assert clocked.of_session(begun.secret) is None


def test_an_invitation_ends_and_is_taken_up_once(studio: Studio) -> None:
    now = [1000.0]
    clocked = Accounts(studio.store, lambda: now[0])
    cora = next(user for user in clocked.listed() if user.name == "cora").visitor()
    _, late = clocked.invite(cora, "dora", Role.ANALYST)
    now[0] += accounts_module.INVITATION_SECONDS + 1
    with pytest.raises(HeadcountError, match="no longer"):
        clocked.accept(late, PASSWORD)
    _, secret = clocked.invite(cora, "eve", Role.ANALYST)

    def take(password: str) -> bool:
        try:
            clocked.accept(secret, password)
        except HeadcountError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        taken = list(pool.map(take, [f"the password no {number}" for number in range(4)]))
    assert sum(taken) == 1


def test_a_leaked_token_changes_no_access(browser: Opened, published: Studio) -> None:
    """An invitation, a new password, an account let in again or an allowance would outlive its revocation."""
    studio, cora = published, next(user for user in published.accounts.listed() if user.name == "cora")
    with studio.store.writing() as run:
        accounts_module._add_account(run, "dan", Role.CURATOR, 0.0, None)
    studio.accounts.disable(
        cora.visitor(), next(user.id for user in studio.accounts.listed() if user.name == "ann")
    )
    listed = {user.name: user for user in studio.accounts.listed()}
    dataset = studio.datasets.listed(cora.visitor())[0].id
    members = studio.datasets.members(cora.visitor(), dataset)
    _, secret = studio.accounts.make_token(listed["cora"].visitor(), "leaked")
    opened, bearer = browser(), {"authorization": f"Bearer {secret}"}
    del opened.headers["origin"]
    bob = listed["bob"].id
    assert opened.get("/api/v1/people", headers=bearer).status_code == 200
    refused = [
        opened.post("/api/v1/people", json={"name": "eve", "role": "curator"}, headers=bearer),
        opened.post(f"/api/v1/people/{bob}/reset", headers=bearer),
        opened.post("/people", data={"name": "eve", "role": "curator"}, headers=bearer),
        opened.post(f"/people/{bob}/reset", headers=bearer),
        opened.post("/account/tokens", data={"label": "more"}, headers=bearer),
        *(opened.post(f"{at}/people/{listed['ann'].id}/enable", headers=bearer) for at in ("", "/api/v1")),
        *(opened.post(f"{at}/people/{listed['dan'].id}/disable", headers=bearer) for at in ("", "/api/v1")),
        opened.put(f"/api/v1/datasets/{dataset}/members/{bob}", json={"epsilon": "9"}, headers=bearer),
        opened.delete(f"/api/v1/datasets/{dataset}/members/{listed['ann'].id}", headers=bearer),
    ]
    assert [response.status_code for response in refused] == [403] * 11
    assert studio.datasets.members(cora.visitor(), dataset) == members
    assert not any("/welcome/" in user.text for user in refused)
    assert {user.name: user for user in studio.accounts.listed()} == listed


# Passwords


Clocked = tuple[Accounts, list[float]]


@pytest.fixture
def clocked(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> Clocked:
    """The accounts of a studio, on a clock that stands still, with passwords that take no time."""
    monkeypatch.setattr(accounts_module, "matches", lambda _kept, password: password == PASSWORD)
    now = [1000.0]
    return Accounts(studio.store, lambda: now[0]), now


def _failures(
    clocked: Clocked, number: int, name: str, address: str, browser: str | None = None, pace: float = 0.5
) -> list[str]:
    """Guess so many times at a pace in seconds; return how it ended. Braces stand for the number of the guess."""
    ended = []
    for guess in range(number):
        clocked[1][0] += pace
        with pytest.raises(HeadcountError) as caught:
            clocked[0].sign_in(name.format(guess), "not it", address.format(guess), None, browser)
        ended.append(type(caught.value).__name__)
    return ended


def test_a_name_is_not_tried_for_ever_from_one_address(clocked: Clocked) -> None:
    ended = _failures(clocked, throttling.MOST_PER_NAME_AND_ADDRESS + 1, "ann", "10.0.0.1")
    assert ended == ["NotSignedInError"] * throttling.MOST_PER_NAME_AND_ADDRESS + ["TooManyError"]
    with pytest.raises(throttling.TooManyError):  # the right password is not looked at either
        clocked[0].sign_in("ann", PASSWORD, "10.0.0.1")
    clocked[0].sign_in("ann", PASSWORD, "10.0.0.2")
    clocked[0].sign_in("bob", PASSWORD, "10.0.0.1")


def test_a_name_is_not_tried_for_ever_from_many_addresses(clocked: Clocked) -> None:
    ended = _failures(clocked, throttling.MOST_PER_NAME + 1, "ann", "10.0.0.{}")
    assert ended == ["NotSignedInError"] * throttling.MOST_PER_NAME + ["TooManyError"]
    clocked[0].sign_in("ann", PASSWORD, "10.1.1.1", browser="that she used before")
    ended = _failures(clocked, throttling.MOST_PER_NAME_AND_ADDRESS + 1, "ann", "10.0.0.1", "a stolen cookie", 1.0)
    assert ended == ["NotSignedInError"] * throttling.MOST_PER_NAME_AND_ADDRESS + ["TooManyError"]


def test_guesses_from_an_address_lock_out_no_account_behind_it(clocked: Clocked) -> None:
    """A class behind one router: whoever guesses is slowed down, and each account still opens."""
    enough = throttling.FREE_PER_ADDRESS
    assert set(_failures(clocked, enough + 10, "nobody{}", "router")) == {"NotSignedInError"}  # two in a second
    clocked[1][0] += 1
    for name in ("ann", "bob", "cora"):
        clocked[0].sign_in(name, PASSWORD, "router")


def test_an_address_that_guesses_is_slowed_down(clocked: Clocked) -> None:
    _failures(clocked, throttling.FREE_PER_ADDRESS, "nobody{}", "router")
    clocked[1][0] += 1
    in_one_second = []
    for guess in range(10):
        with pytest.raises(HeadcountError) as caught:
            clocked[0].sign_in(f"other{guess}", "not it", "router")
        in_one_second.append(type(caught.value).__name__)
    assert in_one_second == ["NotSignedInError"] * throttling.SLOW_PER_SECOND + ["TooManyError"] * (
        10 - throttling.SLOW_PER_SECOND
    )
    clocked[0].sign_in("ann", PASSWORD, "router", browser="that she used before")


def test_the_work_for_passwords_is_bounded_for_every_client(clocked: Clocked) -> None:
    ended = []
    for guess in range(throttling.MOST_PER_SECOND + 5):
        with pytest.raises(HeadcountError) as caught:
            clocked[0].sign_in(f"nobody{guess}", "not it", f"10.0.0.{guess}")
        ended.append(type(caught.value).__name__)
    assert ended == ["NotSignedInError"] * throttling.MOST_PER_SECOND + ["TooManyError"] * 5
    clocked[0].sign_in("ann", PASSWORD, "10.1.1.1", browser="that she used before")


def test_an_account_signs_in_from_its_browsers_once_a_second(clocked: Clocked) -> None:
    """Each right password takes work, too: five in five seconds, whichever browsers try."""
    for number in range(throttling.MOST_OF_BROWSERS):
        clocked[0].sign_in("ann", PASSWORD, "here", browser=f"browser {number % 2}")
    with pytest.raises(throttling.TooManyError, match="too many tries") as caught:
        clocked[0].sign_in("Ann ", PASSWORD, "here", browser="browser 2")
    assert caught.value.seconds == throttling.MOST_OF_BROWSERS
    clocked[0].sign_in("bob", PASSWORD, "here", browser="his own")
    clocked[1][0] += throttling.MOST_OF_BROWSERS - 1
    for _ in range(20):
        clocked[1][0] += 1
        clocked[0].sign_in("ann", PASSWORD, "here", browser="browser 2")


def test_a_browser_is_identified_only_by_its_own_session(browser: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttling, "MOST_PER_NAME", 0)
    assert browser().sign_in("ann").status_code == 429
    monkeypatch.setattr(throttling, "MOST_PER_NAME", 100)
    opened = browser()
    assert opened.sign_in("ann").status_code == 303
    cookie = f"{opened.studio.cookies.name}-browser"
    secret = str(opened.cookies.get(cookie))
    opened.post("/sign-out")
    monkeypatch.setattr(throttling, "MOST_PER_NAME", 0)
    assert opened.sign_in("bob").status_code == 429
    forged = browser()
    forged.cookies.set(cookie, secret[:-1], domain=forged.base_url.host, path="/")
    assert forged.sign_in("ann").status_code == 429
    assert opened.sign_in("ann").status_code == 303


def test_many_tries_at_once_count_as_many(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    def look(_kept: str | None, password: str) -> bool:
        looked.append(password)
        return False

    monkeypatch.setattr(accounts_module, "matches", look)

    def sign_in(number: int) -> str:
        try:
            studio.accounts.sign_in("ann", f"guess {number}", "here")
        except HeadcountError as error:
            return type(error).__name__
        return "in"

    with ThreadPoolExecutor(8) as pool:
        responses = list(pool.map(sign_in, range(40)))
    assert len(looked) == throttling.MOST_PER_NAME_AND_ADDRESS
    assert responses.count("TooManyError") == 40 - throttling.MOST_PER_NAME_AND_ADDRESS


def test_tries_are_forgotten_after_a_while(studio: Studio) -> None:
    now = [1000.0]
    clocked = Accounts(studio.store, lambda: now[0])
    for _ in range(throttling.MOST_PER_NAME_AND_ADDRESS):
        with pytest.raises(HeadcountError, match="not right"):
            clocked.sign_in("ann", "x", "here")
    with pytest.raises(throttling.TooManyError):
        clocked.sign_in("ann", PASSWORD, "here")
    now[0] += throttling.ATTEMPT_WINDOW_SECONDS + 1
    clocked.sign_in("ann", PASSWORD, "here")


def test_missing_and_existing_account_names_are_indistinguishable(
    browser: Opened, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words, status and headers are the same, and so is the work: one password is held against one digest."""
    cora = client("cora")
    cora.post("/people", data={"name": "invited", "role": "analyst"})
    cora.post(f"/people/{next(user.id for user in cora.studio.accounts.listed() if user.name == 'bob')}/disable")
    looked: list[str] = []
    verify = passwords.HASHER.verify

    def counted(kept: str, password: str) -> Any:
        looked.append(kept)
        return verify(kept, password)

    monkeypatch.setattr(type(passwords.HASHER), "verify", lambda _self, kept, password: counted(kept, password))
    answers = set()
    for name in ("ann", "nobody", "invited", "bob"):
        answer = browser().sign_in(name, "not it at all")
        answers.add((answer.status_code, answer.text.replace(f'value="{name}"', ""), tuple(answer.headers)))
    assert len(answers) == 1
    assert len(looked) == 4
    assert not passwords.HASHER.check_needs_rehash(passwords.UNKNOWN_NAME_HASH)
    assert len({digest.rpartition("$")[0].rpartition("$")[0] for digest in looked}) == 1  # the same parameters


# Redirects, hosts, tokens


@pytest.mark.parametrize(
    "place",
    [
        "https://evil.example",
        "//evil.example",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        " //evil.example",
        "/\t/evil.example",
        "http:evil.example",
        "",
    ],
)
def test_one_is_never_sent_to_another_site(browser: Opened, client: Client, place: str) -> None:
    answer = browser().post("/sign-in", data={"name": "ann", "password": PASSWORD, "next": place})
    assert answer.headers["location"] == "/"
    assert client("ann").get("/sign-in", params={"next": place}).headers["location"] == "/"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example:8000", "", "localhost@evil.example", "[", "10.0.0.1"]
)
def test_a_name_that_was_pointed_here_is_not_ours(client: Client, host: str) -> None:
    answer = client("cora").get("/people", headers={"host": host})
    assert answer.status_code == 421
    assert "cora" not in answer.text


def test_links_never_take_the_name_of_a_request(client: Client) -> None:
    cora = client("cora")
    for header in ("x-forwarded-host", "forwarded", "x-host"):
        response = cora.post(
            "/api/v1/people", json={"name": f"d{len(header)}"}, headers={header: "host=evil.example"}
        )
        assert "evil" not in response.json()["link"]
    local = cora.post(
        "/api/v1/people", json={"name": "eve"}, headers={"host": "localhost", "origin": "http://localhost"}
    )
    assert local.json()["link"].startswith("http://127.0.0.1:8000/")


def test_a_token_is_taken_from_one_header_alone(client: Client, browser: Opened) -> None:
    ann = client("ann")
    token, secret = ann.studio.accounts.make_token(ann.visitor(), "notebook")
    program = browser()
    assert program.get("/api/v1/account", params={"token": secret, "access_token": secret}).status_code == 401
    assert program.get("/api/v1/account", headers={"authorization": f"Basic {secret}"}).status_code == 401
    assert program.get("/api/v1/account", headers={"authorization": f"bearer {secret}"}).status_code == 200
    ann.delete(f"/api/v1/account/tokens/{token.id}")
    again = program.get("/api/v1/account", headers={"authorization": f"bearer {secret}"})
    assert again.status_code == 401
    assert again.headers["www-authenticate"] == "Bearer"
    # a token that is not known is not made up for by a cookie
    assert ann.get("/api/v1/account", headers={"authorization": f"bearer {secret}"}).status_code == 401


def test_a_token_makes_no_tokens(client: Client, browser: Opened) -> None:
    ann = client("ann")
    _, secret = ann.studio.accounts.make_token(ann.visitor(), "notebook")
    program = browser()
    program.headers["authorization"] = f"Bearer {secret}"
    assert program.post("/account/tokens", data={"label": "another"}).status_code == 403


# Resources


@pytest.mark.parametrize("who", [None, "cora"])
def test_a_body_has_an_end(tmp_path: Path, who: str | None) -> None:
    studio = Studio(Settings(tmp_path / "small", limits=Limits(form_bytes=1000)))
    people(studio)
    opened = Browser(app_for_studio(studio))
    if who:
        opened.sign_in(who)
    address = "/api/v1/people" if who else "/sign-in"
    sent: list[int] = []

    def endless() -> Any:
        for number in range(100):
            sent.append(number)
            yield b"x" * 500

    kind = {"content-type": "application/x-www-form-urlencoded"}
    assert opened.post(address, content=b"x" * 1001, headers=kind).status_code == 413
    assert opened.post(address, content=endless(), headers=kind).status_code == 413
    assert opened.post(address, content=b"x", headers={**kind, "content-length": "-1"}).status_code == 413
    studio.stop()


def test_a_packed_body_is_not_unpacked(client: Client) -> None:
    import gzip

    bomb = gzip.compress(b'{"name": "' + b"x" * 10**7 + b'"}')
    answer = client("cora").post(
        "/api/v1/people", content=bomb, headers={"content-encoding": "gzip", "content-type": "application/json"}
    )
    assert answer.status_code in (400, 422)


# What answers tell


def _failing(app: FastAPI) -> None:
    router = router_for(AccessLevel.ANYONE)

    @router.get("/broken")
    @router.get("/api/v1/broken")
    def broken() -> None:
        raise RuntimeError("the password of the database is tulip")

    app.include_router(router)


def test_internal_errors_are_not_shown(app: FastAPI, browser: Opened, caplog: pytest.LogCaptureFixture) -> None:
    _failing(app)
    with caplog.at_level(logging.ERROR):
        for address in ("/broken", "/api/v1/broken"):
            answer = browser().get(address)
            assert answer.status_code == 500
            assert "tulip" not in answer.text
            assert "Traceback" not in answer.text
            assert answer.headers["content-security-policy"] == HEADERS["content-security-policy"]
    assert "tulip" in caplog.text  # the log of the server says it
    assert browser().get("/api/v1/broken").json()["error"] == "UnexpectedError"


def test_what_was_typed_is_not_sent_back(client: Client) -> None:
    answer = client("cora").post("/api/v1/people", json={"name": ["my secret"], "role": "my secret"})
    assert answer.status_code == 422
    assert "my secret" not in answer.text
    assert set(answer.json()) == {"error", "problem", "given", "remedy", "message"}


def test_every_answer_is_headed(client: Client, browser: Opened, app: FastAPI) -> None:
    _failing(app)
    opened = browser()
    answers = [
        opened.get("/sign-in"),
        opened.get("/account"),
        opened.get("/nothing"),
        opened.get("/broken"),
        opened.get("/api/v1/account"),
        opened.get("/sign-in", headers={"host": "evil.example"}),
        opened.put("/sign-in"),
        client("cora").get("/people"),
        client("cora").get("/api/v1/people"),
    ]
    assert [response.status_code for response in answers] == [200, 303, 404, 500, 401, 421, 405, 200, 200]
    for answer in answers:
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
        assert "server" not in answer.headers
        assert "x-powered-by" not in answer.headers


def test_a_page_cannot_be_framed_and_runs_no_script_of_its_own(client: Client) -> None:
    policy = client("ann").get("/account").headers["content-security-policy"]
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert parts["default-src"] == parts["frame-ancestors"] == parts["base-uri"] == "'none'"
    assert parts["script-src"] == parts["style-src"] == parts["form-action"] == "'self'"
    assert "unsafe" not in policy


def test_tries_are_counted_by_who_stands_behind_the_proxy(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the server is started with --public-url: what a client made up stands before what the proxy adds."""
    from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

    monkeypatch.setattr(throttling, "FREE_PER_ADDRESS", 3)
    monkeypatch.setattr(throttling, "SLOW_PER_SECOND", 0)
    proxied = ProxyHeadersMiddleware(app, trusted_hosts="127.0.0.1")  # type: ignore[arg-type]
    proxied.state = app.state  # type: ignore[attr-defined]
    opened = Browser(proxied, address="127.0.0.1")  # type: ignore[arg-type]

    def tried(forwarded: str, name: str) -> int:
        headers = {"x-forwarded-for": forwarded}
        return int(opened.post("/sign-in", data={"name": name, "password": "x"}, headers=headers).status_code)

    assert [tried(f"10.9.9.{number}, 10.0.0.1", f"nobody{number}") for number in range(4)] == [401] * 3 + [429]
    assert tried("10.0.0.2", "nobody9") == 401


def test_a_studio_that_listens_everywhere_is_reached_by_its_addresses_alone(tmp_path: Path) -> None:
    """An address cannot be pointed here by a name; what is changed still needs our own origin."""
    studio = Studio(Settings(tmp_path / "open", host="0.0.0.0"))
    people(studio)
    opened = Browser(app_for_studio(studio))
    near = {"host": "10.0.0.7:8000", "origin": "http://10.0.0.7:8000"}
    sent = {"name": "ann", "password": PASSWORD}
    assert opened.post("/sign-in", data=sent, headers=near).status_code == 303
    assert opened.get("/sign-in", headers={"host": "rebound.example:8000"}).status_code == 421
    far = {**near, "origin": "http://10.0.0.8:8000"}
    assert Browser(app_for_studio(studio)).post("/sign-in", data=sent, headers=far).status_code == 403
    studio.stop()


def test_a_server_that_ends_answers_who_waits_and_prints_no_traceback(studio: Studio) -> None:
    sent: list[Any] = []

    async def waits(_scope: Any, _receive: Any, _send: Any) -> None:
        await asyncio.sleep(3600)

    async def ends() -> None:
        async def keep(message: Any) -> None:
            sent.append(message)

        host = [(b"host", b"127.0.0.1:8000")]
        scope = {"type": "http", "method": "GET", "path": "/api/v1/jobs", "query_string": b"", "headers": host}
        task = asyncio.create_task(SecurityMiddleware(waits, studio)({**scope, "scheme": "http"}, keep, keep))  # type: ignore[arg-type]
        await asyncio.sleep(0.2)
        task.cancel()
        await task

    asyncio.run(ends())
    assert sent[0]["status"] == 503
    assert b"the studio was stopped" in sent[1]["body"]
