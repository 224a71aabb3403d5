"""Budgets that come back: which windows a span touches, and that no window is ever overspent."""

from __future__ import annotations

import os
import re
import tempfile
from collections import defaultdict
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.errors import RefusedError, UsageError
from headcount.ledger import Charge, Issued, Ledger, Reservation
from headcount.ledger.accounts import account_of
from headcount.ledger.balances import BalanceKey, BalanceRequest, DatasetBalances
from headcount.ledger.composition import Budget
from headcount.ledger.event_time_windows import Clock, Span, Windows
from headcount.ledger.journal.entries import Entry
from tests.support import ledger_stores
from tests.support.ledger_stores import NewPlace, cost

CLOCK = Clock("when")
DAY = 86_400_000_000
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - in UTC, as the ledger
MOMENTS = st.integers(min_value=-(10**16), max_value=10**16)  # from 1653 to 2286
LENGTHS = st.sampled_from(["1d", "7d", "30d", "1w", "3w", "1mo", "5mo", "12mo"])
ORIGINS = st.dates(date(1900, 1, 1), date(2100, 1, 1)).map(lambda day: day.replace(day=min(day.day, 28)))


def windows(length: str = "1mo", **words: str) -> Windows:
    parsed = Windows.parse(length, time="when", **words)
    assert parsed is not None
    return parsed


def span(since: str, until: str, clock: Clock = CLOCK) -> Span:
    parsed = Span.from_json({"since": since, "until": until, **clock.to_json()})
    assert parsed is not None
    return parsed


def reserve(ledger: Ledger, epsilon: str, over: Span | None, analyst: str = "ann") -> Reservation:
    reservation = ledger.reserve("visits", "w1", analyst, "{}", "c", cost(epsilon), again=True, span=over)
    assert isinstance(reservation, Reservation)
    return reservation


def spent(ledger: Ledger, analyst: str | None = None) -> dict[str, Decimal]:
    """What each window has spent, by its first day."""
    epsilons = {}
    for account in ledger.show("visits").windows:
        for holder in (account, *account.analysts):
            if holder.analyst == analyst:
                epsilons[account.dates[5:15]] = holder.epsilon
    return epsilons


OCTOBER, NOVEMBER = span("2026-10-01", "2026-11-01"), span("2026-11-01", "2026-12-01")
AUTUMN = span("2026-10-15T12:00:00", "2026-12-01T00:00:00.000001")


@given(LENGTHS, ORIGINS, MOMENTS)
def test_every_moment_lies_in_one_window_that_begins_before_and_ends_after_it(
    length: str, origin: date, moment: int
) -> None:
    cut = windows(length, origin=origin.isoformat())
    number = cut.number(moment)
    day = (EPOCH + timedelta(microseconds=moment)).date()
    assert cut.begin(number) <= day < cut.begin(number + 1)
    assert cut.number((cut.begin(number) - EPOCH.date()).days * DAY) == number  # its first moment is its own
    assert cut.number((cut.begin(number) - EPOCH.date()).days * DAY - 1) == number - 1
    assert cut.begin(0) == origin


@given(LENGTHS, MOMENTS, st.integers(1, 10**14))
def test_a_span_touches_just_the_windows_of_its_moments(length: str, since: int, longer: int) -> None:
    cut = windows(length)
    touched = cut.touched(Span(CLOCK, since, since + longer))
    first, last = Fraction(since), Fraction(since + longer)
    for number in range(touched[0] - 1, touched[-1] + 2):
        begin, end = (Fraction((cut.begin(index) - EPOCH.date()).days * DAY) for index in (number, number + 1))
        assert (number in touched) == (max(begin, first) < min(end, last))


@given(MOMENTS, MOMENTS)
def test_spans_and_windows_are_written_exactly(first_day: int, other: int) -> None:
    both = Span(Clock("when", "%d.%m.%Y", "Europe/Berlin"), first_day, other)
    assert Span.from_json(both.to_json()) == both
    for length in ("30d", "2w", "1mo"):
        cut = windows(length, origin="2020-02-28", time_format="ms", timezone="Asia/Tokyo")
        assert Windows.from_json(cut.to_json()) == cut


