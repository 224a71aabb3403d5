"""What a notebook shows: releases, pictures of them, and everything else in one line."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from IPython.core.interactiveshell import InteractiveShell

import headcount as hc
from headcount.errors import UnknownNameError, UsageError

HOSTILE = "<script>alert(1)</script>"
MENU = hc.Catalogue.of(["rye", "tea"], labels=[HOSTILE, "Green tea"])
ROWS = [(f"u{n}", ("rye", "tea")[n % 2], ("AM", "PM")[n % 3 % 2]) for n in range(400)]
LOG = hc.EventLog.of(ROWS, items=MENU, contexts=["AM", "PM"])
STARS = [(f"u{n}", item, 4) for n in range(50) for item in ("tea", "rye")]
RATED = hc.EventLog.of(STARS, items=["rye", "tea"], value_range=(1, 5))
PEOPLE = hc.read_people(pa.table({"id": range(90), "age": [n % 90 for n in range(90)]}), user="id")
BINS = {"age": {"edges": [0, 18, 65, 120]}}
RELEASES: dict[str, Callable[[], hc.Release]] = {
    "counts": lambda: hc.release(LOG, epsilon=1, method="sra", limit=1),
    "adaptive": lambda: hc.release(LOG, epsilon=1),
    "edges": lambda: hc.release(LOG, epsilon=1, method="sra", limit=1, what="edges"),
    "claimed": lambda: hc.release(LOG, epsilon=1, method="lpa-published", research=True),
    "totals": lambda: hc.release(LOG, epsilon=1, what="totals", by="contexts", limit=2),
    "ranking": lambda: hc.rank(LOG, k=2, epsilon=5),
    "rankings": lambda: hc.rank(LOG, k=1, epsilon=9, per_context=True, with_counts=True),
    "model": lambda: hc.fit_neighbours(RATED, epsilon=4).release,
    "answers": lambda: hc.query(PEOPLE, "SELECT COUNT(*) FROM people WHERE age < 18", epsilon=5, bins=BINS),
}
"""A release of each kind."""


@cache
def _release_of(name: str) -> hc.Release:
    return RELEASES[name]()


@pytest.fixture(autouse=True)
def _uncharged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADCOUNT_LEDGER", raising=False)


class Reader(HTMLParser):
    """Keeps the elements that are met, sees that all are closed, and collects what is read."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.opened_tags, self.open, self.read = list[str](), list[str](), ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.opened_tags.append(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.opened_tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.read += "" if "style" in self.open else f"{data} "


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "adaptive" else name for name in RELEASES]
)
def test_a_release_shows_its_guarantee_and_first_rows(name: str) -> None:
    release = _release_of(name)
    shown = Reader(release._repr_html_())
    assert release.guarantee.short() in shown.read
    assert ("NOT PRIVATE" in shown.read) is (name == "claimed")
    assert "table" in shown.opened_tags
    assert {*shown.opened_tags} <= {"div", "style", "p", "span", "table", "caption", "thead", "tbody", "tr", "th",
    "td",
                            "bdi", "svg", "rect", "path"}  # fmt: skip
    for table in release.tables:
        assert table in shown.read
    if name == "counts":
        for row in release.top(2):
            assert row["item"] in shown.read
        assert shown.opened_tags.count("svg") == 2
        assert HOSTILE in shown.read, "a label is text, and no element"


def test_bars_follow_counts_and_arrows_say_where_an_interval_goes_on() -> None:
    from headcount.reports.notebook import card

    items = pa.table(
        {
            "item": ["a", "b"],
            "label": [None, None],
            "count": [100.0, 50.0],
            "low": [90.0, -400.0],
            "high": [110.0, 900.0],
        }
    )
    release = _release_of("counts")
    shown = card(replace(release, tables={"items": items}, contexts=None))
    wide = [float(width) for width in re.findall(r'<rect x="[\d.]+" y="2" width="([\d.]+)"', shown)]
    assert wide[0] == pytest.approx(2 * wide[1], abs=0.2)
    first, second = re.findall(r'<path d="([^"]+)"', shown)
    assert "l3 3" not in first
    assert "l-3 3l3 3" in second
    assert "l3 3l-3 3" in second


def test_answers_have_a_column_per_attribute_and_state_the_guarantee_once() -> None:
    table = {"age": [n % 90 for n in range(90)], "sex": ["F", "M", "M"] * 30}
    bins = {**BINS, "sex": {"values": ["F", "M"]}}
    queries = "SELECT COUNT(*) FROM people GROUP BY age; SELECT COUNT(*) FROM people GROUP BY sex, age"
    release = hc.query(hc.read_people(pa.table(table)), queries, epsilon=5, bins=bins)
    shown = Reader(release._repr_html_())
    assert shown.read.count("GROUP BY sex, age") == 1
    assert "sex   age   answer   low   high" in " ".join(shown.read.split()).replace(" ", "   ")
    assert shown.opened_tags.count("svg") == release.answers.num_rows == 9
    assert " = " not in shown.read.partition("GROUP BY")[2]


