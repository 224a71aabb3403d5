"""Journal entries: append-only, chained by a keyed digest (HMAC), in canonical JSON.

What each field means; a meaning never changes, new fields may come:

==============  ===================================================================================================
number          1, 2, 3, …
time            when it was written, UTC, ISO 8601; of ``publish``, when its request was reserved (earlier builds
                wrote when the run ended, which tells how long the data took)
kind            ``create`` a dataset's budget; ``allow`` an analyst an amount of their own; ``reserve`` a request's
                cost; ``publish`` its release; ``refund`` its cost, because nothing was read
dataset         the name of the people whose budget it is
version         the curator's label of the data, or null
analyst         who asked, or is allowed: a name, not an authentication; null for ``create``
request         the canonical request, as JSON text (``reserve``)
request_digest  SHA-256 of that text
catalogue       digest of the public catalogue (``reserve``)
charge          epsilon, delta, rho, slack, as exact decimal text (``reserve``); what was spent in the end, if
                that is less (``publish``)
budget          epsilon, delta, per_analyst, filter; window and lifetime if it has windows (``create``); epsilon
                alone, what one analyst may spend of it (``allow``)
span            since, until, and how times are read (``reserve``, of a budget with windows; else it is left out)
reservation     the number of the ``reserve`` entry that ``publish`` or ``refund`` is about
folder, digest  where the release was put, and its digest (``publish``)
reason          why it was refunded (``refund``)
previous        the MAC of the entry before; for the first, the random name of this journal
mac             HMAC-SHA256 of all other fields as canonical JSON, by a key that is not in the database
==============  ===================================================================================================
"""

from __future__ import annotations

import getpass
import hashlib
import hmac
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

from headcount.accounting.charges import Charge
from headcount.errors import DataError, UsageError, param

_LONGEST_NAME = 200


def canonical(data: Any) -> str:
    r"""Write JSON in one way only: keys in order, no blanks, ASCII.

    >>> canonical({"b": 1, "a": "é"})
    '{"a":"\\u00e9","b":1}'
    """
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_request(text: str) -> str:
    """Read a request's JSON text and write it canonically."""
    try:
        return canonical(json.loads(text))
    except ValueError as error:
        raise UsageError(f"a request must be JSON text ({error})", given=text[:80]) from error


