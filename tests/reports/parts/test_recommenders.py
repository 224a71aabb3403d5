"""Pages of models: what is in them, and nothing about counts that there are not."""

from __future__ import annotations

import pytest

from headcount.accounting.budget import Grant
from headcount.events.catalogue import Catalogue
from headcount.events.log import EventLog
from headcount.lab.as_published.pncf_predictions import PncfPredictionsPublished
from headcount.lab.as_published.pncf_release import PncfPublished
from headcount.methods.recommender.co_occurrence import CoOccurrence
from headcount.methods.recommender.rating_model import RatingModel
from headcount.methods.recommender.visit_model import VisitModel
from headcount.noise import SeededNoise
from headcount.releases.release import Release
from headcount.reports.release import release_page

ITEMS = Catalogue.of(["t", "r", "f"], ["<b>Tea</b>", "Rye", None])
STARS = [(n, item, stars) for n in range(60) for item, stars in (("t", 5), ("r", 2), ("f", 3 + n % 2))]


def rated() -> EventLog:
    return EventLog.of(STARS, items=ITEMS, value_range=(1, 5))


def had() -> EventLog:
    return EventLog.of([(user, item) for user, item, _ in STARS], items=ITEMS)


def parted() -> EventLog:
    """Who has tea has rye, and the others have figs."""
    return EventLog.of([(n, item) for n in range(400) for item in (("t", "r"), ("f",))[n % 2]], items=ITEMS)


def pages() -> dict[str, tuple[Release, tuple[str, ...]]]:
    grant = Grant("4", "1e-6")
    return {
        "private": (
            RatingModel().release(rated(), grant, SeededNoise(1)),
            ("A model of ratings", "The items liked most", "The items liked least", "Rye"),
        ),
        "visits": (
            VisitModel().release(parted(), Grant("20", "1e-6"), SeededNoise(1)),
            ("A model of visits", "The items that most people have", "What belongs together", "Rye"),
        ),
        "co-counts": (
            CoOccurrence().release(had(), Grant("4"), SeededNoise(1)),
            ("Items that people have together", "The pairs that most people have", "Rye"),
        ),
        "pncf-published": (
            PncfPublished(k=2).release(rated(), Grant("1"), SeededNoise(1)),
            ("Neighbours of items", "The nearest neighbours", "CLAIMED"),
        ),
        "pncf-predictions-published": (
            PncfPredictionsPublished(by="user", asked=(("7", "t"),)).release(rated(), Grant("1"), SeededNoise(1)),
            ("Ratings predicted for named people", "The first predictions", "eyes alone", "CLAIMED"),
        ),
    }


@pytest.mark.parametrize("name", pages())
def test_a_page_shows_a_model(name: str) -> None:
    release, words = pages()[name]
    page = release_page(release)
    for word in words:
        assert word in page
    assert "No counts" not in page
    assert "this ranking" not in page
    assert "&lt;b&gt;Tea&lt;/b&gt;" in page
    assert "<b>Tea</b>" not in page
