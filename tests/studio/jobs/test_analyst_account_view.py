"""A budget as an analyst is shown it: it tells nothing of results that the analyst does not see."""

from __future__ import annotations

import io
import math
import time
from decimal import Decimal
from typing import Any

import pytest

from headcount.errors import HeadcountError, RefusedError
from headcount.ledger import Charge, Issued, Reservation
from headcount.ledger.event_time_windows import Clock, Span
from headcount.studio.jobs.ipc import CancellationGate, ServerPipe, TaskMessage
from headcount.studio.jobs.tasks import JOB_TASKS, QUICK_TASKS
from headcount.studio.studio import Studio
from tests.studio.support.dataset import FLAGS, REQUEST, lay_out, who

ABOUT = {"name": "visits", "version": None, "reads": "events", "source": {"files": ["visits.csv"]}, "flags": FLAGS}
WHOLE, PART = Charge(Decimal("1.25")), Charge(Decimal("0.25"))


@pytest.fixture
def desk(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> Studio:
    """A studio whose files are the folder of this process; ε = 3 may be spent, all of it by Ann."""
    lay_out(studio)
    monkeypatch.chdir(studio.settings.files)
    studio.ledger.create("visits", epsilon="3")
    studio.ledger.allow("visits", "ann", "3")
    return studio


def _reserve(desk: Studio, analyst: str, charge: Charge = WHOLE, span: Span | None = None) -> Reservation:
    reservation = desk.ledger.reserve("visits", None, analyst, '{"k": 1}', "c1", charge, again=True, span=span)
    assert isinstance(reservation, Reservation)
    return reservation


def _settle(reservation: Reservation, spent: Charge | None) -> Issued:
    reservation.data_read()
    return reservation.issue("elsewhere", "d" * 64, spent)


def _answer(desk: Studio, task: str, epsilon: str, **options: Any) -> str:
    """Return what Ann is answered to a plan or a job, as text."""
    out = str(desk.settings.releases / f"{task}-{time.monotonic_ns()}")
    request = {**REQUEST, "epsilon": epsilon, **options.pop("asked", {})}
    about = {**ABOUT, "flags": {**FLAGS, **options.pop("flags", {})}}
    places = (str(desk.settings.data), desk.settings.ledger_url)
    task_input = TaskMessage(
        task, *places, dataset=about, family="counts", asked=request, analyst="ann", out=out, **options
    )
    line = ServerPipe(io.StringIO())
    try:
        done = {**JOB_TASKS, **QUICK_TASKS}[task](
            TaskMessage.from_line(task_input.line()), line, CancellationGate(line)
        )
    except HeadcountError as error:
        return str(error.to_json())
    return str(done["ledger"]) if task == "plan" else "done"


def _plans(desk: Studio, **options: Any) -> list[str]:
    return [
        _answer(desk, "plan", epsilon, **options) for epsilon in ("0.5", "1.75", "1.8", "2.75", "2.8", "3", "4")
    ]


@pytest.mark.parametrize("spent", [PART, None])
def test_a_plan_does_not_tell_what_a_selection_in_review_gave_back(desk: Studio, spent: Charge | None) -> None:
    reservation = _reserve(desk, "cora")
    before = _plans(desk)
    _settle(reservation, spent)
    assert _plans(desk) == before
    fits = [("RefusedError" not in answer) for answer in before]
    assert fits == [True, True, *[False] * 5]  # 1.75 fits beside 1.25
    shown = [("RefusedError" not in answer) for answer in _plans(desk, visible_digests=["d" * 64])]
    assert shown == [True, True, spent is PART, spent is PART, False, False, False]


@pytest.mark.parametrize("spent", [PART, None])
def test_whether_a_job_is_charged_does_not_tell_what_a_selection_gave_back(
    desk: Studio, spent: Charge | None
) -> None:
    _settle(_reserve(desk, "cora"), spent)
    refused = _answer(desk, "release", "1.8")
    assert "this is beyond the budget; of your own, ε = 3 is left" in refused
    assert _answer(desk, "release", "1.75") == "done"
    assert _answer(desk, "release", "1.75") == "done"  # the same costs nothing
    assert "of your own, ε = 1.25 is left" in _answer(desk, "release", "0.1", asked={"again": True})


def test_a_plan_tells_when_others_are_charged_at_steps_of_the_clock_alone(desk: Studio) -> None:
    earlier = time.time() - 60
    before = _plans(desk, until=earlier)
    reservation = _reserve(desk, "bob")
    assert _plans(desk, until=earlier) == before
    charged = _plans(desk)
    assert charged != before
    step = time.time()
    while time.time() <= step + 0.01:  # the refund comes after the step
        time.sleep(0.01)
    reservation.refund("the data could not be opened")
    assert _plans(desk, until=step) == charged
    assert _plans(desk) == before


def test_no_answer_to_an_analyst_names_the_spending_of_others(desk: Studio) -> None:
    _reserve(desk, "bob", Charge(Decimal("0.123")))
    _settle(_reserve(desk, "cora", Charge(Decimal("1.045"))), Charge(Decimal("0.017")))
    answers = [*_plans(desk), _answer(desk, "release", "2.9")]
    for figure in ("0.123", "1.045", "1.168", "0.017", "0.14", "1.832", "2.86", "bob", "cora"):
        assert not [answer for answer in answers if figure in answer], figure


def test_what_ones_own_job_gave_back_counts_when_it_is_shown(desk: Studio) -> None:
    reservation = _reserve(desk, "ann")
    running = _plans(desk, hidden_entries=[reservation.entry])
    _settle(reservation, PART)
    assert _plans(desk, hidden_entries=[reservation.entry]) == running
    assert "of your own, ε = 2.75 is left" in _answer(desk, "plan", "2.8")


def test_a_refusal_of_the_ledger_is_reported_in_fixed_words(desk: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others may be charged between the two checks: the ledger is never overspent, and its words are kept back."""
    _reserve(desk, "bob", Charge(Decimal("2.9")))
    monkeypatch.setattr(
        "headcount.studio.jobs.analyst_account_view.AnalystCharging.preview_charge", lambda *_: None
    )
    refused = _answer(desk, "release", "1")
    assert "this could not be charged" in refused
    assert "2.9" not in refused
    assert desk.ledger.show("visits").epsilon == Decimal("2.9")


def test_windows_show_what_is_left_by_the_same_rule(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(studio)
    monkeypatch.chdir(studio.settings.files)
    log = (studio.settings.files / "visits.csv").read_text().splitlines()
    dated = [f"{log[0]},day", *(f"{row},2026-03-02" for row in log[1:])]
    (studio.settings.files / "visits.csv").write_text("\n".join(dated))
    studio.ledger.create("visits", epsilon="3", window="1mo", time="day")
    studio.ledger.allow("visits", "ann", "2")
    window = {"since": "2026-03-01", "until": "2026-04-01"}
    march = Span.from_json({**window, **Clock("day").to_json()})

    def plan(epsilon: str, **options: Any) -> str:
        return _answer(studio, "plan", epsilon, asked=window, flags={"time": "day"}, **options)

    first = plan("1.75")
    assert "'left': '2'" in first
    reservation = _reserve(studio, "cora", span=march)
    assert plan("1.75") == first
    beyond = plan("1.8")
    _settle(reservation, PART)
    assert (plan("1.75"), plan("1.8")) == (first, beyond)
    assert "of your own, ε = 2 is left" in beyond
    own = _reserve(studio, "ann", PART, span=march)
    assert plan("1", hidden_entries=[own.entry]).count("'left': '2'") == 1
    assert plan("1").count("'left': '1.75'") == 1


def test_an_allowance_that_was_changed_holds_in_the_shown_account(desk: Studio) -> None:
    _settle(_reserve(desk, "ann"), PART)
    desk.ledger.allow("visits", "ann", "1")
    assert "of your own, ε = 0.75 is left" in _answer(desk, "plan", "0.8")
    assert "RefusedError" not in _answer(desk, "plan", "0.75")


def test_a_selection_is_reported_after_its_release_is_published(studio: Studio) -> None:
    """With real processes: a selection that finds nothing gives most of its cost back."""
    lay_out(studio, people=2)
    cora, ann = who(studio, "cora"), who(studio, "ann")
    flags = {"user": "user", "item": "venue", "select_items": True}
    dataset = studio.datasets.register(cora, name="rare", source={"files": ["visits.csv"]}, flags=flags).id
    studio.datasets.open(cora, dataset, epsilon="3", delta="0.001")
    studio.datasets.allow(cora, dataset, str(ann.id), "3")
    request = {**REQUEST, "epsilon": "2", "delta": "1e-6"}
    job = studio.jobs.ask(cora, dataset=dataset, family="counts", asked=request)
    assert studio.work.run_next()
    assert studio.jobs.get(cora, job.id).state == "done"
    live = studio.ledger.left("rare", "ann")
    assert live > 1
    studio.datasets._clock = lambda: math.ceil(time.time() / 15 + 1) * 15.0  # the next step

    answers: list[str] = []

    def fits(epsilon: str) -> bool:
        try:
            studio.work.run_quick_task(
                ann, "plan", dataset=dataset, family="counts", asked={**request, "epsilon": epsilon}
            )
        except RefusedError as error:
            answers.append(error.problem)
            return False
        return True

    assert (fits("1"), fits(str(live))) == (True, False)
    studio.releases.publish(cora, studio.releases.listed(cora)[0].id)
    assert studio.datasets.published(dataset)
    assert (fits("1"), fits(str(live))) == (True, True)
    assert answers == ["this is beyond the budget; of your own, ε = 3 is left"]
