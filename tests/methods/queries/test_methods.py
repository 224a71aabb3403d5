"""What every method for queries keeps: its grant, its promise, its intervals, its files."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headcount.accounting.budget import Grant
from headcount.accounting.guarantee import GROUP_UNIT, UNIT, Guarantee, Standing
from headcount.accounting.noise_distributions import DiscreteGaussian, DiscreteLaplace
from headcount.engines.local.engine import LocalEngine
from headcount.errors import GrantError, UsageError
from headcount.methods.method import Method, section
from headcount.methods.queries.auto import Automatic
from headcount.methods.queries.histogram import Histogram, cell_widths
from headcount.methods.queries.mwem import MultiplicativeWeights
from headcount.methods.queries.pairs import PairCounts
from headcount.methods.queries.private_multiplicative_weights import PrivateWeights
from headcount.methods.queries.residuals import Residuals
from headcount.methods.queries.workload import TableQueries
from headcount.noise import OperatingSystemNoise, SeededNoise
from headcount.releases.release import load
from tests.contracts.support.method_checks import recorded_spending
from tests.reference.engine import ReferenceEngine
from tests.support.town import halves, linear_queries, log_of, plain_cells, table

LOG = log_of(table())
METHODS: dict[str, tuple[Any, dict[str, Any]]] = {
    "auto": (Automatic, {}),
    "histogram": (Histogram, {}),
    "consistent": (Histogram, {"consistent": True}),
    "residuals": (Residuals, {}),
    "residuals-consistent": (Residuals, {"consistent": True}),
    "mwem": (MultiplicativeWeights, {}),
    "mwem-3": (MultiplicativeWeights, {"rounds": 3}),
    "mwem-0": (MultiplicativeWeights, {"rounds": 0}),
    "pairs": (PairCounts, {}),
    "pmw": (PrivateWeights, {}),
    "pmw-2": (PrivateWeights, {"updates": 2, "expected": 10}),
}
WITH_DELTA = ("auto", "histogram", "consistent", "residuals", "residuals-consistent", "pairs")
GROUPED: dict[str, Any] = {"groups": "household", "max_group": 3, "max_records": 2}


def method_named(name: str, what: TableQueries | None = None) -> Method:
    kind, parameters = METHODS[name]
    method: Method = kind(table_queries=what or linear_queries(), **parameters)
    return method


@pytest.mark.parametrize("name", METHODS)
def test_the_grant_is_spent_exactly_and_only_once(name: str) -> None:
    grant = Grant("0.7")
    with recorded_spending() as spent:
        method_named(name).release(LOG, grant, SeededNoise(1), ReferenceEngine())
    assert grant.is_spent
    assert sum(Fraction(charge.epsilon) for charge in spent) == grant.exact
    with pytest.raises(GrantError):
        method_named(name).release(LOG, grant, SeededNoise(1), ReferenceEngine())
    if name not in WITH_DELTA:
        with pytest.raises(GrantError):
            method_named(name).release(LOG, Grant("1", "1e-6"), SeededNoise(1), ReferenceEngine())


@pytest.mark.parametrize("name", WITH_DELTA)
@pytest.mark.parametrize("groups", [{}, GROUPED], ids=["people", "groups"])
def test_with_delta_all_of_rho_is_spent_and_noise_is_gaussian(name: str, groups: dict[str, Any]) -> None:
    grant = Grant("0.7", "1e-6")
    method = method_named(name, linear_queries(**groups))
    promised, laws = method.guarantee(grant), method.noise_distributions(LOG, grant)
    with recorded_spending() as spent:
        release = method.release(LOG, grant, SeededNoise(1), ReferenceEngine())
    assert grant.is_spent
    pure = [charge for charge in spent if not charge.delta]
    if pure:  # Laplace noise is better: δ pays for the total
        assert name == "auto"
        assert sum(charge.epsilon for charge in spent) == grant.epsilon
        assert sum(charge.delta for charge in spent) == grant.delta
    else:
        assert abs(sum(charge.cost.rho for charge in spent) / grant.cost.rho - 1) < Decimal("1e-12")
        assert sum(charge.cost.rho for charge in spent) <= grant.cost.rho
    assert (promised.delta, release.guarantee) == (Decimal("1e-6"), promised)
    gaussian = [isinstance(law, DiscreteGaussian) for law in release.noise.values()]
    assert any(gaussian) if pure else all(gaussian)
    assert all(release.noise[table] == law for table, law in laws.items())


def test_what_a_group_may_add_scales_gaussian_noise_in_proportion() -> None:
    """Six records in one cell move L2 by six, not by √6: of the same contrasts, noise is six times as large."""
    for name in ("histogram", "residuals"):
        single, six = (
            method_named(name, linear_queries(**more)).noise_distributions(LOG, Grant("1", "1e-6"))
            for more in ({}, GROUPED)
        )
        for stage, law in single.items():
            assert abs((six[stage].variance / law.variance) ** 0.5 / 6 - 1) < 1e-5


@pytest.mark.parametrize("name", METHODS)
def test_the_guarantee_names_its_unit_of_privacy(name: str) -> None:
    alone = method_named(name).guarantee(Grant("0.7"))
    assert (alone.unit, alone.group) == (UNIT, None)
    assert "one person" in alone.sentence()
    method = method_named(name, linear_queries(**GROUPED))
    grant = Grant("0.7")
    promised = method.guarantee(grant)
    assert not grant.is_spent
    assert (promised.unit, promised.group, promised.members) == (GROUP_UNIT, "household", 3)
    assert promised.standing is Standing.PROVEN
    assert (
        "one whole group, all people with the same 'household' (of whom at most 3 are counted)"
        in promised.sentence()
    )
    assert promised.short() == "ε = 0.7, privacy: proven, per group of at most 3 people"
    assert Guarantee.from_json(json.loads(json.dumps(promised.to_json()))) == promised
    release = method.release(LOG, grant, SeededNoise(1), ReferenceEngine())
    assert release.guarantee == promised
    assert any("group is public" in assumption for assumption in promised.assumes)
    assert "at most 3 counted" in release.explain()
    assert release.bounded == "at most 2 records per person and 3 people per household"


@pytest.mark.parametrize("name", METHODS)
def test_a_release_reads_back_and_says_where_its_noise_came_from(name: str, tmp_path: Path) -> None:
    release = method_named(name).release(LOG, Grant("0.7"), SeededNoise(1), ReferenceEngine())
    assert release.simulated
    assert "seeded" in release.explain()
    again = load(release.save(tmp_path / "out"))
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"release.json", "answers.parquet"}
    assert again.to_json() == release.to_json()
    assert again.answers.equals(release.answers)
    assert again.sentences() == release.sentences()
    assert release.answers.column_names[:6] == ["query", "cell", "job", "answer", "low", "high"]
    assert release.answers["job"].to_pylist()[1:] == [None, "clerk", "cook", "smith", "(other)"]
    assert release.answers["cell"].to_pylist()[2:] == [
        f"job = {job}" for job in ("clerk", "cook", "smith", "(other)")
    ]
    real = method_named(name).release(LOG, Grant("0.7"), OperatingSystemNoise(), LocalEngine())
    assert not real.simulated
    assert real.is_private


@pytest.mark.parametrize("name", METHODS)
def test_engines_agree_and_noise_distributions_are_computed_beforehand(name: str) -> None:
    grant = Grant("0.7")
    laws = method_named(name).noise_distributions(LOG, grant)
    assert not grant.is_spent
    release = method_named(name).release(LOG, grant, SeededNoise(1), ReferenceEngine())
    other = method_named(name).release(LOG, Grant("0.7"), SeededNoise(1), LocalEngine())
    assert release.answers.equals(other.answers)
    assert all(release.noise[table] == law for table, law in laws.items())


@pytest.mark.parametrize("name", METHODS)
def test_nothing_is_revealed_about_a_table_without_users(name: str) -> None:
    """An empty table has answers like any other, in number and in kind."""
    empty = log_of(table(people=0))
    release = method_named(name).release(empty, Grant("0.7"), SeededNoise(1), ReferenceEngine())
    assert release.answers.num_rows == 6
    assert release.answers["answer"].null_count == 0


@pytest.mark.parametrize("name", METHODS)
def test_much_budget_makes_exact_answers(name: str) -> None:
    truth = linear_queries().queries.counts(plain_cells(table()))
    release = method_named(name).release(LOG, Grant("100000"), SeededNoise(3), ReferenceEngine())
    assert np.allclose(release.answers["answer"].to_numpy(), truth, atol=3), release.answers


@pytest.mark.parametrize(
    "name",
    ["histogram", "consistent", "residuals", "residuals-consistent", "auto", "mwem", "mwem-3", "pmw", "pmw-2"],
)
def test_intervals_hold(name: str) -> None:
    """Over 12 releases of 400 queries at least 93 % of all intervals hold the exact count, where there are any.

    Within a release errors hang together, so that the share varies; seeds are fixed.
    """
    rows = halves(400)
    truth = rows.astype(np.int64) @ plain_cells(table())
    method, covered, widths = method_named(name, linear_queries(rows)), [], []
    for seed in range(12):
        answers = method.release(LOG, Grant("0.5"), SeededNoise(seed), ReferenceEngine()).answers
        has_interval = answers["low"].is_valid().to_numpy()
        low, high = (answers[side].fill_null(0).to_numpy() for side in ("low", "high"))
        covered += ((low <= truth) & (truth <= high))[has_interval].tolist()
        widths.append((high - low)[has_interval].mean())
    assert np.mean(covered) > 0.93
    assert np.mean(widths) < 3_000, "an interval that holds everyone says nothing"


def test_widths_of_sums_are_exact_for_few_cells_and_right_for_many() -> None:
    """Quantiles of simulated sums, 200,000 of each: two percent off is far beyond chance (6 deviations)."""
    law = DiscreteLaplace(Fraction(3))
    draw = np.random.default_rng(5)
    chance = 1 - np.exp(-1 / 3)
    sizes = np.array([0, 1, 5, 64, 65, 200])
    widths = cell_widths(sizes, law)
    assert widths[0] == 0
    assert widths[1] == law.half_width(0.95)
    for size, width in list(zip(sizes, widths, strict=True))[2:]:
        # a sum of geometric variables is negative binomial
        sums = draw.negative_binomial(size, chance, 200_000) - draw.negative_binomial(size, chance, 200_000)
        assert np.quantile(np.abs(sums), 0.95) * 0.98 - 1 <= width <= np.quantile(np.abs(sums), 0.95) * 1.02 + 1


def test_pmw_lets_go_of_the_data_after_its_last_update() -> None:
    rows = halves(300)
    method = PrivateWeights(table_queries=linear_queries(rows), updates=1, expected=2)
    mediator = method.begin(LOG, Grant("50"), SeededNoise(1), ReferenceEngine())
    wrong = np.zeros_like(mediator.table)
    wrong[0] = mediator.total
    mediator.table = wrong  # far off everywhere
    replies = mediator.reply(method.table_queries.queries)
    assert [reply.how for reply in replies].count("measured") == 1
    first = [reply.how for reply in replies].index("measured")
    assert all(reply.how == "unchecked" and reply.width is None for reply in replies[first + 1 :])
    assert mediator.left == 0
    assert mediator._cells is None
    assert replies[first].cost
    assert not replies[-1].cost


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({"groups": "household"}, "go together"),
        ({"max_group": 3}, "go together"),
        ({"groups": "household", "max_group": 1}, "2 or more"),
        ({"max_records": 0}, "max_records"),
    ],
)
def test_groups_that_make_no_sense_are_refused(parameters: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        _ = linear_queries(**parameters).bound


def test_parameters_out_of_range_are_refused() -> None:
    for kind, wrong in (
        (MultiplicativeWeights, {"rounds": -1}),
        (PrivateWeights, {"updates": 0}),
        (PrivateWeights, {"expected": 0}),
        (MultiplicativeWeights, {"shares": {"total": "1"}}),
        (PrivateWeights, {"shares": {"total": "1"}}),
    ):
        with pytest.raises(UsageError):
            kind(table_queries=linear_queries(), **wrong)


@pytest.mark.parametrize("kind", [Automatic, Histogram, Residuals, MultiplicativeWeights, PrivateWeights])
def test_every_file_says_why_it_is_private(kind: type[Method]) -> None:
    for title in ("Why it is private", "Departures from the paper", "Reference"):
        assert section(kind, title)


def test_records_beyond_the_limit_and_users_beyond_the_group_do_not_count() -> None:
    rows = table(60, records=3, household=6)
    bound = linear_queries(groups="household", max_group=2, max_records=2)
    counted = bound.count(log_of(rows), ReferenceEngine(), bytes(16))
    assert counted.sensitive_values.sum() == 10 * 2 * 2
    assert counted.sensitivity.l1 == 4
    assert isinstance(rows, pa.Table)
