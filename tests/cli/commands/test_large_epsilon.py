"""A word of warning above ε = 20: wherever something is spent, and where a budget is made."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from headcount.accounting.guarantee import LARGE
from tests.cli.conftest import FLAGS, Run

WORDS = "hardly anything is promised to anyone"


@pytest.mark.parametrize(("epsilon", "warned"), [(LARGE, False), (LARGE + Decimal("0.5"), True)])
def test_a_large_epsilon_is_warned_of(run: Run, work: Path, epsilon: Decimal, warned: bool) -> None:
    commands = (
        ("release", "visits.csv", *FLAGS, "--method", "sra", "--limit", "2", "--dry-run", "--json"),
        ("rank", "visits.csv", *FLAGS, "-k", "1"),
        ("ledger", "create", "--ledger", "sqlite:///l.db", "--dataset", f"at-{epsilon}", "--json"),
    )
    for command in commands:
        done = run(*command, "--epsilon", epsilon)
        assert done.code == 0, done.err
        assert (WORDS in " ".join(done.err.split())) is warned, command
    quiet = run(*commands[1], "--epsilon", epsilon, "--quiet")
    assert WORDS not in quiet.err
