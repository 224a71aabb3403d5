"""Contract checks of methods of counts; see family_checks for all families."""

from __future__ import annotations

import inspect
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount.accounting.budget import Cost, Grant
from headcount.accounting.guarantee import UNIT, Guarantee, Standing
from headcount.accounting.noise_distributions import DiscreteGaussian, DiscreteLaplace, NoiseDistribution
from headcount.accounting.zcdp import rho_for
from headcount.bounds import Counting, SampleRecords
from headcount.engines.local.engine import LocalEngine
from headcount.errors import GrantError, UsageError
from headcount.events.catalogue import Catalogue
from headcount.events.contexts import Context
from headcount.events.log import EventLog
from headcount.events.roles import Roles
from headcount.events.sources.source import TableSource
from headcount.methods.method import Method, section
from headcount.noise import NoiseSource, OperatingSystemNoise, SeededNoise, gaussian, laplace
from headcount.noise.stages import split_among_stages
from headcount.releases.release import Release, load
from tests.contracts.support.recording_engine import Asking
from tests.reference.engine import ReferenceEngine
from tests.support.distributions import LEVEL, fits_gaussian, fits_laplace

WHATS = (None, "items", "edges", "both")
TABLES = ("items", "edges")
CONTEXTS = ("AM", "PM")
EPSILON = "0.7"


Reach = Callable[[Release, str, int], Fraction]
Truth = Callable[[EventLog, Release, str], NDArray[np.float64]]


BELLS = {"first"}
"""Stages without a table of their own whose noise is Gaussian where that of tables is."""


@dataclass(frozen=True)
class Subject:
    """A method to be checked, its parameters, and the most one user can add to a table of :func:`town`.

    Where that hangs on what the method chose, ``reach_of`` tells it from the release, the table and the number of
    its cells. ``paying`` is the part of a table's grant that pays for the table's noise. ``forced`` names
    functions to be replaced, so that private choices come out alike for all logs. ``truth`` tells what the
    intervals enclose, if not the counts of all records. ``counting`` is what the method counts in :func:`town`.
    Where negative counts become 0 they are ``clipped``, and the noise is looked at as it was drawn.

    Of the ``stages``, "items" and "edges" run where these tables are released, and the others always. A method
    with a stage "activity" releases how active people are as a table of that name.
    """

    kind: type[Method]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    reach: int = 3
    stages: tuple[str, ...] = ("items", "edges")
    reach_of: Reach | None = None
    paying: Fraction = Fraction(1)
    forced: Mapping[str, Any] = field(default_factory=dict)
    truth: Truth | None = None
    reconciles: bool = True
    delta: str | None = None
    counting: Counting = "records"
    clipped: bool = False

    def town(self, *given: Any, **named: Any) -> EventLog:
        """Return a :func:`town` of what the method counts."""
        return replace(town(*given, **named), counting=self.counting)

    def run(self, what: str | None) -> list[str]:
        """Return the stages that run for a log with contexts, in order."""
        return [stage for stage in self.stages if stage not in TABLES or what in (None, "both", stage)]

    def tables(self, what: str | None) -> list[str]:
        """Return the tables that are released of a log with contexts, in order."""
        run = self.run(what)
        return [table for table in (*TABLES, "activity") if table in run]

    def grant(self, epsilon: str = EPSILON) -> Grant:
        """Return a grant of what the method needs."""
        return Grant(epsilon, self.delta)

    def paid(self, log: EventLog, release: Release, table: str) -> Fraction:
        """Return the ε, of Gaussian noise the ρ, that a table's noise pays for.

        A user is in one bin of each histogram of activity.
        """
        if table == "activity":
            histograms = set(release.tables["activity"]["of"].to_pylist())
            return len(histograms) / _laplace(release.noise["activity"]).scale
        cells = len(log.catalogue.ids) * (1 if table == "items" else log.width)
        reach = Fraction(self.reach) if self.reach_of is None else self.reach_of(release, table, cells)
        law = release.noise[table]
        if isinstance(law, DiscreteGaussian):
            squares = log.counting == "users" or release.interval.average  # these are limited, not records
            return (reach if squares else reach**2) / (2 * law.sigma**2)
        return reach / law.scale

    def due(self, release: Release, shares: Mapping[str, Fraction]) -> dict[str, Fraction]:
        """Return what the noise of tables must pay for, given their shares of ε: Gaussian ones share one ρ."""
        unit_budget = Fraction(EPSILON) * self.paying
        own = {table: share for table, share in shares.items() if table in release.noise}
        bells = [table for table in own if isinstance(release.noise[table], DiscreteGaussian)]
        due = {table: unit_budget * share for table, share in own.items()}
        if bells:
            together = sum((shares[stage] for stage in (*bells, *(BELLS & shares.keys()))), Fraction(0))
            epsilon = Fraction(EPSILON) * together
            rho = Fraction(rho_for(Decimal(epsilon.numerator) / epsilon.denominator, Decimal(self.delta or 0)))
            due |= {table: rho * shares[table] / together for table in bells}
        return due

    @contextmanager
    def choosing_alike(self) -> Iterator[None]:
        """Let private choices come out alike, whatever the log."""
        with ExitStack() as stack:
            for name, replacement in self.forced.items():
                stack.enter_context(mock.patch(name, replacement))
            yield

    def make(self, **more: Any) -> Method:
        """Return the method, with more parameters."""
        return self.kind(**self.parameters, **more)

    def release(self, log: EventLog, *, seed: int = 1, epsilon: str = EPSILON, **more: Any) -> Release:
        """Return a seeded release."""
        return self.make(**more).release(log, self.grant(epsilon), SeededNoise(seed), ReferenceEngine())