def test_weeks_begin_on_mondays_and_months_on_the_first() -> None:
    now = (datetime(2026, 11, 18, 13) - EPOCH) // timedelta(microseconds=1)  # noqa: DTZ001 - a Wednesday
    assert windows("1w").words(windows("1w").number(now)) == "from 2026-11-16 to 2026-11-23"
    assert windows("1mo").words(windows("1mo").number(now)) == "from 2026-11-01 to 2026-12-01"
    assert windows("3mo").words(windows("3mo").number(now)) == "from 2026-10-01 to 2027-01-01"


@pytest.mark.parametrize(
    ("requested", "message"),
    [
        (None, "from when until when it reads; add --since and --until (with --time when)"),
        (Span(CLOCK, 0, None), "until when"),
        (Span(CLOCK, None, 0), "from when"),
        (Span(CLOCK, DAY, DAY), "--since is not before --until"),
        (
            Span(Clock("signed_up"), 0, DAY),
            "by the time that --time when says, and this request has --time signed_up",
        ),
        (Span(Clock("when", "min@2030-01-01"), 0, DAY), "use --time when"),
        (Span(Clock("when", None, "Asia/Tokyo"), 0, DAY), "use --time when"),
        (Span(CLOCK, -(10**18), 0), "from the year 1000 to 9000"),
        (Span(CLOCK, -(10**16), 10**16), "more than 5,000"),
    ],
)
def test_a_span_that_is_not_one_is_refused_in_words(requested: Span | None, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        windows("1d").touched(requested)
    assert message in str(refused.value)
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    "words",
    [
        {"window": "30"},
        {"window": "0d"},
        {"window": "1y"},
        {"window": "9999d"},
        {"window": "1mo", "origin": "2026-01-31"},
        {"window": "1mo", "origin": "soon"},
        {"window": "1mo", "time": None},
        {"window": None},
        {"window": None, "time": None, "lifetime": "3"},
        {"lifetime": "0.5"},
        {"lifetime": "3", "lifetime_delta": "1e-6"},
        {"lifetime_delta": "1e-6"},
        {"lifetime": "3", "delta": "1e-6"},
        {"lifetime": "3", "delta": "1e-6", "lifetime_delta": "1e-7"},
        {"lifetime": "3", "delta": "1e-6", "filter": "zcdp"},
    ],
)
def test_windows_that_make_no_sense_are_refused(
    sqlite_place: ledger_stores.Place, words: dict[str, str | None]
) -> None:
    with pytest.raises(UsageError), sqlite_place.open() as ledger:
        ledger.create("visits", "1", **{"window": "1mo", "time": "when", **words})  # type: ignore[arg-type]
    assert not sqlite_place.open().store.version()  # and nothing was made


@pytest.fixture
def ledger(place: ledger_stores.Place) -> Ledger:
    opened = place.open()
    opened.create("visits", "1", per_analyst="0.7", window="1mo", time="when", lifetime="2.1")
    return opened


def test_every_window_that_is_touched_is_charged_in_full(ledger: Ledger) -> None:
    reserve(ledger, "0.5", AUTUMN)
    months = dict.fromkeys(("2026-10-01", "2026-11-01", "2026-12-01"), Decimal("0.5"))
    assert spent(ledger) == spent(ledger, "ann") == months
    assert ledger.show("visits").epsilon == Decimal("0.5")  # over all windows it counts once
    reserve(ledger, "0.5", NOVEMBER, "bob")
    assert spent(ledger) == months | {"2026-11-01": Decimal(1)}
    assert ledger.verify().ok


def test_one_full_window_refuses_a_span_and_none_is_charged(ledger: Ledger) -> None:
    reserve(ledger, "0.6", NOVEMBER)
    reserve(ledger, "0.4", NOVEMBER, "bob")
    before = (spent(ledger), ledger.show("visits"), len(ledger.history()))
    with pytest.raises(RefusedError, match="visits from 2026-11-01 to 2026-12-01 has spent ε = 1 of 1") as refused:
        reserve(ledger, "0.1", AUTUMN, "eve")
    assert "read other windows" in str(refused.value)
    assert (spent(ledger), ledger.show("visits"), len(ledger.history())) == before
    reserve(ledger, "0.1", OCTOBER, "eve")  # it was there alone that nothing is left


