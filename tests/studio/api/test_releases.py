"""Releases for programs: what is told, to whom, in which shape."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headcount.releases.folder_integrity import folder_digest
from headcount.studio.studio import Studio
from tests.reports.conftest import make, make_ranking
from tests.studio.conftest import Browser
from tests.studio.support.releases import put

Client = Callable[..., Browser]
DAYS = ("Monday", "Friday")


@pytest.fixture
def shown(studio: Studio) -> str:
    return put(studio, make(contexts=DAYS))


def test_a_release_is_listed_and_described(shown: str, client: Client) -> None:
    ann = client("ann")
    (listed,) = ann.get("/api/v1/releases").json()
    assert (listed["id"], listed["dataset"], listed["state"]) == (shown, "visits", "published")
    description = ann.get(f"/api/v1/releases/{shown}").json()
    assert description["promise"] == "ε = 1, privacy: proven, per person"
    assert [table["name"] for table in description["tables"]] == ["items", "edges"]
    assert description["contexts"] == list(DAYS)


def test_rows_are_searched_sorted_and_paged(shown: str, client: Client) -> None:
    ann, base = client("ann"), f"/api/v1/releases/{shown}"
    first = ann.get(f"{base}/tables/items", params={"q": "venue v1", "size": 3}).json()
    assert (first["found"], first["total"], first["next"]) == (11, 30, 3)
    assert [row["item"] for row in first["rows"]] == ["v1", "v10", "v11"]
    friday = ann.get(f"{base}/tables/edges", params={"context": "friday", "size": 1}).json()
    assert friday["rows"][0]["item"] == "v0"
    assert friday["total"] == 30
    down = ann.get(f"{base}/tables/items", params={"sort": "label", "order": "down", "size": 1}).json()
    assert down["rows"][0]["item"] == "v9"
    assert ann.get(f"{base}/tables/secret").status_code == 404
    assert ann.get(f"{base}/tables/items", params={"sort": "secret"}).status_code == 404
    assert ann.get(f"{base}/tables/items", params={"size": 10**6}).status_code == 422


def test_an_item_its_significant_contexts_and_a_comparison(studio: Studio, shown: str, client: Client) -> None:
    ann, base = client("ann"), f"/api/v1/releases/{shown}"
    item = ann.get(f"{base}/item", params={"item": "v3"}).json()
    assert (item["rank"], item["label"]) == (4, "Venue v3")
    assert [context["context"] for context in item["contexts"]] == ["Monday", "Friday", "unknown"]
    assert ann.get(f"{base}/standing-out", params={"context": "Friday"}).json() == []
    assert ann.get(f"{base}/standing-out", params={"context": "Someday"}).status_code == 404
    other = put(studio, make(sizes=[9.0] * 30))
    comparison = ann.get("/api/v1/compare", params={"first": shown, "second": other, "size": 1}).json()
    assert comparison["table"][0]["item"] == "v0"
    assert comparison["told_apart"] > 10
    ranking = put(studio, make_ranking())
    refused = ann.get("/api/v1/compare", params={"first": shown, "second": ranking})
    assert refused.status_code == 400
    assert refused.json()["error"] == "UsageError"


def test_the_folder_is_what_was_released(studio: Studio, shown: str, client: Client) -> None:
    packed = client("ann").get(f"/api/v1/releases/{shown}/folder")
    assert packed.headers["content-type"] == "application/zip"
    assert packed.content[:2] == b"PK"
    assert folder_digest(studio.settings.releases / shown)


@pytest.mark.parametrize(
    "below", ["", "/tables/items", "/item?item=v1", "/standing-out?context=Friday", "/folder"]
)
def test_hidden_releases_do_not_exist(studio: Studio, below: str, client: Client) -> None:
    hidden = put(studio, make(contexts=DAYS), state="review")
    answer = client("ann").get(f"/api/v1/releases/{hidden}{below}")
    assert answer.status_code == 404
    assert answer.json() == client("ann").get(f"/api/v1/releases/{'0' * 32}{below}").json()
    assert client(None).get(f"/api/v1/releases/{hidden}{below}").status_code == 401
    assert client("ann").get("/api/v1/compare", params={"first": hidden, "second": hidden}).status_code == 404