def digest_of(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def mac_of(key: bytes, text: str) -> str:
    """Return the keyed digest of a text."""
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One entry, as it is signed."""

    number: int
    kind: str
    dataset: str
    previous: str
    time: str
    version: str | None = None
    analyst: str | None = None
    request: str | None = None
    request_digest: str | None = None
    catalogue: str | None = None
    charge: dict[str, Any] | None = None
    budget: dict[str, Any] | None = None
    reservation: int | None = None
    folder: str | None = None
    digest: str | None = None
    reason: str | None = None
    span: dict[str, Any] | None = None

    @property
    def text(self) -> str:
        """The entry as canonical JSON: what is stored and signed."""
        written = {entry_field.name: getattr(self, entry_field.name) for entry_field in fields(self)}
        if self.span is None:  # it came later: entries are signed without it
            del written["span"]
        return canonical(written)

    @property
    def identity(self) -> str | None:
        """What makes two requests the same: name@version, canonical request and catalogue."""
        if self.kind != "reserve":
            return None
        return identity_of(self.dataset, self.version, self.request or "", self.catalogue or "")

    @classmethod
    def from_text(cls, text: str) -> Entry:
        """Read an entry back; only its canonical form is one."""
        try:
            entry = cls(**json.loads(text))
        except (ValueError, TypeError) as error:
            raise DataError(f"this is no journal entry ({error})", remedy="restore the journal") from error
        if entry.text != text:
            raise DataError("this journal entry is not in its canonical form", remedy="restore the journal")
        return entry


@dataclass(frozen=True)
class Signed:
    """An entry's text with its MAC."""

    text: str
    mac: str

    @property
    def entry(self) -> Entry:
        """The entry itself."""
        return Entry.from_text(self.text)

    @property
    def line(self) -> str:
        """One line of an export: the fields of the entry and its MAC, as canonical JSON."""
        return canonical({**json.loads(self.text), "mac": self.mac})

    @classmethod
    def from_line(cls, line: str) -> Signed:
        """Read a line of an export."""
        try:
            data = json.loads(line)
            mac = data.pop("mac")
            return cls(canonical(data), str(mac))
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise DataError(
                f"this line of the journal cannot be read ({error!r})", remedy="export it again"
            ) from error


def sign(entry: Entry, key: bytes) -> Signed:
    """Sign an entry."""
    text = entry.text
    return Signed(text, mac_of(key, text))


def identity_of(dataset: str, version: str | None, request: str, catalogue: str) -> str:
    """Return what makes two requests the same, as a digest."""
    return digest_of(canonical([dataset, version, request, catalogue]))


def now() -> str:
    """Return the time, as it is written down."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def describe_entry(entry: Entry, *, folders: bool = True) -> str:
    """Say what an entry is about: amounts, or which reservation; where releases lie, unless that is left out."""
    budget = entry.budget or {}
    if entry.kind == "create":
        per_analyst, window, lifetime = (budget.get(name) for name in ("per_analyst", "window", "lifetime"))
        text = f"budget ε = {budget['epsilon']}" + ("" if per_analyst is None else f", {per_analyst} per analyst")
        text += "" if window is None else f", in each window of {window['length']}"
        return text + ("" if lifetime is None else f", {lifetime['epsilon']} in all")
    if entry.kind == "allow":
        return f"may spend ε = {budget['epsilon']}"
    if entry.kind == "reserve":
        read = "" if entry.span is None else f", from {entry.span['since']} to {entry.span['until']}"
        return Charge.from_json(entry.charge or {}).amounts + read
    if entry.kind == "publish":
        return f"of {entry.reservation}" + (f": {entry.folder}" if folders else "")
    return f"of {entry.reservation}: {entry.reason}"


def user_name() -> str:
    """Return the name of the operating system's user: the analyst, if none is given."""
    try:
        return getpass.getuser()
    except (KeyError, OSError) as error:
        raise UsageError("this user has no name", remedy=f"give one with {param.analyst}") from error


def canonical_request_of(dataset: str, version: str | None, analyst: str, request: str, catalogue: str) -> str:
    """Refuse what cannot be written down, and return the request in its canonical form."""
    check_name("dataset", dataset)
    check_name("analyst", analyst)
    check_name("catalogue", catalogue)
    if version is not None:
        check_name("version", version)
    return canonical_request(request)


def check_name(kind: str, name: str) -> None:
    """Refuse an empty, overlong or unprintable name, and an @ in a dataset's."""
    if not name or len(name) > _LONGEST_NAME or not name.isprintable() or name != name.strip():
        raise UsageError(f"the {kind} must be a name of 1 to {_LONGEST_NAME} printable characters", given=name)
    if kind == "dataset" and "@" in name:
        raise UsageError("a dataset's name has no @: that begins the version", given=name)


@dataclass
class Chain:
    """Walks along a journal and says what is wrong with it; without the key, only broken links are seen."""

    name: str
    key: bytes | None

    def walk(self, journal: Iterable[tuple[int, Signed]], problems: list[str]) -> Iterator[Entry]:
        """Yield the entries that can be read, noting gaps, edits and broken links as problems."""
        expected, previous = 1, self.name
        for number, signed in journal:
            if number != expected:
                missing = (
                    f"entry {expected} is" if number == expected + 1 else f"entries {expected} to {number - 1} are"
                )
                problems.append(f"{missing} missing")
            expected = number + 1
            try:
                entry = signed.entry
            except DataError as error:
                problems.append(f"entry {number} was edited: {error.problem}")
                previous = signed.mac
                continue
            if self.key is not None and not hmac.compare_digest(mac_of(self.key, signed.text), signed.mac):
                problems.append(f"entry {number} was edited, or was not written with this key")
            if entry.number != number:
                problems.append(
                    f"entry {number} stands in the wrong place: it was written as entry {entry.number}"
                )
            elif entry.previous != previous:
                problems.append(f"entry {number} does not follow the entry before it")
            previous = signed.mac
            yield entry
