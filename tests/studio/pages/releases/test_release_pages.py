"""What people see of a release: every page of every kind, for whom it is, and with names that mean mischief."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from io import BytesIO
from unittest import mock
from urllib.parse import quote

import pytest

from headcount.methods.registry import FAMILIES, family_releasing
from headcount.releases.release import Release
from headcount.reports import page
from headcount.studio.services import charts
from headcount.studio.services.exploration import views
from headcount.studio.services.exploration.opened_release import OpenedRelease
from headcount.studio.studio import Studio
from tests.reports.conftest import make, make_adaptive, make_ranking
from tests.seeded.running import release_of
from tests.studio.conftest import Browser
from tests.studio.services.exploration.test_families import case_per_method
from tests.studio.support.releases import put

Client = Callable[..., Browser]
DAYS = ("Monday", "Friday")
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;{{ 7 * 7 }}"


class Links(HTMLParser):
    """Collect the links of a page, and what should not be in it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.strange: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        held = dict(attrs)
        self.links += [value for name, value in attrs if name in ("href", "hx-get") and value]
        self.strange += [name for name in held if name.startswith("on") or name == "style"]
        if tag == "script" and "src" not in held and held.get("type") != "application/json":
            self.strange.append("script")
        if tag in ("style", "img") and not (held.get("src") or "").startswith("/static/"):
            self.strange.append(tag)


def walk(browser: Browser, begin: str, most: int = 60) -> dict[str, str]:
    """Follow all links from a page that stay below it, and see that each leads to a page."""
    texts: dict[str, str] = {}
    waiting = [begin]
    while waiting and len(texts) < most:
        address = waiting.pop(0)
        if address in texts:
            continue
        answer = browser.get(address)
        assert answer.status_code == 200, (address, answer.text[:2000])
        texts[address] = answer.text if answer.headers["content-type"].startswith("text/html") else ""
        if texts[address]:
            page = Links(texts[address])
            assert not page.strange, (address, page.strange)
            waiting += [link for link in page.links if link.startswith(begin)]
    return texts


RELEASES: dict[str, Release] = {
    "items": make(),
    "items and contexts": make(contexts=DAYS),
    "contexts alone": make(contexts=DAYS, only="edges"),
    "adaptive": make_adaptive(contexts=DAYS),
    "ranking": make_ranking(),
    "rankings with counts": make_ranking(contexts=DAYS, counts=True),
    "nothing": make(items=[], contexts=DAYS),
    "mischief": make(
        items=[EVIL, "..", "", "a/../b", "=1+1", "a b?c#d%2e"], labels=[EVIL] * 6, contexts=[EVIL, "Friday"]
    ),
    "not private": make(simulated=True),
}


@pytest.fixture
def undrawn() -> Iterator[None]:
    """Let charts be compiled to nothing: that takes its time, and tests of charts see to it."""
    empty = {page.vega_of: {"description": ""}, page.png_of: b""}
    with mock.patch.object(charts, "_CHART_PROCESS", side_effect=lambda draw, *_, **__: empty[draw]):
        yield


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("name", RELEASES)
def test_every_page_of_a_release_leads_somewhere(name: str, studio: Studio, client: Client) -> None:
    release = RELEASES[name]
    key = put(studio, release, title=EVIL[:120], note=EVIL)
    pages = walk(client("analyst"), f"/releases/{key}")
    wanted = {"/promise", "/downloads", *(f"/{view.address}" for view in views.views(OpenedRelease(release)))}
    assert {f"/releases/{key}{suffix}" for suffix in wanted} <= {suffix.partition("?")[0] for suffix in pages}
    if name == "mischief":
        assert sum("/items" in address for address in pages) >= 6
        assert all("{{ 7" in text or "49" not in text for text in pages.values() if EVIL[:9] in text)
    if name == "not private":
        assert all("Not private" in text for text in pages.values() if "<h1>" in text)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("family", FAMILIES)
