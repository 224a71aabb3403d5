"""An analyst's story: from a budget of one's own to a ranking that was paid for; and having none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from headcount.studio.settings import Limits, Settings
from headcount.studio.studio import Studio
from tests.studio.conftest import Browser, people
from tests.studio.support.releases import visitor_of

ROWS = "person,venue\n" + "".join(f"u{n},{('tea', 'rye', 'oat')[n % 5 % 3]}\n" for n in range(600))


@dataclass
class Desk:
    """A studio with an open dataset, on which ann may spend ε = 2 and bob nothing yet."""

    studio: Studio
    dataset: str
    secret: str


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One for all of these: processes that look are warm once. What was paid for is shown at once."""
    folder = tmp_path_factory.mktemp("asking")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADCOUNT_LEDGER_KEY", str(folder / "ledger.key"))
        patch.setenv("HEADCOUNT_LEDGER_ANCHOR", str(folder / "ledger.anchor"))
        studio = Studio(Settings(folder / "desk", limits=Limits(step_seconds=0.0)))
        people(studio)
        (studio.settings.files / "visits.csv").write_text(ROWS, encoding="utf-8")
        cora, ann = (visitor_of(studio, name) for name in ("cora", "ann"))
        flags: dict[str, Any] = {"user": "person", "item": "venue", "items": ["tea", "rye", "oat"]}
        opened, hidden = (
            studio.datasets.register(
                cora, name=name, source={"files": ["visits.csv"]}, flags=flags, about="Three places."
            )
            for name in ("visits", "secret-visits")
        )
        for dataset in (opened, hidden):
            studio.datasets.open(cora, dataset.id, epsilon="10")
        studio.datasets.allow(cora, opened.id, ann.id or "", "2")
        yield Desk(studio, opened.id, hidden.id)
        studio.stop()


@pytest.fixture(autouse=True)
def _own_ledger() -> None:
    """Leave the key where the studio of this module has it."""


@pytest.fixture
def studio(desk: Desk) -> Studio:
    """The studio that browsers open."""
    return desk.studio


Client = Callable[..., Browser]


def test_cost_and_error_are_shown_before_the_request_is_charged_and_run(desk: Desk, client: Client) -> None:
    ann = client("ann")
    page = ann.get("/ask").text
    assert "2 left" in page
    assert "secret-visits" not in page
    asking = ann.get(f"/ask/{desk.dataset}?family=rankings").text
    assert "Ask, and pay" in asking
    form = {"family": "rankings", "epsilon": "2", "k": "2"}
    outlook = ann.post(f"/ask/{desk.dataset}/outlook", data=form).text
    for words in ("ε = 2", "charged to visits by ann", "ε = 2, before this", "Nothing was read or charged"):
        assert words in outlook
    too_much = ann.post(f"/ask/{desk.dataset}/outlook", data={**form, "epsilon": "2.5"}).text
    assert "beyond the budget; of your own, ε = 2 is left" in too_much
    refused = ann.post(f"/ask/{desk.dataset}", data={**form, "epsilon": "2.5"})
    assert refused.status_code == 409
    assert "beyond the budget; of your own, ε = 2 is left" in refused.text
    sent = ann.post(f"/ask/{desk.dataset}", data={**form, "title": "The best two"})
    assert sent.status_code == 303, sent.text
    run = sent.headers["location"]
    assert "It runs" in ann.get(run).text  # whether it waits or runs is not told
    assert desk.studio.work.run_next()
    done = ann.get(run).text
    assert "Open the release" in done
    (release,) = desk.studio.releases.listed(ann.visitor())
    assert f"/releases/{release.id}" in done
    best = ann.get(f"/releases/{release.id}").text
    assert "The best two" in best
    assert ">tea<" in best
    assert client("bob").get(f"/releases/{release.id}").status_code == 404
    assert client("bob").get(run).status_code == 404
    assert "used up" in ann.get("/ask").text
    assert "used up" in ann.get(f"/ask/{desk.dataset}").text
    again = ann.post(f"/ask/{desk.dataset}/outlook", data=form).text  # the very same was paid for already
    assert "nothing: published already in this studio" in again


def test_an_inaccessible_dataset_does_not_exist(desk: Desk, client: Client) -> None:
    form = {"family": "rankings", "epsilon": "1", "k": "2"}
    for who, dataset in (("bob", desk.dataset), ("ann", desk.secret), ("ann", "0" * 32)):
        browser = client(who)
        assert browser.get(f"/ask/{dataset}").status_code == 404
        assert browser.post(f"/ask/{dataset}/outlook", data=form).status_code == 404
        assert browser.post(f"/ask/{dataset}", data=form).status_code == 404
    assert "No dataset is open to you" in client("bob").get("/ask").text


def test_a_wrong_field_is_reported_beside_it_and_nothing_is_requested(desk: Desk, client: Client) -> None:
    ann = client("ann")
    before = len(desk.studio.jobs.listed(ann.visitor()))
    sent = ann.post(f"/ask/{desk.dataset}", data={"family": "rankings", "epsilon": "-1", "k": "two"})
    assert sent.status_code == 400
    assert "aria-invalid" in sent.text
    for reading in ({"where": "venue = tea"}, {"context": "venue"}, {"count": "users"}):
        ann.post(f"/ask/{desk.dataset}", data={"family": "rankings", "epsilon": "", "k": "2", **reading})
    assert len(desk.studio.jobs.listed(ann.visitor())) == before
    unknown = ann.get(f"/ask/{desk.dataset}?family=tags")
    assert unknown.status_code == 404


def test_curators_ask_where_they_plan(desk: Desk, client: Client) -> None:
    cora = client("cora")
    assert cora.get("/ask").headers["location"] == "/datasets"
    assert cora.get(f"/ask/{desk.dataset}").headers["location"] == f"/datasets/{desk.dataset}/plan"


def test_the_expected_error_is_shown_before_charging(desk: Desk, client: Client) -> None:
    """From figures that somebody types in, or from a release that they may see; never from another's."""
    ann, figures = (
        client("ann"),
        {"users": "600", "items": "3", "median": "1", "max": "1", "k": "2", "epsilon": "1"},
    )
    assert "How far off will it be?" in ann.get(f"/ask/{desk.dataset}").text
    forecast = ann.post(f"/ask/{desk.dataset}/forecast", data=figures).text
    assert "The top 2" in forecast
    by_context = ann.post(f"/ask/{desk.dataset}/forecast", data={**figures, "contexts": "7"}).text
    assert "The top 2" in by_context  # a figure, not how the log is read
    for name, size in (("Items", "1000001"), ("K", "1001")):
        large = ann.post(f"/ask/{desk.dataset}/forecast", data={**figures, name.lower(): size}).text
        assert re.search(rf"{name}.* must be at most", large)
        assert "The top" not in large
    assert "Usual error of a count" in forecast
    job = desk.studio.jobs.ask(
        visitor_of(desk.studio, "cora"), dataset=desk.dataset, family="counts", asked={"epsilon": "1"}
    )
    assert desk.studio.work.run_next()
    outcome = desk.studio.jobs.get(visitor_of(desk.studio, "cora"), job.id).outcome or {}
    release = {"activity": outcome["release"], "k": "2", "epsilon": "1"}
    assert "Usual error of a count" not in ann.post(f"/ask/{desk.dataset}/forecast", data=release).text
    desk.studio.releases.publish(visitor_of(desk.studio, "cora"), outcome["release"])
    assert f'value="{outcome["release"]}" selected' in ann.get(f"/ask/{desk.dataset}").text
    assert "Usual error of a count" in ann.post(f"/ask/{desk.dataset}/forecast", data=release).text
