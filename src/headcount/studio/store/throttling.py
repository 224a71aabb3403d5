"""Rate limits of password attempts: by name and address, by name, by address, and in total.

A try is counted before the password is checked, so that many at once count as many. Unknown names are throttled
like known ones.

A browser that signed in before has a cookie for its account, and its tries are counted separately: tries of others
do not keep it out. All such browsers of an account together have five tries in five seconds, right or wrong. An
address, behind which many may be, is slowed down and never closed.
"""

from __future__ import annotations

import sqlalchemy as sa

from headcount.errors import RefusedError
from headcount.studio.security.secrets import digest_of
from headcount.studio.store.schema import sign_in_attempts

ATTEMPT_WINDOW_SECONDS = 15 * 60.0
"""Seconds after which a try is forgotten."""
MOST_PER_NAME_AND_ADDRESS = 10
"""Tries of a name from one address, or with the cookie of one browser."""
MOST_PER_NAME = 100
FREE_PER_ADDRESS = 50
"""Tries from an address after which it has ``SLOW_PER_SECOND`` of them in a second."""
SLOW_PER_SECOND = 2
MOST_PER_SECOND = 20
"""Tries in a second, whoever makes them: this bounds the work for passwords."""
MOST_OF_BROWSERS = 5
"""Tries that an account has in as many seconds, from browsers that signed in before."""


class TooManyError(RefusedError):
    """Something was tried too often; it may be tried again after so many seconds."""

    def __init__(self, problem: str, *, remedy: str, seconds: float = 15.0) -> None:
        super().__init__(problem, remedy=remedy)
        self.seconds = seconds


def count_attempt(run: sa.Connection, name: str, address: str, now: float, browser: str | None = None) -> None:
    """Count a try, or refuse it; ``browser`` is the cookie of one that signed in with this name before."""
    run.execute(sign_in_attempts.delete().where(sign_in_attempts.c.at <= now - ATTEMPT_WINDOW_SECONDS))
    keys = _keys(name, address, browser)
    if _number(run, keys[0]) >= MOST_PER_NAME_AND_ADDRESS or (
        browser is None and _number(run, keys[1]) >= MOST_PER_NAME
    ):
        raise _too_many("15 minutes", ATTEMPT_WINDOW_SECONDS)
    if browser is not None and _number(run, keys[1], now - MOST_OF_BROWSERS) >= MOST_OF_BROWSERS:
        raise _too_many("five seconds", MOST_OF_BROWSERS)
    if browser is None:
        is_slow = _number(run, keys[2]) >= FREE_PER_ADDRESS and _number(run, keys[2], now - 1) >= SLOW_PER_SECOND
        if is_slow or _number(run, _ALL, now - 1) >= MOST_PER_SECOND:
            raise _too_many("a second", 1)
    run.execute(sign_in_attempts.insert(), [{"key": key, "at": now} for key in keys])


def forgive_attempts(run: sa.Connection, name: str, address: str, browser: str | None = None) -> None:
    """Forget the tries of a name there, since its password was right, and this try elsewhere."""
    there, *shared = _keys(name, address, browser)
    run.execute(sign_in_attempts.delete().where(sign_in_attempts.c.key == there))
    for key in shared if browser is None else ():  # a right password takes work, too
        last = sa.select(sa.func.max(sign_in_attempts.c.number)).where(sign_in_attempts.c.key == key)
        run.execute(sign_in_attempts.delete().where(sign_in_attempts.c.number == last.scalar_subquery()))


_ALL = "all"


def _too_many(wait: str, seconds: float) -> TooManyError:
    return TooManyError("too many tries", remedy=f"wait {wait}, then try again", seconds=seconds)


def _keys(name: str, address: str, browser: str | None) -> list[str]:
    """Return what a try counts for: first the name there, then the keys that it shares with other tries."""
    plain = digest_of(name.strip().casefold())  # a user may type the password there
    if browser is not None:
        return [f"browser {digest_of(browser)}", f"browsers {plain}"]
    return [f"there {digest_of(f'{plain} {address}')}", f"name {plain}", f"address {address}"[:160], _ALL]


def _number(run: sa.Connection, key: str, since: float | None = None) -> int:
    count = sa.select(sa.func.count()).where(sign_in_attempts.c.key == key)
    return int(run.execute(count if since is None else count.where(sign_in_attempts.c.at > since)).scalar_one())
