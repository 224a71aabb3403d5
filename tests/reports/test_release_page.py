"""The report of a release: what it says, for every shape of release, and that names cannot break it."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headcount.accounting.guarantee import Guarantee, Standing
from headcount.accounting.noise_distributions import DiscreteGaussian
from headcount.releases.release import Interval, Release
from headcount.reports.release import release_page, write_release_page
from headcount.reports.sentences import counted_words, meaning

Make = Callable[..., Release]
DAYS = ["Monday", "Tuesday"]
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;{{ 7 * 7 }}"


class Reader(HTMLParser):
    """Collect what a browser would see: elements, visible text, and the data of charts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.scripts: list[tuple[str, str]] = []  # their ids and what they hold
        self.words: list[str] = []
        self._inside = ""
        self._id = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag in {"script", "style"}:
            self._inside, self._id = tag, dict(attrs).get("id") or ""

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts.append((self._id, data))
        elif not self._inside:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    @property
    def charts(self) -> list[dict[str, Any]]:
        return [json.loads(data) for name, data in self.scripts if name.startswith("chart-")]


def read(release: Release) -> Reader:
    return Reader(release_page(release))


def test_the_page_says_what_was_counted_and_promised(release: Make) -> None:
    page = read(release(contexts=DAYS, ledger={"entry": 17, "head": "9f3c"}))
    for sentence in (
        "Records per item, and per item and weekday",
        "of at most 10 records per person",
        "privacy: proven",
        "at most 73.2 % sure",
        "Adding or removing one person",
        "discrete laplace, scale 22.22 (200/9); 95 % of draws lie within ±67",
        "3 February 2031, 04:05 UTC",
        "sha256:abc",
        "entry 17, head 9f3c",
        "Venue v0",
        "5,000 4,933 5,067",
        "Tuesday",
        "unknown",
        "The best items of each weekday",
    ):
        assert sentence in page.text, sentence
    assert "Not private" not in page.text
    assert len(page.charts) == 3


def test_every_sentence_of_the_story_is_there_in_order(release: Make) -> None:
    given = release()
    text = read(given).text
    places = [text.rindex(sentence) for sentence in given.sentences()]
    assert places == sorted(places)
    assert "Not charged to any ledger" in text


def test_every_display_says_what_was_bounded(release: Make) -> None:
    page = read(release(contexts=DAYS))
    words = "Count of at most 10 records per person"
    assert page.text.count(words) >= 6  # two tables, the notes of curve, heat map and cards, and the facts
    assert all(words in json.dumps(chart) for chart in page.charts)


def test_true_counts_are_not_called_bounded(release: Make) -> None:
    given = release(interval=Interval(covers="true"), steps=(), counts="users")
    assert counted_words(given) == "Count of people"
    text = read(given).text
    assert "at most 10 records" not in text
    assert "People per item" in text


def test_a_contribution_bound_without_a_description_is_still_stated(release: Make) -> None:
    assert "a limited number of records per person" in read(release(bounded="")).text


def test_claimed_is_loudly_not_private(release: Make) -> None:
    claimed = Guarantee(epsilon=Decimal("1"), standing=Standing.CLAIMED, reason="the sample <b>leaks</b>")
    html = release_page(release(guarantee=claimed))
    page = Reader(html)
    assert 'role="alert"' in html
    assert "Not private" in page.text
    assert "CLAIMED" in page.text
    assert "the sample <b>leaks</b>" in page.text
    assert "b" not in page.tags
    assert "privacy: proven" not in page.text
    assert "hides what any one person did" not in page.text


def test_simulated_is_loudly_not_private(release: Make) -> None:
    page = read(release(simulated=True))
    assert "Not private" in page.text
    assert "SIMULATED" in page.text
    assert "privacy: proven" not in page.text


def test_gaussian_noise_is_named(release: Make) -> None:
    given = release(noise={"items": DiscreteGaussian(Fraction(81, 4))})
    words = "discrete Gaussian noise of standard deviation 20.25; 95 % of draws lie within ±40"
    assert words in Reader(release_page(given)).text


def test_delta_is_not_forgotten(release: Make) -> None:
    given = release(guarantee=Guarantee(epsilon=Decimal("0.5"), delta=Decimal("1e-6")))
    assert "62.3 %" in meaning(given)
    assert "δ = 1e-6" in meaning(given)


def test_names_cannot_break_out(release: Make) -> None:
    given = release(
        items=[f"{EVIL}{n}" for n in range(15)],
        labels=[EVIL, None, *[f"{n}{EVIL}" for n in range(13)]],
        contexts=[EVIL, "Monday"],
        context_name=EVIL,
        method=EVIL,
        bounded=EVIL,
        steps=(EVIL,),
        catalogue=EVIL,
        request={EVIL: EVIL},
        ledger={"entry": EVIL, "head": EVIL},
    )
    page = read(given)
    assert (
        page.tags.count("script") == 10
    )  # three charts, two of them narrow as well, themes, all rows, Vega and ours
    assert "img" not in page.tags
    assert "{{ 7 * 7 }}" in page.text
    assert len(page.charts) == 3


