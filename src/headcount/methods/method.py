"""The ``Method`` protocol: stages, noise and guarantee known without data, then a release of a log.

A method is a dataclass whose fields are its parameters. It receives one grant and must spend exactly that, as its
stages say; they share it by weights that are public: the paper's, or the caller's.
"""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

from headcount.accounting.budget import Cost, CostOrGrant, Grant, cost_of
from headcount.accounting.guarantee import Guarantee, Standing, format_delta
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.bounds import Bound, CountTable
from headcount.engines.engine import Engine, SelectiveEngine
from headcount.engines.local.engine import LocalEngine
from headcount.errors import USE_LOCAL_ENGINE, UsageError, param
from headcount.events.log import EventLog
from headcount.noise import NoiseSource
from headcount.noise.stages import Stage, Stages, noise_distributions_of
from headcount.releases.formatting import per_cent
from headcount.releases.release import Release

What = Literal["items", "edges", "both"]

PUBLIC_CATALOGUE = "the catalogue of items and the contexts are public, fixed without looking at the log"
PUBLIC_LISTS = "the lists of resources and tags are public, fixed without looking at the log"
ONE_ID = "every person has one user id"


Bounds = tuple[type[Bound[Any]], ...]

OMITTED_BY_DEFAULT: Mapping[str, bool] = {"omitted by default": True}
"""Metadata of a parameter that a request's identity omits at its default: ledgers hold requests from before it."""


class Method(Protocol):
    """The protocol that every family implements."""

    name: ClassVar[str]
    standing: ClassVar[Standing]
    reason: ClassVar[str | None]
    bounds: ClassVar[Bounds]
    """What kinds of bounds it asks an engine to measure; methods that read raw records name none."""

    def guarantee(self, priced: CostOrGrant) -> Guarantee:
        """Say what is promised, without looking at data."""

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Spend the grant on a release of the log."""

    def stages(self, log: EventLog, price: Cost) -> Stages:
        """Say what will be done one after the other at a price, as far as it is known without data."""

    def noise_distributions(self, log: EventLog, priced: CostOrGrant) -> Mapping[str, NoiseDistribution]:
        """Say which noise each table will get, as far as it is known without data; refuse what cannot be done."""


class Staged:
    """What methods build on: stages, one unless they say otherwise, and the noise that follows from them."""

    def check(self, log: EventLog) -> None:
        """Refuse a log that the method cannot use."""

    def stages(self, log: EventLog, price: Cost) -> Stages:  # noqa: ARG002
        """Return one stage, of which nothing is known without data."""
        return (Stage("release"),)

    def noise_distributions(self, log: EventLog, priced: CostOrGrant) -> Mapping[str, NoiseDistribution]:
        """Return the noise that the stages announce; refuse what cannot be done."""
        self.check(log)
        price = cost_of(priced)
        return noise_distributions_of(self.stages(log, price), price)

    def notes(self, log: EventLog, priced: CostOrGrant) -> tuple[str, ...]:  # noqa: ARG002
        """Say in sentences what else is known without data."""
        return ()


Measured = TypeVar("Measured")
"""What a method measured with noise, before anything is estimated from it."""


class MeasuringMethod(Staged, ABC, Generic[Measured]):
    """A method in two parts: ``measure`` alone spends, and ``estimate`` is post-processing of noisy numbers."""

    @abstractmethod
    def guarantee(self, priced: CostOrGrant) -> Guarantee:
        """Say what is guaranteed, without looking at data."""

    @abstractmethod
    def measure(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine) -> Measured:
        """Spend the grant on noisy numbers of the log."""

    @abstractmethod
    def estimate(self, log: EventLog, guarantee: Guarantee, noisy: Measured, *, simulated: bool) -> Release:
        """Return the release of noisy numbers; of the log, only the description is used."""

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Measure, then estimate."""
        self.check(log)
        guarantee = self.guarantee(grant)
        noisy = self.measure(log, grant, noise, engine or LocalEngine())
        return self.estimate(log, guarantee, noisy, simulated=not noise.is_private)


def check_engine(name: object, bounds: Bounds, engine: Engine, log: EventLog) -> None:
    """Refuse an engine that cannot measure what is asked of a log, before anything is reserved or read."""
    for kind in bounds:
        if not engine.can(kind):
            raise UsageError(
                f"{type(engine).__name__} cannot measure {kind.__name__}, which {name} needs",
                remedy=f"{USE_LOCAL_ENGINE}",
            )
    if isinstance(engine, SelectiveEngine):
        engine.check(log)


def tables_of(what: What | None, log: EventLog) -> tuple[CountTable, ...]:
    """Return which tables are released: by default both if there is a context, else items."""
    if what is None:
        what = "items" if log.context is None else "both"
    if what != "items" and log.context is None:
        raise UsageError(f"{what} needs a context", remedy=f"name one with {param.context}, or release items")
    return ("items", "edges") if what == "both" else (what,)


def describe_cost(priced: CostOrGrant) -> str:
    """Say what a price amounts to.

    >>> from decimal import Decimal
    >>> describe_cost(Cost.of("0.50")), describe_cost(Grant("1", "1e-6"))
    ('ε = 0.5', 'ε = 1 and δ = 1e-6')
    >>> split = {"items": Decimal("0.25"), "pairs": Decimal("0.75")}
    >>> describe_cost(Cost.of("1", "1e-6").split_rho(split)["pairs"])
    '75 % of the ρ that ε = 1 and δ = 1e-6 allow for'
    """
    price = cost_of(priced)
    whole = f"ε = {price.epsilon.normalize():f}" + (f" and δ = {format_delta(price.delta)}" if price.delta else "")
    share = price.share_of_rho
    return whole if share is None else f"{per_cent(share)} of the ρ that {whole} allow for"


def describe_filters(log: EventLog) -> list[str]:
    """Say which records counted at all, as far as the caller narrowed them down."""
    sentences = [f"Only records with {condition} were counted." for condition in log.conditions]
    if log.roles.times is not None:
        sentences.append(f"Each row stood for as many records as its column {log.roles.times!r} says.")
    if log.context_of == "user" and log.context is not None:
        sentences.append(
            f"Each person counted only in the {log.context.name} they have most often; their other records were "
            "left out."
        )
    return sentences


EVERYTHING = "everything each person did"


def describe_extent(log: EventLog) -> str:
    """Say how much of each person counted: all, but where they are in one context alone."""
    if log.context_of == "user" and log.context is not None:
        return f"what each person did in the {log.context.name} they have most often"
    return EVERYTHING


def section(method: type[Method], title: str) -> str:
    """Return a section of the docstring of the file a method lives in, as one paragraph."""
    module = inspect.getmodule(method)
    text = inspect.cleandoc((module.__doc__ if module else None) or "")
    match = re.search(rf"^{re.escape(title)}\n((?:    .*\n?|\n)+)", text, re.MULTILINE)
    return " ".join(match[1].split()) if match else ""
