"""Passwords (argon2id), random ids, and random secrets of which only a digest is stored.

Secrets of links, sessions and tokens are 256 random bits, so a plain digest protects them.
Passwords that do not exist take as long to refuse as wrong ones.
"""

from __future__ import annotations

import hashlib
import secrets
import threading

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from headcount.errors import UsageError

SHORTEST = 12
_LONGEST = 200
HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
UNKNOWN_NAME_HASH = (
    "$argon2id$v=19$m=19456,t=2,p=1$X5SvFdiP7+9Bq5EtEyJCTg$ipemU7vglL94Y0ixONLDxAMqYxTN3F3gvfSSwCijNEw"
)
"""What a password is compared with for an unknown name: made of 256 random bits that were not kept."""
_AT_ONCE = threading.BoundedSemaphore(4)
"""Passwords compared at the same time: each takes 19 MiB."""


def fresh_id() -> str:
    """Return a new id: 128 random bits, so that no id can be guessed."""
    return secrets.token_hex(16)


def fresh_secret() -> str:
    """Return a new secret.

    >>> len(fresh_secret()), fresh_secret() == fresh_secret()
    (43, False)
    """
    return secrets.token_urlsafe(32)


def digest_of(secret: str) -> str:
    """Return what is kept of a secret.

    >>> digest_of("told once")[:16]
    '997f347b61c57299'
    """
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def hashed(password: str) -> str:
    """Return what is kept of a password.

    >>> hashed("correct horse battery")[:31]
    '$argon2id$v=19$m=19456,t=2,p=1$'
    """
    with _AT_ONCE:
        return HASHER.hash(password)


def matches(kept: str | None, password: str) -> bool:
    """Whether this is the password; where none is kept, it takes as long to say no.

    >>> matches(None, "correct horse battery")
    False
    """
    if len(password) > _LONGEST:
        password = password[:_LONGEST] + "…"  # it cannot be one, and must not take longer
    with _AT_ONCE:
        try:
            return HASHER.verify(kept or UNKNOWN_NAME_HASH, password) and kept is not None
        except (VerificationError, InvalidHashError):
            return False


def check_password(password: str, name: str) -> None:
    """Refuse a password that is easily guessed.

    >>> check_password("ann-likes-tea", "ann")
    >>> check_password("aaaaaaaaaaaa", "ann")
    Traceback (most recent call last):
    headcount.errors.UsageError: a password has 12 to 200 characters, not one over and over, and is not the name; \
choose a longer one, such as four words
    """
    sound = SHORTEST <= len(password) <= _LONGEST and len(set(password)) >= 5
    if not sound or password.casefold().strip() == name.casefold():
        raise UsageError(
            f"a password has {SHORTEST} to {_LONGEST} characters, not one over and over, and is not the name",
            remedy="choose a longer one, such as four words",
        )
