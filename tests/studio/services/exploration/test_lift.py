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
from headcount.studio.services.exploration import lift
from headcount.studio.services.exploration.item_profile import profile
from headcount.studio.services.exploration.lift import shares, stands_out, stretched
from headcount.studio.services.exploration.opened_release import Opened
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


def test_what_is_popular_on_fridays_is_found_and_the_rest_is_not() -> None:
    truth = TRUTH.copy()
    truth[7] = [100, 4000, 100, 0]
    truth[9] = [0, 2000, 0, 0]
    opened = Opened(counted(truth))
    assert [each.item for each in stands_out(opened, "friday")] == ["i7", "i9"]
    (first, _) = stands_out(opened, "Friday")
    assert 2.3 < first.at_least < 3
    assert first.expected == pytest.approx(4200 * shares(opened)["Friday"])
    told = profile(opened, "i7").contexts
    assert [(each.context, each.stands_out) for each in told] == [
        ("Monday", False), ("Friday", True), ("Sunday", False), ("unknown", False),
    ]  # fmt: skip
    with pytest.raises(UnknownNameError):
        stands_out(opened, "Doomsday")


def looks_that_name_something() -> int:
    """Return in how many of 15 looks at 3,000 items that nobody has something stands out."""
    nobody = np.zeros((3000, 4))
    made = [Opened(counted(nobody, np.random.default_rng(seed))) for seed in range(5)]
    return sum(bool(stands_out(opened, day)) for opened in made for day in DAYS)


def test_noise_alone_hardly_ever_stands_out() -> None:
    # each look names something with probability 1/20 at most: nine of 15 or more do so once in ten million times
    assert looks_that_name_something() <= 8


def test_a_twin_that_forgets_how_many_items_it_looks_at_is_caught() -> None:
    with mock.patch.object(lift, "stretched", return_value=1.0):
        assert looks_that_name_something() == 15


def test_an_interval_grows_with_the_number_of_looks() -> None:
    law = DiscreteLaplace(Fraction(SCALE))
    for many in (1, 10, 100_000):
        wanted = float(law.half_width(1 - 0.05 / many))
        assert stretched(many, 0.95) * REACH == pytest.approx(wanted, rel=0.03)
