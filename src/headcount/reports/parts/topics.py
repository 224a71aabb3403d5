"""Topics of a tag model as a chart and a page: a heat map of topics by their largest tags."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import altair as alt

from headcount.accounting.guarantee import Standing
from headcount.errors import UsageError
from headcount.methods.tags.recommend import topic_lists
from headcount.releases.formatting import some
from headcount.releases.release import Release
from headcount.reports import page
from headcount.reports.charts.release_charts import LONGEST_NAME, clip, layered
from headcount.reports.page import Figure
from headcount.reports.parts.part import Part, WholePage, plain_part

SHOWN = 6
"""So many tags of each topic are drawn."""

TOPIC_TAGS = 10
"""So many are listed."""

_ENDINGS = (".html", ".svg", ".png")

Topic = dict[str, Any]


def write_topics(rows: Sequence[Topic], release: Release, path: str | os.PathLike[str]) -> Path:
    """Write the topics as a page, or as a picture alone; the ending of the file says which."""
    target = Path(path)
    if target.suffix not in _ENDINGS:
        raise UsageError(f"{target} must end in {', '.join(_ENDINGS)}", remedy="such as topics.html")
    if target.suffix == ".html":
        return page.write(topics_page(rows, release), target)
    warning = "" if release.is_private else "NOT PRIVATE: for research alone."
    with TemporaryDirectory() as folder:
        drawn = page.write_pictures([figure(rows)], folder, warning)
        content = next(path for path in drawn if path.suffix == target.suffix).read_bytes()
    return page.write(content, target)


def topics_page(rows: Sequence[Topic], release: Release, title: str = "") -> str:
    """Return topics as one HTML page that needs no network."""
    return page.render(
        "topics.html.jinja",
        title=title or "What people's tags are about",
        figures=[figure(rows)],
        rows=rows,
        private=release.is_private,
        claimed=release.guarantee.standing is Standing.CLAIMED,
        amounts=release.guarantee.amounts,
        sentences=release.sentences(),
    )


def part(release: Release) -> Part | WholePage:
    """Return the page of a model's topics; of a release without any, its first rows."""
    if "model/topics" not in release.tables:
        return plain_part(release)
    return lambda title: topics_page(topic_lists(release, TOPIC_TAGS), release, title)


def grid(rows: Sequence[Topic]) -> alt.LayerChart:
    """Draw topics side by side, and how much of each its largest tags make up.

    >>> topic = {"topic": 1, "weight": 1.0, "tags": [{"tag": "7", "name": "rock", "share": 0.5}]}
    >>> grid([topic]).to_dict()["description"]
    'Grid of 1 topic by 1 tag. Topic 1: rock.'
    """
    names = list(dict.fromkeys(clip(tag["name"], LONGEST_NAME) for row in rows for tag in row["tags"][:SHOWN]))
    cells = [
        {"topic": row["topic"], "tag": name, "share": round(tag["share"], 6)}
        for row in rows
        for tag in row["tags"]
        if (name := clip(tag["name"], LONGEST_NAME)) in names
    ]
    base = alt.Chart().encode(
        x=alt.X("topic:O", title="topic").axis(
            orient="top", labelAngle=0, labelOverlap=True, ticks=False, domain=False
        ),
        y=alt.Y("tag:N", sort=names, title=None).axis(ticks=False, domain=False, labelLimit=220),
        tooltip=[alt.Tooltip("topic:O"), alt.Tooltip("tag:N"), alt.Tooltip("share:Q", format=".1%")],
    )
    boxes = base.mark_rect(cornerRadius=2).encode(
        color=alt.Color(
            "share:Q", title="part of the topic", legend=alt.Legend(format=".0%", orient="bottom")
        ).scale(domainMin=0)
    )
    sizes = [some(len(rows), "topic"), some(len(names), "tag")]
    topic_words = " ".join(
        f"Topic {row['topic']}: {', '.join(tag['name'] for tag in row['tags'][:3])}." for row in rows
    )
    description = f"Grid of {' by '.join(sizes)}. {topic_words}"
    return layered([boxes], 18 * len(names) + 20, "Topics and their tags", description, cells)


def figure(rows: Sequence[Topic]) -> Figure:
    """Return the grid of topics, with what to know of it."""
    note = "Topics that weigh most come first. A tag may be in several; what is left of a topic is in rarer tags."
    return Figure.from_chart("topics", grid(rows), note)
