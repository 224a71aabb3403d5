"""Random ids and secrets for links, sessions and tokens; only their digests are stored.

They are 256 random bits, so a plain digest is enough: nobody guesses them, whatever they know of it.
"""

from __future__ import annotations

import hashlib
import secrets


def fresh_id() -> str:
    """Return a new id of something: 128 random bits, so that nobody guesses what else there is."""
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
