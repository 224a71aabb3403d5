"""Charts of a paper's page as its TOML file describes them: which rows each shows, and how.

A ``[[section.picture]]`` of the file is drawn in that section for the data there are: dots once for all of them,
curves once for each. In names and titles ``{dataset}`` stands for the data set. ``each`` lists charts that differ
in a few fields alone and stand side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from headcount.lab.datasets.by_name import Dataset

_DATASET = "{dataset}"


class Picture(BaseModel):
    """A chart: ``dots`` shows means and intervals by data set and method, ``curves`` those of one along x or ε.

    ``datasets`` are the ones that it is drawn for, in a file all by default; ``stand_ins``: also if of one only
    a stand-in is at hand.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    kind: Literal["dots", "curves"]
    experiment: str
    metric: str
    table: Literal["items", "edges"] = "items"
    value: str
    datasets: tuple[str, ...] = ()
    stand_ins: bool = False
    x: tuple[float, ...] = ()
    axis: str = ""
    along: Literal["x", "epsilon"] = "x"
    ticks: tuple[str, ...] = ()
    log_x: bool = False
    log_value: bool = False
    share: bool = False
    epsilon: float | None = None
    note: str = ""

    @model_validator(mode="after")
    def _braces(self) -> Self:
        for text in (self.name, self.title):
            if "{" in (text.replace(_DATASET, "") if self.kind == "curves" else text):
                raise ValueError(f"{text!r}: only {_DATASET} can stand in braces, and only of curves")
        return self

    def on(self, *datasets: str) -> Picture:
        """Return the chart as it is drawn for some data.

        >>> words = {"kind": "curves", "experiment": "limits", "metric": "MSE", "value": "MSE (records²)"}
        >>> drawn = Picture(name="limits-{dataset}", title="MSE by limit, {dataset}", **words).on("Last.fm")
        >>> drawn.name, drawn.title, drawn.datasets
        ('limits-lastfm', 'MSE by limit, Last.fm', ('Last.fm',))
        """
        first = datasets[0]
        name, title = self.name.replace(_DATASET, first.lower().replace(".", "")), self.title
        return self.model_copy(
            update={"name": name, "title": title.replace(_DATASET, first), "datasets": datasets}
        )

    def can_show(self, name: str, data: Dataset) -> bool:
        """Tell whether a data set belongs to the chart, and has what it shows."""
        is_wanted = not self.datasets or name in self.datasets
        there = self.stand_ins or data.kind != "stand-in"
        return is_wanted and there and (self.table == "items" or data.log.context is not None)


def _side_by_side(written: Any) -> Any:
    if not isinstance(written, dict):
        return written
    common = {name: value for name, value in written.items() if name != "each"}
    return [{**common, **panel} for panel in written.get("each", [{}])]


Pictures = Annotated[tuple[Picture, ...], BeforeValidator(_side_by_side)]
"""One ``[[section.picture]]``: the charts that its ``each`` lists, or one."""


def drawn(pictures: Pictures, datasets: Mapping[str, Dataset]) -> Iterator[Picture]:
    """Return the charts for the data there are, curves of one data set side by side."""
    for picture in pictures:
        names = [name for name, data in datasets.items() if picture.can_show(name, data)]
        if picture.kind == "dots" and names:
            yield picture.on(*names)
    for name, data in datasets.items():
        for picture in pictures:
            if picture.kind == "curves" and picture.can_show(name, data):
                yield picture.on(name)
