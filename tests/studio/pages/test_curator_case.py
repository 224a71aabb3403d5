"""The curator's story, from a file to what is published, as a browser sends it; and each error on the way."""

import html
import re
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from headcount.studio.access import Role
from headcount.studio.settings import Settings
from headcount.studio.store.releases import StoredRelease
from headcount.studio.studio import Studio
from tests.studio.conftest import Browser, people

LOG = "person,venue,at\n" + "".join(
    f"u{number},{('tea', 'rye', 'oat')[number % 5 % 3]},2026-03-{number % 28 + 1:02d}T10:00:00\n"
    for number in range(300)
)
CATALOGUE = "id,name\ntea,Tea house\nrye,Rye bakery\noat,Oat bar\n"


_NUMBERS = count()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One studio for all of these: processes that look are warm once."""
    folder = tmp_path_factory.mktemp("curating")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADCOUNT_LEDGER_KEY", str(folder / "ledger.key"))
        patch.setenv("HEADCOUNT_LEDGER_ANCHOR", str(folder / "ledger.anchor"))
        studio = Studio(Settings(folder / "desk"))
        people(studio)
        yield studio
        studio.stop()


@pytest.fixture(autouse=True)
def _own_ledger() -> None:
    """Leave the key where the studio of this module has it."""


@pytest.fixture
def studio(desk: Studio) -> Studio:
    """The studio that browsers open."""
    return desk


@pytest.fixture
def cora(client: Callable[[Any], Browser]) -> Browser:
    """A curator's browser."""
    return client(Role.CURATOR)


def uploaded(cora: Browser, name: str, text: str, to: str = "/datasets/new") -> str:
    """Upload a file as the page does, and return how the studio names it."""
    sent = cora.post("/uploads", files={"file": (name, text.encode())}, data={"next": to})
    assert sent.status_code == 303, sent.text
    return str(sent.headers["location"].partition("file=")[2])


def registered(cora: Browser, **more: str) -> str:
    """Register a dataset from an uploaded log, and return its address."""
    file = uploaded(cora, "visits.csv", LOG)
    name = f"visits-{next(_NUMBERS)}"
    form = {"name": name, "reads": "events", "file": file, "about": "Visits to three places."} | more
    sent = cora.post("/datasets", data=form)
    assert sent.status_code == 303, sent.text
    return str(sent.headers["location"].removesuffix("/columns"))


def mapped(cora: Browser, at: str, **more: str) -> None:
    """Say what the columns mean."""
    form = {"user": "person", "item": "venue", "context": "weekday:at"} | more
    sent = cora.post(f"{at}/columns", data=form)
    assert sent.headers.get("location") == f"{at}/public", sent.text


def opened(cora: Browser, epsilon: str = "3") -> str:
    """Take a dataset through all steps, and return its address."""
    at = registered(cora)
    mapped(cora, at)
    sent = cora.post(f"{at}/public", data={"items": "tea\nrye\noat"})
    assert sent.headers.get("location") == f"{at}/budget", sent.text
    sent = cora.post(f"{at}/budget", data={"epsilon": epsilon})
    assert sent.headers.get("location") == at, sent.text
    return at


