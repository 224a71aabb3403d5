"""How often a password may be tried: for one name, and from one address.

A try is written down before the password is looked at, so that many at once count as many. A name that nobody has
is throttled like one that somebody has.
"""

from __future__ import annotations

import sqlalchemy as sa

from headcount.errors import RefusedError
from headcount.studio.secrecy import digest_of
from headcount.studio.store.schema import tries

WITHIN = 15 * 60.0
"""Seconds after which a try is forgotten."""
OF_A_NAME = 10
FROM_AN_ADDRESS = 50


class TooManyError(RefusedError):
    """Something was tried too often."""


def enter(run: sa.Connection, name: str, address: str, now: float) -> None:
    """Count a try, or refuse it."""
    run.execute(tries.delete().where(tries.c.at <= now - WITHIN))
    keys = {_of_name(name): OF_A_NAME, _of_address(address): FROM_AN_ADDRESS}
    for key, most in keys.items():
        if run.execute(sa.select(sa.func.count()).where(tries.c.key == key)).scalar_one() >= most:
            raise TooManyError("too many tries", remedy=f"wait {WITHIN / 60:.0f} minutes, then try again")
    run.execute(tries.insert(), [{"key": key, "at": now} for key in keys])


def forgive(run: sa.Connection, name: str, address: str) -> None:
    """Forget the tries of a name whose password was right, and of its address this one: no other was right."""
    run.execute(tries.delete().where(tries.c.key == _of_name(name)))
    last = sa.select(sa.func.max(tries.c.number)).where(tries.c.key == _of_address(address)).scalar_subquery()
    run.execute(tries.delete().where(tries.c.number == last))


def _of_name(name: str) -> str:
    return f"name {digest_of(name.strip().casefold())}"  # what is typed there may be a password


def _of_address(address: str) -> str:
    return f"address {address}"[:160]
