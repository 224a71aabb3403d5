"""Datasets, jobs and releases: who sees what, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from headcount.errors import HeadcountError, RefusedError, UnknownNameError, UsageError
from headcount.ledger import Charge, Reservation
from headcount.studio.access import NotAllowedError, Visitor
from headcount.studio.settings import Limits, Settings
from headcount.studio.store.datasets import Dataset
from headcount.studio.store.jobs import ENDED
from headcount.studio.store.schema import jobs as jobs_table
from headcount.studio.store.throttling import TooManyError
from headcount.studio.studio import Studio
from tests.studio.conftest import people
from tests.studio.support.dataset import FLAGS, REQUEST, lay_out, left, opened, who
from tests.support import servers

STEP = 15.0


@pytest.fixture(params=["sqlite", "postgresql"])
def studio(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Studio]:
    """A studio of either kind; its clock stands still until it is moved."""
    url = servers.new_schema() if request.param == "postgresql" else None
    studio_object = Studio(Settings(tmp_path / "desk", store=url, limits=Limits(waiting=3, step_seconds=STEP)))
    people(studio_object)
    yield studio_object
    studio_object.stop()


@pytest.fixture
def clock(studio: Studio) -> Callable[[float], None]:
    """Set what time it is."""
    now = [1000.0]
    for service in (studio.datasets, studio.jobs, studio.releases):
        vars(service)["_clock"] = lambda: now[0]
    return lambda seconds: now.__setitem__(0, seconds)


@pytest.fixture
def cora(studio: Studio) -> Visitor:
    return who(studio, "cora")


@pytest.fixture
def ann(studio: Studio) -> Visitor:
    return who(studio, "ann")


def _ended(studio: Studio, job: str, state: str = "done") -> None:
    result = {"folder": job, "digest": "d" * 64} if state == "done" else None
    taken = studio.jobs.take()
    assert taken is not None
    assert taken.id == job
    studio.jobs.end(job, state, {}, release_files=result)


# Datasets


def test_a_draft_is_registered_changed_opened_and_closed(studio: Studio, cora: Visitor, ann: Visitor) -> None:
    lay_out(studio)
    dataset = studio.datasets.register(cora, name="visits", source={"files": ["visits.csv"]}, flags=FLAGS)
    assert (dataset.state, dataset.place, studio.datasets.account(cora, dataset.id)) == (
        "draft",
        "visits.csv",
        None,
    )
    dataset = studio.datasets.update(cora, dataset.id, about="Who had what.", name="teas")
    with pytest.raises(UsageError, match="needs a budget"):
        studio.datasets.open(cora, dataset.id)
    assert studio.datasets.open(cora, dataset.id, epsilon="3", per_analyst="1").state == "open"
    account = studio.datasets.account(cora, dataset.id)
    assert account is not None
    assert account.left == 3
    with pytest.raises(RefusedError, match="never changed"):
        studio.datasets.open(cora, dataset.id, epsilon="4")
    assert studio.datasets.close(cora, dataset.id).state == "closed"
    assert studio.datasets.open(cora, dataset.id).state == "open"
    deeds = [entry.deed for entry in studio.audit_log.listed()]
    assert deeds == [
        "opened a dataset",
        "closed a dataset",
        "opened a dataset",
        "changed a dataset",
        "registered a dataset",
    ]


def test_what_was_opened_keeps_its_name_and_other_data_has_another_label(studio: Studio, cora: Visitor) -> None:
    dataset = opened(studio)
    for other in ({"name": "teas"}, {"reads": "ratings"}):
        with pytest.raises(RefusedError, match="keeps its name"):
            studio.datasets.update(cora, dataset.id, **other)
    with pytest.raises(RefusedError, match="another label"):
        studio.datasets.update(cora, dataset.id, source={"files": ["venues.csv"]})
    changed = studio.datasets.update(cora, dataset.id, source={"files": ["venues.csv"]}, version="w2")
    assert (changed.version, changed.source) == ("w2", {"files": ["venues.csv"]})


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": "a@b"},
        {"name": "x" * 65},
        {"reads": "attacked"},
        {"flags": {"colour": "red"}},
        {"source": {}},
        {"source": {"files": ["../x.csv"]}},
        {"source": {"address": "postgresql://h/db"}},
        {"flags": {"items": "../x.csv"}},
        {"version": "x" * 65},
    ],
)
def test_what_makes_no_dataset_is_refused(studio: Studio, cora: Visitor, wrong: dict[str, Any]) -> None:
    lay_out(studio)
    fields = {"name": "visits", "source": {"files": ["visits.csv"]}, "flags": FLAGS}
    with pytest.raises(HeadcountError):
        studio.datasets.register(cora, **{**fields, **wrong})
    assert studio.datasets.listed(cora) == []
    studio.datasets.register(cora, **fields)  # type: ignore[arg-type]
    with pytest.raises(RefusedError, match="already"):
        studio.datasets.register(cora, **fields)  # type: ignore[arg-type]


def test_an_analyst_sees_datasets_they_are_a_member_of_and_not_where_they_lie(
    studio: Studio, cora: Visitor, ann: Visitor
) -> None:
    dataset = opened(studio)
    hidden = studio.datasets.register(cora, name="drafted", source={"files": ["visits.csv"]}, flags={"query": "x"})
    assert studio.datasets.listed(ann) == []
    for dataset_id in (dataset.id, hidden.id, "nothing"):
        with pytest.raises(UnknownNameError, match="no such dataset"):
            studio.datasets.get(ann, dataset_id)
    studio.datasets.allow(cora, dataset.id, str(ann.id), "0.5")
    (visible,) = studio.datasets.listed(ann)
    assert (visible.name, dict(visible.source), visible.place, visible.flags["user"]) == ("visits", {}, "", "user")
    assert studio.datasets.get(ann, dataset.id) == visible
    own = studio.datasets.account(ann, dataset.id)
    assert own is not None
    assert (own.analyst, own.most, own.analysts) == ("ann", Decimal("0.5"), ())
    studio.datasets.dismiss(cora, dataset.id, str(ann.id))
    assert studio.datasets.listed(ann) == []


def test_what_analysts_are_allowed_is_the_ledgers(studio: Studio, cora: Visitor, ann: Visitor) -> None:
    dataset = opened(studio)
    studio.datasets.allow(cora, dataset.id, str(ann.id), "0.5")
    studio.datasets.allow(cora, dataset.id, str(ann.id), "0.75")
    (member,) = studio.datasets.members(cora, dataset.id)
    assert (member.name, member.epsilon) == ("ann", Decimal("0.75"))
    assert studio.ledger.left("visits", "ann") == left(studio, ann, dataset.id) == Decimal("0.75")
    with pytest.raises(UsageError, match="more than the whole"):
        studio.datasets.allow(cora, dataset.id, str(ann.id), "5")
    with pytest.raises(UnknownNameError):
        studio.datasets.allow(cora, dataset.id, "nobody", "1")
    assert studio.datasets.members(cora, dataset.id) == [member]


def test_analysts_change_nothing_of_datasets(studio: Studio, ann: Visitor, cora: Visitor) -> None:
    dataset = opened(studio)
    studio.datasets.allow(cora, dataset.id, str(ann.id), "1")
    for forbidden in (
        lambda: studio.datasets.register(ann, name="x", source={"files": ["visits.csv"]}),
        lambda: studio.datasets.update(ann, dataset.id, about="mine"),
        lambda: studio.datasets.open(ann, dataset.id),
        lambda: studio.datasets.close(ann, dataset.id),
        lambda: studio.datasets.remove(ann, dataset.id),
        lambda: studio.datasets.members(ann, dataset.id),
        lambda: studio.datasets.allow(ann, dataset.id, str(ann.id), "3"),
        lambda: studio.datasets.dismiss(ann, dataset.id, str(ann.id)),
    ):
        with pytest.raises(NotAllowedError):
            forbidden()


# Jobs


@pytest.fixture
def dataset(studio: Studio, cora: Visitor, ann: Visitor) -> Dataset:
    new_dataset = opened(studio)
    studio.datasets.allow(cora, new_dataset.id, str(ann.id), "1")
    return new_dataset


def test_jobs_start_in_the_order_of_their_requests(
    studio: Studio, dataset: Dataset, cora: Visitor, clock: Callable[[float], None]
) -> None:
    job_ids = []
    for second in (1.0, 2.0, 3.0):
        clock(second)
        job_ids.append(studio.jobs.ask(cora, dataset=dataset.id, family="counts", asked=REQUEST).id)
    taken = [studio.jobs.take() for _ in range(4)]
    assert [job and job.id for job in taken] == [*job_ids, None]
    assert [job.id for job in studio.jobs.running()] == job_ids


def test_every_user_has_a_limit_on_waiting_jobs(
    studio: Studio, dataset: Dataset, cora: Visitor, ann: Visitor
) -> None:
    for _ in range(3):
        studio.jobs.ask(cora, dataset=dataset.id, family="counts", asked=REQUEST)
    with pytest.raises(TooManyError, match="3 jobs of yours"):
        studio.jobs.ask(cora, dataset=dataset.id, family="counts", asked=REQUEST)
    studio.jobs.ask(ann, dataset=dataset.id, family="counts", asked=REQUEST)


def test_an_invalid_request_is_refused(studio: Studio, dataset: Dataset, cora: Visitor, ann: Visitor) -> None:
    ask = studio.jobs.ask
    draft = studio.datasets.register(cora, name="drafted", source={"files": ["visits.csv"]}, flags=FLAGS)
    for wrong, kind in (
        ({"kind": "steal", "dataset": dataset.id}, UnknownNameError),
        ({"dataset": dataset.id, "family": "nothing"}, UnknownNameError),
        ({"dataset": dataset.id, "family": "tags"}, UsageError),
        ({"family": "counts"}, UsageError),
        ({"dataset": "nothing", "family": "counts"}, UnknownNameError),
        ({"dataset": draft.id, "family": "counts"}, RefusedError),
        ({"dataset": dataset.id, "family": "counts", "asked": {"x": "y" * 300_000}}, UsageError),
    ):
        with pytest.raises(kind):
            ask(cora, **wrong)
    for job_kind in ("check", "compare", "audit", "reproduce"):
        with pytest.raises(NotAllowedError):
            ask(ann, kind=job_kind, dataset=dataset.id)
    with pytest.raises(NotAllowedError, match="where is for curators"):
        ask(ann, dataset=dataset.id, family="counts", asked={**REQUEST, "where": ["venue = tea"]})
    with pytest.raises(UnknownNameError):
        ask(who(studio, "bob"), dataset=dataset.id, family="counts", asked=REQUEST)
    assert studio.jobs.listed(cora) == []


@pytest.mark.parametrize("state", ENDED)
def test_an_analyst_sees_how_a_job_ended_at_fixed_steps_of_time(
    studio: Studio, dataset: Dataset, ann: Visitor, cora: Visitor, clock: Callable[[float], None], state: str
) -> None:
    clock(1000.0)
    job = studio.jobs.ask(ann, dataset=dataset.id, family="counts", asked=REQUEST)
    waiting = studio.jobs.get(ann, job.id)
    clock(1016.0)
    _ended(studio, job.id, state)
    for second in (1016.0, 1029.9):
        clock(second)
        assert studio.jobs.get(ann, job.id) == studio.jobs.listed(ann)[0] == waiting
        assert studio.releases.listed(ann) == []
        assert studio.jobs.get(cora, job.id).state == state
    clock(1030.0)
    visible = studio.jobs.get(ann, job.id)
    assert (visible.state, visible.started, visible.ended, visible.entry) == (state, None, 1030.0, None)
    assert [release.created for release in studio.releases.listed(ann)] == [1000.0] * (state == "done")
    with pytest.raises(UnknownNameError):
        studio.jobs.get(who(studio, "bob"), job.id)


@pytest.mark.parametrize("first", ["cora", "ann"])
def test_the_start_of_ones_own_job_does_not_reveal_when_another_ended(
    studio: Studio, dataset: Dataset, ann: Visitor, clock: Callable[[float], None], first: str
) -> None:
    """Twenty requests that cost nothing, sent at twenty moments, would measure it twenty times as well."""
    begun = []
    for seconds in (1.0, 2.5, 14.0):
        clock(STEP * 100)
        job = studio.jobs.ask(who(studio, first), dataset=dataset.id, family="counts", asked=REQUEST)
        assert studio.jobs.take() is not None  # nothing ended lately
        mine = studio.jobs.ask(ann, dataset=dataset.id, family="counts", asked=REQUEST)
        clock(STEP * 100 + seconds)
        studio.jobs.end(job.id, "failed", {})
        assert studio.jobs.take() is None
        clock(STEP * 101)
        taken = studio.jobs.take()
        assert taken is not None
        assert taken.id == mine.id
        begun.append(taken.started)
        clock(STEP * 99)
        studio.jobs.end(mine.id, "failed", {})
        with studio.store.writing() as run:
            run.execute(jobs_table.delete())
    assert begun == [STEP * 101] * 3


def test_curators_wait_for_no_step_and_neither_does_who_is_alone(
    studio: Studio, dataset: Dataset, cora: Visitor, ann: Visitor, clock: Callable[[float], None]
) -> None:
    clock(1000.0)
    studio.jobs.cancel(ann, studio.jobs.ask(ann, dataset=dataset.id, family="counts", asked=REQUEST).id)
    studio.jobs.ask(ann, dataset=dataset.id, family="counts", asked=REQUEST)
    taken = studio.jobs.take()  # what was cancelled before it began took no time
    assert taken is not None
    studio.jobs.end(taken.id, "failed", {})
    studio.jobs.ask(cora, dataset=dataset.id, family="counts", asked=REQUEST)
    assert studio.jobs.take() is not None


def test_a_job_of_a_curator_does_not_wait_for_an_analyst_who_waits_for_the_clock(
    studio: Studio, dataset: Dataset, cora: Visitor, ann: Visitor, clock: Callable[[float], None]
) -> None:
    clock(STEP * 100)
    first = studio.jobs.ask(cora, dataset=dataset.id, family="counts", asked=REQUEST)
    assert studio.jobs.take() is not None
    clock(STEP * 100 + 1)
    studio.jobs.end(first.id, "failed", {})
    theirs = studio.jobs.ask(ann, dataset=dataset.id, family="counts", asked=REQUEST)
    clock(STEP * 100 + 2)
    mine = studio.jobs.ask(cora, dataset=dataset.id, family="counts", asked=REQUEST)
    taken = studio.jobs.take()
    assert taken is not None
    assert taken.id == mine.id
    assert studio.jobs.take() is None
    clock(STEP * 101)
    later = studio.jobs.take()
    assert later is not None
    assert later.id == theirs.id


def test_an_end_in_the_future_delays_analysts_by_one_step_at_most(
    studio: Studio, dataset: Dataset, cora: Visitor, ann: Visitor, clock: Callable[[float], None]
) -> None:
    """A clock that was set back by a year must not stop the queue for a year, nor begin anything off its steps."""
    clock(STEP * 100_000)
    first = studio.jobs.ask(cora, dataset=dataset.id, family="counts", asked=REQUEST)
    assert studio.jobs.take() is not None
    studio.jobs.end(first.id, "failed", {})
    clock(STEP * 100 + 1)
    theirs = studio.jobs.ask(ann, dataset=dataset.id, family="counts", asked=REQUEST)
    clock(STEP * 100 + 2)
    mine = studio.jobs.ask(cora, dataset=dataset.id, family="counts", asked=REQUEST)
    taken = studio.jobs.take()
    assert taken is not None
    assert taken.id == mine.id
    assert studio.jobs.take() is None
    clock(STEP * 101)
    later = studio.jobs.take()
    assert later is not None
    assert later.id == theirs.id


def test_waiting_running_and_ended_jobs_are_cancelled_alike_for_an_analyst(
    studio: Studio, dataset: Dataset, ann: Visitor, clock: Callable[[float], None]
) -> None:
    """What a cancelled job reads as tells neither whether it had begun nor whether it had ended."""
    states = []
    for begin, far in enumerate(("waiting", "running", "done")):
        requested_at = 1000.0 * (begin + 1)
        clock(requested_at)
        job = studio.jobs.ask(ann, dataset=dataset.id, family="counts", asked=REQUEST)
        clock(requested_at + 1)
        if far == "running":
            studio.jobs.take()
        elif far == "done":
            _ended(studio, job.id)
        clock(requested_at + 2)
        before = studio.jobs.cancel(ann, job.id)
        if far == "running":
            studio.jobs.end(job.id, "cancelled", {})
        clock(requested_at + 15)
        after = studio.jobs.get(ann, job.id)
        assert studio.releases.listed(ann) == []
        states.append((before.state, before.outcome, after.state, after.ended and after.ended - requested_at))
        with pytest.raises(RefusedError, match="ended already"):
            studio.jobs.cancel(ann, job.id)
    assert set(states) == {("running", None, "cancelled", 15.0)}


def test_nothing_is_charged_for_a_disabled_user(
    studio: Studio, dataset: Dataset, cora: Visitor, ann: Visitor
) -> None:
    mine = studio.jobs.ask(ann, dataset=dataset.id, family="counts", asked=REQUEST)
    assert ann.id is not None
    studio.accounts.disable(cora, ann.id)
    assert studio.jobs.take() is None
    assert studio.jobs.get(cora, mine.id).state == "cancelled"


def test_a_waiting_release_of_a_dismissed_analyst_is_cancelled(
    studio: Studio, dataset: Dataset, cora: Visitor, ann: Visitor
) -> None:
    theirs = studio.jobs.ask(ann, dataset=dataset.id, family="counts", asked=REQUEST)
    of_curator = studio.jobs.ask(cora, dataset=dataset.id, family="counts", asked=REQUEST)
    assert ann.id is not None
    studio.datasets.dismiss(cora, dataset.id, ann.id)
    taken = studio.jobs.take()
    assert taken is not None
    assert taken.id == of_curator.id  # a curator is no member, and needs not be
    assert studio.jobs.get(cora, theirs.id).state == "cancelled"


def test_waiting_releases_of_a_closed_dataset_are_cancelled(
    studio: Studio, dataset: Dataset, cora: Visitor, ann: Visitor
) -> None:
    requested_jobs = [
        studio.jobs.ask(user, dataset=dataset.id, family="counts", asked=REQUEST) for user in (ann, cora)
    ]
    check = studio.jobs.ask(cora, kind="check", dataset=dataset.id)
    studio.datasets.close(cora, dataset.id)
    taken = studio.jobs.take()
    assert taken is not None
    assert taken.id == check.id  # it charges nothing
    assert {studio.jobs.get(cora, job.id).state for job in requested_jobs} == {"cancelled"}


def test_an_ended_job_can_be_requested_again(studio: Studio, dataset: Dataset, cora: Visitor) -> None:
    job = studio.jobs.ask(cora, dataset=dataset.id, family="counts", asked=REQUEST, title="Teas")
    with pytest.raises(RefusedError, match="not ended"):
        studio.jobs.again(cora, job.id)
    _ended(studio, job.id, "interrupted")
    more = studio.jobs.again(cora, job.id)
    assert (more.id != job.id, more.asked, more.title, more.state) == (True, REQUEST, "Teas", "waiting")


def test_an_analyst_sees_what_a_job_cost_when_it_is_shown(
    studio: Studio, dataset: Dataset, ann: Visitor, cora: Visitor, clock: Callable[[float], None]
) -> None:
    clock(1000.0)
    job = studio.jobs.ask(ann, dataset=dataset.id, family="counts", asked=REQUEST)
    before = studio.datasets.account(ann, dataset.id)
    studio.jobs.take()
    reservation = studio.ledger.reserve("visits", None, "ann", "{}", "c", Charge(Decimal("0.4")))
    assert isinstance(reservation, Reservation)
    studio.jobs.note(job.id, entry=reservation.entry)
    assert studio.datasets.account(ann, dataset.id) == before
    whole = studio.datasets.account(cora, dataset.id)
    assert whole is not None
    assert whole.epsilon == Decimal("0.4")
    clock(1001.0)
    studio.jobs.end(job.id, "failed", {})
    assert studio.datasets.account(ann, dataset.id) == before
    assert left(studio, ann, dataset.id) == 1
    clock(1015.0)
    assert left(studio, ann, dataset.id) == Decimal("0.6")


# Releases


def test_a_release_of_a_curator_is_reviewed_published_and_withheld(
    studio: Studio, dataset: Dataset, cora: Visitor, ann: Visitor
) -> None:
    job = studio.jobs.ask(cora, dataset=dataset.id, family="counts", asked=REQUEST, title="Teas")
    _ended(studio, job.id)
    (release,) = studio.releases.listed(cora)
    assert (release.state, release.title, release.dataset_name, release.owner_name) == (
        "review",
        "Teas",
        "visits",
        "cora",
    )
    assert studio.jobs.get(cora, job.id).outcome == {"release": release.id}
    assert studio.releases.folder_of(release) == studio.settings.releases / job.id
    with pytest.raises(UnknownNameError):
        studio.releases.get(ann, release.id)
    with pytest.raises(NotAllowedError):
        studio.releases.publish(ann, release.id)
    assert studio.releases.publish(cora, release.id).state == "published"
    assert studio.releases.get(ann, release.id).title == "Teas"
    with pytest.raises(NotAllowedError):
        studio.releases.retitle(ann, release.id, title="Mine")
    assert studio.releases.retitle(cora, release.id, title="Tea", note="Of March.").note == "Of March."
    studio.releases.withhold(cora, release.id)
    with pytest.raises(UnknownNameError):
        studio.releases.get(ann, release.id)


def test_an_analysts_charged_releases_are_their_own(
    studio: Studio, dataset: Dataset, ann: Visitor, cora: Visitor, clock: Callable[[float], None]
) -> None:
    job = studio.jobs.ask(ann, dataset=dataset.id, family="counts", asked=REQUEST)
    _ended(studio, job.id)
    clock(2000.0)
    (release,) = studio.releases.listed(ann)
    assert (release.state, studio.releases.of_job(ann, job.id)) == ("own", release)
    assert studio.releases.retitle(ann, release.id, title="Mine").title == "Mine"
    assert studio.releases.listed(who(studio, "bob")) == []
    studio.releases.publish(cora, release.id)
    assert [release_row.id for release_row in studio.releases.listed(who(studio, "bob"))] == [release.id]