def words(text: str) -> str:
    """Return what a page says, without its marks."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def ran(cora: Browser, at: str, **fields: str) -> str:
    """Ask for a release, have it made, and return the address of the run."""
    sent = cora.post(f"{at}/plan", data={"family": "counts", "epsilon": "1"} | fields)
    assert sent.status_code == 303, words(sent.text)
    assert cora.studio.work.run_next()
    return str(sent.headers["location"])


def released(cora: Browser, at: str) -> StoredRelease:
    """Return the one release of a dataset."""
    (release,) = cora.studio.releases.listed(cora.visitor(), dataset=at.rpartition("/")[2])
    return release


def test_from_an_upload_to_what_is_published(cora: Browser, client: Callable[[Any], Browser]) -> None:
    at = registered(cora)
    page = words(cora.get(f"{at}/columns").text)
    assert "person who text" in page  # what the column seems to say
    assert "u0 · u1 · u2" in page
    assert 'value="weekday:at"' in cora.get(f"{at}/columns").text
    mapped(cora, at)

    file = uploaded(cora, "venues.csv", CATALOGUE, f"{at}/public")
    assert f'<option value="{file}" selected>' in cora.get(f"{at}/public?file={file}").text
    sent = cora.post(f"{at}/public", data={"items.file": file, "items.columns": "id,name"})
    assert sent.headers.get("location") == f"{at}/budget", words(sent.text)
    assert cora.post(f"{at}/budget", data={"epsilon": "3", "per_analyst": "1"}).status_code == 303
    assert "ε = 0 of 3 spent" in words(cora.get(at).text)

    form = {"family": "counts", "epsilon": "1", "shown": ""}
    outlook = words(cora.post(f"{at}/plan/outlook", data=form).text)
    assert "factor of at most e^1" in outlook
    assert re.search(r"ε = 1, charged to visits-\d+ by cora", outlook)
    assert "3 item counts and 24 item-by-context counts" in outlook

    run = ran(cora, at, title="Visits by weekday")
    done = cora.get(f"{run}/progress").text
    assert "It is done" in done
    review = re.search(r'href="(/releases/\w+/review)"', done)
    assert review is not None
    ann = client(Role.ANALYST)
    assert ann.get(review[1].removesuffix("/review")).status_code == 404  # until it is published
    shown = words(cora.get(review[1]).text)
    assert "Tea house" in shown
    assert "in review" in shown
    sent = cora.post(review[1], data={"title": "By weekday", "note": "For everybody.", "decision": "publish"})
    assert sent.headers["location"] == review[1].removesuffix("/review")
    release = cora.studio.releases.get(ann.visitor(), review[1].split("/")[2])
    assert (release.title, release.note, release.state) == ("By weekday", "For everybody.", "published")
    assert "ε = 1 of 3 spent, 2 left" in words(cora.get(f"{at}/budget").text)
    assert "no problem found" in words(cora.post("/budgets/verify").text)


def test_analysts_get_amounts_of_their_own(cora: Browser, client: Callable[[Any], Browser]) -> None:
    at = opened(cora)
    ann = client("ann").visitor()
    cora.post(f"{at}/members", data={"person": ann.id, "epsilon": "0.5"})
    assert "ann ε = 0.5" in words(cora.get(f"{at}/budget").text)
    assert at.rpartition("/")[2] in [dataset.id for dataset in cora.studio.datasets.listed(ann)]
    cora.post(f"{at}/members/{ann.id}/dismiss")
    assert at.rpartition("/")[2] not in [dataset.id for dataset in cora.studio.datasets.listed(ann)]
    wrong = cora.post(f"{at}/members", data={"person": ann.id, "epsilon": "a lot"})
    assert wrong.status_code == 400
    assert "a lot" in wrong.text


@pytest.mark.slow
def test_a_check_tells_the_curator_what_would_not_count(cora: Browser) -> None:
    at = registered(cora)
    mapped(cora, at)
    cora.post(f"{at}/public", data={"items": "tea\nrye"})
    run = cora.post(f"{at}/check").headers["location"]
    assert cora.studio.work.run_next()
    page = words(cora.get(run).text)
    assert "Not everything counts" in page
    assert "Not private" in page


# Errors that people meet


def test_a_wrong_file(cora: Browser) -> None:
    refused = cora.post("/uploads", files={"file": ("visits.exe", b"MZ")}, data={"next": "/datasets/new"})
    assert refused.status_code == 400
    assert "files of this kind are not taken" in words(refused.text).lower()
    file = uploaded(cora, "visits.parquet", "this is no Parquet")
    response = cora.post("/datasets", data={"name": "broken", "reads": "events", "file": file})
    page = cora.get(response.headers["location"])
    assert page.status_code == 400
    assert "visits.parquet" in words(page.text)


def test_no_file_and_a_name_that_is_taken(cora: Browser) -> None:
    nothing = cora.post("/datasets", data={"name": "visits", "reads": "events"})
    assert nothing.status_code == 400
    assert "no file is named" in words(nothing.text).lower()
    file = uploaded(cora, "visits.csv", LOG)
    cora.post("/datasets", data={"name": "taken", "reads": "events", "file": file})
    taken = cora.post("/datasets", data={"name": "taken", "reads": "events", "file": file})
    assert taken.status_code == 409


def test_an_unknown_column(cora: Browser) -> None:
    at = registered(cora)
    sent = cora.post(f"{at}/columns", data={"user": "whom", "item": "venue"})
    assert sent.status_code == 400
    assert "column must be one of person, venue, at" in words(sent.text)
    assert cora.studio.datasets.get(cora.visitor(), at.rpartition("/")[2]).flags == {}


def test_a_catalogue_without_such_a_column(cora: Browser) -> None:
    at = registered(cora)
    mapped(cora, at)
    file = uploaded(cora, "venues.csv", CATALOGUE)
    sent = cora.post(f"{at}/public", data={"items.file": file, "items.columns": "key"})
    assert sent.status_code in (400, 404)
    assert "key" in words(sent.text)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"epsilon": "0"}, "epsilon must be a positive number"),
        ({"epsilon": ""}, "ε (epsilon) is needed"),
        ({"epsilon": "1", "method": "sra"}, "Limit is needed"),
        ({"epsilon": "1", "noise": "gaussian"}, "noise gaussian needs delta"),
    ],
)
def test_a_request_that_cannot_be(cora: Browser, fields: dict[str, str], message: str) -> None:
    at = opened(cora)
    sent = cora.post(f"{at}/plan", data={"family": "counts"} | fields)
    assert sent.status_code == 400
    assert message in words(sent.text)
    assert message in words(cora.post(f"{at}/plan/outlook", data={"family": "counts"} | fields).text)
    assert cora.studio.jobs.listed(cora.visitor(), dataset=at.rpartition("/")[2]) == []


def test_a_budget_that_is_exhausted(cora: Browser) -> None:
    at = opened(cora, "0.5")
    outlook = words(cora.post(f"{at}/plan/outlook", data={"family": "counts", "epsilon": "1"}).text)
    assert "costs ε = 1" in outlook
    sent = cora.post(f"{at}/plan", data={"family": "counts", "epsilon": "1"})
    assert sent.status_code == 409
    assert "costs ε = 1" in words(sent.text)
    assert "ε = 0 of 0.5 spent" in words(cora.get(at).text)


def test_a_run_that_is_cancelled_while_it_waits_costs_nothing(cora: Browser) -> None:
    at = opened(cora)
    run = cora.post(f"{at}/plan", data={"family": "counts", "epsilon": "1"}).headers["location"]
    assert "every 1s" in cora.get(run).text
    assert cora.post(f"{run}/cancel").status_code == 303
    page = cora.get(run).text
    assert "It was cancelled" in page
    assert "every 1s" not in page
    assert "nothing was charged" in words(page).lower()
    assert not cora.studio.work.run_next()
    again = cora.post(f"{run}/again")
    assert again.status_code == 303
    assert again.headers["location"] != run
    cora.post(f"{again.headers['location']}/cancel")


# Plans


def test_a_table_of_users_is_queried_with_bins_and_statements(cora: Browser) -> None:
    rows = "id,age,town\n" + "".join(f"{number},{number % 90},Rome\n" for number in range(50))
    file = uploaded(cora, "people.csv", rows)
    sent = cora.post("/datasets", data={"name": "people", "reads": "people", "file": file})
    at = sent.headers["location"].removesuffix("/columns")
    assert cora.post(f"{at}/columns", data={"user": "id"}).headers["location"] == f"{at}/budget"
    assert cora.post(f"{at}/budget", data={"epsilon": "1"}).status_code == 303
    form = {"epsilon": "1", "bins": "[age]\nedges = [0, 18, 65, 120]", "queries": "SELECT COUNT(*) FROM people"}
    assert "1 answer" in words(cora.post(f"{at}/plan/outlook", data=form).text)
    broken = cora.post(f"{at}/plan", data={**form, "bins": "[age"})
    assert broken.status_code == 400
    assert "this is not TOML" in words(broken.text)


def test_a_budget_whose_times_no_release_could_read(cora: Browser) -> None:
    at = registered(cora)
    form = {"epsilon": "1", "window": "1w", "time": "at", "timezone": "Nowhere/Town"}
    sent = cora.post(f"{at}/budget", data=form)
    assert sent.status_code in (400, 404)
    assert "Nowhere/Town" in words(sent.text)
    assert cora.studio.datasets.account(cora.visitor(), at.rpartition("/")[2]) is None


def test_another_method_brings_its_fields(cora: Browser) -> None:
    at = opened(cora)
    form = {"family": "counts", "epsilon": "1", "method": "dpsense", "shown": ""}
    part = cora.post(f"{at}/plan/outlook", data=form).text
    assert 'id="plan-fields" hx-swap-oob="true"' in part
    assert 'name="options.repeats"' in part
    assert 'name="limit"' not in part
    same = cora.post(f"{at}/plan/outlook", data={**form, "shown": "dpsense"}).text
    assert "plan-fields" not in same


def test_a_forecast_from_public_figures(cora: Browser) -> None:
    at = opened(cora)
    figures = {"users": "5000", "items": "50", "median": "3", "max": "30", "k": "5", "epsilon": "1"}
    forecast = words(cora.post(f"{at}/plan/forecast", data=figures).text)
    assert re.search(r"about \d of 5 will be right", forecast)
    assert "adaptive" in forecast
    missing = words(cora.post(f"{at}/plan/forecast", data={"k": "5", "epsilon": "1"}).text)
    assert "users is missing" in missing.lower()


@pytest.mark.slow
def test_a_forecast_from_a_release_which_is_then_withheld(cora: Browser) -> None:
    at = opened(cora)
    ran(cora, at)
    release = released(cora, at)
    assert f'<option value="{release.id}" selected>' in cora.get(f"{at}/plan").text
    forecast = words(
        cora.post(f"{at}/plan/forecast", data={"activity": release.id, "k": "2", "epsilon": "1"}).text
    )
    assert re.search(r"about \d of 2 will be right", forecast)
    cora.post(f"/releases/{release.id}/review", data={"title": "x", "note": "Too noisy.", "decision": "withhold"})
    held = released(cora, at)
    assert (held.state, held.note) == ("withheld", "Too noisy.")


# The lab


def test_the_lab_is_marked_as_not_private(cora: Browser) -> None:
    page = cora.get("/lab")
    assert page.status_code == 200
    assert page.text.count("not private") >= 3
    wrong = cora.post("/lab/audit", data={"method": "nothing", "epsilon": "1", "limit": "2"})
    assert wrong.status_code in (400, 404)


@pytest.mark.slow
def test_an_audit_runs_and_is_marked_as_not_private(cora: Browser) -> None:
    run = cora.post("/lab/audit", data={"method": "sra", "epsilon": "1", "limit": "2", "replay": "true"})
    assert run.status_code == 303, words(run.text)
    assert cora.studio.work.run_next()
    done = words(cora.get(run.headers["location"]).text)
    assert "Not private" in done
    assert "It is done" in done


@pytest.mark.slow
def test_a_comparison_writes_a_page_that_is_shown_in_a_sandbox(
    cora: Browser, client: Callable[[Any], Browser]
) -> None:
    at = opened(cora)
    form = {"what": "counts", "methods": "sra,lpa", "epsilon": "1", "limits": "1", "runs": "2"}
    run = cora.post("/lab/compare", data={"dataset": at.rpartition("/")[2], **form})
    assert run.status_code == 303, words(run.text)
    assert cora.studio.work.run_next()
    at_run = run.headers["location"]
    assert "Open the page" in words(cora.get(at_run).text)
    page = cora.get(f"{at_run}/page")
    assert page.headers["content-security-policy"].startswith("sandbox allow-scripts; default-src 'none'")
    assert "NOT PRIVATE" in page.text.upper()
    assert client(Role.ANALYST).get(f"{at_run}/page").status_code == 403


def test_pages_show_user_input_as_text(cora: Browser) -> None:
    at = registered(cora, about="<script>alert(1)</script>")
    assert "<script>alert" not in cora.get(at).text
    assert "&lt;script&gt;" in cora.get(at).text


def test_every_page_of_a_curator_opens(cora: Browser) -> None:
    at = opened(cora)
    for address in (
        "/datasets",
        "/datasets/new",
        "/budgets",
        "/runs",
        "/lab",
        at,
        f"{at}/columns",
        f"{at}/public",
    ):
        assert cora.get(address).status_code == 200, address
    for family in ("counts", "totals", "rankings", "neighbours"):
        assert cora.get(f"{at}/plan?family={family}").status_code == 200, family
    assert cora.get(f"{at}/plan?family=tags").status_code == 404


def test_a_file_of_more_rows_than_are_looked_at_is_registered(cora: Browser) -> None:
    """Text does not say how many rows it has, so the page states how many were looked at."""
    rows = "".join(f"u{number % 999},{('tea', 'rye')[number % 2]},{'x' * 40}\n" for number in range(500_000))
    file = uploaded(cora, "long.csv", "person,venue,note\n" + rows)
    sent = cora.post("/datasets", data={"name": "long", "reads": "events", "file": file, "about": ""})
    page = cora.get(sent.headers["location"])
    assert page.status_code == 200, page.text
    assert re.search(r"The first \d\d\d,\d\d\d rows were looked at\.", page.text)
    at = sent.headers["location"].removesuffix("/columns")
    kept = cora.post(f"{at}/columns", data={"user": "person", "item": "venue"})
    assert kept.headers.get("location") == f"{at}/public", kept.text
    assert cora.get(f"/api/v1{at}/preview").json()["rows"] is None


@pytest.mark.slow
def test_the_notation_of_numbers_is_guessed_kept_and_checked(cora: Browser) -> None:
    rows = "".join(f"u{n};tea;{n % 3 + 1}.234,5{n % 10}\n" for n in range(50))
    file = uploaded(cora, "till.csv", f"person;venue;paid\n{rows}")
    form = {"name": f"till-{next(_NUMBERS)}", "reads": "events", "file": file, "about": "A till."}
    at = str(cora.post("/datasets", data=form).headers["location"].removesuffix("/columns"))
    page = cora.get(f"{at}/columns").text
    assert re.search(r'<textarea[^>]*name="decimal"[^>]*>,</textarea>', page)
    assert re.search(r'<textarea[^>]*name="thousands"[^>]*>\.</textarea>', page)
    how = {"user": "person", "item": "venue", "delimiter": ";", "value": "paid", "value_range": "0,9000"}
    sent = cora.post(f"{at}/columns", data={**how, "decimal": ",", "thousands": "."})
    assert sent.headers.get("location") == f"{at}/public", sent.text
    cora.post(f"{at}/public", data={"items": "tea"})
    run = cora.post(f"{at}/check").headers["location"]
    assert cora.studio.work.run_next()
    assert "Everything counts: 50 records" in words(cora.get(run).text)