def test_chart_data_holds_no_markup(release: Make) -> None:
    html = release_page(release(labels=[EVIL] * 30, contexts=DAYS))
    blocks = html.split('<script type="application/json"')[1:]
    assert len(blocks) == 6
    for block in blocks:
        inside = block.partition(">")[2].partition("</script>")[0]
        assert "<" not in inside
        assert ">" not in inside


def test_nothing_is_to_be_fetched_and_only_our_scripts_run(release: Make) -> None:
    html = release_page(release())
    policy = html.partition('Content-Security-Policy" content="')[2].partition('"')[0]
    assert policy.startswith("default-src 'none'")
    assert "'unsafe-inline'" not in policy.partition("script-src")[2]
    assert policy.count("'sha256-") == 3
    assert not {"link", "img", "iframe", "object", "base", "form"} & set(Reader(html).tags)
    assert " src=" not in html.partition("<body>")[2].partition('<script type="module">')[0]


@pytest.mark.parametrize(
    ("given", "charts", "sentence"),
    [
        ({}, 2, "The 20 most counted items"),
        ({"contexts": DAYS}, 3, "The 15 most counted items, by weekday"),
        ({"contexts": DAYS, "only": "edges"}, 2, "The 20 pairs of item and weekday with the largest counts"),
        ({"contexts": DAYS, "context_name": None}, 3, "by context"),
        ({"items": list(range(30)), "labels": [None] * 30, "contexts": DAYS}, 3, "17"),
        ({"items": list(range(30)), "contexts": DAYS, "only": "edges"}, 2, "Records per item and weekday"),
        ({"items": ["tea"], "contexts": DAYS}, 2, "The one item of the catalogue"),
        ({"items": ["tea"], "contexts": []}, 1, "The one item of the catalogue"),
        ({"items": ["tea"], "contexts": [], "only": "edges"}, 1, "unknown"),
        ({"items": []}, 0, "nothing to rank"),
        ({"items": [], "contexts": DAYS}, 0, "nothing to rank"),
        ({"items": ["a", " "], "labels": [" ", None]}, 1, "(blank)"),
        ({"sizes": [-5.0] * 30}, 2, "within the noise"),
        ({"contexts": [f"{n:02}:00" for n in range(24)]}, 3, "23:00"),
        ({"contexts": [f"c{n}" for n in range(100)]}, 3, "the 32 largest of 100 contexts"),
        ({"contexts": ["unknown", "Monday"]}, 3, "(unknown)"),
        ({"created": "some day"}, 2, "some day"),
    ],
)
def test_every_shape_of_release_has_a_page(
    release: Make, given: dict[str, Any], charts: int, sentence: str
) -> None:
    page = read(release(**given))
    assert len(page.charts) == charts
    assert sentence in page.text


def test_items_with_equal_labels_stay_distinct(release: Make) -> None:
    page = read(release(items=["a", "b"], labels=["Tea", "Tea"]))
    assert "1. Tea (a)" in json.dumps(page.charts)
    assert "2. Tea (b)" in json.dumps(page.charts)


def test_released_activity_is_shown(release: Make) -> None:
    bins = {
        "from": [1.0, 10.0],
        "to": [9.0, None],
        "users": [1234.0, 5.0],
        "low": [1200.0, 0.0],
        "high": [1300.0, 9.0],
    }
    given = release()
    page = read(release(tables={**given.tables, "activity": pa.table(bins)}))
    assert "How active people are" in page.text
    assert "10 or more 5 0 9" in page.text


def test_long_labels_and_large_catalogues_stay_small(release: Make, tmp_path: Path) -> None:
    many = [f"item {n} " + "long " * 400 for n in range(20_000)]
    given = release(items=many, labels=many, contexts=DAYS)
    path = write_release_page(given, tmp_path / "report.html")
    assert path.stat().st_size < 1_500_000
    assert "item 19999" not in path.read_text(encoding="utf-8")


