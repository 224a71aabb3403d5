"""Forms follow from declarations: what they make is what the command line makes, and what is new has its form."""

import dataclasses
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import click
import pytest

from headcount._internal.parameters import Flag
from headcount.cli import options
from headcount.cli.main import program
from headcount.errors import param
from headcount.events.log_parameters import FLAGS, READERS
from headcount.methods.counts.request import ReleaseRequest
from headcount.methods.counts.simple_random import SimpleRandom
from headcount.methods.family import Family, Listed
from headcount.methods.registry import FAMILIES
from headcount.methods.request import ChargedRequest, flags_of, request_of
from headcount.studio import forms
from headcount.studio.forms.parameter_fields import implied_fields
from headcount.studio.studio import Studio
from tests.studio.conftest import Browser
from tests.studio.support.releases import visitor_of

_BINS = "[age]\nedges = [0, 18, 65, 120]\n"
_STATEMENT = "SELECT COUNT(*) FROM people WHERE age < 18"

POSTED: dict[str, dict[str, str]] = {
    "counts": {
        "epsilon": "0.5",
        "delta": "1e-6",
        "method": "dpsense-s",
        "what": "items",
        "shares": "limit=0.2,items=0.8",
        "select_limit": "4",
        "options.repeats": "2",
    },
    "totals": {"epsilon": "1", "limit": "50", "quantiles": "0.1,0.5", "by": "contexts", "distinct": "on"},
    "rankings": {"epsilon": "1", "delta": "1e-6", "k": "20", "per_context": "on", "with_counts": "on"},
    "queries": {"epsilon": "1", "bins": _BINS, "queries": _STATEMENT, "method": "histogram", "max_records": "3"},
    "tags": {"epsilon": "2", "delta": "1e-7", "shares": "marginals=0.4,pairs=0.55,people=0.05"},
    "neighbours": {"epsilon": "4", "method": "co-counts", "limit": "3", "options.sampling": "hpa"},
}
"""A form of each family, filled in."""


def read_request(family: Family, sent: forms.Posted) -> dict[str, Any]:
    """Read the form of a request: the fields of its method, and implied ones."""
    method = next(iter(sent.get("method", ())), "") or None
    fields = forms.fields_for_method(forms.fields_of(family), method, family)
    return {**forms.read_posted(fields, sent), **implied_fields(family)}


def _by_form(family: Family) -> ChargedRequest:
    sent = {name: [text] for name, text in POSTED[family.name].items()}
    return forms.build_request(family, read_request(family, sent))[1]


def _by_command(family: Family, folder: Path) -> ChargedRequest:
    """Return the request that the command makes of the same values."""
    kind, args = family.request_kind(), list[str]()
    words = {**POSTED[family.name], **({"method": "totals"} if family.name == "totals" else {})}
    for name, text in words.items():
        if name.startswith("options."):
            args += ["--option", f"{name.removeprefix('options.')}={text}"]
            continue
        flag = flags_of(kind)[name]
        if flag.metavar == "FILE":
            (folder / name).write_text(text)
        args += [
            flag.named(name),
            *([] if flag.switch else [str(folder / name) if flag.metavar == "FILE" else text]),
        ]
    command: click.Command = program
    context = click.Context(command)
    for word in family.command:
        assert isinstance(command, click.Group)
        subcommand = command.get_command(context, word)
        assert subcommand is not None
        command = subcommand
    roles = ["--user", "u"] + (["--item", "i"] if "item" in READERS[family.reads].needed else [])
    parsed = command.make_context(command.name, ["log.csv", *roles, *args]).params
    request: ChargedRequest = request_of(kind, **options.read(parsed, flags_of(kind)))
    return request


@pytest.mark.parametrize("name", FAMILIES)
def test_a_form_makes_the_request_that_the_command_makes(name: str, tmp_path: Path) -> None:
    family = FAMILIES[name]
    request, expected = _by_form(family), _by_command(family, tmp_path)
    assert request.model_dump() == expected.model_dump()


@pytest.mark.parametrize("name", FAMILIES)
def test_what_travels_is_plain_data_and_shows_as_it_was_written(name: str) -> None:
    import json

    family, sent = FAMILIES[name], {key: [text] for key, text in POSTED[name].items()}
    held = json.loads(json.dumps(read_request(family, sent)))
    method = held.get("method") if len(family.methods) > 1 else None
    fields = forms.fields_for_method(forms.fields_of(family), method, family)
    again = {
        shown_field.name: [str(shown_field.value)]
        for shown_field in forms.fill_fields(fields, held)
        if shown_field.value not in (None, False)
    }
    assert read_request(family, again) == held


