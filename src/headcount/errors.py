"""Headcount's exceptions: the tree of errors, with parameter, given value and remedy as fields.

::

    HeadcountError
    ├── CallerError            exit 2: the caller can mend it (usage, input, an existing folder)
    │   ├── UsageError             a parameter, flag or combination that is not allowed
    │   │   └── NotSelectedError       what is still to be selected of a log is asked for before
    │   ├── DataError              what was found in a file, column or catalogue
    │   │   └── AbsentError            a data set that is not at hand
    │   └── UnknownNameError       an item, context, method or column that does not exist
    ├── RefusedError           exit 1: refused, or a check failed
    │   └── GrantError             an amount of privacy budget was to be spent twice, or not at all
    └── SurroundingsError      exit 3: disk full, file system or service gone

An error says in one sentence what was given and what to do, and carries both as fields, so that the
command line and a program can each show it in their own way.
"""

from __future__ import annotations

import difflib
import errno
from collections.abc import Callable, Iterable
from typing import ClassVar


class HeadcountError(Exception):
    """Base of all errors: one sentence, with its parts as fields.

    >>> str(UsageError("limit must be a whole number of at least 1", given="0", remedy="try --limit 10"))
    "limit must be a whole number of at least 1, not '0'; try --limit 10"
    """

    exit_code: ClassVar[int] = 3
    file: str | None = None
    """The listed file that an error is about: for the curator alone, since its name may say who is in it."""

    def __init__(self, problem: str, *, given: object = None, remedy: str | None = None) -> None:
        self.given = given
        self._words = problem, "" if given is None else f", not {given!r}", remedy
        self.put(str)

    def put(self, words: Callable[[str], str]) -> None:
        """Put problem and remedy into other words, made of those in which the error was raised.

        >>> error = UsageError("limit is missing", remedy="try --limit 10")
        >>> error.put(str.upper)
        >>> str(error), error.problem
        ('LIMIT IS MISSING; TRY --LIMIT 10', 'LIMIT IS MISSING')
        """
        problem, shown, remedy = self._words
        self.problem = words(problem)
        self.remedy = None if remedy is None else words(remedy)
        self.args = (self.problem + shown + (f"; {self.remedy}" if self.remedy else ""),)

    def to_json(self) -> dict[str, object]:
        """Return the error as plain data, for ``--json``."""
        given = None if self.given is None else str(self.given)
        return {
            "error": type(self).__name__,
            "problem": self.problem,
            "given": given,
            "remedy": self.remedy,
            "message": str(self),
        }


class CallerError(HeadcountError):
    """Something the caller can mend."""

    exit_code = 2


class UsageError(CallerError):
    """A parameter, flag or combination of them that is not allowed."""

    @classmethod
    def taken(cls, target: object, flag: str) -> UsageError:
        """Build the error for a file or folder that is there and may be replaced on request alone.

        >>> str(UsageError.taken("weekdays", "--out"))
        'weekdays exists already; choose another --out, or add --force'
        """
        return cls(f"{target} exists already", remedy=f"choose another {flag}, or add --force")


class NotSelectedError(UsageError):
    """The items of a log, or its contexts, are still to be selected, so nothing can be counted by them."""


class DataError(CallerError):
    """A file, column or catalogue does not hold what it must."""


class AbsentError(DataError):
    """A data set, known by name, that is not at hand; the remedy says where to get it."""


class UnknownNameError(CallerError):
    """A name that does not exist; the nearest existing one is suggested.

    >>> str(UnknownNameError.among("column", "usr", ["user", "venue"], where="visits.csv"))
    "column 'usr' is not in visits.csv; did you mean 'user'? (there are: 'user', 'venue')"
    """

    @classmethod
    def among(
        cls, kind: str, name: object, existing: Iterable[object], *, where: str | None = None
    ) -> UnknownNameError:
        """Build the error for ``name``, suggesting the nearest of ``existing``."""
        names = [str(existing_name) for existing_name in existing]
        shown = ", ".join(repr(existing_name) for existing_name in names[:12]) + (", …" if len(names) > 12 else "")
        spelt = {
            existing_name.strip().casefold(): existing_name for existing_name in reversed(names)
        }  # 'male' is nearer to 'Male'
        nearest = difflib.get_close_matches(str(name).strip().casefold(), spelt, n=1, cutoff=0.5)
        hint = f"did you mean {spelt[nearest[0]]!r}? " if nearest else "check the name "
        place = f"is not in {where}" if where else "is not known"
        error = cls(f"{kind} {str(name)!r} {place}", remedy=f"{hint}(there are: {shown or 'none'})")
        error.given = name
        return error


class RefusedError(HeadcountError):
    """The request is well formed and still refused, or a check failed."""

    exit_code = 1


class GrantError(RefusedError):
    """An amount of privacy budget was to be spent twice, or was left unspent."""


class SurroundingsError(HeadcountError):
    """The disk, a file system or a service failed."""

    exit_code = 3

    @classmethod
    def writing(cls, place: object, error: OSError, instead: str) -> SurroundingsError:
        """Say what happened on the way to a place that is as it was before; ``instead`` is what to choose anew."""
        full = error.errno in (errno.ENOSPC, errno.EDQUOT) or "No space left" in str(error)
        problem = "the disk is full" if full else f"cannot write there ({error.strerror or error})"
        denied = isinstance(error, PermissionError)
        mend = "free space" if full else "allow writing there" if denied else "mend that"
        return cls(f"{place}: {problem}", remedy=f"nothing was left behind; {mend} or choose another {instead}")


def was_interrupted(error: BaseException) -> bool:
    """Say whether Ctrl-C is what ended it: where that comes while a class is made, Python wraps it.

    >>> wrapped = RuntimeError("Error calling __set_name__")
    >>> wrapped.__cause__ = KeyboardInterrupt()
    >>> was_interrupted(wrapped), was_interrupted(RuntimeError("a bug"))
    (True, False)
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__
    return cause is not None
