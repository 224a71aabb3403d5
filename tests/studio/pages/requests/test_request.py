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
        made = Studio(Settings(folder / "desk", limits=Limits(step_seconds=0.0)))
        people(made)
        (made.settings.files / "visits.csv").write_text(ROWS, encoding="utf-8")
        cora, ann = (visitor_of(made, name) for name in ("cora", "ann"))
        known: dict[str, Any] = {"user": "person", "item": "venue", "items": ["tea", "rye", "oat"]}
        opened, hidden = (
            made.datasets.register(
                cora, name=name, source={"files": ["visits.csv"]}, flags=known, about="Three places."
            )
            for name in ("visits", "secret-visits")
        )
        for each in (opened, hidden):
            made.datasets.open(cora, each.id, epsilon="10")
        made.datasets.allow(cora, opened.id, ann.id or "", "2")
        yield Desk(made, opened.id, hidden.id)
        made.stop()


@pytest.fixture(autouse=True)
def _own_ledger() -> None:
    """Leave the key where the studio of this module has it."""


@pytest.fixture
def studio(desk: Desk) -> Studio:
    """The studio that browsers open."""
    return desk.studio


Client = Callable[..., Browser]


def test_price_and_error_are_seen_then_it_is_paid_run_and_seen(desk: Desk, client: Client) -> None:
    ann = client("ann")
    page = ann.get("/ask").text
    assert "2 left" in page
    assert "secret-visits" not in page
    asking = ann.get(f"/ask/{desk.dataset}?family=rankings").text
    assert "Ask, and pay" in asking
    said = {"family": "rankings", "epsilon": "2", "k": "2"}
    outlook = ann.post(f"/ask/{desk.dataset}/outlook", data=said).text
    for words in ("ε = 2", "charged to visits by ann", "ε = 2, before this", "Nothing was read or charged"):
        assert words in outlook
    too_much = ann.post(f"/ask/{desk.dataset}/outlook", data={**said, "epsilon": "2.5"}).text
    assert "beyond the budget; of your own, ε = 2 is left" in too_much
    refused = ann.post(f"/ask/{desk.dataset}", data={**said, "epsilon": "2.5"})
    assert refused.status_code == 409
    assert "beyond the budget; of your own, ε = 2 is left" in refused.text
    sent = ann.post(f"/ask/{desk.dataset}", data={**said, "title": "The best two"})
    assert sent.status_code == 303, sent.text
    run = sent.headers["location"]
    assert "It runs" in ann.get(run).text  # whether it waits or runs is not told
    assert desk.studio.work.once()
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
    again = ann.post(f"/ask/{desk.dataset}/outlook", data=said).text  # the very same was paid for already
    assert "nothing: published already in this studio" in again


def test_what_is_not_open_to_somebody_is_unknown_to_them(desk: Desk, client: Client) -> None:
    said = {"family": "rankings", "epsilon": "1", "k": "2"}
    for who, dataset in (("bob", desk.dataset), ("ann", desk.secret), ("ann", "0" * 32)):
        browser = client(who)
        assert browser.get(f"/ask/{dataset}").status_code == 404
        assert browser.post(f"/ask/{dataset}/outlook", data=said).status_code == 404
        assert browser.post(f"/ask/{dataset}", data=said).status_code == 404
    assert "No dataset is open to you" in client("bob").get("/ask").text


def test_a_wrong_field_is_told_beside_it_and_nothing_is_asked(desk: Desk, client: Client) -> None:
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


def test_how_far_off_it_will_be_is_told_before_paying(desk: Desk, client: Client) -> None:
    """From figures that somebody types in, or from a release that they may see; never from another's."""
    ann, figures = (
        client("ann"),
        {"users": "600", "items": "3", "median": "1", "max": "1", "k": "2", "epsilon": "1"},
    )
    assert "How far off will it be?" in ann.get(f"/ask/{desk.dataset}").text
    told = ann.post(f"/ask/{desk.dataset}/forecast", data=figures).text
    assert "The top 2" in told
    by_context = ann.post(f"/ask/{desk.dataset}/forecast", data={**figures, "contexts": "7"}).text
    assert "The top 2" in by_context  # a figure, not how the log is read
    for name, size in (("Items", "1000001"), ("K", "1001")):
        large = ann.post(f"/ask/{desk.dataset}/forecast", data={**figures, name.lower(): size}).text
        assert re.search(rf"{name}.* must be at most", large)
        assert "The top" not in large
    assert "Usual error of a count" in told
    made = desk.studio.jobs.ask(
        visitor_of(desk.studio, "cora"), dataset=desk.dataset, family="counts", asked={"epsilon": "1"}
    )
    assert desk.studio.work.once()
    outcome = desk.studio.jobs.get(visitor_of(desk.studio, "cora"), made.id).outcome or {}
    release = {"activity": outcome["release"], "k": "2", "epsilon": "1"}
    assert "Usual error of a count" not in ann.post(f"/ask/{desk.dataset}/forecast", data=release).text
    desk.studio.releases.publish(visitor_of(desk.studio, "cora"), outcome["release"])
    assert f'value="{outcome["release"]}" selected' in ann.get(f"/ask/{desk.dataset}").text
    assert "Usual error of a count" in ann.post(f"/ask/{desk.dataset}/forecast", data=release).text
