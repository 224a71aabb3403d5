"""Stages of a method: their budget split, sensitivity and noise distributions, for plan, charge and release.

A method declares its stages as values. The noise that a plan predicts, what a ledger charges, what ``explain``
says of shares and the release itself are read off these: :func:`noise_distributions_of` and :func:`charged_costs`
take a price, :func:`split_among_stages` a price or a grant, so that plan and act cannot drift apart.

Why it is right
    Stages of pure ε, each knowing what was released before, add up. Stages with Gaussian noise are ρ₁- and
    ρ₂-zero-concentrated, hence ρ₁ + ρ₂ together. The ε₂ that is left to them and all of δ allow for a ρ
    (:mod:`headcount.accounting.zcdp`), and that ρ is what they share: they are (ε₂, δ)-private together, by one
    conversion. Beside stages of pure ε₁ in all that makes (ε₁ + ε₂, δ): given what was released before, a pure
    stage changes the probability of its own outcome by a factor between e^-ε₁ and e^ε₁, so the loss of all stages
    exceeds ε₁ + ε₂ only where that of the Gaussian ones exceeds ε₂.

    No stage is noisier than with its share s of ε₂ and some part of δ for itself. The ρ of ε and δ is the largest
    of many that are linear in ε, so it is convex in ε, and it grows with δ: that of s · ε₂ and a part of δ is at
    most s times that of ε₂ and δ, but for the ρ of ε = 0, which is of the size of δ².

Reference
    M. Bun, T. Steinke. Concentrated Differential Privacy: Simplifications, Extensions, and Lower Bounds. TCC 2016.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from typing import TypeVar

from headcount.accounting.budget import Amount, Cost, Grant, amount, cost_of
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.bounds import Sensitivity
from headcount.errors import UsageError, param
from headcount.noise import noise_distribution_for

Paying = TypeVar("Paying", Cost, Grant)

_GAUSSIAN = "all with Gaussian noise"


@dataclass(frozen=True)
class Stage:
    """One stage: its name and its share of ε; with Gaussian noise, of the ε and ρ that all such stages have.

    A stage that picks (:mod:`headcount.noise.selection.exponential_zcdp`) costs ρ as Gaussian noise does, and is
    shared as such.

    ``sensitivity`` says how far one person moves what it measures, in multiples of 1 / ``unit``, where that is
    known without data, and ``tells`` under which names its noise is announced. A stage may divide its part among
    ``parts``; those that are ``apart`` get all of it each, since no person is in two of them.
    """

    name: str
    share: Decimal = Decimal(1)
    gaussian: bool = False
    sensitivity: Sensitivity | None = None
    unit: int = 1
    on: str = "counts"
    tells: tuple[str, ...] = ()
    parts: tuple[Stage, ...] = ()
    apart: bool = False
    of_rho: Decimal | None = None
    """The share of ρ, where it is not in proportion to the share of ε."""
    picks: int = 0
    """So many rounds of picks it may be spent on, or else on Gaussian noise; see :meth:`Cost.for_picks`."""


Stages = tuple[Stage, ...]


def normalize_split(stages: Iterable[Stage], given: Mapping[str, Amount] | None = None) -> Stages:
    """Return stages whose shares sum to 1.

    The caller's shares are taken as they are and must sum to 1; the method's own are renormalised over the
    stages that run. A single stage gets everything.

    >>> stages = [Stage("items", Decimal("0.45")), Stage("edges", Decimal("0.45"))]
    >>> [stage.share for stage in normalize_split(stages)]
    [Decimal('0.5'), Decimal('0.5')]
    >>> normalize_split([Stage("items"), Stage("edges")], {"items": "0.7", "edges": 0.2})
    Traceback (most recent call last):
    headcount.errors.UsageError: shares must sum to 1, not '0.9'; for example --shares items=0.5,edges=0.5
    """
    own = {stage.name: stage for stage in stages}
    split = _normal({name: stage.share for name, stage in own.items()}) if given is None else _read(own, given)
    return tuple(replace(stage, share=split[name]) for name, stage in own.items())


def split_evenly(names: Iterable[object]) -> Stages:
    """Return stages that share equally.

    >>> [stage.share for stage in split_evenly("abc")]
    [Decimal('0.333333333333333'), Decimal('0.333333333333333'), Decimal('0.333333333333334')]
    """
    return normalize_split(Stage(str(name)) for name in names)


def split_among_stages(stages: Sequence[Stage], whole: Paying) -> dict[str, Paying]:
    """Split a price, or a grant, among stages; several with Gaussian noise share the ρ that is left to them.

    >>> split_among_stages(split_evenly(["scores", "items"]), Cost.of("1"))["items"]
    Cost(epsilon=Decimal('0.5'), delta=Decimal('0'), part=None, picks=None)
    >>> bells = normalize_split([Stage("items", gaussian=True), Stage("edges", gaussian=True)])
    >>> f"{split_among_stages(bells, Cost.of('1', '1e-6'))['edges'].rho:.6f}"
    '0.012178'
    """
    if all(stage.apart for stage in stages):
        return whole.for_disjoint_users(stage.name for stage in stages)
    parts = _outer(stages, whole)
    if _GAUSSIAN not in parts:
        return parts
    by_rho = {
        stage.name: stage.share if stage.of_rho is None else stage.of_rho for stage in stages if stage.gaussian
    }
    together = parts.pop(_GAUSSIAN)
    return parts | together.split_rho(_normal(by_rho))


def noise_distributions_of(stages: Sequence[Stage], cost: Cost) -> dict[str, NoiseDistribution]:
    """Return the noise that stages announce at a price; refuse what cannot be drawn, announced or not."""
    parts, distributions = split_among_stages(stages, cost), dict[str, NoiseDistribution]()
    for stage in stages:
        part = parts[stage.name]
        if stage.sensitivity is not None:
            own = dict.fromkeys(
                stage.tells, noise_distribution_for(stage.sensitivity, part, unit=stage.unit, on=stage.on)
            )
            distributions |= {
                name: distribution for name, distribution in own.items() if name not in distributions
            }
        if stage.parts:
            distributions |= {
                name: distribution
                for name, distribution in noise_distributions_of(stage.parts, part).items()
                if name not in distributions
            }
    return distributions


def charged_costs(stages: Sequence[Stage], cost: Cost) -> list[Cost]:
    """Return what a ledger charges for: pure stages one by one, and what those with Gaussian noise share.

    Picks cost more ρ than their share.
    """
    charged, parts = list(_outer(stages, cost).values()), split_among_stages(stages, cost)
    for stage in stages:
        if stage.picks:
            part = parts[stage.name]
            more = part.for_picks(stage.picks, instead=len(stages) > 1).rho_of_rounds(stage.picks) - part.rho
            charged = [
                replace(charged_cost, part=charged_cost.rho + more) if charged_cost.delta else charged_cost
                for charged_cost in charged
            ]
    return charged


def _outer(stages: Sequence[Stage], whole: Paying) -> dict[str, Paying]:
    """Split among pure stages, and among Gaussian ones as one."""
    bells = dict.fromkeys((stage.name for stage in stages if stage.gaussian), Decimal(1))
    if len(bells) == len(stages) and (len(bells) > 1 or cost_of(whole).part is not None):
        return {_GAUSSIAN: whole}
    shares = {stage.name: stage.share for stage in stages}
    if len(bells) < 2:
        return whole.split(shares, bells or None)
    pure = {name: share for name, share in shares.items() if name not in bells}
    return whole.split({**pure, _GAUSSIAN: 1 - sum(pure.values(), start=Decimal(0))}, {_GAUSSIAN: Decimal(1)})


def _normal(weights: Mapping[str, Decimal]) -> dict[str, Decimal]:
    """Divide weights by their sum; the last gets what is left."""
    *first, last = weights
    with localcontext() as context:
        context.prec = 15
        total = sum(weights.values())
        shares = {name: weights[name] / total for name in first}
    shares[last] = 1 - sum(shares.values(), start=Decimal(0))
    return shares


def _read(names: Iterable[str], given: Mapping[str, Amount]) -> dict[str, Decimal]:
    names = list(names)
    equal_shares = dict.fromkeys(names, f"{Decimal(1) / len(names):.3g}")
    example = f"for example {param.shares(equal_shares)}"
    if set(given) != set(names):
        raise UsageError(
            f"shares must name the stages that run: {', '.join(names)}", given=",".join(given), remedy=example
        )
    shares = {name: amount(given[name], f"the share of {name}") for name in names}
    if sum(shares.values()) != 1:
        raise UsageError("shares must sum to 1", given=str(sum(shares.values())), remedy=example)
    return shares
