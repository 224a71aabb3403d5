"""Facts about a method that contracts need, read from ``SPECIAL`` in the method's own test.

A method in ``headcount/counts/fourier.py`` has its test in ``tests/counts/test_fourier.py``. Where that tells
nothing, nothing is special.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headcount.accounting.budget import Grant
from headcount.bounds import Scored
from headcount.methods.method import Method
from headcount.noise import NoiseSource

TESTS = Path(__file__).parents[2]


@dataclass(frozen=True)
class Special:
    """What is special about one method.

    ``subject`` is what :class:`~tests.contracts.support.method_checks.Subject` takes. ``nearly`` says how near to
    what was declared a person comes in some replay, by mechanism and step, where it is not reached exactly.
    ``audit_runs`` are those that it takes for an audit to be sharp.
    """

    subject: Mapping[str, Any] = field(default_factory=dict)
    nearly: Mapping[tuple[str, int], float] = field(default_factory=dict)
    audit_runs: int = 4000


def special_of(kind: type[Method]) -> Special:
    """Return what the test of a method tells of it."""
    *package, module = kind.__module__.removeprefix("headcount.").split(".")
    if not TESTS.joinpath(*package, f"test_{module}.py").exists():
        return Special()
    test_module = importlib.import_module(".".join(["tests", *package, f"test_{module}"]))
    special: Special = getattr(test_module, "SPECIAL", {}).get(kind.name, Special())
    return special


def forced(index: Callable[[Scored], int]) -> Callable[[Scored, Grant, NoiseSource], int]:
    """Return a choice that is paid for, and made without looking."""

    def choose(scored: Scored, grant: Grant, source: NoiseSource) -> int:
        grant.spend()
        return index(scored)

    return choose