def test_a_release_of_every_family_has_its_pages(family: str, studio: Studio, client: Client) -> None:
    cases = [
        (len(tables), name)
        for name, tables in ((name, name.partition(": ")[2].split(", ")) for name in case_per_method())
        if getattr(family_releasing(dict.fromkeys(tables)), "name", "") == family
    ]
    case = case_per_method()[max(cases)[1]]
    key = put(studio, release_of(case, case.engines[0]), family=family)
    assert len(walk(client("analyst"), f"/releases/{key}", most=40)) > 5


def test_a_search_as_one_types_gets_the_rows_alone(studio: Studio, client: Client) -> None:
    key = put(studio, make(contexts=DAYS))
    browser = client("analyst")
    part = browser.get(f"/releases/{key}?q=venue+v1", headers={"hx-request": "true", "hx-target": "browse"}).text
    assert "11 of 30 rows" in part
    assert "<html" not in part
    friday = browser.get(f"/releases/{key}?context=friday&q=v7", headers={"hx-target": "browse"}).text
    assert "Venue v7" in friday
    assert "208" in friday  # 625 / 3
    by_name = browser.get(f"/releases/{key}?sort=item&order=down", headers={"hx-target": "browse"}).text
    assert by_name.index("Venue v9") < by_name.index("Venue v8")


def test_more_rows_come_when_one_gets_there(studio: Studio, client: Client) -> None:
    key = put(studio, make(items=[f"i{n}" for n in range(120)]))
    browser = client("analyst")
    (following,) = re.findall(r'id="following" hx-get="([^"]+)"', browser.get(f"/releases/{key}?q=venue").text)
    rows = browser.get(following.replace("&amp;", "&"), headers={"hx-target": "following"}).text
    assert rows.count("<tr") == 51
    assert "<table" not in rows
    assert 'id="following"' in rows


def test_what_is_not_published_is_unknown_to_all_others(studio: Studio, client: Client) -> None:
    hidden = put(studio, make(contexts=DAYS), state="review")
    own = put(studio, make(contexts=DAYS), state="own", owner="ann")
    below = ["", "/rows", "/promise", "/downloads", "/heat", "/contexts", "/items/v1", "/charts/ranking"]
    below += ["/downloads/release.zip", "/downloads/tables/items.csv", "/downloads/charts/ranking.png", "/related"]
    for key, who in ((hidden, "ann"), (own, "bob"), (hidden, "bob")):
        for address in below:
            answer = client(who).get(f"/releases/{key}{address}")
            assert answer.status_code == 404, address
        browser = client(who)
        nowhere = browser.get("/releases/" + "0" * 32).text
        assert browser.get(f"/releases/{key}").text == nowhere
        assert client(who).get(f"/compare?first={key}&second={key}").status_code == 404
        assert key not in client(who).get("/releases").text
    assert client("ann").get(f"/releases/{own}").status_code == 200
    assert client("cora").get(f"/releases/{hidden}").status_code == 200
    assert "Waiting for your review" in client("cora").get("/").text


def test_releases_match_a_search_by_their_words(studio: Studio, client: Client) -> None:
    put(studio, make(), title="Cafés of the city")
    put(studio, make(steps=("Another.",)), title="Films", family="rankings")
    browser = client("analyst")
    assert "2 of 2 releases" in browser.get("/releases").text
    results = browser.get("/releases?q=cafes+visits", headers={"hx-target": "found"}).text
    assert "1 of 2 releases" in results
    assert "Cafés of the city" in results
    assert "Films" not in results
    assert "Films" in browser.get("/releases?family=rankings").text
    assert "No release is called so" in browser.get("/releases?q=zebra").text
    assert "Films" in browser.get("/").text


def test_two_releases_are_compared(studio: Studio, client: Client) -> None:
    first = put(studio, make(items=["a", "b"], sizes=[1000.0, 500.0]), title="Before")
    second = put(studio, make(items=["a", "b"], sizes=[2000.0, 510.0]), title="After")
    browser = client("analyst")
    assert "choose" in browser.get("/compare").text
    page = browser.get(f"/compare?first={first}&second={second}").text
    assert "1 of 2 can be told apart" in page
    assert "cannot be told apart" in page
    assert "+1,000" in page
    part = browser.get(f"/compare?first={first}&second={second}&q=venue+b", headers={"hx-target": "compared"}).text
    assert "Venue b" in part
    assert "Venue a" not in part
    assert 'class="danger"' not in page