def test_per_analyst_budgets_hold_in_every_window(ledger: Ledger) -> None:
    reserve(ledger, "0.7", OCTOBER)
    with pytest.raises(
        RefusedError, match=r"ann on visits from 2026-10-01 to 2026-11-01 has spent ε = 0\.7 of 0\.7"
    ):
        reserve(ledger, "0.1", OCTOBER)
    reserve(ledger, "0.7", NOVEMBER)


def test_a_lifetime_budget_holds_over_all_windows_and_counts_a_request_once(ledger: Ledger) -> None:
    for month in range(1, 4):
        reserve(ledger, "0.7", span(f"2026-0{month}-01", f"2026-0{month + 1}-01"))
    assert ledger.show("visits").left == 0
    with pytest.raises(RefusedError, match=r"visits over all windows has spent ε = 2\.1 of 2\.1"):
        reserve(ledger, "0.1", NOVEMBER)


def test_what_is_given_back_is_given_back_to_every_window(ledger: Ledger) -> None:
    reserve(ledger, "0.7", AUTUMN).refund("no such file")
    assert set(spent(ledger).values()) == {Decimal(0)}
    reservation = reserve(ledger, "0.7", AUTUMN)
    reservation.data_read()
    reservation.issue("out/", "d", cost("0.2"))  # no item was selected
    assert set(spent(ledger).values()) == {Decimal("0.2")}
    counts = {(window.open, window.issued, window.refunded) for window in ledger.show("visits").windows}
    assert counts == {(0, 1, 1)}
    assert ledger.verify().ok


def test_check_and_left_say_what_reserve_would_say(ledger: Ledger) -> None:
    reserve(ledger, "0.5", NOVEMBER)
    price = cost("0.3")
    with pytest.raises(RefusedError, match="ann on visits"):
        ledger.check("visits", "ann", price, AUTUMN)
    assert ledger.check("visits", "ann", price, OCTOBER).windows
    assert ledger.left("visits", "ann", AUTUMN) == Decimal("0.2")
    assert ledger.left("visits", "bob", AUTUMN) == Decimal("0.5")
    assert ledger.left("visits", "ann", OCTOBER) == Decimal("0.7")
    with pytest.raises(UsageError, match="from when until when"):
        ledger.check("visits", "ann", price)


def test_a_request_that_was_published_is_free_in_a_full_window(ledger: Ledger) -> None:
    reservation = reserve(ledger, "0.7", NOVEMBER)
    reservation.data_read()
    reservation.issue("out/", "d")
    again = ledger.reserve("visits", "w1", "bob", "{}", "c", cost("0.7"), span=NOVEMBER)
    assert isinstance(again, Issued)


def test_a_budget_without_windows_takes_any_span_and_writes_none(place: ledger_stores.Place) -> None:
    ledger = place.open()
    ledger.create("visits", "1")
    reserve(ledger, "0.5", NOVEMBER)
    reserve(ledger, "0.5", None)
    assert all('"span"' not in entry.text for entry in ledger.history())
    with pytest.raises(RefusedError):
        reserve(ledger, "0.1", OCTOBER)


def test_windows_move_with_the_journal(
    ledger: Ledger, place: ledger_stores.Place, new_place: NewPlace, tmp_path: Path
) -> None:
    reserve(ledger, "0.5", AUTUMN)
    reserve(ledger, "0.1", NOVEMBER, "bob").refund("gone")
    ledger.export(tmp_path / "journal")
    moved = new_place("sqlite").open(like=place)
    moved.import_(tmp_path / "journal")
    assert moved.verify().ok
    assert moved.show("visits") == ledger.show("visits")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE windows SET loss = '0' WHERE analyst = ''",
        "DELETE FROM windows WHERE analyst = 'ann'",
        "UPDATE windows SET number = number + 100 WHERE analyst = ''",
        "INSERT INTO windows VALUES ('visits', 'x', 0, '0', '0', 0, 0, 0)",
    ],
)
def test_tampering_with_windows_is_detected(ledger: Ledger, statement: str) -> None:
    reserve(ledger, "0.5", AUTUMN)
    with ledger.store.writing() as run:
        run.run(statement)
    verification = ledger.verify()
    assert not verification.ok
    assert "window" in verification.problems[0]