def town(users: int = 20, items: int = 6, *, contexts: bool = True, most: int = 5, seed: int = 1) -> EventLog:
    """A log in which users have 1 to ``most`` records, some of foreign items and some in an unknown context."""
    generator = np.random.default_rng(seed)
    sizes = 1 + np.arange(users) % most
    total = int(sizes.sum())
    columns = {
        "user": pa.array([f"u{n}" for n in np.repeat(np.arange(users), sizes)], pa.string()),
        "item": pa.array([f"i{n}" for n in generator.integers(0, items, total)], pa.string()),
        "context": pa.array(generator.choice([*CONTEXTS, "night"], total).tolist(), pa.string()),
    }
    ids = [f"i{n}" for n in reversed(range(items))]
    return EventLog(
        source=TableSource(pa.table(columns)),
        roles=Roles("user", "item"),
        catalogue=Catalogue.of(ids, [f"Item {item_id}" if n % 2 else None for n, item_id in enumerate(ids)]),
        context=Context(("context",), (CONTEXTS,)) if contexts else None,
    )


def check_spends_exactly(subject: Subject) -> None:
    """The whole grant is spent, nothing but the grant is spent, and nothing is left to spend."""
    for what in WHATS:
        grant = subject.grant()
        with recorded_spending() as spent:
            subject.make(what=what).release(subject.town(), grant, SeededNoise(1), ReferenceEngine())
        assert grant.is_spent, "a part of the grant is left unspent"
        own = set(map(id, _with_parts(grant)))
        assert all(id(grant) in own for grant in spent), "a grant was spent that nobody handed over"
        total, total_delta = amounts_of(spent)
        assert total == grant.exact, f"spent {total} of {grant.exact}"
        assert total_delta == Fraction(grant.delta), f"spent δ = {total_delta} of {grant.delta}"
        _expect(GrantError, "a spent grant could be spent again", grant.spend)
        _expect(GrantError, "a spent grant could be split", grant.split, {"items": Decimal(1)})


def amounts_of(spent: Iterable[Grant]) -> tuple[Fraction, Fraction]:
    """Add up the ε and δ of what was spent; parts of ρ must be together what theirs allow for, and count once."""
    whole, parts = list[Cost](), dict[Cost, list[Decimal]]()
    for price in (grant.cost for grant in spent):
        if price.part is None:
            whole.append(price)
        else:
            parts.setdefault(replace(price, part=None, picks=None), []).append(price.part)
    for price, part_amounts in parts.items():
        assert price.rho * (1 - Decimal("1e-20")) <= sum(part_amounts) <= price.rho, (
            f"spent ρ = {sum(part_amounts)} of {price}"
        )
    amounts = [(Fraction(price.epsilon), Fraction(price.delta)) for price in [*whole, *parts]]
    return sum((epsilon for epsilon, _ in amounts), Fraction(0)), sum((delta for _, delta in amounts), Fraction(0))


