"""`--config`: a release can be asked for again, flags win, and a slip of the pen is not passed over."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import headcount as hc
from headcount.events.log_parameters import READERS
from tests.cli.conftest import FLAGS, RELEASE, SPEND, WEEKDAY, Run


def request_in(folder: Path) -> Any:
    return json.loads((folder / "release.json").read_text(encoding="utf-8"))["request"]


REQUESTS: dict[str, tuple[str, ...]] = {
    "plain": (),
    "weekday": (*WEEKDAY, "--timezone", "Europe/Zurich"),
    "columns": ("--context", "sex,age", "--contexts", "sex=F,M", "--contexts", "age=0-24,25+", "--what", "both"),
    "one column": ("--context", "sex", "--contexts", "F,M", "--context-of", "user", "--what", "edges"),
    "conditions": ("--where", "stars >= 2", "--where", "sex != X", "--count", "users"),
    "window": ("--time", "time", "--since", "2026-03-06T00:00:00+01:00", "--until", "2026-04-01"),
    "format": (*WEEKDAY, "--time-format", "%Y-%m-%dT%H:%M:%S"),
    "weights": ("--times", "stars"),
    "notation": ("--where", "stars >= 2", "--decimal", ",", "--decimal", "sex=;", "--thousands", "\\u00a0"),
    "shares": (*WEEKDAY, "--shares", "items=0.7,edges=0.3"),
    "option": ("--method", "hpa", "--option", "d=2", "--epsilon", "0.30"),
    "research": ("--method", "hpa-published", "--research"),
}


TEXTS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "delimiter": ("log.csv", "user;venue;time\nann;tea;\n", ("--delimiter", ";")),
    "encoding": ("log.csv", "user,venue,time\nJürg,tea,\n", ("--encoding", "latin-1")),
    "header": ("log.csv", "ann,tea,\nbob,rye,\n", ("--no-header",)),
    "format": ("log.data", "user,venue,time\nann,tea,\n", ("--format", "csv")),
    "drop_nulls": ("log.csv", "user,venue,time\nann,tea,\n,tea,\nbob,,\n", ("--drop-nulls",)),
}
NAMED_AGAIN = {
    "items": "a list, of which a release holds the rows",
    "table": "where the log lies",
    "query": "where the log lies",
}
ELSEWHERE = {
    "value": "tests.cli.test_charged",
    "value_range": "tests.cli.test_charged",
    "select_items": "test_a_release_without_a_catalogue_is_repeated_from_a_config",
    "select_contexts": "test_a_release_without_a_catalogue_is_repeated_from_a_config",
}


def test_every_event_flag_is_repeated_from_a_config_below() -> None:
    given = {flag for flags in REQUESTS.values() for flag in flags if flag.startswith("--")}
    tried = {name for name, flag in READERS["events"].flags().items() if flag.named(name) in {*given, *FLAGS}}
    assert {*tried, *TEXTS, *NAMED_AGAIN, *ELSEWHERE} == set(READERS["events"].names)


@pytest.mark.parametrize("name", TEXTS)
def test_text_format_flags_are_repeated_from_a_config(run: Run, work: Path, name: str) -> None:
    file, text, flags = TEXTS[name]
    (work / file).write_bytes(text.encode("latin-1"))
    who = ("--user", "1", "--item", "2") if name == "header" else ("--user", "user", "--item", "venue")
    items = ("--items", "venues.csv")
    done = run("release", file, *who, *items, *SPEND, *flags, "--out", "a")
    assert done.code == 0, done.err
    again = run("release", file, *items, "--config", "a", "--out", "b")
    assert again.code == 0, again.err
    assert request_in(work / "a") == request_in(work / "b")
    expected = {"--no-header": {"no_header": True}, "--drop-nulls": {}}.get(flags[0], {name: flags[-1]})
    assert request_in(work / "b")["events"].items() >= expected.items()
    packed = run("pack", file, *who, *items, *flags, "--to", "store")
    assert packed.code == 0, packed.err
    from_store = run("release", "store", "--config", "a", "--out", "c")
    assert from_store.code == 0, from_store.err


def test_a_release_without_a_catalogue_is_repeated_from_a_config(run: Run, work: Path) -> None:
    words = ("--user", "user", "--item", "venue", "--select-items", "--delta", "1e-6", *SPEND)
    more = ("--context", "user", "--select-contexts")
    assert run("release", "visits.csv", *words, *more, "--out", "a").code == 0
    again = run("release", "visits.csv", "--config", "a", "--out", "b")
    assert again.code == 0, again.err
    assert request_in(work / "a") == request_in(work / "b")


def test_the_table_of_a_database_is_named_again(run: Run, work: Path) -> None:
    with contextlib.closing(sqlite3.connect(work / "log.sqlite")) as shop:
        shop.execute("CREATE TABLE visits (user TEXT, venue TEXT)")
        shop.commit()
    items = ("--items", "venues.csv")
    for which in (("--table", "visits"), ("--query", "SELECT user, venue FROM visits")):
        log = ("release", "sqlite:///log.sqlite", *which, *items)
        assert run(*log, *FLAGS, *SPEND, "--out", "a", "--force").code == 0
        again = run(*log, "--config", "a", "--out", "b", "--force")
        assert again.code == 0, again.err
        assert request_in(work / "a") == request_in(work / "b")
        assert "visits" not in json.dumps(request_in(work / "a"))


@pytest.mark.parametrize("name", REQUESTS)
def test_a_release_is_repeated_from_a_config(run: Run, work: Path, name: str) -> None:
    assert run(*RELEASE, *REQUESTS[name], "--out", "a").code == 0
    again = run("release", "visits.csv", "--items", "venues.csv", "--config", "a/release.json", "--out", "b")
    assert again.code == 0, again.err
    assert request_in(work / "a") == request_in(work / "b")


def test_a_release_of_a_log_with_gaps_is_repeated_from_a_config(run: Run, work: Path) -> None:
    (work / "visits.csv").write_text("user,venue\nann,tea\n,tea\nbob,\n", encoding="utf-8")
    for flags in ((), ("--drop-nulls",)):
        assert run(*RELEASE, *flags, "--out", "a", "--force").code == 0
        again = run("release", "visits.csv", "--items", "venues.csv", "--config", "a", "--out", "b", "--force")
        assert again.code == 0, again.err


def test_a_model_is_repeated_from_a_config(run: Run, work: Path) -> None:
    """Its release says that records are counted, which is no choice of this command."""
    fit = ("neighbours", "fit", "visits.csv", "--items", "venues.csv")
    words = ("--user", "user", "--item", "venue", "--value", "stars", "--value-range", "1,5", "--epsilon", "1")
    assert run(*fit, *words, "--out", "a").code == 0
    again = run(*fit, "--config", "a", "--out", "b")
    assert again.code == 0, again.err
    assert request_in(work / "a") == request_in(work / "b")
    (work / "slip.toml").write_text('[events]\ncount = "users"\n', encoding="utf-8")
    refused = run(*fit, *words, "--config", "slip.toml", "--out", "c")
    assert refused.code == 2
    assert "'count', which is not a flag" in refused.complaint


def test_values_with_commas_come_back_as_they_were(run: Run, work: Path) -> None:
    (work / "visits.csv").write_text('user,venue,mood\nann,tea,"sad, tired"\n', encoding="utf-8")
    log = hc.read_events(
        "visits.csv",
        user="user",
        item="venue",
        items="venues.csv",
        context="mood",
        contexts=["sad, tired", "glad"],
    )
    hc.release(log, epsilon=1, method="sra", limit=1).save("a")
    assert run("release", "visits.csv", "--items", "venues.csv", "--config", "a", "--out", "b").code == 0
    assert request_in(work / "a") == request_in(work / "b")
    assert hc.load("b").contexts == ("sad, tired", "glad")


def test_flags_win(run: Run, work: Path) -> None:
    assert run(*RELEASE, *WEEKDAY, "--out", "a").code == 0
    flags = ("--items", "venues.csv", "--config", "a/release.json", "--epsilon", "0.5", "--what", "items")
    assert run("release", "visits.csv", *flags, "--out", "b").code == 0
    before, after = request_in(work / "a"), request_in(work / "b")
    assert after["release"] == {**before["release"], "epsilon": "0.5", "what": "items"}
    assert after["events"] == before["events"]


TOML = """
[events]
user = "user"
item = "venue"
items = ["tea", "rye"]
context = "sex,age"
where = "stars >= 1"
drop-nulls = true

