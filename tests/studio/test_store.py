"""The database of the studio, in either kind: one behaviour."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa

from headcount.errors import HeadcountError, RefusedError, SurroundingsError, UsageError
from headcount.studio.access import Role, Visitor
from headcount.studio.store import throttling
from headcount.studio.store.audit_log import Deeds
from headcount.studio.store.database import Store
from headcount.studio.store.schema import deeds, people, tries
from headcount.studio.store.users import People
from tests.support import servers

PASSWORD = "four words are good"


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store of either kind."""
    made = Store(f"sqlite:///{tmp_path}/studio.db" if request.param == "sqlite" else servers.new_schema())
    yield made
    made.close()


def _count(store: Store, table: sa.Table) -> int:
    with store.reading() as run:
        return int(run.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())


def test_what_fails_leaves_nothing(store: Store) -> None:
    def fail() -> None:
        with store.writing() as run:
            run.execute(deeds.insert().values(at=1.0, name="ann", deed="looked", about={}))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert _count(store, deeds) == 0


def test_it_is_found_again(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/studio.db"
    first = Store(url)
    Deeds(first).note(Visitor(name="ann"), "looked", at="tea")
    first.close()
    second = Store(url)
    assert [(each.name, each.deed, each.about) for each in Deeds(second).listed()] == [
        ("ann", "looked", {"at": "tea"})
    ]
    second.close()


def test_many_write_at_once(store: Store) -> None:
    log = Deeds(store)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: log.note(Visitor(), "looked", number=number), range(40)))
    assert sorted(each.about["number"] for each in log.listed()) == list(range(40))


def test_a_person_comes_and_goes(store: Store) -> None:
    known = People(store)
    first = known.set_up()
    assert first is not None
    known.accept(first, PASSWORD, "cora")
    cora = known.listed()[0].visitor()
    assert cora.is_curator
    ann, link = known.invite(cora, "ann", Role.ANALYST)
    known.accept(link, PASSWORD)
    begun = known.sign_in("ann", PASSWORD, "here")
    found = known.of_session(begun.secret)
    assert found is not None
    _, token = known.make_token(found, "notebook")
    assert known.of_token(token) is not None
    known.disable(cora, ann.id)
    assert known.of_session(begun.secret) is None
    assert known.of_token(token) is None
    assert [each.deed for each in Deeds(store).listed()][:3] == ["disabled", "made a token", "signed in"]


def test_one_name_is_one_person(store: Store) -> None:
    known = People(store)
    curator = Visitor(role=Role.CURATOR)

    def invite(number: int) -> bool:
        try:
            known.invite(curator, "Ann" if number % 2 else "ann", Role.ANALYST)
        except RefusedError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(invite, range(8))) == 1
    assert _count(store, people) == 1


@pytest.mark.parametrize(
    "name", ["", " ", "-ann", "ann lee", "ann@example", "Ännchen", "a" * 65, "ann\n", "ann\x00"]
)
def test_a_name_is_plain(tmp_path: Path, name: str) -> None:
    store = Store(f"sqlite:///{tmp_path}/studio.db")
    if name == "ann\n":
        assert People(store).create(name, Role.ANALYST, PASSWORD).name == "ann"
    else:
        with pytest.raises(HeadcountError):
            People(store).create(name, Role.ANALYST, PASSWORD)
    store.close()


def test_names_that_no_database_takes_are_nobodys(store: Store) -> None:
    for name in ("ann\x00", "\ud800", "a" * 100_000):
        with pytest.raises(HeadcountError, match="not right"):
            People(store).sign_in(name, "x", "here")
    assert _count(store, tries) == 12


@pytest.mark.parametrize("text", ["\ud800", "ann\x00"])
def test_text_that_is_none_is_said(store: Store, text: str) -> None:
    log = Deeds(store)
    try:
        log.note(Visitor(name=text), "looked")
    except UsageError:
        assert log.listed() == []
    else:
        assert text == "ann\x00"  # SQLite keeps it
        assert log.listed()[0].name == text


def test_tries_count_though_many_come_at_once(store: Store) -> None:
    def enter(_number: int) -> bool:
        try:
            with store.writing() as run:
                throttling.enter(run, "ann", "here", 1000.0)
        except throttling.TooManyError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        let_in = sum(pool.map(enter, range(40)))
    assert let_in == throttling.OF_A_NAME_THERE


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///:memory:", "mysql://server/db", "nothing at all", "sqlite:///a?x=1"]
)
def test_it_is_kept_in_a_file_or_a_server(url: str) -> None:
    with pytest.raises(UsageError):
        Store(url)


def test_a_database_that_is_gone_is_said_without_its_address(tmp_path: Path) -> None:
    with pytest.raises(SurroundingsError) as caught:
        Store("postgresql://reader:tulip@127.0.0.1:1/none?connect_timeout=2")
    assert "tulip" not in str(caught.value)
    with pytest.raises(SurroundingsError):
        Store(f"sqlite:///{tmp_path}/no/such/folder/studio.db")
