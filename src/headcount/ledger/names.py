"""Valid names of datasets, versions, analysts and catalogues, and the canonical form of a request."""

from __future__ import annotations

import getpass

from headcount.errors import UsageError, param
from headcount.ledger.journal.entries import canonical_request

_LONGEST_NAME = 200


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
