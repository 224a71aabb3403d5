"""Resources that exist once: in the process that made them, and for one thread at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, NoReturn

from headcount.errors import GrantError

_forks = 0


def _forked() -> None:
    global _forks  # noqa: PLW0603
    _forks += 1


if hasattr(os, "register_at_fork"):  # a number of a process may come again, after it has ended or in a container
    os.register_at_fork(after_in_child=_forked)


class ExclusiveResource:
    """What budget hangs on: there is one of it, in the process that made it, and threads take turns with it.

    A copy does not know what the original spends, so each of them would have all of it; a fork is such a copy.
    """

    noun: ClassVar[str]
    remedy: ClassVar[str] = "make one where it is used"

    def __init__(self) -> None:
        """Belong to this process."""
        self._home, self._lock, self._busy = (os.getpid(), _forks), threading.RLock(), False

    @property
    def is_home(self) -> bool:
        """Whether this is the process that made it."""
        return self._home == (os.getpid(), _forks)

    @contextmanager
    def exclusively(self) -> Iterator[None]:
        """Have it to oneself: other threads wait; another process, and a call within a call, are refused."""
        self.check_home()  # before the lock, which a fork may have taken along closed
        with self._lock:
            if self._busy:
                raise GrantError(f"{self.noun} is in use, and was asked again from within", remedy="wait for it")
            self._busy = True
            try:
                yield
            finally:
                self._busy = False
            self.check_home()  # a fork in between tells nothing

    def check_home(self) -> None:
        """Refuse any other process."""
        if not self.is_home:
            raise GrantError(
                f"{self.noun} can be used in the process that made it alone: this is a fork of it, and what one "
                "of them spends the other does not know",
                remedy=self.remedy,
            )

    def __copy__(self) -> NoReturn:
        raise GrantError(f"{self.noun} cannot be copied", remedy=self.remedy)

    def __deepcopy__(self, memo: object) -> NoReturn:
        raise GrantError(f"{self.noun} cannot be copied", remedy=self.remedy)

    def __reduce__(self) -> NoReturn:
        raise GrantError(f"{self.noun} cannot be copied or sent to another process", remedy=self.remedy)