@pytest.mark.parametrize("name", FAMILIES)
def test_every_declared_parameter_has_a_field_in_some_form(name: str) -> None:
    kind = FAMILIES[name].request_kind()
    sharing = [related_family for related_family in FAMILIES.values() if related_family.request_kind() is kind]
    field_names = {field.name for family in sharing for field in forms.fields_of(family)}
    research = {"research", "options", "asked"}  # the studio has no use for methods that are only claimed
    one_method = {"method"} if all(len(related_family.methods) == 1 for related_family in sharing) else set()
    assert field_names >= set(flags_of(kind)) - research - one_method


def test_all_errors_are_reported_at_once_per_field() -> None:
    with pytest.raises(forms.FormError) as caught:
        forms.read_posted(forms.fields_of(FAMILIES["rankings"]), {"k": ["ten"], "shares": ["half"]})
    assert caught.value.by_field == {
        "epsilon": "ε (epsilon) is needed",
        "k": "k must be a whole number of at least 1, not 'ten'; try k 10",
        "shares": "shares must read NAME=VALUE, not 'half'",
    }


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"epsilon": "0"}, "epsilon"),
        ({"epsilon": "1", "method": "sra"}, "limit"),
        ({"epsilon": "1", "noise": "gaussian"}, "noise"),
        ({"epsilon": "1", "shares": {"items": "2"}}, "shares"),
    ],
)
def test_request_errors_are_reported_beside_the_field(values: dict[str, Any], field: str) -> None:
    with pytest.raises(forms.FormError) as caught:
        forms.build_request(FAMILIES["counts"], values)
    assert list(caught.value.by_field) == [field]
    assert "--" not in str(caught.value)


def test_a_method_shows_what_it_has_a_use_for_and_needs() -> None:
    counts = FAMILIES["counts"]
    fields = {
        form_field.name: form_field
        for form_field in forms.fields_for_method(forms.fields_of(counts), "lpa", counts)
    }
    assert fields["limit"].needed
    assert not {"at_most", "quantiles", "options.repeats"} & set(fields)
    usual = {
        form_field.name: form_field
        for form_field in forms.fields_for_method(forms.fields_of(counts), None, counts)
    }
    assert not usual["limit"].needed
    assert "at_most" in usual


def test_programs_send_data_and_never_the_name_of_a_file(tmp_path: Path) -> None:
    fields = forms.fields_of(FAMILIES["queries"])
    secret = tmp_path / "secret.toml"
    secret.write_text(_BINS)
    sent = {"epsilon": 1, "bins": {"age": {"edges": [0, 18]}}, "queries": [_STATEMENT], "max_records": 2}
    assert forms.read_json(fields, sent) == {**sent, "epsilon": "1"}
    with pytest.raises(forms.FormError, match="TOML"):
        forms.read_json(fields, {**sent, "bins": str(secret)})
    with pytest.raises(forms.FormError, match="there is no research"):
        forms.read_json(fields, {**sent, "research": True})
    with pytest.raises(forms.FormError, match="there is no scores"):
        forms.read_json(forms.fields_of(FAMILIES["counts"]), {"epsilon": "1", "options": {"scores": str(secret)}})


def test_options_of_programs_are_of_the_types_that_methods_declare() -> None:
    fields = forms.fields_of(FAMILIES["counts"])
    values = {"epsilon": "1", "method": "gs", "limit": 3, "options": {"sampling": "row"}}
    assert forms.read_json(fields, values) == values
    with pytest.raises(forms.FormError, match="sampling must be one of"):
        forms.read_json(fields, {**values, "options": {"sampling": "/etc/passwd"}})


# How logs are read


def test_the_fields_of_a_log_are_read_as_commands_read_them() -> None:
    fields = forms.reading_fields("events", columns=["who", "what", "when"], files=["venues.csv"])
    sent = {
        "user": ["who"],
        "item": ["what"],
        "items.file": ["venues.csv"],
        "items.columns": ["id,name"],
        "context": ["weekday:when"],
        "where": ["price > 3\ntown = Rome"],
        "header": ["on"],
        "count": ["users"],
        "context_of": ["record"],  # as it is anyway, and so not kept: ratings have no such flag
        "encoding": ["utf-8"],
    }
    assert forms.read_posted(fields, sent) == {
        "user": "who",
        "item": "what",
        "items": "venues.csv:id,name",
        "context": "weekday:when",
        "where": ["price > 3", "town = Rome"],
        "header": False,
        "count": "users",
    }