def test_what_is_not_there_is_not_shown() -> None:
    nothing = pa.table({"item": [], "label": [], "count": []})
    assert "none." in Reader(replace(_release_of("counts"), tables={"items": nothing})._repr_html_()).read


@pytest.mark.slow
def test_showing_loads_no_charts() -> None:
    """What draws takes a second to load, and a notebook shows every release."""
    code = (
        "import sys, headcount as hc; log = hc.EventLog.of([('a', 't')], items=['t']);"
        "hc.release(log, epsilon=1, method='lpa', limit=1)._repr_html_(); print('altair' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


@pytest.mark.slow
def test_a_picture_is_svg_without_scripts(tmp_path: Path) -> None:
    release = _release_of("adaptive")
    assert release.activity.column_names[:5] == ["from", "to", "users", "low", "high"]
    for what in ("items", "contexts", "activity"):
        drawn = release.plot(what)
        tags = {element.tag.rpartition("}")[2] for element in ET.fromstring(drawn.svg).iter()}
        assert "svg" in tags
        assert "script" not in tags
        assert repr(drawn) == f"<Picture: {drawn.words}>"
    assert release.plot().words.startswith("Bar chart, 2 bars.")
    assert drawn.save(tmp_path / "activity.svg").read_text(encoding="utf-8") == drawn.svg
    with pytest.raises(UsageError, match="choose another file, or add force=True"):
        drawn.save(tmp_path / "activity.svg")
    with pytest.raises(UsageError, match=r"ends in \.svg"):
        drawn.save(tmp_path / "activity.png")
    with pytest.raises(UnknownNameError, match=r"plot 'context' .*did you mean 'contexts'"):
        release.plot("context")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="holds no counts to draw"):
        _release_of("ranking").plot()


