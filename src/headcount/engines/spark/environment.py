"""The environment of a Spark task: library versions equal to the driver's, and a kernel cache.

This is imported before anything else of Headcount on an executor, so it imports nothing heavy.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from headcount import errors
from headcount.errors import HeadcountError, SurroundingsError

_LIBRARIES = ("numba", "numpy", "pyarrow")
_MARK = "headcount-error:"


def versions() -> dict[str, str]:
    """Return the versions that results, and the form of what is sent around, may depend on.

    >>> sorted(versions())
    ['headcount', 'numba', 'numpy', 'pyarrow']
    """
    libraries = {name: importlib.metadata.version(name) for name in _LIBRARIES}
    return {"headcount": str(sys.modules["headcount"].__version__), **libraries}


def check_versions(drivers: Mapping[str, str]) -> None:
    """Refuse to work with other versions than the driver has.

    >>> check_versions(versions() | {"numba": "0.1"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    headcount.errors.SurroundingsError: the driver has numba 0.1 but an executor has ...; install the same ...
    """
    own = versions()
    other = [name for name, version in drivers.items() if own[name] != version]
    if other:
        here, there = (", ".join(f"{name} {installed[name]}" for name in other) for installed in (own, drivers))
        raise SurroundingsError(
            f"the driver has {there} but an executor has {here}",
            remedy="install the same versions on all machines, for example with spark.archives",
        )


def prepare_cache() -> None:
    """Let kernels be compiled once an executor where they cannot be kept beside the package."""
    if "NUMBA_CACHE_DIR" in os.environ or "HEADCOUNT_CACHE" in os.environ:
        return
    if os.access(Path(errors.__file__).parent, os.W_OK):
        return
    from pyspark import SparkFiles

    os.environ["NUMBA_CACHE_DIR"] = os.path.join(SparkFiles.getRootDirectory(), "headcount-kernels")


@contextmanager
def errors_marked() -> Iterator[None]:
    """Write an error of Headcount so that the driver knows it again in what Spark says of a failed task."""
    try:
        yield
    except HeadcountError as error:
        raise RuntimeError(f"{_MARK}{json.dumps(error.to_json())}") from None


def error_in(message: str) -> HeadcountError | None:
    """Return the error of Headcount that a task failed with, if what Spark says holds one.

    >>> try:
    ...     with errors_marked():
    ...         raise errors.DataError("it is torn", remedy="mend it")
    ... except RuntimeError as error:
    ...     repr(error_in(f"Job aborted: {error} and so on"))
    "DataError('it is torn; mend it')"
    """
    place = message.find(_MARK)
    if place < 0:
        return None
    fields, _ = json.JSONDecoder().raw_decode(message, place + len(_MARK))
    kind = getattr(errors, str(fields["error"]), SurroundingsError)
    error: HeadcountError = kind(fields["problem"], given=fields["given"], remedy=fields["remedy"])
    return error
