"""The signing key of a journal: where its file is, how it is read and made.

The key makes edits visible. Whoever can read it can write entries that look right: keep it from those who can
write to the database but should not be able to rewrite history. On several machines, copy the file.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headcount._internal.files import fsync_paths
from headcount.errors import DataError, RefusedError, SurroundingsError, UsageError
from headcount.releases.folder_integrity import refuse_special

_TOO_OPEN = stat.S_IWGRP | stat.S_IRWXO  # a group that shares a ledger may read its key

_HEX = re.compile(r"[0-9a-f]{64}")


def config_folder() -> Path:
    """Return the user's folder for Headcount's configuration."""
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming") / "headcount"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "headcount"


@dataclass(frozen=True)
class KeyPlace:
    """Where the key of a journal lies: as given, in ``HEADCOUNT_LEDGER_KEY``, or beside the user's configuration.

    Earlier builds had one key for all ledgers of a user, ``earlier``. It goes on serving those.
    """

    path: Path
    earlier: Path | None

    @classmethod
    def locate(cls, given: str | os.PathLike[str] | None, chain: str) -> KeyPlace:
        """Return the place for the journal of this name."""
        named = given or os.environ.get("HEADCOUNT_LEDGER_KEY")
        if named:
            return cls(Path(named), None)
        return cls(config_folder() / "keys" / f"{Path(chain).name}.key", config_folder() / "ledger.key")

    def find(self, fits: Callable[[bytes], bool]) -> tuple[Path, bytes | None]:
        """Return where the key is, and the key: its own, or the earlier one where that fits, or None."""
        key = read_key(self.path)
        earlier = read_key(self.earlier) if key is None and self.earlier is not None else None
        if self.earlier is not None and earlier is not None and fits(earlier):
            return self.earlier, earlier
        return self.path, key

    def has_others(self) -> bool:
        """Say whether the user has keys of other ledgers, and not this one."""
        return self.earlier is not None and (self.earlier.exists() or any(self.path.parent.glob("*.key")))


def read_key(path: Path) -> bytes | None:
    """Read the key, None if there is none."""
    refuse_special(path)
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        text = ""
    except OSError as error:
        raise SurroundingsError(f"the ledger's key {path} cannot be read ({error.strerror})") from error
    if not _HEX.fullmatch(text):
        raise DataError(
            f"{path} is not a key of a ledger: 64 hexadecimal digits are expected", remedy="restore it"
        )
    if os.name == "posix" and mode & _TOO_OPEN:
        raise RefusedError(
            f"others may read or change the ledger's key {path} (mode {stat.S_IMODE(mode):04o}), and with it "
            "write entries that look right",
            remedy=f"run `chmod 600 {path}`, or 640 for a group that shares the ledger",
        )
    return bytes.fromhex(text)


def make_key(path: Path) -> bytes:
    """Make a new key, for its owner's eyes alone, and see that it is on the disk; one that exists is read."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        aside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(secrets.token_hex(32) + "\n")
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(aside, path)  # of several that start at once, one wins
        finally:
            aside.unlink()
        fsync_paths(path.parent)
    except OSError as error:
        raise SurroundingsError(
            f"the ledger's key cannot be written to {path} ({error.strerror})",
            remedy="set HEADCOUNT_LEDGER_KEY to a file that can be written",
        ) from error
    key = read_key(path)
    if key is None:
        raise SurroundingsError(f"the ledger's key {path} was removed while it was made")
    return key


def missing_key(path: Path) -> UsageError:
    """Return the error for a ledger whose key is not here."""
    return UsageError(
        f"the key of this ledger is not at {path}",
        remedy="copy it from where the ledger was created, or set HEADCOUNT_LEDGER_KEY to where it is",
    )
