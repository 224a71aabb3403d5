"""Plots of all contestants and of the cost curves: ``python -m benchmarks.report.plots RESULTS.json FOLDER``.

Prints one JSON document: what was drawn. What was not measured is left out.
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import altair as alt

from benchmarks.comparison.rival_environments import RIVALS
from benchmarks.performance.scaling import METHODS

GIB = 1024**3
FACETS = {
    "seconds, warm": "warm",
    "seconds, cold": "cold",
    "peak memory, GiB": "peak",
    "error of an item": "error",
}
NAMES = {"contestant sra": "Headcount, SRA", "contestant adaptive": "Headcount, adaptive"} | {
    f"rival {rival.name}": rival.name for rival in RIVALS
}
GROWN = {"users": "people"}
WIDTH = 230
COLOURS = ["#0b6e4f", "#b5541c"]


def contest(measurements: Mapping[str, Any]) -> Any:
    """Bars for everybody at the largest size that was measured, a panel for each thing measured."""
    for size in ("10m", "1m"):
        contestants = {name: measurements.get(f"{key} {size}", {}) for key, name in NAMES.items()}
        contestants = {name: measurement for name, measurement in contestants.items() if "warm" in measurement}
        if len(contestants) > 1:
            break
    else:
        return None
    rows = [
        {"who": name, "what": title, "value": _value(measurement, key), "ours": name.startswith("Headcount")}
        for name, measurement in contestants.items()
        for title, key in FACETS.items()
    ]
    panels = [_bars([row for row in rows if row["what"] == title], title) for title in FACETS]
    return alt.concat(*panels, columns=2).properties(title=f"Counts from {size.upper()} records at ε = 1")


def costs(measurements: Mapping[str, Any]) -> Any:
    """A panel for each thing that grew, both axes logarithmic; a line for each method."""
    panels = []
    for key, measurement in measurements.items():
        if not key.startswith("costs ") or "curves" not in measurement:
            continue
        rows = [
            {"size": size, "seconds": median, "method": curve["method"]}
            for curve in measurement["curves"]
            for size, median in zip(curve["sizes"], curve["medians"], strict=True)
        ]
        grown = key.removeprefix("costs ")
        exponents = ", ".join(f"{curve['method']} {curve['exponent']:.2f}" for curve in measurement["curves"])
        base = alt.Chart({"values": rows}).encode(
            x=alt.X("size:Q", title=GROWN.get(grown, grown))
            .scale(type="log", nice=False)
            .axis(grid=False, format="~s", tickCount=4),
            y=alt.Y("seconds:Q", title="seconds").scale(type="log").axis(format="~g", tickCount=4),
            color=alt.Color("method:N", title=None).scale(domain=METHODS, range=COLOURS).legend(orient="top"),
        )
        drawn = (base.mark_line() + base.mark_point()).properties(title=f"Exponents: {exponents}")
        panels.append(drawn.properties(width=WIDTH, height=180))
    if not panels:
        return None
    return alt.concat(*panels, columns=2)


def _value(measurement: Mapping[str, Any], key: str) -> float:
    if key == "error":
        return float(measurement["errors"]["items"]["exact"])
    return float(measurement[key]) / (GIB if key == "peak" else 1)


def _bars(rows: list[dict[str, Any]], title: str) -> Any:
    base = alt.Chart({"values": rows}).encode(
        y=alt.Y("who:N", title=None, sort=None), x=alt.X("value:Q", title=title).axis(grid=False, tickCount=4)
    )
    colour = alt.Color("ours:N").legend(None).scale(domain=[True, False], range=["#0b6e4f", "#9aa5b1"])
    return alt.layer(
        base.mark_bar().encode(color=colour),
        base.mark_text(align="left", dx=3, fontSize=10).encode(text=alt.Text("value:Q", format=".3~r")),
    ).properties(width=WIDTH)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report.plots", description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    measurements = json.loads(given.results.read_text(encoding="utf-8"))["measurements"]
    drawn = []
    for name, chart in (("contest.png", contest(measurements)), ("costs.png", costs(measurements))):
        if chart is not None:
            chart.configure_view(stroke=None).save(given.folder / name, scale_factor=1.5)
            drawn.append(name)
    print(json.dumps({"drawn": drawn}))


if __name__ == "__main__":
    main()