def test_a_context_without_selected_items_lists_no_zeros(release: Make) -> None:
    given = release(contexts=DAYS)
    cells = given.edges.to_pylist()
    for row in cells:
        if row["context"] == "Tuesday":
            row["count"] = 0.2
    edges = pa.Table.from_pylist(cells, schema=given.edges.schema)
    text = read(release(contexts=DAYS, tables={**given.tables, "edges": edges})).text
    cards = text.partition("The best items of each weekday")[2].partition("How these numbers")[0]
    assert "Tuesday Nothing was found: no count is above zero." in cards
    assert cards.count("Nothing was found") == 1
    assert " 0 (" not in cards


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("weekday of InvoiceDate", "Records per item, and per item and weekday"),
        ("sex|age", "Records per item, and per item and sex and age"),
        ("kind of shop", "Records per item, and per item and kind of shop"),
    ],
)
def test_titles_do_not_speak_of_columns_where_there_is_a_word(release: Make, name: str, sentence: str) -> None:
    page = release_page(release(contexts=DAYS, context_name=name))
    assert f"<h1>{sentence}</h1>" in page


def test_a_page_is_called_as_one_likes(release: Make) -> None:
    page = release_page(release(contexts=DAYS), title="Sales & returns")
    assert "<h1>Sales &amp; returns</h1>" in page
    assert "<title>Sales &amp; returns</title>" in page
    assert "Counts of records over 30 items and 2 contexts" in page


# Direct rankings


@pytest.mark.parametrize("contexts", [None, DAYS])
def test_a_ranking_of_nothing_does_not_count_to_zero(ranking: Make, contexts: list[str] | None) -> None:
    text = read(ranking(0, contexts)).text
    assert "The 0 best" not in text
    assert "The best items" in text
    assert "Nothing can be told" in text


def test_a_ranking_has_a_page_without_counts_and_charts(ranking: Make) -> None:
    given = ranking(10)
    page = read(given)
    for sentence in (
        "The 10 best items",
        "Ranked by how many people have an item. The choice was made with random noise",
        "Their counts are not released",
        "privacy: proven",
        "at most 73.2 % sure of it after reading this ranking",
        "Adding or removing one person",
        "Rank Item 1 Venue v0 v0 2 Venue v1 v1",
        "How this ranking was made",
        "Ranked by how many people have an item",
        "sha256:abc",
    ):
        assert sentence in page.text, sentence
    for unsaid in ("Count of", "Low", "High", "within the noise", "No counts", "largest counts", "interval"):
        assert unsaid not in page.text, unsaid
    assert page.charts == []
    assert page.tags.count("table") == 1
    assert page.tags.count("script") == 0  # nothing to run
    places = [page.text.rindex(sentence) for sentence in given.sentences()]
    assert places == sorted(places)


def test_the_counts_of_a_ranking_are_shown_with_their_intervals(ranking: Make) -> None:
    page = read(ranking(3, counts=True))
    assert "Rank Item Count Low High 1 Venue v0 v0 5,000 4,933 5,067" in page.text
    assert "Count of people; low and high enclose it with 95 % probability" in page.text
    assert "Noise in ranking" in page.text
    assert "after reading these numbers" in page.text
    assert "are not released" not in page.text
    faint = read(ranking(200, counts=True))
    assert "within the noise" in faint.text


@pytest.mark.parametrize("counts", [False, True])
def test_every_context_has_a_table_in_public_order(ranking: Make, counts: bool) -> None:
    page = read(ranking(2, ["Tuesday", "Monday"], counts=counts))
    assert "The 2 best items of each weekday" in page.text
    assert "The rankings" in page.text
    assert page.tags.count("table") == 2
    assert page.text.index("Best for Tuesday") < page.text.index("Best for Monday")
    assert page.charts == []


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"k": 1}, "The best item"),
        ({"k": 1, "contexts": ["Monday"]}, "The best item of each weekday"),
        ({"contexts": DAYS, "context_name": None}, "of each context"),
        ({"k": 5_000}, "Shown are the first 100 of 5,000 places."),
        ({"contexts": [f"c{n}" for n in range(100)]}, "Shown are the first 32 of 100 contexts."),
        ({"interval": Interval(covers="bounded"), "counts": True}, "of everything each person did"),
        ({"simulated": True}, "SIMULATED"),
    ],
)
def test_every_shape_of_ranking_has_a_page(ranking: Make, given: dict[str, Any], sentence: str) -> None:
    html = release_page(ranking(**given))
    assert sentence in Reader(html).text
    assert len(html) < 100_000


def test_names_cannot_break_out_of_a_ranking(ranking: Make) -> None:
    page = read(ranking(3, [EVIL, "Monday"], counts=True, evil=EVIL, context_name=EVIL, steps=(EVIL,)))
    assert page.tags.count("script") == 0
    assert "img" not in page.tags
    assert "{{ 7 * 7 }}" in page.text


def test_a_ranking_beside_counts_is_shown_beside_them(release: Make, ranking: Make) -> None:
    counts = release()
    page = read(release(tables={**counts.tables, **ranking(2).tables}))
    assert "The 2 best items, the best first" in page.text
    assert "The 20 most counted items" in page.text
    assert "Records per item" in page.text
