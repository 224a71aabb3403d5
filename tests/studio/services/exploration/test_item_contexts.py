"""What stands out in a context: what really does, and hardly ever what noise made."""

from __future__ import annotations

from fractions import Fraction
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

from headcount.accounting.noise_distributions import DiscreteLaplace
from headcount.errors import UnknownNameError
from headcount.releases.release import Release
from headcount.studio.services.exploration import item_contexts
from headcount.studio.services.exploration.item_contexts import (
    context_shares,
    items_with_lift,
    simultaneous_factor,
)
from headcount.studio.services.exploration.item_profile import profile
from headcount.studio.services.exploration.opened_release import OpenedRelease
from tests.reports.conftest import make

SCALE = 20
DAYS = ("Monday", "Friday", "Sunday")
REACH = float(DiscreteLaplace(Fraction(SCALE)).half_width(0.95))


def counted(truth: np.ndarray, noise: np.random.Generator | None = None) -> Release:
    """Return a release of items (rows) over contexts (columns, the last unknown), with noise or none."""
    edges = truth.astype(float)
    items = edges.sum(axis=1)
    if noise is not None:
        edges = edges + noise.laplace(scale=SCALE, size=edges.shape)
        items = items + noise.laplace(scale=SCALE, size=items.shape)
    names = [f"i{n}" for n in range(len(truth))]
    across = [*DAYS, None]

    def table(columns: dict[str, object], counts: np.ndarray) -> pa.Table:
        return pa.table({**columns, "count": counts, "low": counts - REACH, "high": counts + REACH})

    tables = {
        "items": table({"item": names, "label": pa.nulls(len(names), pa.string())}, items),
        "edges": table(
            {"item": np.repeat(names, len(across)).tolist(), "context": pa.array(across * len(names))},
            edges.ravel(),
        ),
    }
    return make(contexts=DAYS, tables=tables)


TRUTH = np.tile([1000, 1000, 1000, 0], (50, 1))


def test_items_popular_on_fridays_are_significant_and_others_are_not() -> None:
    truth = TRUTH.copy()
    truth[7] = [100, 4000, 100, 0]
    truth[9] = [0, 2000, 0, 0]
    opened = OpenedRelease(counted(truth))
    assert [difference.item for difference in items_with_lift(opened, "friday")] == ["i7", "i9"]
    (first, _) = items_with_lift(opened, "Friday")
    assert 2.3 < first.at_least < 3
    assert first.expected == pytest.approx(4200 * context_shares(opened)["Friday"])
    contexts = profile(opened, "i7").contexts
    assert [(difference.context, difference.stands_out) for difference in contexts] == [
        ("Monday", False), ("Friday", True), ("Sunday", False), ("unknown", False),
    ]  # fmt: skip
    with pytest.raises(UnknownNameError):
        items_with_lift(opened, "Doomsday")


def significant_releases() -> int:
    """Return in how many of 15 looks at 3,000 items that nobody has something stands out."""
    nobody = np.zeros((3000, 4))
    releases = [OpenedRelease(counted(nobody, np.random.default_rng(seed))) for seed in range(5)]
    return sum(bool(items_with_lift(opened, day)) for opened in releases for day in DAYS)


def test_noise_alone_is_hardly_ever_significant() -> None:
    # each look names something with probability 1/20 at most: nine of 15 or more do so once in ten million times
    assert significant_releases() <= 8


def test_a_mutant_that_ignores_the_number_of_comparisons_is_rejected() -> None:
    with mock.patch.object(item_contexts, "simultaneous_factor", return_value=1.0):
        assert significant_releases() == 15


def test_an_interval_grows_with_the_number_of_comparisons() -> None:
    law = DiscreteLaplace(Fraction(SCALE))
    for many in (1, 10, 100_000):
        wanted = float(law.half_width(1 - 0.05 / many))
        assert simultaneous_factor(many, 0.95) * REACH == pytest.approx(wanted, rel=0.03)
