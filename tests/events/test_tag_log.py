"""Tag logs: read from tables and stores, with lists of any length."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from headcount.api.functions import pack, release
from headcount.bounds.tags.tag_weights import tagging_of
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.events.tag_log import Tagging, TagLog, read_tags

TABLE = pa.table(
    {
        "who": ["ann", "bob", "ann", "ann", "eve"],
        "film": [7, 9, 7, 7, 8],
        "word": ["sad", "dull", "sad", "odd", "sad"],
    }
)


def read(**words: object) -> TagLog:
    usual = {"user": "who", "resource": "film", "tag": "word", "resources": [7, 9], "vocabulary": "dull,sad"}
    return read_tags(TABLE, **(usual | words))  # type: ignore[arg-type]


def triples(tagging: Tagging) -> list[tuple[int, int, int]]:
    return list(zip(tagging.user.tolist(), tagging.resource.tolist(), tagging.tag.tolist(), strict=True))


def test_every_assignment_counts_once_and_only_listed_ids_count() -> None:
    engine = LocalEngine()
    tagging = tagging_of(engine, read())
    assert triples(tagging) == [(0, 0, 1), (1, 1, 0)]
    assert (tagging.people, tagging.resources, tagging.tags) == (2, 2, 2)
    assert engine.tally is not None
    assert engine.tally.outside_catalogue == 2
    assert triples(tagging_of(LocalEngine(), read(where="film == 9"))) == [(0, 1, 0)]


def test_a_store_says_the_same(tmp_path: Path) -> None:
    log = EventLog.of([("ann", "a", "x"), ("bob", "b", "z")], items=["a", "b"], contexts=["x", "y"])
    stored = read_tags(pack(log, tmp_path / "store"))
    assert triples(tagging_of(LocalEngine(), stored)) == [(0, 0, 0)]
    again = read_tags(pack(TagLog.of_log(log), tmp_path / "again"))
    assert triples(tagging_of(LocalEngine(), again)) == [(0, 0, 0)]
    assert release(TagLog.of_log(log), epsilon=1).edges.num_rows == 6
    with pytest.raises(UsageError, match="--user cannot be given"):
        read_tags(tmp_path / "store", user="who")


def test_lists_may_have_more_cells_than_counts_could() -> None:
    many = list(range(20_000))
    log = read(resources=many, vocabulary=[str(resource) for resource in many])
    assert log.cells > EventLog.most_cells
    assert tagging_of(LocalEngine(), log).size == 0
    with pytest.raises(UsageError, match="more than 200,000,000"):
        release(log, epsilon=1)


def test_missing_values_are_reported() -> None:
    for name in ("user", "resource", "tag", "resources", "vocabulary"):
        with pytest.raises(UsageError, match=f"--{name} is missing"):
            read(**{name: None})
    with pytest.raises(UsageError, match="tags are the contexts of a log"):
        TagLog.of_log(EventLog.of([("ann", "a")], items=["a"]))


def test_a_vocabulary_is_described_by_its_digest() -> None:
    described = read().describe()
    assert described["tag"] == "word"
    assert described["vocabulary"].startswith("sha256:")
    assert described != read(vocabulary="dull,glad").describe()
    assert "contexts" not in described