def test_tables_become_frames() -> None:
    release = _release_of("counts")
    assert release.to_pandas().equals(release.items.to_pandas())
    assert list(release.to_pandas("edges").columns) == release.edges.column_names
    assert release.to_polars("edges").to_arrow().num_rows == release.edges.num_rows
    with pytest.raises(UsageError, match="holds no activity; it holds items, edges"):
        assert release.activity
    with pytest.raises(UsageError, match="holds no ranking"):
        release.to_polars("ranking")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_that_is_not_there_is_named(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(UsageError, match=f"{library} is not installed; pip install {library}"):
        getattr(_release_of("ranking"), f"to_{library}")()


def test_a_release_is_written_for_others(tmp_path: Path) -> None:
    release = _release_of("ranking")
    page = release.report(tmp_path / "page.html")
    assert "The 2 best items" in page.read_text(encoding="utf-8")
    with pytest.raises(UsageError, match="choose another place, or add force=True"):
        hc.report(release, page)
    assert hc.report(release, page, force=True) == page
    written = hc.export(release, tmp_path / "sheets")
    assert [path.name for path in written] == ["ranking.csv", "about.txt"]
    assert [path.name for path in hc.export(release, tmp_path / "sheets", format="xlsx")] == ["release.xlsx"]
    with pytest.raises(UsageError, match="format= must be csv or xlsx"):
        hc.export(release, tmp_path, format="ods")  # type: ignore[arg-type]


def test_everything_tells_itself_in_one_short_line(tmp_path: Path) -> None:
    ledger = hc.Ledger(f"sqlite:///{tmp_path}/ledger.db", key=tmp_path / "key", anchor=tmp_path / "anchor")
    with hc.QuerySession(PEOPLE, epsilon=5, bins=BINS) as session:
        reply = session.ask("SELECT COUNT(*) FROM people WHERE age < 18")
        objects: dict[str, Any] = {
            "<EventLog of the table: user 'user', item 'item', context 'context'; 6 cells>": LOG,
            "<EventLog of the table: user 'id'>": PEOPLE,
            "<Catalogue of 2 items: 'rye', 'tea'>": MENU,
            "<Release by top-k: ε = 5, privacy: proven, per person; ranking (2)>": _release_of("ranking"),
            "<NeighbourModel by private: ε = 4, privacy: proven, per person; 2 items>": hc.NeighbourModel(
                _release_of("model")
            ),
            f"<QuerySession: ε = 5, privacy: proven, per person; 1 answer so far, {session.left} more may be "
            "measured>": session,
            "<Checked the table: 0 problems; 400 records would count>": hc.check(LOG),
            "NeighbourRecommender(epsilon='1', delta='1e-6')": hc.NeighbourRecommender(delta="1e-6"),
        }
        for line, value in objects.items():
            assert repr(value) == line
    assert re.fullmatch(r"<Ledger at \S+>", repr(ledger))
    ledger.close()
    assert len(repr(reply)) < 120
    many = hc.Catalogue.of([f"v{n}" for n in range(5000)])
    assert repr(many) == "<Catalogue of 5,000 items: 'v0', 'v1', 'v2', …>"


@pytest.mark.slow
def test_the_lab_is_reached_with_the_words_of_its_commands(tmp_path: Path) -> None:
    log = hc.EventLog.of([row[:2] for row in ROWS], items=["rye", "tea"])
    compared = hc.compare(log, methods=["sra"], epsilon=[1], limits=[1, 2], runs=2)
    assert set(compared.to_pandas()["method"]) == {"sra"}
    assert compared.sentences()
    assert "NOT PRIVATE" in repr(compared)
    assert "Not private" in compared.report(tmp_path / "compared.html").read_text(encoding="utf-8")
    with pytest.raises(UsageError, match=r'k= is of no use with what="counts"'):
        hc.compare(log, k=[3])
    with pytest.raises(UsageError, match=r"epsilon must be a list, not '1'; such as \['1'\]"):
        hc.compare(log, epsilon="1")

    planned = hc.plan(users=1000, items=20, median=3, max=30, epsilon=[1, 2], limits=[3])
    assert set(planned["epsilon"].to_pylist()) == {1.0, 2.0}
    assert set(hc.plan(activity=_release_of("adaptive"), epsilon=1)["table"].to_pylist()) == {"items", "edges"}
    assert hc.plan(users=900, items=5, median=2, max=2, epsilon=50, k=1, count="users").num_rows == 2
    with pytest.raises(UsageError, match="median= is missing; give users=, items=, median= and max="):
        hc.plan(users=1000, items=20, epsilon=1)
    with pytest.raises(UsageError, match="add k=20"):
        hc.plan(users=1000, items=20, median=3, max=30, epsilon=1, kth=3)

    assert not hc.audit("sra", replay=True).violation
    assert hc.audit("lpa-published", runs=4000).violation
    assert repr(hc.audit("sra", runs=200)).startswith("<sra: No violation found")
    with pytest.raises(UnknownNameError, match="did you mean 'sra'"):
        hc.audit("srra")
    with pytest.raises(UsageError, match="leave edges= out"):
        hc.audit("top-k", edges=True)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """Run cells as a notebook's kernel does, and return what each of them displays."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    kernel: Any = InteractiveShell  # which has no types
    shell = kernel()

    def displayed(cell: str) -> dict[str, Any]:
        done = shell.run_cell(cell)
        done.raise_error()
        data, _ = shell.display_formatter.format(done.result)
        return dict(data)

    yield displayed
    shell.history_manager.end_session()
    kernel.clear_instance()


def test_a_notebook_from_a_frame_to_a_page(notebook: Any) -> None:
    notebook("import pandas as pd, headcount as hc")
    notebook(
        "visits = pd.DataFrame({'user': [n % 50 for n in range(200)] + [None], 'drink': [1.0, 2.0, 3.0] * 67})"
    )
    shown = notebook("log = hc.read_events(visits, user='user', item='drink', items=[1, 2, 3])\nlog")
    assert shown["text/plain"] == "<EventLog of the table: user 'user', item 'drink'; 3 cells>"
    shown = notebook("release = hc.release(log, epsilon=1, method='sra', limit=5)\nrelease")
    assert shown["text/plain"].startswith("<Release by sra: ε = 1, privacy: proven, per person; items (3)>")
    assert "PRIVATE" in Reader(shown["text/html"]).read
    assert "image/svg+xml" in notebook(
        "from headcount._internal.notebook_display import Picture\nPicture('<svg/>', 'A bar.')"
    )
    assert "<table" in notebook("release.to_pandas()")["text/html"]


def test_public_names_are_there_and_have_a_home() -> None:
    for name in hc.__all__:
        assert getattr(hc, name) is not None
    tree = ast.parse(Path(hc.__file__).read_text(encoding="utf-8"))
    typed = [statement for block in tree.body if isinstance(block, ast.If) for statement in block.body]
    imported = {alias.name for line in typed if isinstance(line, ast.ImportFrom) for alias in line.names}
    assert imported | {"__version__"} == set(hc.__all__)
