"""Drivers that need not be there: a word on how to get one, where it is imported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headcount.errors import UsageError


@contextmanager
def needed(what: str, package: str, extra: str | None = None) -> Iterator[None]:
    """Import a driver inside of this, to be told what to install if it is not there.

    >>> with needed("a source of clay", "clay-tablets"):
    ...     import clay_tablets
    Traceback (most recent call last):
    headcount.errors.UsageError: a source of clay needs the package clay-tablets; pip install clay-tablets
    """
    try:
        yield
    except ImportError:
        extras = f"pip install 'headcount[{extra}]', or pip install '.[{extra}]' in a clone"
        remedy = f"pip install {package}" if extra is None else extras
        raise UsageError(f"{what} needs the package {package}", remedy=remedy) from None