def test_a_catalogue_is_a_file_of_the_folder_or_a_list() -> None:
    fields = [
        form_field
        for form_field in forms.reading_fields("events", files=["venues.csv"])
        if form_field.name == "items"
    ]
    assert forms.read_posted(fields, {"items": ["tea\nrye"]}) == {"items": ["tea", "rye"]}
    assert forms.read_posted(fields, {"items": ["../../etc/passwd"]}) == {"items": ["../../etc/passwd"]}  # an id
    with pytest.raises(forms.FormError, match="no file of the folder"):
        forms.read_posted(fields, {"items.file": ["../../etc/passwd"]})
    with pytest.raises(forms.FormError, match="no file of the folder"):
        forms.read_json(fields, {"items": {"file": "/etc/passwd"}})


def test_a_column_must_be_one_of_the_source() -> None:
    fields = forms.reading_fields("events", columns=["who", "what"])
    with pytest.raises(forms.FormError) as caught:
        forms.read_posted(fields, {"user": ["whom"], "item": ["what"]})
    assert list(caught.value.by_field) == ["user"]


# What is new has its form by itself


@dataclass(frozen=True, kw_only=True)
class _Mine(SimpleRandom):
    """A method that nobody knows yet."""

    name: ClassVar[str] = "mine"
    flavour: Literal["sweet", "sour"] = "sweet"


class _MyRequest(ReleaseRequest):
    """A request with one more parameter."""

    colour: Annotated[str | None, Flag(f"Which colour {param.limit} has.", "C")] = None


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """Return a module of the family of counts, for what is declared in a test."""
    synthetic_module = types.ModuleType("headcount.methods.counts.made_up")
    synthetic_module.__dict__.update(Mine=_Mine, MyRequest=_MyRequest)
    monkeypatch.setitem(sys.modules, "headcount.methods.counts.made_up", synthetic_module)
    monkeypatch.setattr(_Mine, "__module__", "headcount.methods.counts.made_up")
    return synthetic_module


@pytest.mark.usefixtures("module")
def test_a_method_that_is_registered_has_its_form(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = FAMILIES["counts"]
    monkeypatch.setitem(counts.methods, "mine", Listed("made_up:Mine"))
    fields = {form_field.name: form_field for form_field in forms.fields_of(counts)}
    assert "mine" in [choice.value for choice in fields["method"].choices]
    assert [choice.value for choice in fields["options.flavour"].choices] == ["sweet", "sour"]
    assert fields["options.flavour"].only == ("mine",)
    sent = {"epsilon": ["1"], "method": ["mine"], "limit": ["3"], "options.flavour": ["sour"]}
    _, request = forms.build_request(counts, read_request(counts, sent))
    assert getattr(request.build(), "flavour", None) == "sour"


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize("name", ["cora", "ann"])
def test_a_method_that_is_registered_is_on_the_pages_and_in_the_api(
    published: Studio, client: Callable[[str], Browser], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setitem(FAMILIES["counts"].methods, "mine", Listed("made_up:Mine"))
    asks, dataset = client(name), published.datasets.listed(visitor_of(published, "cora"))[0].id
    page = asks.get(f"/datasets/{dataset}/plan" if name == "cora" else f"/ask/{dataset}")
    assert '<option value="mine"' in page.text
    fields = {
        form_field["name"]: form_field for form_field in asks.get(f"/api/v1/datasets/{dataset}/fields").json()
    }
    assert fields["options.flavour"]["choices"] == ["sweet", "sour"]
    assert fields["options.flavour"]["only"] == ["mine"]


@pytest.mark.usefixtures("module")
def test_a_family_and_its_parameters_have_their_form(monkeypatch: pytest.MonkeyPatch) -> None:
    family = FAMILIES["counts"]._replace(name="made-up", request="made_up:MyRequest")
    monkeypatch.setitem(FAMILIES, "made-up", family)
    assert "made-up" in [offer.name for offer in forms.offers("events")]
    field = next(form_field for form_field in forms.fields_of(family) if form_field.name == "colour")
    assert (field.label, field.help, field.advanced) == ("Colour", "Which colour limit has.", True)
    values, request = forms.build_request(family, read_request(family, {"epsilon": ["1"], "colour": ["red"]}))
    assert (values["colour"], getattr(request, "colour", None)) == ("red", "red")


def test_a_flag_of_logs_has_its_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FLAGS, "shade", Flag("How dark.", choices=("light", "dark")))
    reader = READERS["events"]
    wider = dataclasses.replace(reader, names=(*reader.names, "shade"))
    monkeypatch.setitem(READERS, "events", wider)
    field = next(form_field for form_field in forms.reading_fields("events") if form_field.name == "shade")
    assert (field.kind, [choice.value for choice in field.choices]) == ("choice", ["light", "dark"])
