"""Source names for messages, with credentials redacted.

Addresses are taken apart without trust in their form: a password may hold ``@``, ``/`` or ``?`` as it is, although
it should not. Where it cannot be told what is secret, nothing but the kind of source is shown.
"""

from __future__ import annotations

import os
import re
from urllib.parse import unquote, unquote_plus

_PUBLIC = {
    "host", "hostaddr", "port", "dbname", "user", "service", "sslmode", "region", "scheme", "endpoint_override",
    "application_name", "connect_timeout", "target_session_attrs",
}  # fmt: skip
_ADBC = re.compile(r"(adbc\+\w+):(.*)", re.DOTALL)
_LONG_ENOUGH = 4  # to be replaced in a sentence without making it unreadable


def redact(address: str) -> str:
    """Name a source without credentials, and without what stands behind a question mark.

    >>> redact("postgresql://ann:s3cret@db.example:5432/shop?password=x")
    'postgresql://db.example:5432/shop'
    >>> redact("postgresql://ann:what?@db.example/shop"), redact("adbc+snowflake:ann:s3cret@acme"), redact("b.csv")
    ('postgresql://…', 'adbc+snowflake', 'b.csv')
    """
    adbc = _ADBC.fullmatch(address)
    if adbc is not None:
        return adbc[1]
    scheme, colon, rest = address.partition("://")
    if not colon:
        return address
    head = re.split(r"[?#]", rest, maxsplit=1)[0]
    if "@" in rest and "@" not in head:
        return f"{scheme}://…"
    return f"{scheme}://{head.rpartition('@')[2]}"


def secrets_of(address: str) -> set[str]:
    """Return every part of an address that may be secret, as it is written and as it is meant.

    >>> sorted(secrets_of("postgresql://ann:s3%20cret@h/db?sslmode=require&sslpassword=hush"))
    ['hush', 's3 cret', 's3%20cret']
    """
    adbc = _ADBC.fullmatch(address)
    if adbc is not None:
        return {adbc[2]} | secrets_of(adbc[2] if "://" in adbc[2] else f"adbc://{adbc[2]}")
    rest = address.partition("://")[2]
    written = {rest.rpartition("@")[0].partition(":")[2]} if "@" in rest else set()
    written.add(re.split(r"[?#]", rest, maxsplit=1)[0].rpartition("@")[0].partition(":")[2])
    for pair in re.split(r"[?&#;]", rest)[1:]:
        name, _, value = pair.partition("=")
        written |= {value} if name.lower() not in _PUBLIC else set()
    return {meant for text in written if text for meant in (text, unquote(text), unquote_plus(text))}


def scrub(text: str, address: str) -> str:
    """Return what a library said, on one line, not too long, and without what is secret in an address.

    >>> scrub("bad URI: postgresql://ann:s3cret@h/db", "postgresql://ann:s3cret@h/db")
    'bad URI: postgresql://h/db'
    """
    secrets = secrets_of(address) | {os.environ.get("PGPASSWORD", "")} - {""}
    text = text.replace(address, redact(address))
    for secret in sorted(secrets, key=len, reverse=True):
        if secret in text and len(secret) < _LONG_ENOUGH:
            return "what the driver said is left out, since it may hold a password"
        text = text.replace(secret, "…")
    words = " ".join(text.split())
    return words if len(words) <= 200 else words[:199] + "…"
