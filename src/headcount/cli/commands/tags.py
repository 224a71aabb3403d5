"""``headcount tags``: release a private tag model; recommend tags, draw synthetic users, show topics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from headcount._internal.parameters import read_whole_number
from headcount.cli import options, terminal
from headcount.cli.charged import Charged, Shown, charged_command
from headcount.cli.commands.post_processing import nothing_selected
from headcount.cli.options import Flags
from headcount.errors import DataError, UsageError, param
from headcount.methods.tags import ASSIGNMENTS, FAMILY, RESOURCES, TAGS
from headcount.releases.formatting import per_cent, some

if TYPE_CHECKING:
    from headcount.releases.release import Release

_many = click.option("-k", "k", default="10", show_default=True, metavar="K", help="How many tags.")


@click.group(
    "tags",
    cls=options.Actions,
    short_help=FAMILY.short_help,
    epilog=options.example(
        "headcount tags release tags.parquet --user u --resource r --tag t \\",
        "  --vocabulary tags.txt --resources items.csv \\",
        "  --epsilon 1 --delta 1e-6 --out tags/",
        "headcount tags recommend tags/ --resource Radiohead -k 5",
    ),
)
def command() -> None:
    """Release a private model of who tags what how; then recommend tags, draw synthetic people, see topics."""


@charged_command(
    FAMILY,
    "headcount tags release tags.parquet --user u --resource r --tag t \\",
    "  --vocabulary tags.txt --resources items.csv \\",
    "  --epsilon 1 --delta 1e-6 --out tags/",
    short_help="Release a model of tags from a log of them.",
)
def release(spent: Charged, flags: Flags) -> Shown:  # noqa: ARG001
    """Release a model of tags under user-level differential privacy.

    Everybody counts with all they tagged. With --delta the noise is Gaussian and the model better; without, the
    promise is pure ε.
    """
    from headcount.methods.partition_selection.plan import find_empty_selection

    folder = str(spent.folder)
    if find_empty_selection(spent.release.chosen) is not None:
        return Shown(nothing_selected(spent.release))
    following = [["headcount", "tags", "profiles", folder, "--out", "synthetic.parquet"]]
    if TAGS.name in spent.release.tables:
        following += [["headcount", "tags", "topics", folder], ["headcount", "explain", folder]]
    return Shown(_describe_model(spent.release), following)


command.add_command(release)


@command.command(
    "recommend",
    short_help="Recommend tags for a resource.",
    epilog=options.example("headcount tags recommend tags/ --resource Radiohead --mine my-tags.csv -k 5"),
)
@click.argument("folder", metavar="RELEASE")
@click.option("--resource", required=True, metavar="R", help="The resource, by its id or label.")
@click.option(
    "--mine", metavar="FILE", help="Your own tags, a CSV or Parquet file with a column tag: used here alone."
)
@_many
@options.json_option
def recommend(folder: str, resource: str, mine: str | None, k: str, as_json: bool) -> None:
    """Recommend tags for a resource from a RELEASE folder, and from your own tags if you give them."""
    from headcount.methods.tags.recommend import ReleasedModel

    loaded, many = _loaded(folder), read_whole_number(k, param.k)
    model, own = ReleasedModel.from_release(loaded), _own_tags(mine)
    rows = model.recommend(resource, k=many, mine=own)
    _note_if_not_private(loaded)
    if not model.knows(resource):
        beside = ", beside your own" if own else ""
        terminal.note(
            f"The release says nothing of the tags of {terminal.printable(resource)!r} alone, which did not stand "
            f"out: these are the popular tags{beside}."
        )
    if as_json:
        terminal.print_json(rows)
        return
    shown = [[row["rank"], row["label"] or row["tag"], f"{row['score']:.3f}"] for row in rows]
    terminal.print_table(("", "tag", "score"), "rlr", shown)


@command.command(
    "profiles",
    short_help="Draw synthetic people who tag, from a release.",
    epilog=options.example("headcount tags profiles tags/ --out synthetic.parquet"),
)
@click.argument("folder", metavar="RELEASE")
@click.option("--out", required=True, metavar="FILE.parquet", help="The table to write: user, resource, tag.")
@click.option("--seed", default="1", show_default=True, metavar="N", help="Another seed draws other people.")
@click.option("--force", is_flag=True, help="Replace a file that is there already.")
@options.json_option
def profiles(folder: str, out: str, seed: str, force: bool, as_json: bool) -> None:
    """Draw a synthetic tagging dataset from a RELEASE folder, which any recommender can learn from."""
    import pyarrow.parquet as pq

    from headcount.cli.lab.outputs import seed_of
    from headcount.methods.tags.synthesize import synthesize as drawn

    if Path(out).exists() and not force:
        raise UsageError.taken(out, param.out)
    loaded = _loaded(folder)
    table = loaded.tables.get(ASSIGNMENTS.name)
    table = drawn(loaded, seed_of(seed)) if table is None else table
    pq.write_table(table, out, compression="zstd")
    _note_if_not_private(loaded)
    if as_json:
        terminal.print_json({"out": out, "assignments": table.num_rows})
    else:
        click.echo(f"{out}: {some(table.num_rows, 'synthetic assignment')}")


@command.command(
    "topics",
    short_help="Show the topics of a release as lists of tags.",
    epilog=options.example("headcount tags topics tags/ --to topics.html"),
)
@click.argument("folder", metavar="RELEASE")
@click.option("--to", "to", metavar="FILE", help="Draw them: .html, .svg or .png.")
@click.option("--force", is_flag=True, help="Replace a file that is there already.")
@_many
@options.json_option
def topics(folder: str, to: str | None, force: bool, k: str, as_json: bool) -> None:
    """Show what tags go together in a RELEASE folder: the K tags of each topic that make up most of it."""
    from headcount.methods.tags.recommend import topic_lists

    if to is not None and Path(to).exists() and not force:
        raise UsageError.taken(to, param.to)
    loaded, many = _loaded(folder), read_whole_number(k, param.k)
    rows = topic_lists(loaded, many)
    if to is not None:
        from headcount.reports.parts.topics import write_topics

        write_topics(rows, loaded, to)
    _note_if_not_private(loaded)
    if as_json:
        terminal.print_json(rows)
        return
    shown = [
        [row["topic"], per_cent(row["weight"]), ", ".join(tag["name"] for tag in row["tags"])] for row in rows
    ]
    terminal.print_table(("topic", "share", "tags"), "rrl", shown)
    if to is not None:
        terminal.note(f"Drawn in {to}.")


def _loaded(folder: str) -> Release:
    """Load a release; refuse one of which no tag was selected."""
    from headcount.methods.partition_selection.plan import find_empty_selection
    from headcount.releases.release import load

    loaded = load(folder)
    if find_empty_selection(loaded.chosen) is not None:
        raise UsageError(nothing_selected(loaded), remedy="`headcount explain` says what helps")
    return loaded


def _describe_model(fitted: Release) -> str:
    if TAGS.name not in fitted.tables:
        return some(fitted.tables[ASSIGNMENTS.name].num_rows, ASSIGNMENTS.noun)
    sizes = [some(fitted.tables[table.name].num_rows, table.columns[0]) for table in (TAGS, RESOURCES)]
    chosen = fitted.chosen["model/pairs"]
    pairs = (
        f", {chosen['tags']:,} of the tags on {chosen['resources']:,} of the resources"
        if chosen["measured"]
        else ""
    )
    return f"A model of {' and '.join(sizes)}{pairs}"


def _own_tags(path: str | None) -> list[str]:
    """Read a person's own tags, one for each row."""
    if path is None:
        return []
    from headcount.events.sources.source import open_source

    source = open_source(path)
    if "tag" not in source.names:
        raise DataError(f"{path} has no column tag", remedy="give your tags in a column of that name")
    return [str(tag) for batch in source.batches(["tag"]) for tag in batch.column("tag").to_pylist() if tag]


def _note_if_not_private(loaded: Release) -> None:
    if not loaded.is_private:
        terminal.note(terminal.FOR_RESEARCH)
