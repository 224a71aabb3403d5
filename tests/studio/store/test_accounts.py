from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from headcount.errors import HeadcountError
from headcount.studio.access import Role, Visitor
from headcount.studio.studio import Studio
from tests.studio.conftest import PASSWORD, Browser

Client = Callable[[Role | str | None], Browser]


def _link(page: str) -> str:
    return page.split('id="link">')[1].split("<", 1)[0]


def _id_of(browser: Browser, name: str) -> str:
    return next(user.id for user in browser.studio.accounts.listed() if user.name == name)


def test_a_curator_invites_an_analyst(client: Client, browser: Callable[[], Browser]) -> None:
    cora, dora = client("cora"), browser()
    link = _link(cora.post("/people", data={"name": "Dora", "role": "analyst"}).text)
    assert link not in cora.get("/people").text
    assert "dora, an analyst" in dora.get(link).text
    assert dora.sign_in("dora", "").status_code == 401  # no password is no way in
    dora.post(link, data={"password": PASSWORD, "name": "cora2", "role": "curator"})
    assert dora.visitor().name == "dora"  # the first curator alone chooses a name, and nobody a role
    assert dora.visitor().role is Role.ANALYST
    assert dora.get(link).status_code == 404
    assert "there is somebody of the name dora" in cora.post("/people", data={"name": "dora"}).text.lower()


def test_who_is_shut_out_is_out_at_once(client: Client, browser: Callable[[], Browser]) -> None:
    cora, ann, program = client("cora"), client("ann"), browser()
    _, secret = ann.studio.accounts.make_token(ann.visitor(), "notebook")
    program.headers["authorization"] = f"Bearer {secret}"
    assert program.get("/api/v1/account").json()["name"] == "ann"
    ann_id = _id_of(cora, "ann")
    cora.post(f"/people/{ann_id}/disable")
    assert ann.get("/account").status_code == 303
    assert program.get("/api/v1/account").status_code == 401
    assert browser().sign_in("ann").status_code == 401
    cora.post(f"/people/{ann_id}/enable")
    assert browser().sign_in("ann").status_code == 303
    assert program.get("/api/v1/account").status_code == 401  # revoked for good


def test_a_reset_takes_the_password(client: Client, browser: Callable[[], Browser]) -> None:
    cora, ann = client("cora"), client("ann")
    link = _link(cora.post(f"/people/{_id_of(cora, 'ann')}/reset").text)
    assert ann.get("/account").status_code == 303
    assert browser().sign_in("ann").status_code == 401
    assert ann.post(link, data={"password": "four other good words"}).status_code == 303
    assert browser().sign_in("ann", "four other good words").status_code == 303


def test_curators_cannot_disable_their_own_account(client: Client) -> None:
    cora = client("cora")
    for how in ("disable", "reset"):
        assert cora.post(f"/people/{_id_of(cora, 'cora')}/{how}").status_code == 409
    assert cora.get("/people").status_code == 200


def test_two_curators_cannot_disable_one_another(studio: Studio) -> None:
    dora = studio.accounts.create("dora", Role.CURATOR, PASSWORD).visitor()
    cora = next(user for user in studio.accounts.listed() if user.name == "cora").visitor()

    def shut_out(pair: tuple[Visitor, Visitor]) -> bool:
        try:
            studio.accounts.disable(pair[0], str(pair[1].id))
        except HeadcountError:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:  # both were let in before either was shut out
        assert sum(pool.map(shut_out, [(cora, dora), (dora, cora)])) == 1


def test_programs_of_curators_do_the_same(client: Client) -> None:
    cora = client("cora")
    response = cora.post("/api/v1/people", json={"name": "dora"})
    assert response.status_code == 201
    assert response.json()["person"]["role"] == "analyst"
    assert response.json()["link"].startswith(f"{cora.studio.settings.base_url}/welcome/")
    person = response.json()["person"]["id"]
    assert cora.post(f"/api/v1/people/{person}/disable").json()["disabled"] is True
    assert cora.post(f"/api/v1/people/{person}/enable").json()["disabled"] is False
    assert [user["name"] for user in cora.get("/api/v1/people").json()] == ["ann", "bob", "cora", "dora"]
    assert cora.post("/api/v1/people", json={"name": "dora"}).status_code == 409
    assert cora.post("/api/v1/people/0/disable").status_code == 404


def test_the_audit_log_says_who_did_what(client: Client, browser: Callable[[], Browser]) -> None:
    cora = client("cora")
    browser().sign_in("ann", "not it at all")
    browser().sign_in("my secret password", "ann")
    browser().sign_in("ann")
    cora.post("/people", data={"name": "dora", "role": "analyst"})
    entries = [(entry["name"], entry["deed"]) for entry in cora.get("/api/v1/deeds").json()]
    assert entries == [
        ("cora", "invited"),
        ("ann", "signed in"),
        ("", "failed to sign in"),
        ("ann", "failed to sign in"),
    ]
    page = cora.get("/deeds").text
    assert "failed to sign in" in page
    assert "my secret password" not in page  # typed into the wrong field
    assert "signed in" not in cora.get(f"/deeds?person={_id_of(cora, 'cora')}").text.split("<tbody>")[1]


def test_the_audit_log_has_pages(client: Client) -> None:
    cora = client("cora")
    for number in range(105):
        cora.studio.audit_log.note(cora.visitor(), "looked", at=number)
    page = cora.get("/deeds").text
    assert page.count("<tr>") == 101
    assert 'href="/deeds?before=6"' in page
    assert cora.get("/deeds?before=6").text.count("<tr>") == 6
    assert len(cora.get("/api/v1/deeds?before=6").json()) == 5
