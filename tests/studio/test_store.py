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
from headcount.studio.store.accounts import Accounts
from headcount.studio.store.audit_log import AuditLog
from headcount.studio.store.database import StudioDatabase
from headcount.studio.store.schema import accounts, audit_entries, sign_in_attempts
from tests.support import servers

PASSWORD = "four words are good"


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StudioDatabase]:
    """An empty store of either kind."""
    new_store = StudioDatabase(
        f"sqlite:///{tmp_path}/studio.db" if request.param == "sqlite" else servers.new_schema()
    )
    yield new_store
    new_store.close()


def _count(store: StudioDatabase, table: sa.Table) -> int:
    with store.reading() as run:
        return int(run.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())


def test_what_fails_leaves_nothing(store: StudioDatabase) -> None:
    def fail() -> None:
        with store.writing() as run:
            run.execute(audit_entries.insert().values(at=1.0, name="ann", deed="looked", about={}))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert _count(store, audit_entries) == 0


def test_stored_records_are_read_again(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/studio.db"
    first = StudioDatabase(url)
    AuditLog(first).note(Visitor(name="ann"), "looked", at="tea")
    first.close()
    second = StudioDatabase(url)
    assert [(entry.name, entry.deed, entry.about) for entry in AuditLog(second).listed()] == [
        ("ann", "looked", {"at": "tea"})
    ]
    second.close()


def test_many_write_at_once(store: StudioDatabase) -> None:
    log = AuditLog(store)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: log.note(Visitor(), "looked", number=number), range(40)))
    assert sorted(entry.about["number"] for entry in log.listed()) == list(range(40))


def test_a_user_is_added_and_removed(store: StudioDatabase) -> None:
    directory = Accounts(store)
    first = directory.set_up()
    assert first is not None
    directory.accept(first, PASSWORD, "cora")
    cora = directory.listed()[0].visitor()
    assert cora.is_curator
    ann, link = directory.invite(cora, "ann", Role.ANALYST)
    directory.accept(link, PASSWORD)
    begun = directory.sign_in("ann", PASSWORD, "here")
    session = directory.of_session(begun.secret)
    assert session is not None
    _, token = directory.make_token(session, "notebook")
    assert directory.of_token(token) is not None
    directory.disable(cora, ann.id)
    assert directory.of_session(begun.secret) is None
    assert directory.of_token(token) is None
    assert [entry.deed for entry in AuditLog(store).listed()][:3] == ["disabled", "made a token", "signed in"]


def test_one_name_is_one_user(store: StudioDatabase) -> None:
    directory = Accounts(store)
    curator = Visitor(role=Role.CURATOR)

    def invite(number: int) -> bool:
        try:
            directory.invite(curator, "Ann" if number % 2 else "ann", Role.ANALYST)
        except RefusedError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(invite, range(8))) == 1
    assert _count(store, accounts) == 1


@pytest.mark.parametrize(
    "name", ["", " ", "-ann", "ann lee", "ann@example", "Ännchen", "a" * 65, "ann\n", "ann\x00"]
)
def test_a_name_is_plain(tmp_path: Path, name: str) -> None:
    store = StudioDatabase(f"sqlite:///{tmp_path}/studio.db")
    if name == "ann\n":
        assert Accounts(store).create(name, Role.ANALYST, PASSWORD).name == "ann"
    else:
        with pytest.raises(HeadcountError):
            Accounts(store).create(name, Role.ANALYST, PASSWORD)
    store.close()


def test_names_that_no_database_takes_are_nobodys(store: StudioDatabase) -> None:
    for name in ("ann\x00", "\ud800", "a" * 100_000):
        with pytest.raises(HeadcountError, match="not right"):
            Accounts(store).sign_in(name, "x", "here")
    assert _count(store, sign_in_attempts) == 12


@pytest.mark.parametrize("text", ["\ud800", "ann\x00"])
def test_invalid_text_is_refused(store: StudioDatabase, text: str) -> None:
    log = AuditLog(store)
    try:
        log.note(Visitor(name=text), "looked")
    except UsageError:
        assert log.listed() == []
    else:
        assert text == "ann\x00"  # SQLite keeps it
        assert log.listed()[0].name == text


def test_tries_count_though_many_come_at_once(store: StudioDatabase) -> None:
    def enter(_number: int) -> bool:
        try:
            with store.writing() as run:
                throttling.count_attempt(run, "ann", "here", 1000.0)
        except throttling.TooManyError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        let_in = sum(pool.map(enter, range(40)))
    assert let_in == throttling.MOST_PER_NAME_AND_ADDRESS


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///:memory:", "mysql://server/db", "nothing at all", "sqlite:///a?x=1"]
)
def test_it_is_kept_in_a_file_or_a_server(url: str) -> None:
    with pytest.raises(UsageError):
        StudioDatabase(url)


def test_a_lost_database_is_reported_without_its_address(tmp_path: Path) -> None:
    with pytest.raises(SurroundingsError) as caught:
        StudioDatabase("postgresql://reader:tulip@127.0.0.1:1/none?connect_timeout=2")
    assert "tulip" not in str(caught.value)
    with pytest.raises(SurroundingsError):
        StudioDatabase(f"sqlite:///{tmp_path}/no/such/folder/studio.db")
