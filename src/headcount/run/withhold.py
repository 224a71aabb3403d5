"""Errors and warnings of charged runs, withheld once events are read: they would tell about the data."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from headcount.errors import DataError

Outcome = TypeVar("Outcome")


class WithheldError(DataError):
    """The one thing that is said of whatever goes wrong once events are read: more would tell about the data.

    It is raised by :func:`withhold_errors` alone, where what went wrong is forgotten already.
    """

    def __init__(self) -> None:
        super().__init__(
            "the release failed after the data was opened; what was wrong is not told, because it may depend on "
            "the data, and the cost stays charged",
            remedy="the curator can look with `headcount check`, with the same flags",
        )


def withhold_errors(act: Callable[[], Outcome]) -> Outcome:
    """Do something with events that have been opened: if it fails, or warns, nothing is told of why.

    The error has no cause and no context: an exception that is raised while another one is handled would carry
    that one, and all that it says, into every traceback.
    """
    with _SILENCE, suppress(Exception):
        return act()
    raise WithheldError


class _Silence:
    """No warning is heard while anybody is inside.

    The filter of warnings is one for all threads: if each set and took it back by itself, one who leaves would let
    the warnings of another be heard, and the last one would leave it silent for good.
    """

    def __init__(self) -> None:
        self._turn, self._inside = threading.Lock(), 0

    def __enter__(self) -> None:
        with self._turn:
            if not self._inside:
                self._ignoring = warnings.catch_warnings(action="ignore")
                self._ignoring.__enter__()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._turn:
            self._inside -= 1
            if not self._inside:
                self._ignoring.__exit__(None, None, None)


_SILENCE = _Silence()
