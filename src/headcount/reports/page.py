"""Render self-contained HTML pages from templates, and charts as SVG or PNG without a browser.

The Vega scripts are inside, once. Names and labels come from outside and are never trusted: templates escape
by default, chart data is escaped JSON, and a content security policy lets only Vega and this package's own scripts
run and nothing be fetched.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import math
import os
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from headcount.errors import SurroundingsError, UsageError
from headcount.releases.formatting import whole
from headcount.reports.charts.release_charts import spec_of
from headcount.reports.charts.styles import THEMES
from headcount.reports.explorer import Explorer
from headcount.version import __version__

_DRAWING = threading.Lock()
_PICTURE_WIDTH = 760  # pixels of a plot that stands alone


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A chart on a page: its title, the words for those who cannot see it, what to know, and the spec.

    ``narrow`` is how it is drawn on a narrow screen, if otherwise than elsewhere. ``lines`` are those among which
    its reader chooses, at most ``most_lines`` at once; none if all are seen.
    """

    name: str
    title: str
    words: str
    note: str
    spec: dict[str, Any]
    narrow: dict[str, Any] | None = None
    lines: Sequence[dict[str, Any]] = ()
    most_lines: int = 0

    @classmethod
    def from_chart(
        cls, name: str, chart: alt.TopLevelMixin, note: str = "", narrow: alt.TopLevelMixin | None = None
    ) -> Figure:
        """Take title and theme out of a chart, since the page has its own."""
        title, spec = _bare(chart)
        slim = None if narrow is None else _bare(narrow)[1]
        return cls(name=name, title=title, words=spec["description"], note=note, spec=spec, narrow=slim)

    def rows(self) -> list[dict[str, Any]]:
        """Return the data that all layers of the chart share."""
        data = self.spec["data"]
        data_rows: list[dict[str, Any]] = (
            data["values"] if "values" in data else self.spec["datasets"][data["name"]]
        )
        return data_rows

    def alone(self, subtitle: str = "") -> dict[str, Any]:
        """Return a description that needs no page: with its title, the light theme and a width of its own."""
        title = {"text": self.title, "subtitle": subtitle} if subtitle else self.title
        return {**self.spec, "title": title, "config": THEMES["light"], "width": _PICTURE_WIDTH}


def picture_of(figure: Figure) -> str:
    """Return a figure as SVG, drawn without a browser."""
    spec = {**figure.alone(), "padding": {"left": 36, "right": 12, "top": 6, "bottom": 6}}  # fonts may be wider
    svg: str = _converted(vl_convert.vegalite_to_svg, spec)
    return svg.replace("<svg ", '<svg style="max-width: 100%; height: auto" ', 1)


def png_of(figure: Figure, subtitle: str = "") -> bytes:
    """Return a figure as PNG, drawn without a browser."""
    png: bytes = _converted(vl_convert.vegalite_to_png, figure.alone(subtitle), scale=2)
    return png


def vega_of(figure: Figure, theme: str, *, narrow: bool = False) -> dict[str, Any]:
    """Return a figure in the language of Vega, in a theme, for pages that have Vega alone."""
    spec = figure.narrow if narrow and figure.narrow is not None else figure.spec
    vega: dict[str, Any] = _converted(vl_convert.vegalite_to_vega, {**spec, "config": THEMES[theme]})
    return vega


def write_pictures(figures: Sequence[Figure], folder: str | os.PathLike[str], subtitle: str = "") -> list[Path]:
    """Write every figure as SVG and PNG, without a browser; each file whole or not at all."""
    paths = []
    for figure in figures:
        spec = figure.alone(subtitle)
        svg = _converted(vl_convert.vegalite_to_svg, spec)
        paths.append(write(svg, Path(folder) / f"{figure.name}.svg"))
        paths.append(write(png_of(figure, subtitle), Path(folder) / f"{figure.name}.png"))
    return paths


def render(
    template: str, *, title: str, figures: Sequence[Figure], explorer: Explorer | None = None, **content: object
) -> str:
    """Fill a template of this package; it extends ``page.html.jinja``.

    Figures are reached by name as ``figures.name``, and may be absent. The explorer may be None.
    """
    scripts = (
        *([_vega(), _own("csv.js", "page.js")] if figures else []),
        *([_own("csv.js", "explorer.js")] if explorer else []),
    )
    return (
        _templates()
        .get_template(template)
        .render(
            title=title,
            figures={figure.name: figure for figure in figures},
            explorer=explorer,
            themes=THEMES,
            scripts=scripts,
            script_hashes=[_hash(script) for script in scripts],
            style=_own("page.css"),
            version=__version__,
            **content,
        )
    )


def write(content: str | bytes, path: str | os.PathLike[str]) -> Path:
    """Write a page or a picture whole, or not at all."""
    content = content.encode("utf-8") if isinstance(content, str) else content
    target = Path(path)
    if target.is_dir():
        raise UsageError(f"{target} is a folder", remedy=f"give a file, such as {target / 'report.html'}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        aside = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            aside.chmod(0o644)
            aside.replace(target)
        finally:
            aside.unlink(missing_ok=True)
    except OSError as error:
        raise SurroundingsError.writing(target, error, "file") from error
    return target


def _converted(convert: Callable[..., Any], spec: dict[str, Any], **how: Any) -> Any:
    """Let one thread at a time draw: two that do so wait for each other for ever, and all others with them."""
    with _DRAWING:
        return convert(spec, vl_version=_vega_lite(), **how)


def _bare(chart: alt.TopLevelMixin) -> tuple[str, dict[str, Any]]:
    spec = spec_of(chart)
    spec.pop("config", None)
    return spec.pop("title"), spec


@functools.cache
def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("headcount.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["whole"] = whole
    templates.filters["down"] = lambda number: whole(math.floor(number))
    templates.filters["up"] = lambda number: whole(math.ceil(number))
    return templates


@functools.cache
def _vega() -> Markup:
    """Return Vega, Vega-Lite and Vega-Embed, in the version that Altair writes for."""
    return _script(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", _vega_lite()))


def _vega_lite() -> str:
    major, minor = alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2]
    return f"v{major}.{minor}"


def _own(*names: str) -> Markup:
    folder = resources.files("headcount.reports").joinpath("templates")
    return _script("".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names))


def _script(text: str) -> Markup:
    if "</script" in text.lower() or "</style" in text.lower() or "<!--" in text:
        raise ValueError("this text would end its own element")
    return Markup(text)  # noqa: S704 - ours and Vega's, with nothing from a release in it


def _hash(script: str) -> str:
    """Return the name by which a content security policy allows one script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