@contextmanager
def recorded_spending() -> Iterator[list[Grant]]:
    """Record every grant that is spent, whoever made it; for groups of whom nobody is in two, the first one."""
    spent: list[Grant] = []
    groups: list[list[Grant]] = []
    real, among = Grant.spend, Grant.for_disjoint_users

    def spend(grant: Grant) -> Cost:
        price = real(grant)
        others = [
            group_member
            for group in groups
            if any(group_grant is grant for group_grant in group)
            for group_member in group
        ]
        if not any(earlier is spent_grant for earlier in others for spent_grant in spent):
            spent.append(grant)
        return price

    def for_disjoint_people(grant: Grant, names: Iterable[str]) -> dict[str, Grant]:
        parts = among(grant, names)
        groups.append(list(parts.values()))
        return parts

    with (
        mock.patch.object(Grant, "spend", spend),
        mock.patch.object(Grant, "for_disjoint_users", for_disjoint_people),
    ):
        yield spent


def _with_parts(grant: Grant) -> Iterator[Grant]:
    yield grant
    for part in grant._parts:
        yield from _with_parts(part)


def check_refuses_a_spent_grant(subject: Subject) -> None:
    """A grant that is spent already, whole or in part, buys nothing."""
    spent, split = subject.grant(), subject.grant()
    spent.spend()
    halves = {"a": Decimal("0.5"), "b": Decimal("0.5")}
    split.split(halves, halves if subject.delta else None)
    for grant in (spent, split):
        _expect(
            GrantError,
            "released with a spent grant",
            subject.make().release,
            subject.town(),
            grant,
            SeededNoise(1),
        )


def check_promises_the_grant(subject: Subject) -> None:
    """The guarantee is the grant's, for a whole user, known without data, and free to ask for."""
    grant = subject.grant()
    promised = subject.make().guarantee(grant)
    assert not grant.is_spent, "asking what is promised spent the grant"
    assert promised.epsilon == Decimal(EPSILON)
    assert promised.delta == Decimal(subject.delta or 0)
    assert promised.unit == UNIT
    assert promised.standing is subject.kind.standing
    assert Guarantee.from_json(json.loads(json.dumps(promised.to_json()))) == promised
    assert subject.release(subject.town()).guarantee == promised
    if promised.standing is Standing.PROVEN:
        assert any("public" in assumption for assumption in promised.assumes), (
            "does not say that the catalogue is public"
        )


def check_noise_pays(subject: Subject) -> None:
    """Every table's noise costs what the table's grant pays for: neither more nor less."""
    for what in WHATS:
        log, grant = subject.town(), subject.grant()
        method = subject.make(what=what)
        release = method.release(log, grant, SeededNoise(1), ReferenceEngine())
        assert list(release.noise) == subject.tables(what)
        prices = split_among_stages(method.stages(log, grant.cost), grant.cost)
        for table, law in release.noise.items():
            allowed = Fraction(prices[table].epsilon) * subject.paying
            if isinstance(law, DiscreteGaussian):
                allowed = Fraction(prices[table].rho)
            paid = subject.paid(log, release, table)
            assert paid <= allowed, f"the noise costs ε = {float(paid)}, but {float(allowed)} was paid"
            assert paid > allowed * Fraction("0.999999"), "more noise than was paid for"


