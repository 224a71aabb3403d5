"""Run a function in a forked process and return its result or error."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Callable
from typing import Any


def in_a_fork(act: Callable[[], Any]) -> Any:
    """Run something in a fork, and return what it returned, or the error that it raised."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # of forks beside threads: none of them is needed there
        child = os.fork()
    if child == 0:
        try:
            outcome: Any
            try:
                outcome = act()
            except Exception as error:
                outcome = error
            with os.fdopen(writing, "wb") as out:
                pickle.dump(
                    (type(outcome).__name__, str(outcome)) if isinstance(outcome, Exception) else outcome, out
                )
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as came:
        reply = pickle.load(came)
    os.waitpid(child, 0)
    return reply