def test_an_entry_that_overspends_a_window_is_detected(sqlite_place: ledger_stores.Place) -> None:
    ledger = sqlite_place.open()
    ledger.create("visits", "1", window="1mo", time="when")
    reserve(ledger, "1", NOVEMBER)
    with ledger.store.writing() as run:  # as if nothing had been spent: signed by whoever has the key
        run.run("UPDATE windows SET loss = '0'")
    reserve(ledger, "1", NOVEMBER)
    assert "spends what was not there: visits from 2026-11-01" in " ".join(ledger.verify().problems)


def test_a_failure_between_windows_charges_none(
    place: ledger_stores.Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = place.open()
    ledger.create("visits", "1", window="1d", time="when")
    reserve(ledger, "0.25", NOVEMBER)
    before = (spent(ledger), len(ledger.history()))
    from headcount.ledger.stores import queries

    real = queries.save_balances

    def torn(run: object, dataset: str, changed: dict[BalanceKey, object]) -> None:
        half = dict(list(changed.items())[: len(changed) // 2])
        real(run, dataset, half)  # type: ignore[arg-type]
        raise OSError("pulled the plug")

    monkeypatch.setattr(queries, "save_balances", torn)
    with pytest.raises(OSError, match="plug"):
        reserve(ledger, "0.25", NOVEMBER)
    monkeypatch.undo()
    assert (spent(ledger), len(ledger.history())) == before
    assert ledger.verify().ok


def test_processes_that_race_never_overspend_a_window(place: ledger_stores.Place) -> None:
    ledger = place.open()
    ledger.create("visits", "1", window="1mo", time="when")
    ledger.close()
    children = []
    for over in (OCTOBER, NOVEMBER, AUTUMN):
        child = os.fork()
        if child == 0:
            taken = 0
            try:
                with place.open() as own:
                    for _ in range(12):
                        try:
                            reserve(own, "0.1", over)
                            taken += 1
                        except RefusedError:
                            break
                os._exit(taken)
            except BaseException:
                os._exit(99)
        children.append(child)
    october, november, both = (os.waitstatus_to_exitcode(os.waitpid(child_id, 0)[1]) for child_id in children)
    assert max(october, november, both) <= 10
    epsilons = spent(place.open())
    assert epsilons["2026-10-01"] == Decimal(october + both) / 10 <= 1
    assert epsilons["2026-11-01"] == Decimal(november + both) / 10 <= 1
    assert 1 in (epsilons["2026-10-01"], epsilons["2026-11-01"])  # each asked until it was refused
    assert place.open().verify().ok


def test_entries_of_earlier_versions_read_as_they_were_signed() -> None:
    text = (
        '{"analyst":"ann","budget":null,"catalogue":"c1","charge":{"delta":"0","epsilon":"0.5","rho":null,"slack":"0"},'
        '"dataset":"visits","digest":null,"folder":null,"kind":"reserve","number":2,"previous":"ab","reason":null,'
        '"request":"{}","request_digest":"44","reservation":null,"time":"2026-03-01T10:00:00.000+00:00","version":"w1"}'
    )
    entry = Entry.from_text(text)
    assert entry.text == text
    assert entry.span is None
    budget = {"delta": "0", "epsilon": "3", "filter": "sum", "per_analyst": None}
    assert Budget.from_json(budget).to_json() == budget


REQUESTS = st.tuples(
    st.sampled_from(["ann", "bob"]),
    st.integers(0, 120),
    st.integers(1, 70),
    st.sampled_from(["0.1", "0.3", "0.7"]),
    st.sampled_from(["hold", "refund", "less", "publish"]),
)


def no_overspending(requests: list[tuple[str, int, int, str, str]], length: str, filter_: str) -> None:
    """See that a person in any windows loses at most as many budgets, counted by the days that are read."""
    delta = None if filter_ == "sum" else "1e-6"
    most = Budget.of("2.5", delta=None if delta is None else "1e-5", filter=filter_)
    budget = Budget.of("1", delta=delta, per_analyst="0.8", filter=filter_, windows=windows(length), lifetime=most)
    balances = DatasetBalances("visits", budget)
    read: list[tuple[range, Fraction]] = []  # the days each request reads, and what it costs
    for who, first, days, epsilon, fate in requests:
        request = BalanceRequest(who, Charge(Decimal(epsilon)), Span(CLOCK, first * DAY, (first + days) * DAY))
        try:
            balances.check(request)
        except RefusedError:
            continue
        balances.take(request)
        if fate == "refund":
            balances.refund(request)
            continue
        paid = Charge(Decimal("0.05")) if fate == "less" else request.charge
        if fate != "hold":
            balances.publish(request, paid if fate == "less" else None)
        read.append((range(first, first + days), Fraction(budget.cost_of(paid).loss)))
    cut, budget_per_window = windows(length), Fraction(budget.epsilon if filter_ == "sum" else budget.most_rho)
    days_of = defaultdict(list)
    for day in range(200):
        days_of[cut.number(day * DAY)].append(day)
    for number, inside in days_of.items():
        loss = sum((paid for span_, paid in read if set(inside) & set(span_)), Fraction(0))
        held = balances.by_key.get(BalanceKey("", number))
        assert loss == (Fraction(held.spent.loss) if held else 0)
        assert loss <= budget_per_window
    for active in ([0, 60], [5, 6, 7], list(range(0, 200, 13))):  # people who are active on these days alone
        loss = sum((paid for span_, paid in read if set(active) & set(span_)), Fraction(0))
        active_in = {cut.number(day * DAY) for day in active}
        assert loss <= len(active_in) * budget_per_window
    in_all = sum((paid for _, paid in read), Fraction(0))
    assert in_all <= Fraction(most.epsilon if filter_ == "sum" else most.most_rho)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(REQUESTS, max_size=25), st.sampled_from(["10d", "1w", "1mo"]), st.sampled_from(["sum", "zcdp"]))
def test_no_sequence_of_spans_overspends_a_window_or_any_user(
    requests: list[tuple[str, int, int, str, str]], length: str, filter_: str
) -> None:
    no_overspending(requests, length, filter_)


def test_a_book_that_forgets_the_last_window_of_a_span_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    two = [("ann", 0, 10, "0.7", "hold"), ("bob", 5, 10, "0.7", "hold")]
    no_overspending(two, "10d", "sum")
    real = Windows.touched
    monkeypatch.setattr(Windows, "touched", lambda self, over: real(self, over)[:-1])
    with pytest.raises(AssertionError):
        no_overspending(two, "10d", "sum")


@pytest.mark.slow
@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.lists(REQUESTS, min_size=3, max_size=10), st.sampled_from(["sum", "zcdp"]))
def test_a_store_keeps_what_the_book_says(requests: list[tuple[str, int, int, str, str]], filter_: str) -> None:
    delta = None if filter_ == "sum" else "1e-6"
    with tempfile.TemporaryDirectory() as folder:
        place = ledger_stores.Place(f"sqlite:///{folder}/headcount.db", Path(folder))
        ledger = place.open()
        ledger.create("visits", "1", delta, "0.8", filter_, window="10d", time="when")
        balances = DatasetBalances("visits", ledger.show("visits").budget)
        for who, first, days, epsilon, fate in requests:
            request = BalanceRequest(who, Charge(Decimal(epsilon)), Span(CLOCK, first * DAY, (first + days) * DAY))
            try:
                reservation = reserve(ledger, epsilon, request.span, who)
            except RefusedError as refused:
                with pytest.raises(RefusedError, match=re.escape(str(refused))):
                    balances.check(request)
                continue
            balances.check(request)
            balances.take(request)
            if fate == "refund":
                reservation.refund("gone")
                balances.refund(request)
            elif fate != "hold":
                reservation.data_read()
                less = Charge(Decimal("0.05")) if fate == "less" else None
                reservation.issue("out/", "d", less)
                balances.publish(request, less)
        assert ledger.show("visits") == account_of(balances)
        assert ledger.verify().ok
        place.close()