def check_noise_is_as_declared(subject: Subject) -> None:
    """On an empty log, items and edges are pure draws from the declared law.

    Smoothed and shrunk ones are made of such draws, and the histogram of activity consists of some.

    Chi-square against the exact law, false-alarm rate ``laws.LEVEL`` a table (and the seeds are fixed); noise of
    1.3 times the scale, or less by as much, is rejected.
    """
    log = subject.town(
        users=0, items=9_000 if subject.kind.name.startswith("gs") else 3_000
    )  # groups draw for several
    for what in TABLES:
        with recorded_draws() as draws, subject.choosing_alike():
            release = subject.release(log, what=what, seed=5)
        law = release.noise[what]
        drawn = _column(release, what, "count") / float(law.step)
        if release.interval.covers == "smoothed" or subject.clipped:
            drawn = draws[-1].astype(np.float64)
            assert _column(release, what, "count").any(), "the release of an empty log is not noise"
        if release.interval.average:
            whole = [draw for draw in draws if draw.size == release.tables[what].num_rows]
            assert len(whole) == 2, "light and heavy users do not both get noise"
            drawn, light = whole[0].astype(np.float64), whole[1]
            _check_distribution(light, replace(law, step=Fraction(1)), f"{what} of light users, in whole numbers")
            assert np.array_equal(_column(release, "activity", "users"), draws[0]), "activity is not noise"
        assert np.allclose(drawn, np.round(drawn), rtol=0, atol=1e-6), "not whole steps"
        _check_distribution(np.round(drawn).astype(np.int64), law, what)
    if "activity" in subject.stages:
        _check_noise_of_activity(subject)


def _check_noise_of_activity(subject: Subject, runs: int = 100) -> None:
    """The histograms of releases of an empty log are draws from their law, and 95 % of intervals hold zero.

    Of 2,200 bins, 95 % are covered with a deviation of 0.46 %: 2.5 % less is a false alarm once in 10 million.
    """
    log = subject.town(users=0)
    releases = [subject.release(log, what="items", seed=seed) for seed in range(runs)]
    users, low, high = (
        np.concatenate([_column(release, "activity", column) for release in releases])
        for column in ("users", "low", "high")
    )
    _check_distribution(np.round(users).astype(np.int64), releases[0].noise["activity"], "activity")
    covered = ((low <= 0) & (high >= 0)).mean()
    assert 0.925 < covered < 0.98, f"activity: covers {covered:.3f}"


def _check_distribution(values: NDArray[np.int64], law: NoiseDistribution, what: str) -> None:
    fits: Callable[..., float] = fits_gaussian if isinstance(law, DiscreteGaussian) else fits_laplace
    spread = (law.sigma if isinstance(law, DiscreteGaussian) else law.scale) / law.step
    p = fits(values, spread)
    assert p > LEVEL, f"{what}: not the declared noise (p = {p:.3g})"
    for wrong in (spread * Fraction(13, 10), spread * Fraction(10, 13)):
        assert fits(values, wrong) < LEVEL, "the check would not see a wrong scale"


@contextmanager
def recorded_draws() -> Iterator[list[NDArray[np.int64]]]:
    """Record every bulk draw of noise."""
    drawn: list[NDArray[np.int64]] = []

    def recorded(real: Callable[..., NDArray[np.int64]]) -> Callable[..., NDArray[np.int64]]:
        def draw(law: NoiseDistribution, size: int, source: NoiseSource) -> NDArray[np.int64]:
            values = real(law, size, source)
            drawn.append(values)
            return values

        return draw

    with (
        mock.patch.object(laplace, "draw", recorded(laplace.draw)),
        mock.patch.object(gaussian, "draw", recorded(gaussian.draw)),
    ):
        yield drawn


def check_covers_catalogue(subject: Subject) -> None:
    """The release holds every item of the catalogue in its order, in every context and the unknown one."""
    for log in (subject.town(), subject.town(users=0), subject.town(users=1, most=1)):
        items = list(log.catalogue.ids)
        for what in WHATS:
            release = subject.release(log, what=what)
            assert release.catalogue == log.catalogue.digest
            if what != "edges":
                assert release.items["item"].to_pylist() == items, "items are not the catalogue"
                assert release.items["label"].to_pylist() == list(log.catalogue.labels)
            if what != "items":
                pairs = [(item, context) for item in items for context in (*CONTEXTS, None)]
                edges = release.edges
                cells = list(zip(edges["item"].to_pylist(), edges["context"].to_pylist(), strict=True))
                assert cells == pairs, "edges are not the catalogue times all contexts"
                assert release.contexts == CONTEXTS
    nothing = subject.release(subject.town(users=0))
    noise = nothing.tables["activity"]["users"] if nothing.interval.average else nothing.items["count"]
    assert any(noise.to_pylist()), "the release of an empty log is not noise"


