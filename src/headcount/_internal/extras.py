"""Optional dependencies: import a package, or raise an error with the command that installs it.

Which packages an extra brings is declared in ``pyproject.toml``. No index has Headcount, so the remedy is what
works in a clone, and where there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headcount.errors import UsageError


def remedy(package: str, extra: str) -> str:
    """Say how to install what an extra brings.

    >>> remedy("duckdb", "duckdb")
    "run pip install '.[duckdb]' in your clone of Headcount, or pip install duckdb"
    """
    return f"run pip install '.[{extra}]' in your clone of Headcount, or pip install {package}"


@contextmanager
def require_package(what: str, package: str, extra: str) -> Iterator[None]:
    """Import a package inside of this, to be told what to install if it is not there.

    >>> with require_package("a source of clay", "tablets", "clay"):
    ...     import clay_tablets
    Traceback (most recent call last):
    headcount.errors.UsageError: a source of clay needs the package tablets; run pip install '.[clay]' in your \
clone of Headcount, or pip install tablets
    """
    try:
        yield
    except ImportError:
        raise UsageError(f"{what} needs the package {package}", remedy=remedy(package, extra)) from None