[events.contexts]
sex = ["F", "M"]
age = "0-24,25+"

[release]
epsilon = 0.25
method = "hpa"
limit = 3
option = { d = 2 }
shares = { scores = 0.2, items = 0.4, edges = 0.4 }
"""


def test_a_toml_file_holds_the_same_words(run: Run, work: Path) -> None:
    (work / "job.toml").write_text(TOML, encoding="utf-8")
    assert run("release", "visits.csv", "--config", "job.toml", "--out", "a").code == 0
    request = request_in(work / "a")
    assert request["release"] == {
        "epsilon": "0.25", "method": "hpa", "limit": 3, "options": {"d": 2},
        "shares": {"scores": "0.2", "items": "0.4", "edges": "0.4"},
    }  # fmt: skip
    assert request["events"]["contexts"] == {"sex": ["F", "M"], "age": ["0-24", "25+"]}
    assert hc.load("a").items["item"].to_pylist() == ["tea", "rye"]


@pytest.mark.parametrize(
    "contexts", ['["F", "M"]', '"F,M"', '["sex=F,M"]', '{ sex = ["F", "M"] }', '{ sex = "F,M" }']
)
def test_contexts_may_be_written_in_any_shape(run: Run, work: Path, contexts: str) -> None:
    (work / "job.toml").write_text(f'[events]\ncontext = "sex"\ncontexts = {contexts}\n', encoding="utf-8")
    assert run(*RELEASE, "--config", "job.toml", "--out", "a").code == 0
    assert hc.load("a").contexts == ("F", "M")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[release]\nepsilom = 1\n", ("'epsilom'", "did you mean 'epsilon'")),
        ("[events]\ndrop_null = true\n", ("'drop_null'", "did you mean 'drop_nulls'")),
        ("[events]\nqqq = 1\n", ("'qqq'", "--help")),
        ("[release]\njson = true\n", ("'json'",)),
        ("[events]\nevents = 'a.csv'\n", ("'events'",)),
        ("epsilon = 1\n", ("'epsilon'", "[events], or [release], [rank], [query]")),
        ("[spend]\nepsilon = 1\n", ("'spend'", "[events], or [release], [rank], [query]")),
        ("[events]\nepsilon = 1\n[release]\nepsilon = 2\n", ("'epsilon' twice",)),
        ("[events]\nuser = ['a', 'b']\n", ("'user'", "several values")),
        ("[release]\nepsilon = nan\n", ("epsilon", "'NaN'")),
        ("[release]\nlimit = true\n", ("limit", "'True'")),
        ("[release\n", ("cannot be read", "TOML")),
    ],
)
def test_a_slip_in_the_file_is_an_error(run: Run, work: Path, text: str, words: tuple[str, ...]) -> None:
    (work / "job.toml").write_text(text, encoding="utf-8")
    spend = SPEND[2:] if "epsilon" in text else SPEND[:4] if "limit" in text else SPEND
    who = FLAGS[2:] if "user" in text else FLAGS
    done = run("release", "visits.csv", *who, *spend, "--config", "job.toml", "--out", "a")
    assert done.code == 2
    for word in words:
        assert word in done.complaint
    assert not (work / "a").exists()


@pytest.mark.parametrize("text", ["[]", "{}", '{"request": []}', '{"request": {}}', "not json", "\x00"])
def test_json_that_is_no_release_is_an_error(run: Run, work: Path, text: str) -> None:
    (work / "job.json").write_text(text, encoding="utf-8")
    done = run(*RELEASE, "--config", "job.json", "--out", "a")
    assert done.code == 2
    assert "job.json" in done.complaint
    assert "TOML, or a release.json" in done.complaint


def test_a_folder_that_is_no_release_is_an_error(run: Run, work: Path) -> None:
    (work / "job").mkdir()
    done = run(*RELEASE, "--config", "job", "--out", "a")
    assert done.code == 2
    assert "job is a folder" in done.complaint