def check_hides_the_log(subject: Subject) -> None:
    """But for its tables, a proven release is the same for every log with the same public parameters.

    So are the widths of the intervals, unless these hang on the released numbers and hold on average alone.
    """
    if subject.kind.standing is Standing.CLAIMED:
        return
    descriptions = []
    for log in (
        subject.town(),
        subject.town(users=400, seed=2),
        subject.town(users=0),
        subject.town(users=1, most=1),
    ):
        with subject.choosing_alike():
            release = subject.make().release(log, subject.grant(), OperatingSystemNoise(), LocalEngine())
        described = {key: value for key, value in release.to_json().items() if key != "created"}
        shapes = [(table.schema, table.num_rows) for table in release.tables.values()]
        widths = [
            (_column(release, name, "high") - _column(release, name, "low")).max()
            for name in release.tables
            if name not in TABLES or not release.interval.average
        ]
        descriptions.append((json.dumps(described), release.sentences(), shapes, np.round(widths, 6).tolist()))
    assert all(description == descriptions[0] for description in descriptions), (
        "something but the tables depends on the log"
    )


def check_plans_what_it_does(subject: Subject) -> None:
    """The noise announced without data is the noise that is drawn, for amounts that do not terminate too."""
    for epsilon in (EPSILON, "0.123456789123", "3"):
        for what in WHATS:
            planned = subject.make(what=what).noise_distributions(subject.town(), subject.grant(epsilon))
            done = subject.release(subject.town(), what=what, epsilon=epsilon).noise
            if subject.kind.standing is Standing.CLAIMED:
                continue
            assert planned or subject.forced, "no noise was announced, though nothing was chosen"
            for table in planned or ():
                assert planned[table] == done[table], "not the announced noise"
            missing = {table for table in done if not planned or table not in planned}
            unknown = {table for table in done if table in TABLES} if subject.forced else set()
            assert missing in (set(), unknown), "a table was not announced"


def check_intervals(subject: Subject, items: int = 1_500) -> None:
    """low and high enclose the bounded count 95 times in 100, before and after reconciling, and not more widely.

    Of 1,500 items, 95 % are covered with a deviation of 0.56 %: a shortfall of 3 % (2 % for 4,500 edges) is a
    false alarm once in 10 million (and the seeds are fixed). The half-width may exceed the 95 % quantile of what
    was seen by 15 % (or by one, for whole numbers).

    Intervals that hold on average must do so for users above the limit too. How wide each is hangs on what was
    released; low ends are on average no further off than the noise of both groups reaches, scaled up, and high
    ends not three times as far, for the heavier users who may hide in it, and for the largest counts.
    """
    probe = subject.release(subject.town(users=0))
    average = probe.interval.average
    log = subject.town(users=600, items=items, most=2 * subject.reach if average else subject.reach)
    exact = ReferenceEngine().measure(log, SampleRecords(10**6), bytes(16))
    for what in ("items", "edges", "both"):
        release = subject.release(log, what=what, seed=3)
        if release.interval.covers == "smoothed":
            return  # what the smoothed count is, the method's own tests know
        for table in (table for table in TABLES if table in release.tables):
            truth = getattr(exact, table).sensitive_values.ravel()
            truth = truth if subject.truth is None else subject.truth(log, release, table)
            count, low, high = (_column(release, table, column) for column in ("count", "low", "high"))
            covered = ((low <= truth) & (truth <= high)).mean()
            assert covered > 0.95 - (0.03 if table == "items" else 0.02), f"{table}: covers only {covered:.3f}"
            assert ((low <= count) & (count <= high)).all(), f"{table}: the count is not in its own interval"
            if average:
                widest = 3 * release.noise[table].half_width(0.95)  # light users as they are, heavy ones doubled
                assert (count - low).mean() <= widest, f"{table}: absurdly wide below"
                assert (high - count).mean() <= 3 * widest, f"{table}: absurdly wide"
                continue
            width, quantile = (high - low).max() / 2, np.quantile(np.abs(count - truth), 0.95)
            quantile = release.noise[table].half_width(0.95) if subject.clipped else quantile
            assert width <= max(quantile * 1.15, quantile + 1), f"{table}: absurdly wide ({width} for {quantile})"


