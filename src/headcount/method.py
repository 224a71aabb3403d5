"""What every method is: a frozen description that can say its promise without data, and then keep it.

A method is a dataclass whose fields are its parameters. It receives one grant and must spend exactly that.
Stages share the grant by weights that are public: the paper's, or the caller's.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext
from typing import ClassVar, Literal, Protocol, runtime_checkable

from headcount.budget import Amount, Grant, amount
from headcount.engines.engine import Engine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.guarantee import Guarantee, Standing, in_short
from headcount.noise import NoiseSource
from headcount.noise_law import Law
from headcount.releases import Release

What = Literal["items", "edges", "both"]

PUBLIC_CATALOGUE = "the catalogue of items and the contexts are public, fixed without looking at the log"
ONE_ID = "every person has one user id"


class Method(Protocol):
    """The protocol that every family implements."""

    name: ClassVar[str]
    standing: ClassVar[Standing]
    reason: ClassVar[str | None]

    def guarantee(self, grant: Grant) -> Guarantee:
        """Say what is promised, without looking at data."""

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Spend the grant on a release of the log."""

    def laws(self, log: EventLog, grant: Grant) -> Mapping[str, Law]:
        """Say which noise each table will get, as far as it is known without data; refuse what cannot be done."""


@runtime_checkable
class Staged(Protocol):
    """A method that can say without data how it splits its grant: δ goes to stages with Gaussian noise alone."""

    def stages(self, log: EventLog, grant: Grant) -> Mapping[str, Grant]:
        """Split a grant as the release will; the ledger then accounts for Gaussian noise by its ρ."""


@runtime_checkable
class Demanding(Protocol):
    """A method that not every engine can run."""

    def check_engine(self, engine: Engine) -> None:
        """Refuse an engine that cannot, before anything is reserved or read."""


def tables_of(what: What | None, log: EventLog) -> tuple[str, ...]:
    """Return which tables are released: by default both if there is a context, else items."""
    if what is None:
        what = "items" if log.context is None else "both"
    if what != "items" and log.context is None:
        raise UsageError(f"{what} needs a context", remedy="name one with --context, or release items")
    return ("items", "edges") if what == "both" else (what,)


def shares_of(
    stages: Sequence[str], defaults: Mapping[str, str], given: Mapping[str, Amount] | None
) -> dict[str, Decimal]:
    """Return each stage's share of the grant.

    The caller's shares are taken as they are and must sum to 1; the method's own are renormalised over the
    stages that run. A single stage gets everything.

    >>> shares_of(["items", "edges"], {"items": "0.45", "edges": "0.45", "scores": "0.1"}, None)
    {'items': Decimal('0.5'), 'edges': Decimal('0.5')}
    >>> shares_of(["items", "edges"], {}, {"items": "0.7", "edges": 0.2})
    Traceback (most recent call last):
    headcount.errors.UsageError: shares must sum to 1, not '0.9'; for example --shares items=0.5,edges=0.5
    """
    example = "for example --shares " + ",".join(f"{s}={Decimal(1) / len(stages):.3g}" for s in stages)
    if given is None:
        weights = {stage: Decimal(defaults[stage]) for stage in stages}
        with localcontext() as context:
            context.prec = 15
            total = sum(weights.values())
            shares = {stage: weights[stage] / total for stage in stages[:-1]}
        shares[stages[-1]] = Decimal(1) - sum(shares.values(), start=Decimal(0))
        return shares
    unknown = [stage for stage in given if stage not in stages]
    missing = [stage for stage in stages if stage not in given]
    if unknown or missing:
        raise UsageError(
            f"shares must name the stages that run: {', '.join(stages)}",
            given=",".join(given),
            remedy=example,
        )
    shares = {stage: amount(given[stage], f"the share of {stage}") for stage in stages}
    if sum(shares.values()) != 1:
        raise UsageError("shares must sum to 1", given=str(sum(shares.values())), remedy=example)
    return shares


def paid(grant: Grant) -> str:
    """Say what a grant amounts to.

    >>> paid(Grant("0.50")), paid(Grant("1", "1e-6"))
    ('ε = 0.5', 'ε = 1 and δ = 1e-6')
    >>> paid(Grant("1", "1e-6").split_rho({"items": Decimal("0.25"), "pairs": Decimal("0.75")})["pairs"])
    '75% of the ρ that ε = 1 and δ = 1e-6 allow for'
    """
    whole = f"ε = {grant.epsilon.normalize():f}" + (f" and δ = {in_short(grant.delta)}" if grant.delta else "")
    share = grant.share_of_rho
    return whole if share is None else f"{share:.0%} of the ρ that {whole} allow for"


def what_counted(log: EventLog) -> list[str]:
    """Say which records counted at all, as far as the caller narrowed them down."""
    said = [f"Only records with {condition} were counted." for condition in log.conditions]
    if log.roles.times is not None:
        said.append(f"Each row stood for as many records as its column {log.roles.times!r} says.")
    if log.context_of == "user" and log.context is not None:
        said.append(
            f"Each person counted only in the {log.context.name} they have most often; their other records were "
            "left out."
        )
    return said


def extent(log: EventLog) -> str:
    """Say how much of each person counted: all, but where they are in one context alone."""
    if log.context_of == "user" and log.context is not None:
        return f"what each person did in the {log.context.name} they have most often"
    return "everything each person did"


def section(method: type[Method], title: str) -> str:
    """Return a section of the docstring of the file a method lives in, as one paragraph."""
    module = inspect.getmodule(method)
    text = inspect.cleandoc((module.__doc__ if module else None) or "")
    found = re.search(rf"^{re.escape(title)}\n((?:    .*\n?|\n)+)", text, re.MULTILINE)
    return " ".join(found[1].split()) if found else ""
