"""A registered dataset with a small log, its users, and a default request, for tests of the studio."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

from headcount.studio.access import Visitor
from headcount.studio.store.datasets import Dataset
from headcount.studio.studio import Studio

FLAGS: dict[str, Any] = {"user": "user", "item": "venue", "items": "venues.csv"}
REQUEST: dict[str, Any] = {"epsilon": "1", "method": "sra", "limit": 1}


def who(studio: Studio, name: str) -> Visitor:
    """Return somebody of the studio as one who asks."""
    return next(user for user in studio.accounts.listed() if user.name == name).visitor()


def lay_out(studio: Studio, people: int = 200) -> None:
    """Put a log and its catalogue into the folder of the studio."""
    files: Path = studio.settings.files
    rows = [f"u{number},{('tea', 'rye')[number % 3 == 0]}" for number in range(people)]
    files.joinpath("visits.csv").write_text("user,venue\n" + "\n".join(rows) + "\n")
    files.joinpath("venues.csv").write_text("venue\ntea\nrye\noat\n")


def left(studio: Studio, analyst: Visitor, dataset: str) -> Decimal:
    """Return the ε that an analyst sees as left on a dataset."""
    account = studio.datasets.account(analyst, dataset)
    assert account is not None
    return account.left


def opened(studio: Studio, epsilon: str = "3", **more: Any) -> Dataset:
    """Register a dataset, and open it."""
    lay_out(studio)
    cora = who(studio, "cora")
    dataset = studio.datasets.register(cora, name="visits", source={"files": ["visits.csv"]}, flags=FLAGS, **more)
    return studio.datasets.open(cora, dataset.id, epsilon=epsilon)
