"""Experiments of the lab: comparisons, audits and replications, with their forms. None of them is private."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headcount._internal.parameters import read_whole_number
from headcount.accounting.budget import amount
from headcount.errors import Parameter, UnknownNameError, param
from headcount.lab.replicate.all_papers import PAPERS
from headcount.methods.registry import FAMILIES
from headcount.studio import forms
from headcount.studio.access import Visitor, check_curator
from headcount.studio.forms.field import Choice, Field, choices_of, name_reader
from headcount.studio.store.jobs import Job
from headcount.studio.studio import Studio

_LIMIT_HELP = "The most records one person may add."
_REPLAY_HELP = "Run each pair of logs with the same draws, once: no statistics, a few seconds."


@dataclass(frozen=True)
class Experiment:
    """A kind of job that is not private, with its form."""

    kind: str
    heading: str
    about: str
    needs_dataset: bool
    fields: Callable[[], list[Field]]


def _comparison() -> list[Field]:
    return [
        _choice("what", "Compare", ("counts", "rankings", "selection"), "counts"),
        Field("methods", "Methods", "text", "With commas; usually all.", read=_split_list, advanced=True),
        Field("epsilon", "ε", "text", "Budgets to try, with commas.", default="0.5,1", read=_amounts),
        Field("limits", "Limits", "text", "Of counts, with commas.", read=_wholes, advanced=True),
        Field("k", "Places", "text", "Of rankings, with commas.", read=_wholes, advanced=True),
        Field("runs", "Runs", "number", "How often each setting is run.", default="5", read=_whole("runs")),
    ]


def _audit() -> list[Field]:
    audited = [name for family in FAMILIES.values() for name in family.kinds()]
    return [
        _choice("method", "Method", tuple(audited), "adaptive"),
        Field("epsilon", "ε that is claimed", "text", default="1", read=_amount),
        Field("limit", "Limit", "number", _LIMIT_HELP, default="2", read=_whole("limit")),
        Field("replay", "Replay", "flag", _REPLAY_HELP, default="true", read=lambda _: True),
    ]


def _reproduction() -> list[Field]:
    papers = tuple(Choice(name, f"{name}: {paper.claims.run.about}") for name, paper in PAPERS.items())
    efforts = (Choice("true", "quick: fewer runs and grid points"), Choice("false", "in full: this takes long"))
    return [
        Field(
            "paper",
            "Paper",
            "choice",
            choices=papers,
            default=papers[0].value,
            needed=True,
            read=name_reader("paper", PAPERS),
        ),
        Field(
            "quick",
            "Effort",
            "choice",
            choices=efforts,
            default="true",
            needed=True,
            read=lambda text: text == "true",
            shapes=(bool,),
        ),
    ]


EXPERIMENTS = (
    Experiment(
        "compare",
        "Compare methods on a log",
        "Every method is run on the log and measured against the truth. Choose no method or limit by it for a "
        "release of this same log.",
        True,
        _comparison,
    ),
    Experiment(
        "audit",
        "Audit a method",
        "The real code is run on made-up logs that differ in one person, and told apart if it can be. Finding "
        "nothing proves nothing.",
        False,
        _audit,
    ),
    Experiment(
        "reproduce",
        "Run a paper again",
        "Every claim of a paper with a verdict, on data that is at hand.",
        False,
        _reproduction,
    ),
)


def experiment(kind: str) -> Experiment:
    """Return an experiment by its kind."""
    matching = next((candidate for candidate in EXPERIMENTS if candidate.kind == kind), None)
    if matching is None:
        raise UnknownNameError.among("experiment", kind, [candidate.kind for candidate in EXPERIMENTS])
    return matching


def read_experiment(kind: str, sent: Mapping[str, Any]) -> dict[str, Any]:
    """Read the settings of an experiment that a program sends; a check of a dataset has none."""
    if not sent and kind not in {entry.kind for entry in EXPERIMENTS}:
        return {}
    return forms.read_json(experiment(kind).fields(), sent)


def begin_experiment(studio: Studio, visitor: Visitor, kind: str, sent: forms.Posted) -> Job:
    """Queue the experiment of a posted form."""
    check_curator(visitor)
    values = forms.read_posted(experiment(kind).fields(), sent)
    return studio.jobs.ask(visitor, kind=kind, dataset=forms.text(sent, "dataset") or None, asked=values)


def _choice(name: str, label: str, choices: tuple[str, ...], usual: str) -> Field:
    read, options = name_reader(name, choices), choices_of(choices)
    return Field(name, label, "choice", choices=options, default=usual, needed=True, read=read)


def _split_list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _amount(text: str) -> str:
    return f"{amount(text):f}"


def _amounts(text: str) -> list[str]:
    return [_amount(part) for part in _split_list(text)]


def _wholes(text: str) -> list[int]:
    return [read_whole_number(part, param.each) for part in _split_list(text)]


def _whole(name: str) -> Callable[[str], Any]:
    return lambda text: read_whole_number(text, Parameter(name))