def check_edges_sum_to_items(subject: Subject) -> None:
    """Where both tables are released of records, the edges of an item sum to its count, if they are reconciled."""
    if not subject.reconciles:
        return
    release = subject.release(subject.town())
    sums = _column(release, "edges", "count").reshape(-1, len(CONTEXTS) + 1).sum(axis=1)
    assert np.allclose(sums, _column(release, "items", "count"), atol=1e-6), "edges do not sum to items"


def check_engines_agree(subject: Subject) -> None:
    """The same seed gives the same release on every engine."""
    log = subject.town(users=60)
    local = subject.release(log)
    for engine in (LocalEngine(threads=1), LocalEngine(threads=3, memory=64)):
        other = subject.make().release(log, subject.grant(), SeededNoise(1), engine)
        assert all(local.tables[name].equals(other.tables[name]) for name in local.tables), "engines differ"


def check_marks_simulation(subject: Subject) -> None:
    """Seeded output says that it is simulated: in the value, in its story and in its file."""
    seeded = subject.release(subject.town())
    real = subject.make().release(subject.town(), subject.grant(), OperatingSystemNoise(), ReferenceEngine())
    assert seeded.simulated
    assert not seeded.is_private
    assert seeded.to_json()["simulated"] is True
    assert "seeded" in seeded.explain()
    assert not real.simulated
    assert real.is_private is (subject.kind.standing is Standing.PROVEN)
    assert "seeded" not in real.explain()


def check_says_its_standing(subject: Subject) -> None:
    """What is only claimed says so everywhere, with its reason; what is proven gives no reason to doubt."""
    release = subject.release(subject.town())
    written = release.to_json()["guarantee"]
    assert written["standing"] == subject.kind.standing.value == release.guarantee.standing.value
    assert written["reason"] == subject.kind.reason
    if subject.kind.standing is Standing.CLAIMED:
        assert subject.kind.reason, "no reason is given"
        assert subject.kind.reason in release.explain(), "explain() does not give the reason"
        assert "not private" in release.explain(), "explain() does not warn"
        assert "claimed" in release.guarantee.short()
        assert not release.is_private
    else:
        assert subject.kind.reason is None
        assert "proven" in release.guarantee.short()
        assert f"e^{EPSILON}" in release.explain()


def check_is_documented(subject: Subject) -> None:
    """The file says why it is private (or not), how it departs from the paper, and where it comes from."""
    why = "Why it is private" if subject.kind.standing is Standing.PROVEN else "Why it is not private"
    departures = section(subject.kind, "Departures from the paper") or section(
        subject.kind, "Departures from the papers"
    )
    assert section(subject.kind, why), f"no section {why!r}"
    assert departures, "no section 'Departures from the paper'"
    assert section(subject.kind, "Reference"), "no section 'Reference'"
    assert ">>>" in (inspect.getdoc(subject.kind) or ""), "no doctest in the class"


def check_round_trips(subject: Subject) -> None:
    """A saved release reads back as it was: tables, guarantee, laws, story, and no file is left behind."""
    with tempfile.TemporaryDirectory() as folder:
        for what in WHATS:
            release = subject.release(subject.town(), what=what)
            target = Path(folder) / f"release-{what}"
            again = load(release.save(target))
            assert sorted(path.name for path in target.iterdir()) == sorted(
                ["release.json", *(f"{name}.parquet" for name in release.tables)]
            )
            assert again.to_json() == release.to_json()
            assert again.guarantee == release.guarantee
            assert again.noise == release.noise
            assert again.sentences() == release.sentences()
            for name, table in release.tables.items():
                assert again.tables[name].equals(table), f"{name} changed"
            assert json.loads((target / "release.json").read_text("utf-8")) == release.to_json()
        assert sorted(path.name for path in Path(folder).iterdir()) == sorted(f"release-{what}" for what in WHATS)