def test_the_page_of_a_release_says_which_users_its_intervals_do_not_cover(studio: Studio, client: Client) -> None:
    sentence = "Noise may hide 60 people of any one activity, even with extremely many records each."
    page = client("analyst").get(f"/releases/{put(studio, make_adaptive(steps=(sentence,)))}").text
    assert "but noise may hide 60 people of any one activity" in page


def test_caveats_of_a_comparison_are_notes_and_unrelated_releases_are_refused_in_words(
    studio: Studio, client: Client
) -> None:
    first, second = put(studio, make()), put(studio, make(counts="users"))
    browser = client("analyst")
    page = browser.get(f"/compare?first={first}&second={second}").text
    assert '<p class="note">They count different things' in page
    assert 'class="danger"' not in page
    unrelated = browser.get(f"/compare?first={first}&second={put(studio, make(items=['Heat', 'Alien']))}")
    assert unrelated.status_code == 400
    assert "no item in common" in unrelated.text
    assert "Nothing is called so" not in unrelated.text


def test_what_is_taken_home_is_what_was_released_and_runs_nowhere(studio: Studio, client: Client) -> None:
    release = make(items=["=1+1", "tea"], labels=["@x", None], contexts=DAYS)
    key = put(studio, release, title='Bad "name"; x=\n')
    browser, base = client("analyst"), f"/releases/{key}/downloads"
    table = browser.get(f"{base}/tables/items.csv")
    assert table.headers["content-disposition"] == 'attachment; filename="bad-name-x-items.csv"'
    assert table.text.splitlines()[1].startswith('"\'=1+1","\'@x",')
    assert browser.get(f"{base}/tables/items.parquet").content[:4] == b"PAR1"
    assert browser.get(f"{base}/charts/ranking.png").content[:4] == b"\x89PNG"
    assert "Each count comes with an interval" in browser.get(f"{base}/about.txt").text
    packed = browser.get(f"{base}/release.zip").content
    assert "release.json" in zipfile.ZipFile(BytesIO(packed)).namelist()
    for strange in ("tables/../release.json.csv", "tables/secret.csv", "tables/items.xlsx", "charts/pie.png"):
        assert browser.get(f"{base}/{strange}").status_code in (404, 422), strange


def test_an_item_page_names_its_significant_contexts(studio: Studio, client: Client) -> None:
    key = put(studio, make(contexts=DAYS))
    page = client("analyst").get(f"/releases/{key}/items/v3").text
    for words in ("Venue v3", "Place", "Expected", "Monday"):
        assert words in page
    assert client("analyst").get(f"/releases/{key}/items/{quote('no such item')}").status_code == 404
    assert client("analyst").get(f"/releases/{key}/contexts?context=Someday").status_code == 404


def test_a_curator_gets_from_a_release_to_its_review_and_an_analyst_does_not(
    published: Studio, client: Client
) -> None:
    waiting = put(published, make(), state="review", title="To be looked at")
    cora, ann = client("cora"), client("ann")
    assert f"/releases/{waiting}/review" in Links(cora.get("/").text).links
    assert f"/releases/{waiting}/review" in Links(cora.get(f"/releases/{waiting}").text).links
    shown = next(link for link in Links(ann.get("/").text).links if link.startswith("/releases/"))
    assert not [link for link in Links(ann.get(shown).text).links if link.endswith("/review")]


def test_home_says_what_one_may_spend_and_of_what(published: Studio, client: Client) -> None:
    dataset = published.datasets.listed(client("cora").visitor())[0].id
    for who, words, place in (("cora", "0 of 10 spent", "/datasets/"), ("ann", "0 of 1 spent", "/ask/")):
        page = client(who).get("/").text
        assert words in page
        assert f"{place}{dataset}" in Links(page).links
    assert dataset not in client("bob").get("/").text


def test_comparing_says_that_it_takes_two(published: Studio, client: Client) -> None:
    assert "it takes two to compare" in client("ann").get("/compare").text
