"""``headcount attack``: run published attacks on recommenders against your own log. Not private."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click
from click.core import ParameterSource

from headcount._internal.parameters import plain_value, read_whole_number
from headcount.cli import options, terminal
from headcount.cli.input_options import log_of, reading_options
from headcount.cli.lab import outputs
from headcount.cli.options import Flags
from headcount.errors import Parameter, UsageError, param

NOT_PRIVATE = "NOT PRIVATE: measured against what people really rated. For the curator's eyes only."
_METHODS = ("item-knn", "user-knn", "pncf-published", "private")
_USED_BY = {
    "by": ("pncf-published",),
    "metric": ("item-knn", "user-knn", "pncf-published"),
    "k": ("item-knn", "user-knn", "pncf-published"),
    "epsilon": ("pncf-published", "private"),
    "delta": ("private",),
}
_BASELINES = {
    "uniform": "random items",
    "popular": "random items, popular ones more often",
    "absent": "the same attack without the victim",
}


@click.group("attack", short_help="Mount a known attack on recommenders, and count what it recovers.")
def command() -> None:
    """Mount a published attack, and count what it recovers. THIS IS NOT PRIVATE."""


@command.command(
    "knn",
    short_help="Fake users copy what is known of somebody, and read the rest.",
    epilog=options.example(
        "headcount attack knn ratings.parquet --user user --item film \\",
        "  --value rating --value-range 1,5 --method user-knn",
    ),
)
@reading_options("attacked", configured=False)
@click.option("--method", type=click.Choice(_METHODS), required=True, help="Which recommender is attacked.")
@click.option("--by", type=click.Choice(["item", "user"]), help="What PNCF compares.  [default: user]")
@click.option("--metric", type=click.Choice(["cos", "pcc"]), help="Cosine, or Pearson.  [default: cos]")
@click.option("-k", metavar="K", help="How many neighbours are asked.  [default: 40]")
@click.option("--epsilon", metavar="E", help="The ε of pncf-published and private.  [default: 1]")
@click.option("--delta", metavar="D", help="The δ of private.  [default: 1e-6]")
@click.option("--victims", default="100", show_default=True, metavar="N", help="How many people are attacked.")
@click.option("--known", default="8", show_default=True, metavar="M", help="Ratings of a victim that are known.")
@click.option("--fakes", metavar="N", help="Fake users for one victim, with one look.  [default: as many as -k]")
@click.option(
    "--guesses", default="10", show_default=True, metavar="N", help="Items that are guessed of a victim."
)
@click.option(
    "--looks",
    type=click.Choice(["once", "twice"]),
    help="Read once, or before and after the victim rated the rest.  [default: twice where items are compared]",
)
@click.option(
    "--meanwhile",
    metavar="SHARE",
    help="Share of others' ratings that come between two looks.  [default: 0.001]",
)
@click.option("--seed", default="1", show_default=True, metavar="N", help="Seed of victims and noise.")
@options.json_option
@options.quiet_option
def knn(**flags: Any) -> None:
    """Attack a recommender with fake users who copy known ratings of a victim. THIS IS NOT PRIVATE.

    Random people of RATINGS are the victims. A few of their ratings are taken for known; fake users give these,
    and read what they are recommended. What of it the victim really rated is recovered, and held against guessing.
    How it is done is told in docs/attack.md.
    """
    _refuse_unused(flags)
    with terminal.Bar(quiet=flags["quiet"]) as bar:
        bar("reading ratings", 0, None)
        attack = _attack(flags)
        log = _log(flags)
        from headcount.lab.attack import mount
        from headcount.lab.recommender.ratings import ratings_of

        outcome = mount(ratings_of(log).ratings, _recommender(flags, log, attack.seed), attack, bar)
    result = {"attack": "knn", "method": flags["method"], **_settings(flags, attack), **outcome.to_json()}
    if flags["as_json"]:
        terminal.print_json(result)
    else:
        _show(result)
    terminal.note(NOT_PRIVATE)


def _refuse_unused(flags: Flags) -> None:
    """Refuse what the method cannot use; nothing is ignored."""
    for name, methods in _USED_BY.items():
        if flags[name] is not None and flags["method"] not in methods:
            flag = f"-{name}" if len(name) == 1 else f"--{name}"
            raise UsageError(f"{flags['method']} cannot use {flag}", remedy=f"it is for {', '.join(methods)}")
    looks, context = _looks(flags), click.get_current_context()
    if flags["meanwhile"] is not None and looks == "once":
        raise UsageError("--meanwhile is for two looks", remedy="add --looks twice, or leave it out")
    if context.get_parameter_source("fakes") is ParameterSource.COMMANDLINE and looks == "twice":
        raise UsageError("--fakes is for one look: with two there is one for each known item")


def _looks(flags: Flags) -> Any:
    items = flags["method"] == "item-knn" or flags["by"] == "item"
    return flags["looks"] or ("twice" if items else "once")


def _attack(flags: Flags) -> Any:
    from headcount.lab.attack import Attack

    whole = {name: read_whole_number(flags[name], Parameter(name)) for name in ("victims", "known", "guesses")}
    fakes = read_whole_number(flags["fakes"] or str(_k(flags)), param.fakes)
    share = plain_value(flags["meanwhile"] or "0.001")
    if isinstance(share, str | bool):
        raise UsageError("meanwhile must be a share from 0 to 0.5", given=flags["meanwhile"])
    seed = outputs.seed_of(flags["seed"])
    return Attack(**whole, fakes=fakes, looks=_looks(flags), meanwhile=float(share), seed=seed)


def _k(flags: Flags) -> int:
    return read_whole_number(flags["k"] or "40", param.k)


def _log(flags: Flags) -> Any:
    """Describe the ratings; without a catalogue, the items that occur are it."""
    from headcount.events.catalogue import Catalogue
    from headcount.events.encode.passes import EncodedLog, Reading

    if flags["value"] is None or flags["value_range"] is None:
        raise UsageError("ratings need a value", remedy="name its column with --value, and --value-range LO,HI")
    log = log_of("attacked", flags, select_items=not flags["items"])
    if log.has_catalogue:
        return log
    coded = EncodedLog(
        replace(log, roles=replace(log.roles, value=None), value_range=None), Reading("given", "none")
    )
    for _ in coded.batches():
        pass
    listed = [] if coded.items is None else [item for item in coded.items.ids.to_pylist() if item != ""]
    return replace(log, catalogue=Catalogue.of(listed))


def _recommender(flags: Flags, log: Any, seed: int) -> Any:
    from headcount.accounting.budget import amount, probability
    from headcount.lab.as_published.pncf import Settings
    from headcount.lab.as_published.pncf_operations import Mechanism
    from headcount.lab.attack import AsPublished, Plain, Private
    from headcount.lab.recommender.neighbourhood import Neighbourhood
    from headcount.noise import SeededNoise

    low, high = (float(end) for end in log.value_range)
    epsilon, delta = amount(flags["epsilon"] or "1"), probability(flags["delta"] or "1e-6")
    if flags["method"] == "private":
        return Private(str(epsilon), str(delta), (low, high), SeededNoise(seed))
    by: Any = flags["method"].removesuffix("-knn") if flags["method"].endswith("-knn") else flags["by"] or "user"
    near = Neighbourhood(by=by, metric=flags["metric"] or "cos", k=_k(flags), within=(low, high))
    if flags["method"] != "pncf-published":
        return Plain(near)
    settings = Settings(neighbourhood=near, mechanism=Mechanism(epsilon=float(epsilon)))
    return AsPublished(settings, SeededNoise(seed))


def _settings(flags: Flags, attack: Any) -> dict[str, Any]:
    """Return what was attacked, and how, as far as the method and the way of looking have it."""
    defaults = {"by": "user", "metric": "cos", "k": _k(flags), "epsilon": "1", "delta": "1e-6"}
    settings = {
        name: flags[name] if flags[name] is not None and name != "k" else default
        for name, default in defaults.items()
        if flags["method"] in _USED_BY[name]
    }
    ways = {"fakes": attack.fakes} if attack.looks == "once" else {"meanwhile": attack.meanwhile}
    return {**settings, "known": attack.known, "looks": attack.looks, **ways, "seed": attack.seed}


def _show(result: dict[str, Any]) -> None:
    how = (
        f"{result['fakes']:,} fake users copied these and read what they were recommended"
        if result["looks"] == "once"
        else "fake users, one for each, read what went with it, before and after the rest was rated"
    )
    terminal.say(
        f"{result['recovered']:,} of {result['guessed']:,} guesses were right. {result['victims']:,} people were "
        f"attacked, of each of whom {result['known']} ratings were known: {how}."
    )
    click.echo()
    rows = [
        [
            _BASELINES[name],
            f"{baseline['recovered']:,.1f}",
            _times(baseline["times"]),
            " to ".join(map(_times, baseline["interval"])),
        ]
        for name, baseline in result["baselines"].items()
    ]
    terminal.print_table(("guessing by", "right", "attack over it", "95 % interval"), "lrrr", rows)


def _times(value: float | None) -> str:
    return "∞" if value is None else f"{value:,.1f} ×"
