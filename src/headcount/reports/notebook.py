"""Display of a release in a notebook: guarantee, first rows and bars as HTML without scripts; single charts.

Colours are the notebook's own, light or dark: text inherits, and bars are of a blue that stands out on both. What
comes from a release is escaped. Charts are drawn when they are asked for alone: drawing them takes a second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from headcount._internal.notebook_display import Picture
from headcount.errors import UnknownNameError, UsageError
from headcount.methods.registry import table as described
from headcount.releases.formatting import listed, some, undecided_contexts, whole
from headcount.releases.top_k import top
from headcount.reports.sentences import counted_words, interval_words

if TYPE_CHECKING:
    from headcount.releases.release import Release
    from headcount.reports.page import Figure

ROWS = 10
_CONTEXTS = 3
_TABLES = 3
_LONGEST = 60
_WIDTH = 160  # pixels of bars
_FURTHEST = 2.5  # times the largest count: so far intervals are drawn

_STYLE = """
.headcount { font-size: 0.95em; line-height: 1.45; max-width: 56rem; }
.headcount p { margin: 0.3em 0; }
.headcount .badge { display: inline-block; border-radius: 0.4em; padding: 0.05em 0.6em; font-weight: 600;
  background: #1f7a4a; color: #fff; }
.headcount .bad { background: #b3201f; }
.headcount .quiet { opacity: 0.72; font-size: 0.92em; }
.headcount .scroll { overflow-x: auto; }
.headcount table { border-collapse: collapse; margin: 0.4em 0; font-variant-numeric: tabular-nums; }
.headcount caption { text-align: left; caption-side: top; font-weight: 600; padding: 0.2em 0; color: inherit; }
.headcount th, .headcount td { padding: 0.16em 0.7em; text-align: right; white-space: nowrap;
  border-bottom: 1px solid rgba(128, 128, 128, 0.3); }
.headcount th.text, .headcount td.text { text-align: left; }
.headcount thead th { font-weight: 500; opacity: 0.72; }
.headcount tbody th { font-weight: 400; }
.headcount svg { display: block; }
"""

Rows = Sequence[Mapping[str, Any]]


def card(release: Release) -> str:
    """Return what a notebook shows of a release."""
    private = release.is_private
    badge = "PRIVATE" if private else "NOT PRIVATE"
    parts = [
        Markup("<style>{}</style>").format(Markup(_STYLE)),  # noqa: S704 - ours
        Markup('<p><span class="badge{}">{}</span> {} · {}</p>').format(
            "" if private else " bad", badge, release.guarantee.short(), release.method
        ),
        *_sections(release),
        _line(_about(release)),
        _line(
            "Tables: "
            + ", ".join(f"{name} ({some(table.num_rows, 'row')})" for name, table in release.tables.items())
        ),
    ]
    return str(Markup('<div class="headcount">{}</div>').format(Markup("\n").join(parts)))


def _about(release: Release) -> str:
    """Say what the numbers are, where there are any that have an interval beside them."""
    if release.number is None:
        return "Without counts: these were not released." if "ranking" in release.tables else ""
    return f"{counted_words(release)}; {interval_words(release)}."


def _sections(release: Release) -> list[Markup]:
    if "ranking" in release.tables:
        return _rankings(release)
    if "items" in release.tables:
        return [_table("The largest counts", release.top(ROWS))]
    if "edges" in release.tables:
        return [_table("The largest counts", top(release.edges, ROWS))]
    if "answers" in release.tables:
        return _answers(release)
    return [
        _table(
            described(name).title or name.rpartition("/")[2].capitalize(),
            table.slice(0, ROWS).to_pylist(),
            number=None,
        )
        for name, table in list(release.tables.items())[:_TABLES]
    ]


def _rankings(release: Release) -> list[Markup]:
    if release.contexts is None:
        return [_table("The best items", release.top(ROWS))]
    silent, shown = undecided_contexts(release.chosen), list[Markup]()
    telling = [context for context in release.contexts if context not in silent]
    shown += [
        _table(f"The best items: {context}", release.top(ROWS // 2, context)) for context in telling[:_CONTEXTS]
    ]
    more = len(telling) - _CONTEXTS
    if more > 0:
        shown.append(_line(f"And of {some(more, 'other context')}: see top(k, context)."))
    if silent:
        shown.append(_line(f"Nothing can be told of {listed(silent)}: all is within the noise."))
    return shown


def _answers(release: Release) -> list[Markup]:
    from headcount.reports.parts.tables import answer_blocks

    blocks = answer_blocks(release, 2 * ROWS)
    shown = [_table(block.statement or "Counts of records", block.rows, number="answer") for block in blocks]
    more = release.answers.num_rows - 2 * ROWS
    return [*shown, _line(f"And {some(more, 'more answer')}: see to_pandas()." if more > 0 else "")]


def _table(caption: str, rows: Rows, *, number: str | None = "count") -> Markup:
    """Return rows as a table: labels with ids, bars of a number if it has intervals, nothing always empty."""
    if not rows:
        return _line(f"{caption}: none.")
    names = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    labelled = "label" in names and "item" in names
    if labelled:
        names.remove("label")
    if number and "context" in names and len({row["context"] for row in rows}) == 1:
        names.remove("context")
    bar = None if number is None or any(row.get("high") is None for row in rows) else _bars(rows, number)
    heads = [_head(name, rows, text=labelled and name == "item") for name in names]
    body = []
    for row in rows:
        cells = [_named(row) if labelled and name == "item" else _cell(name, row[name]) for name in names]
        drawn = [] if bar is None else [Markup("<td>{}</td>").format(bar(row))]
        body.append(Markup("<tr>{}</tr>").format(Markup("").join([*cells, *drawn])))
    return Markup(
        '<div class="scroll"><table><caption>{}</caption><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>'
    ).format(caption, Markup("").join(heads), Markup("\n").join(body))


def _head(name: str, rows: Rows, *, text: bool) -> Markup:
    text = text or any(isinstance(row[name], str) for row in rows)
    return Markup('<th class="{}" scope="col">{}</th>').format("text" if text else "", name)


def _named(row: Mapping[str, Any]) -> Markup:
    """Write an item by its label, and its id beside it."""
    if row["label"] is None:
        return _text(row["item"])
    cell = Markup('<td class="text"><bdi>{}</bdi> <span class="quiet"><bdi>{}</bdi></span></td>')
    return cell.format(_short(row["label"]), _short(row["item"]))


def _cell(name: str, value: Any) -> Markup:
    if isinstance(value, float):
        return Markup("<td>{}</td>").format(whole(value) if abs(value) >= ROWS else f"{value:,.3g}")
    if isinstance(value, int):
        return Markup("<td>{}</td>").format(value)
    return _text("unknown" if value is None and name in ("context", "of") else value)


def _text(value: Any) -> Markup:
    return Markup('<td class="text"><bdi>{}</bdi></td>').format(_short(value))


def _short(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _bars(rows: Rows, number: str) -> Callable[[Mapping[str, Any]], Markup]:
    """Return how a row's number is drawn, with its interval, on one scale; where one goes on, an arrow says so."""
    largest: float = max(1.0, *(row[number] for row in rows))
    most: float = min(max(1.0, *(row["high"] for row in rows)), _FURTHEST * largest)
    least: float = min(0.0, *(max(row["low"], -largest / 4) for row in rows))

    def place(value: float) -> float:
        return round(3 + (min(max(value, least), most) - least) / (most - least) * (_WIDTH - 6), 1)

    def bar(row: Mapping[str, Any]) -> Markup:
        zero, end, low, high = map(place, (0, row[number], row["low"], row["high"]))
        left = f"M{low} 4v6" if row["low"] >= least else f"M{low + 3} 4l-3 3l3 3"
        right = f"M{high} 4v6" if row["high"] <= most else f"M{high - 3} 4l3 3l-3 3"
        return Markup(
            '<svg width="{wide}" height="14" viewBox="0 0 {wide} 14" role="img" aria-label="{words}">'
            '<rect x="{start}" y="2" width="{length}" height="10" fill="#6f9fc2"/>'
            '<path d="M{low} 7H{high}{ends}" stroke="currentColor" stroke-width="1.3" fill="none"/></svg>'
        ).format(
            wide=_WIDTH, start=min(zero, end), length=round(abs(end - zero), 1), low=low, high=high,
            ends=left + right, words=f"{whole(row[number])}, from {whole(row['low'])} to {whole(row['high'])}",
        )  # fmt: skip

    return bar


def _line(text: str) -> Markup:
    return Markup('<p class="quiet">{}</p>').format(text) if text else Markup()


def picture(release: Release, what: str | None = None) -> Picture:
    """Draw a release: its ``items``, by ``contexts``, or the ``activity`` of people; by default the first."""
    charts = {name: draw for name, draw in _DRAWN.items() if _is_drawable(release, name)}
    if not charts:
        raise UsageError("this release holds no counts to draw", remedy="see its tables, or to_pandas()")
    chosen = next(iter(charts)) if what is None else what
    if chosen not in charts:
        raise UnknownNameError.among("plot", chosen, charts)
    from headcount.reports.page import picture_of

    figure = charts[chosen](release)
    return Picture(picture_of(figure), figure.words)


def _is_drawable(release: Release, what: str) -> bool:
    tables = {"items": ("items", "edges"), "contexts": ("edges",), "activity": ("activity",)}
    return any(name in release.tables and release.tables[name].num_rows for name in tables[what])


def _items(release: Release) -> Figure:
    from headcount.reports import excerpts
    from headcount.reports.charts import release_charts

    rows = excerpts.ranked(release)
    table = excerpts.columns(rows, "name", "count", "low", "high")
    title = f"The {some(len(rows), 'largest count')}"
    return _figure("items", release_charts.ranking(table, title=title, counted=counted_words(release)))


def _contexts(release: Release) -> Figure:
    from headcount.reports import excerpts
    from headcount.reports.charts import release_charts
    from headcount.reports.sentences import across

    names = excerpts.contexts(release)
    grid, counted = excerpts.grid(release, names), counted_words(release)
    title = f"The largest counts, by {across(release)}"
    return _figure("contexts", release_charts.heat_map(grid, title=title, counted=counted, contexts=names))


def _figure(name: str, chart: Any) -> Figure:
    from headcount.reports.page import Figure

    return Figure.from_chart(name, chart)


def _activity(release: Release) -> Figure:
    from headcount.reports.parts.activity import histograms

    return histograms(release)[0].figure


_DRAWN: Mapping[str, Callable[[Release], Figure]] = {"items": _items, "contexts": _contexts, "activity": _activity}
