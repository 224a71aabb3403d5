"""Export and import of a journal as JSON lines, with full verification."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from headcount.errors import DataError, RefusedError, SurroundingsError, UsageError
from headcount.ledger.journal.entries import Chain, Signed
from headcount.ledger.journal.keys import KeyPlace, missing_key
from headcount.ledger.journal.verify import Replay


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
