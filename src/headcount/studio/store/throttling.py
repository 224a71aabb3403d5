"""How often a password may be tried: for a name from one address, for a name, from an address, and in all.

A try is written down before the password is looked at, so that many at once count as many. A name that nobody has
is throttled like one that somebody has.

A browser that signed in before has a cookie for its account, and its tries are counted apart: tries of others do
not keep it out. All such browsers of an account together have five tries in five seconds, right or wrong. An
address, behind which many users may be, is slowed down and never closed.
"""

from __future__ import annotations

import sqlalchemy as sa

from headcount.errors import RefusedError
from headcount.studio.security.secret_tokens import digest_of
from headcount.studio.store.schema import tries

WITHIN = 15 * 60.0
"""Seconds after which a try is forgotten."""
OF_A_NAME_THERE = 10
"""Tries of a name from one address, or with the cookie of one browser."""
OF_A_NAME = 100
FROM_AN_ADDRESS = 50
"""Tries from an address after which it has ``SLOW`` of them in a second."""
SLOW = 2
AT_ONCE = 20
"""Tries in a second, whoever makes them: this bounds the work for passwords."""
OF_BROWSERS = 5
"""Tries that an account has in as many seconds, from browsers that signed in before."""


class TooManyError(RefusedError):
    """Something was tried too often; it may be tried again after so many seconds."""

    def __init__(self, problem: str, *, remedy: str, seconds: float = 15.0) -> None:
        super().__init__(problem, remedy=remedy)
        self.seconds = seconds


def enter(run: sa.Connection, name: str, address: str, now: float, browser: str | None = None) -> None:
    """Count a try, or refuse it; ``browser`` is the cookie of one that signed in with this name before."""
    run.execute(tries.delete().where(tries.c.at <= now - WITHIN))
    keys = _keys(name, address, browser)
    if _number(run, keys[0]) >= OF_A_NAME_THERE or (browser is None and _number(run, keys[1]) >= OF_A_NAME):
        raise TooManyError("too many tries", remedy="wait 15 minutes, then try again", seconds=WITHIN)
    if browser is not None and _number(run, keys[1], now - OF_BROWSERS) >= OF_BROWSERS:
        raise TooManyError("too many tries", remedy="wait five seconds, then try again", seconds=OF_BROWSERS)
    if browser is None:
        is_slow = _number(run, keys[2]) >= FROM_AN_ADDRESS and _number(run, keys[2], now - 1) >= SLOW
        if is_slow or _number(run, _ALL, now - 1) >= AT_ONCE:
            raise TooManyError("too many tries", remedy="wait a second, then try again", seconds=1)
    run.execute(tries.insert(), [{"key": key, "at": now} for key in keys])


def forgive(run: sa.Connection, name: str, address: str, browser: str | None = None) -> None:
    """Forget the tries of a name there, since its password was right, and this try elsewhere."""
    there, *shared = _keys(name, address, browser)
    run.execute(tries.delete().where(tries.c.key == there))
    for key in shared if browser is None else ():  # a right password takes work, too
        last = sa.select(sa.func.max(tries.c.number)).where(tries.c.key == key).scalar_subquery()
        run.execute(tries.delete().where(tries.c.number == last))


_ALL = "all"


def _keys(name: str, address: str, browser: str | None) -> list[str]:
    """Return what a try counts for: first the name there, then the keys that it shares with other tries."""
    plain = digest_of(name.strip().casefold())  # a user may type the password there
    if browser is not None:
        return [f"browser {digest_of(browser)}", f"browsers {plain}"]
    return [f"there {digest_of(f'{plain} {address}')}", f"name {plain}", f"address {address}"[:160], _ALL]


def _number(run: sa.Connection, key: str, since: float | None = None) -> int:
    count = sa.select(sa.func.count()).where(tries.c.key == key)
    return int(run.execute(count if since is None else count.where(tries.c.at > since)).scalar_one())
