"""Journal store: a ledger's database, signing key and anchor; appends signed entries, exports and imports them."""

from __future__ import annotations

import hmac
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from headcount.errors import DataError, RefusedError, SurroundingsError, UsageError
from headcount.ledger.journal.anchor import Anchor, Mark
from headcount.ledger.journal.entries import Chain, Entry, Signed, mac_of, now, sign
from headcount.ledger.journal.keys import KeyPlace, make_key, missing_key, read_key
from headcount.ledger.journal.verify import Replay
from headcount.ledger.stores import queries
from headcount.ledger.stores.store import Store, open_store
from headcount.ledger.stores.transactions import Transaction


@dataclass(frozen=True)
class _Opened:
    chain: str
    key_path: Path
    key: bytes | None
    key_fits: bool
    anchor: Anchor


class JournalStore:
    """Keeps a journal: opens it, appends to it, and sees that nothing of it was lost."""

    def __init__(
        self,
        url: str,
        *,
        key: str | os.PathLike[str] | None = None,
        anchor: str | os.PathLike[str] | None = None,
        upgrade: bool = False,
    ) -> None:
        self.store: Store = open_store(url)
        self._key_given, self._anchor_given = key, anchor
        self._opened: _Opened | None = None
        if upgrade:
            self.store.migrate()

    def close(self) -> None:
        """Let go of the database and the anchor."""
        if self._opened is not None:
            self._opened.anchor.close()
        self.store.close()
        self._opened = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def key_path(self) -> Path:
        """Where the key lies, or is looked for."""
        return self._open().key_path

    def _key_place(self, chain: str) -> KeyPlace:
        return KeyPlace.locate(self._key_given, chain)

    def _make(self, chain: str, key: bytes | None = None) -> None:
        path = self._key_place(chain).path
        key = key or read_key(path) or make_key(path)
        self.store.migrate(fresh={"chain": chain, "key_id": _key_id(key, chain)})
        self._opened = None

    def _open(self) -> _Opened:
        if self._opened is None:
            self.store.check_version()
            with self.store.reading() as run:
                chain, key_id = queries.name(run)
            path, key = self._key_place(chain).find(lambda key: _has_id(key, chain, key_id))
            fits = key is not None and _has_id(key, chain, key_id)
            anchor = Anchor(Anchor.place(self._anchor_given, chain), chain, key if fits else None)
            self._opened = _Opened(chain, path, key, fits, anchor)
        return self._opened

    @contextmanager
    def _writing(self, *, checked: bool = True) -> Iterator[tuple[Transaction, Mark]]:
        """Open a transaction that appends to the journal, and yield how it ends now."""
        opened = self._open()
        if opened.key is None:
            raise missing_key(self.key_path)
        if not opened.key_fits:
            raise UsageError(
                f"the key at {self.key_path} is not the one that this ledger was made with",
                remedy="set HEADCOUNT_LEDGER_KEY to the right one",
            )
        anchored = opened.anchor.read() if checked else None
        with self.store.writing() as run:
            head = queries.head(run) or Mark(0, opened.chain)
            if anchored is not None and queries.mac(run, anchored.count) != anchored.head:
                raise RefusedError(
                    f"the journal is not the one that was anchored: entry {anchored.count} was lost or changed, "
                    "so nothing can be charged",
                    remedy="restore the database; `headcount ledger verify` says more",
                )
            yield run, head

    def _append(self, run: Transaction, head: Mark, **fields: Any) -> Mark:
        entry = Entry(**{"number": head.count + 1, "previous": head.head, "time": now(), **fields})
        signed = sign(entry, self._open().key or b"")
        queries.add_entries(run, [(entry, signed)])
        return Mark(entry.number, signed.mac)

    def _anchor(self, mark: Mark) -> None:
        self._open().anchor.advance(mark)


def _has_id(key: bytes, chain: str, key_id: str) -> bool:
    return hmac.compare_digest(_key_id(key, chain), key_id)


def _key_id(key: bytes, chain: str) -> str:
    return mac_of(key, f"headcount ledger key {chain}")[:16]


def write_lines(path: str | os.PathLike[str], journal: Iterable[Signed]) -> int:
    """Write a journal to a new file, and see that it is on the disk; return the number of entries."""
    count = 0
    try:
        with Path(path).open("x", encoding="ascii", newline="\n") as file:
            for signed in journal:
                file.write(signed.line + "\n")
                count += 1
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError as error:
        raise UsageError(f"{path} exists already", remedy="name a new file") from error
    except OSError as error:
        raise SurroundingsError(f"the journal cannot be written to {path} ({error.strerror})") from error
    return count


def read_lines(
    path: str | os.PathLike[str], key_place: Callable[[str], KeyPlace]
) -> tuple[str, bytes, list[Signed], Replay]:
    """Return an exported journal's name, key, entries and what follows from them; refuse one that is not whole."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"the journal {path} cannot be read ({error})") from error
    signed = [Signed.from_line(line) for line in lines]
    if not signed:
        raise DataError(f"the journal {path} is empty", remedy="export it again")
    chain, problems, replay = signed[0].entry.previous, list[str](), Replay()
    key_path, key = key_place(chain).find(lambda _: True)  # the signatures say whether it is the right one
    if key is None:
        raise missing_key(key_path)
    for entry in Chain(chain, key).walk(enumerate(signed, start=1), problems):
        replay.play(entry)
    if problems or replay.problems:
        raise RefusedError(f"the journal {path} is not whole: {(problems + replay.problems)[0]}")
    return chain, key, signed, replay