def check_shares(subject: Subject) -> None:
    """Shares: given ones are honoured, default ones renormalised, one stage gets all, wrong ones are refused."""
    log, near = subject.town(), Fraction("0.999999")

    def check_paid(release: Release, shares: Mapping[str, Fraction], otherwise: str) -> None:
        for table, own in subject.due(release, shares).items():
            assert near * own < subject.paid(log, release, table) <= own, otherwise

    for what in TABLES:
        if len(subject.run(what)) == 1:
            for given in (None, {what: 1}):
                release = subject.release(log, what=what, shares=given)
                check_paid(release, {what: Fraction(1)}, "a single stage does not get the whole grant")
        if subject.run(what) == ["activity", what]:
            release = subject.release(log, what=what)
            twentieth = Fraction(1, 20)
            check_paid(
                release, {"activity": twentieth, what: 1 - twentieth}, "activity gets a twentieth by default"
            )
    default = subject.release(log)
    ratio = subject.paid(log, default, "items") / subject.paid(log, default, "edges")
    assert near < ratio < 1 / near, "items and edges share equally by default"
    if "activity" in subject.stages:
        check_paid(default, {"activity": Fraction(1, 20)}, "activity gets a twentieth by default")
    rest = {stage: Decimal("0.125") for stage in subject.stages if stage not in TABLES}
    left = 1 - sum(rest.values(), Decimal(0))
    shares = {**rest, "items": left * Decimal("0.2"), "edges": left * Decimal("0.8")}
    release = subject.release(log, shares=shares)
    check_paid(release, {stage: Fraction(share) for stage, share in shares.items()}, "shares are not honoured")
    wrong: list[Mapping[str, Any]] = [
        {},
        {"items": 1},
        {**shares, "items": "0.9"},
        {**shares, "items": 0},
        {**shares, "items": -1, "edges": 2},
        {**shares, "tags": "0.1"},
    ]
    for bad in wrong:
        grant = subject.grant()
        method = subject.make(shares=bad)
        _expect(UsageError, f"took shares {bad}", method.release, log, grant, SeededNoise(1))
        assert not grant._taken, "wrong shares cost the grant"
        _expect(UsageError, f"planned with shares {bad}", method.noise_distributions, log, grant)


def check_needs_a_context_for_edges(subject: Subject) -> None:
    """Edges without a context are refused before anything is spent; items alone are released without one."""
    log = subject.town(contexts=False)
    assert list(subject.release(log).tables) == subject.tables("items")
    for what in ("edges", "both"):
        grant = subject.grant()
        method = subject.make(what=what)
        _expect(UsageError, "released edges without a context", method.release, log, grant, SeededNoise(1))
        assert not grant._taken, "the refusal cost the grant"


def check_asks_for_what_it_declares(subject: Subject) -> None:
    """An engine is asked for nothing but the kinds of bounds that the method declares."""
    for what in WHATS:
        engine, method = Asking(), subject.make(what=what)
        method.release(subject.town(), subject.grant(), SeededNoise(1), engine)
        engine.check_declared(method)


def _column(release: Release, table: str, column: str) -> NDArray[np.float64]:
    values: NDArray[np.float64] = release.tables[table][column].to_numpy()
    return values


def _laplace(law: NoiseDistribution) -> DiscreteLaplace:
    assert isinstance(law, DiscreteLaplace), "not Laplace noise"
    return law


def _expect(kind: type[Exception], otherwise: str, act: Callable[..., object], *given: object) -> None:
    try:
        act(*given)
    except kind:
        return
    raise AssertionError(otherwise)


CHECKS = (
    check_spends_exactly,
    check_refuses_a_spent_grant,
    check_promises_the_grant,
    check_noise_pays,
    check_noise_is_as_declared,
    check_covers_catalogue,
    check_hides_the_log,
    check_plans_what_it_does,
    check_intervals,
    check_edges_sum_to_items,
    check_engines_agree,
    check_marks_simulation,
    check_says_its_standing,
    check_is_documented,
    check_round_trips,
    check_shares,
    check_needs_a_context_for_edges,
    check_asks_for_what_it_declares,
)
