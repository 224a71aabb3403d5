"""``headcount demo``: an end-to-end release of a synthetic check-in log."""

from __future__ import annotations

import math
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headcount.cli import options, terminal
from headcount.errors import UsageError
from headcount.releases.formatting import per_cent, whole

if TYPE_CHECKING:
    from headcount.releases.release import Release

_DAY = "Friday"


@click.command(
    "demo",
    short_help="See the main job end to end, on a made-up city.",
    epilog=options.example("headcount demo --out city/"),
)
@click.option("--out", default="headcount-demo", show_default=True, metavar="DIR", help="Folder to work in.")
@options.json_option
@options.quiet_option
def command(out: str, as_json: bool, quiet: bool) -> None:
    """Make a check-in log of a made-up city, release private counts from it, and show what comes out."""
    begin = time.monotonic()
    folder = _folder(out)
    terminal.note("Making a city: 1,000,000 visits of 20,000 people to 5,000 venues.", quiet=quiet)
    terminal.note("Releasing item counts and item-by-weekday counts at ε = 1.", quiet=quiet)
    with terminal.Bar(quiet=quiet) as bar:
        city, log, release = _run(folder, bar)
        saved = release.save(folder / "release", force=True)
        bar("drawing the report", 0, None)
        from headcount.reports.release import write_release_page

        page = write_release_page(release, folder / "report.html")
    truth, friday = _truth(city.visits)
    seconds = time.monotonic() - begin
    if as_json:
        terminal.print_json(
            {
                "release": str(saved),
                "report": str(page),
                "guarantee": release.guarantee.to_json(),
                "top": release.top(10),
                "recommended": release.top(10, _DAY),
                "true_top": [venue for venue, _ in truth.most_common(10)],
                "seconds": round(seconds, 2),
            }
        )
        return
    names = dict(zip(log.catalogue.ids, log.catalogue.labels, strict=True))
    _show(release, truth, friday, names)
    further = terminal.command_line(["headcount", "top", str(saved), "--context", "Saturday"])
    click.echo(f"Release  {saved}\nReport   {page}   (open it in a browser)\nFurther  {further}")
    click.echo(f"\nDone in {seconds:.1f} s.")


def _folder(out: str) -> Path:
    """Return the folder to work in: a new one, an empty one, or that of an earlier demo."""
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file", remedy="choose another --out")
    ours = {"visits.parquet", "venues.csv", "release", "report.html"}
    strange = [path.name for path in folder.iterdir() if path.name not in ours] if folder.exists() else []
    if strange:
        raise UsageError(
            f"{folder} exists and holds {strange[0]!r}, which is not from a demo", remedy="choose another --out"
        )
    return folder


def _run(folder: Path, bar: terminal.Bar) -> tuple[Any, Any, Any]:
    """Make the city, describe its log and release from it."""
    bar("making the city", 0, None)
    import headcount as hc
    from headcount.engines.local.engine import LocalEngine
    from headcount.lab.synthetic.logs import checkins
    from headcount.methods.counts.request import ReleaseRequest
    from headcount.methods.request import request_of
    from headcount.run.curator import Curator

    city = checkins(folder)
    log = hc.read_events(city.visits, user="user", item="venue", context=hc.weekday("time"), items=city.venues)
    request = request_of(ReleaseRequest, epsilon="1")
    curator = Curator(engine=LocalEngine(progress=bar))
    return city, log, curator.run(curator.prepare(request, log))


def _truth(visits: Path) -> tuple[Counter[str], Counter[str]]:
    """Count the made-up log without privacy, to compare: only a demo may do this."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = pq.read_table(visits, columns=["venue", "time"])
    on_friday = table.filter(pc.equal(pc.day_of_week(table["time"]), 4))
    tallies = (part["venue"].value_counts().to_pylist() for part in (table, on_friday))
    everything, friday = (Counter({row["values"]: row["counts"] for row in tally}) for tally in tallies)
    return everything, friday


def _show(release: Release, truth: Counter[str], friday: Counter[str], names: dict[Any, Any]) -> None:
    best, top = truth.most_common(10), release.top(10)
    beside = ([names[venue], f"{count:,}"] for venue, count in best)
    rows = [[*line, *true] for line, true in zip(_lines(top, truth), beside, strict=True)]
    click.echo()
    headings = ("", "private top 10", "count*", "true rank", "true top 10", "visits")
    terminal.print_table(headings, "rlrrlr", rows)
    right = {venue for venue, _ in best} & {row["item"] for row in top}
    terminal.say(_footnote(release, top[0]))
    click.echo(f"{len(right)} of the true top 10 are in the private one.\n")
    rows = _lines(release.top(10, _DAY), friday)
    terminal.print_table(("", f"best for a {_DAY}", "count*", "true rank"), "rlrr", rows)
    terminal.say(_footnote(release, release.top(1, _DAY)[0]))
    click.echo("\nWhat was spent and guaranteed")
    terminal.say_numbered(release.sentences())
    click.echo()


def _lines(rows: list[dict[str, Any]], counts: Counter[str]) -> list[list[Any]]:
    """Return released counts, each with its rank among the true ones."""
    places = {venue: rank for rank, (venue, _) in enumerate(counts.most_common(), 1)}
    return [[row["rank"], row["label"], whole(row["count"]), places.get(row["item"], "–")] for row in rows]


def _footnote(release: Release, first: dict[str, Any]) -> str:
    level = per_cent(release.interval.level)
    if release.interval.average:  # then every row has an interval of its own
        low, high = whole(math.floor(first["low"])), whole(math.ceil(first["high"]))
        interval = f"that of the first count goes from {low} to {high}"
        return f"* of {release.bounded}; {level} of all intervals hold, on average over all rows, and {interval}"
    half_width = whole(math.ceil(first["high"] - first["count"]))
    return f"* of {release.bounded}; within ±{half_width} with probability {level}"
