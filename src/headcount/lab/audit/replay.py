"""The replay contract: record every mechanism call on a log and repeat the draws on an adjacent log.

A release is run on one log, and every place where exact numbers meet noise is written down: the numbers, how far
one person may move them, what pays for it, the law, and what came out. Then it is run on a neighbour, and whatever
is drawn there comes out as it did before. What follows a draw may know its result alone. So

- the same draws must be asked for, in the same order, with the same laws and grants, and as many keys;
- the numbers that meet noise may differ by no more than was declared, and by no more than the noise pays for;
- users drawn by lot must come from a fresh key: amplification adds up over independent lots alone;
- all that is released must be the same, to the last byte of its folder, but the time of creation.

This is the coupling that proofs are made of, done by machine: no statistics, and nothing that holds by chance.

The mechanisms of ``headcount.noise`` are wrapped here, wherever they are imported; nothing in the product knows of
it. What draws noise without them is caught by the source: it gives words to them alone.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock
from weakref import WeakKeyDictionary

import numpy as np

import headcount.api.functions  # noqa: F401  # all modules that import a mechanism by name, before they are looked for
from headcount._internal.arrays import Words
from headcount.accounting.budget import Grant
from headcount.bounds import Bounded
from headcount.bounds.keys.key_support import BoundedKeySupport
from headcount.bounds.keys.key_weights import BoundedKeyWeights
from headcount.bounds.scores.joint_quantile_scores import ScoredJointly
from headcount.bounds.scores.quantile_scores import ScoredTogether
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.lab.audit.sensitivity_replay import (
    Exact,
    Key,
    MechanismCall,
    SensitivityUse,
    Violation,
    check_call,
    noting,
)
from headcount.noise import SeededNoise, gaussian, laplace, mechanisms
from headcount.noise.partition_selection import single_key, threshold
from headcount.noise.partition_selection.weighted_rounds import WeightedSelection
from headcount.noise.selection import exponential, exponential_joint, exponential_parallel, top_k, top_k_sparse
from headcount.noise.selection.sparse_vector import SparseVector
from headcount.releases.release import Release

_SHOWN = 60  # bytes on either side of a difference
BEYOND = 1 << 40
"""Noise so large that it decides any comparison."""

KEY = "key"
"""What stands in a transcript where a key was asked for."""

Log = TypeVar("Log")
Outcome = TypeVar("Outcome")


@dataclass
class Tape:
    """A source of noise that writes down what it was used for or, given a ``script``, lets the same come out."""

    seed: int
    script: Sequence[MechanismCall | str] | None = None
    events: list[MechanismCall | str] = field(default_factory=list)
    moves: list[SensitivityUse] = field(default_factory=list)
    inside: MechanismCall | None = None
    keys: list[Key] = field(default_factory=list)
    is_private: bool = True  # the curator takes no other

    def __post_init__(self) -> None:
        self._noise = SeededNoise(self.seed)

    def words(self, count: int) -> Words:
        """Return random words, to mechanisms alone."""
        if self.inside is None:
            raise Violation("noise was drawn that no mechanism of headcount.noise pays for")
        return self._noise.words(count)

    def key(self) -> bytes:
        """Return the next key: the same for all tapes with this seed."""
        self._next(KEY)
        self.events.append(KEY)
        number = len(self.keys) + 1
        self.keys.append(Key(hashlib.blake2b(f"{self.seed} {number}".encode(), digest_size=16).digest()))
        return self.keys[-1]

    def _next(self, wanted: str) -> MechanismCall | None:
        """Return what the script says next, which must be what is wanted."""
        if self.script is None:
            return None
        at = len(self.events)
        recorded = self.script[at] if at < len(self.script) else "the end"
        name = recorded if isinstance(recorded, str) else recorded.mechanism
        if name != wanted:
            raise Violation(f"step {at + 1} is {name} for one of two neighbours and {wanted} for the other")
        return None if isinstance(recorded, str) else recorded

    @contextlib.contextmanager
    def meeting(
        self, mechanism: str, exact: Exact | None, grant: Grant, *parameters: Any
    ) -> Iterator[MechanismCall]:
        """Stand beside while a mechanism does its work, and hold it against the script when it is done."""
        if isinstance(exact, Bounded) and exact.admission != 1 and not any(k.take_lot(exact) for k in self.keys):
            raise Violation(f"{mechanism}: users were drawn by lot, but not with a fresh key for this stage")
        recorded = self._next(mechanism)
        now = MechanismCall(mechanism, exact, grant, parameters)
        self.events.append(now)
        self.inside = now
        if recorded is not None:
            self._same("declared", recorded.declared, now.declared)
            self._same("asked for", recorded.parameters, now.parameters)
            now.result = recorded.result
        try:
            yield now
        finally:
            self.inside = None
        if recorded is not None:
            self._same("drawn", recorded.drawn, now.drawn)
            self._same("the result", _plain(recorded.result), _plain(now.result))
            self.moves.append(replace(check_call(recorded, now), step=len(self.moves) + 1))

    def _same(self, what: str, expected: Any, other: Any) -> None:
        if expected != other:
            name = getattr(self.inside or self.events[-1], "mechanism", KEY)
            at = len(self.events)
            raise Violation(f"step {at}, {name}: {what} differs between two neighbours: {expected} and {other}")

    def end(self) -> None:
        """Refuse to have done less than the script says."""
        if self.script is not None and len(self.events) < len(self.script):
            raise Violation(
                f"{len(self.script)} steps for one of two neighbours, {len(self.events)} for the other"
            )


def _plain(result: Any) -> Any:
    return result.tolist() if isinstance(result, np.ndarray) else result


def _forced(now: MechanismCall) -> Any:
    """Return what a draw must be so that the result is the one of the script."""
    exact, result = now.exact, now.result
    if isinstance(exact, BoundedKeySupport):
        shown = set(result)
        return np.array(
            [BEYOND if item_id in shown else -BEYOND for item_id in exact.sensitive_ids.to_pylist()], np.int64
        )
    if isinstance(exact, BoundedKeyWeights):
        return _spread_as_before(now, exact)
    if now.mechanism == "compare":
        return np.array([BEYOND if result else -BEYOND], np.int64)
    if now.mechanism == "threshold":  # nobody may ever see it: a neighbour's is another one, as in the proof
        return result + now.parameters[1]
    if isinstance(exact, Bounded):
        return result.ravel() - exact.sensitive_values.ravel()
    if isinstance(exact, ScoredTogether):
        return result[len(now.drawn) - 1]
    return result


def _spread_as_before(now: MechanismCall, exact: BoundedKeyWeights) -> Any:
    """Let every item come out as it did: what one neighbour alone has counts as drawn, too, far below the rest."""
    ids, recorded_result = exact.sensitive_ids.to_pylist(), now.result
    if now.mechanism == "named":
        return np.array([0 if item_id in recorded_result else 2**64 - 1 for item_id in ids], np.uint64)
    noisy = [recorded_result.get(item_id, -(1 << 34)) for item_id in ids]
    return np.array(noisy, np.int64) - exact.sensitive_weights


def _drawing(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap what draws; its last argument is the source, and arrays of exact numbers are not written down."""

    @functools.wraps(original)
    def drawn(*arguments: Any, **more: Any) -> Any:
        *public, source = arguments
        if not isinstance(source, Tape):
            return original(*arguments, **more)
        now = source.inside
        if now is None:
            raise Violation("noise was drawn that no mechanism of headcount.noise pays for")
        now.drawn.append(_law(now, [*public, *more.values()]))
        if source.script is not None:
            return _forced(now)
        result = original(*arguments, **more)
        if isinstance(now.exact, BoundedKeySupport):
            # an item of one person alone may show with probability δ; everything else is about what happens then
            result = np.where(now.exact.sensitive_users == 1, -BEYOND, result)
        if now.mechanism == "threshold":
            now.result = result
        if isinstance(now.exact, BoundedKeyWeights):
            if now.mechanism == "named":  # as above: what one person alone names does not show
                return np.where(now.exact.sensitive_weights == 1, np.uint64(2**64 - 1), result)
            noisy = now.exact.sensitive_weights + result
            now.result = dict(zip(now.exact.sensitive_ids.to_pylist(), noisy.tolist(), strict=True))
        return result

    return drawn


def _law(now: MechanismCall, public: Sequence[Any]) -> tuple[Any, ...]:
    """Return the law or scale of a draw, and how many there are where that is public."""
    if now.mechanism == "choose":
        return (public[1],)
    if now.mechanism == "choose together":
        return (
            (public[1], 1) if isinstance(public[0], ScoredJointly) else (Fraction(public[2], public[3]), public[1])
        )
    if now.mechanism == "peel":
        return Fraction(public[2], public[3]), public[1], *public[4:]
    if now.mechanism == "named":
        return ()
    return tuple(public[:1] if now.mechanism in ("select", "glance", "sift") else public)


def _add(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def wrapped(bounded: Any, grant: Grant, source: Any, **more: Any) -> Any:
        if not isinstance(source, Tape):
            return original(bounded, grant, source, **more)
        with source.meeting("add_gaussian" if grant.delta else "add", bounded, grant, more) as now:
            noisy = original(bounded, grant, source, **more)
            now.result = noisy.values.copy()
            now.drawn.append(noisy.distribution)
        return noisy

    return wrapped


def _pick(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(original)
    def wrapped(exact: Any, *arguments: Any) -> Any:
        *k, grant, source = arguments
        if not isinstance(source, Tape):
            return original(exact, *arguments)
        with source.meeting(name, exact, grant, *(k or [1])) as now:
            result = original(exact, *arguments)
            if name != "glance":  # its noisy weights are the result, not the hints
                now.result = result
        return result

    return wrapped


def _rounds() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Wrap the rounds of a selection."""
    begin, sift = WeightedSelection.__init__, WeightedSelection.take_round
    tapes: WeakKeyDictionary[WeightedSelection, tuple[Tape, Grant]] = WeakKeyDictionary()

    @functools.wraps(begin)
    def wrapped_begin(self: Any, grant: Grant, source: Any) -> None:
        begin(self, grant, source)
        if isinstance(source, Tape):
            tapes[self] = source, grant

    @functools.wraps(sift)
    def wrapped_sift(self: Any, weights: Any) -> None:
        if self not in tapes:
            sift(self, weights)
            return
        source, grant = tapes[self]
        with source.meeting("sift", weights, grant, self.left):
            sift(self, weights)

    return wrapped_begin, wrapped_sift


def _vectors() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Wrap the two steps of the sparse vector technique."""
    begin, compare = SparseVector.__init__, SparseVector.is_large
    tapes: WeakKeyDictionary[SparseVector, tuple[Tape, Grant, int, int, Fraction]] = WeakKeyDictionary()
    large: WeakKeyDictionary[SparseVector, int] = WeakKeyDictionary()

    @functools.wraps(begin)
    def wrapped_begin(self: Any, limit: int, reach: int, positives: int, grant: Grant, source: Any) -> None:
        if not isinstance(source, Tape):
            begin(self, limit, reach, positives, grant, source)
            return
        with source.meeting("threshold", None, grant, limit, reach, positives) as now:
            begin(self, limit, reach, positives, grant, source)
        tapes[self] = source, grant, reach, positives, now.drawn[0][0].scale

    @functools.wraps(compare)
    def wrapped_compare(self: Any, distance: Any) -> bool:
        if self not in tapes:
            return compare(self, distance)
        source, grant, reach, positives, around = tapes[self]
        with source.meeting("compare", distance, grant, reach, positives, around) as now:
            now.result = compare(self, distance)
        large[self] = large.get(self, 0) + bool(now.result)
        if large[self] > positives:
            raise Violation(f"{large[self]} distances were large, where {positives} are paid for")
        return bool(now.result)

    return wrapped_begin, wrapped_compare


@contextlib.contextmanager
def wrapped_noise(engines: Sequence[type[Engine]] = (LocalEngine,)) -> Iterator[None]:
    """Wrap the mechanisms of ``headcount.noise``, wherever they are imported, and ``measure`` of ``engines``."""
    wrappers: dict[Any, Any] = {
        mechanisms.add_noise: _add(mechanisms.add_noise),
        exponential.choose_candidate: _pick(exponential.choose_candidate, "choose"),
        top_k.choose_top_k: _pick(top_k.choose_top_k, "peel"),
        exponential_parallel.choose_in_parallel: _pick(exponential_parallel.choose_in_parallel, "choose together"),
        threshold.select_by_threshold: _pick(threshold.select_by_threshold, "select"),
        single_key.release_key_hints: _pick(single_key.release_key_hints, "glance"),
        single_key.select_keys: _pick(single_key.select_keys, "named"),
    }
    bulk = laplace.draw, gaussian.draw, top_k.draw, top_k_sparse.draw_top_k_sparse
    for drawing in (*bulk, exponential.draw, exponential_joint.draw_row, single_key.draw_bits):
        wrappers[drawing] = _drawing(drawing)
    begin, compare = _vectors()
    with contextlib.ExitStack() as stack:
        for name, module in list(sys.modules.items()):
            if name.split(".")[0] == "headcount":
                for bound, value in list(vars(module).items()):
                    if callable(value) and isinstance(value, type(_law)) and value in wrappers:
                        stack.enter_context(mock.patch.object(module, bound, wrappers[value]))
        first, sift = _rounds()
        for engine in engines:
            stack.enter_context(mock.patch.object(engine, "measure", noting(engine.measure)))
        stack.enter_context(mock.patch.object(WeightedSelection, "__init__", first))
        stack.enter_context(mock.patch.object(WeightedSelection, "take_round", sift))
        stack.enter_context(mock.patch.object(SparseVector, "__init__", begin))
        stack.enter_context(mock.patch.object(SparseVector, "is_large", compare))
        yield


def replayed(
    run: Callable[[Log, Tape], Outcome], log: Log, neighbours: Iterable[Log], seed: int
) -> Iterator[tuple[Outcome, Tape]]:
    """Record a run over a log and replay it over its neighbours; yield the outcome and the tape of every run."""
    first = Tape(seed)
    yield run(log, first), first
    for neighbour in neighbours:
        second = Tape(seed, first.events)
        try:
            again = run(neighbour, second)
        except Violation:
            raise
        except Exception as error:
            raise Violation(f"a release fails for one of two neighbours alone: {error}") from error
        second.end()
        yield again, second


def check_replay(
    run: Callable[[Log, Tape], Release], log: Log, neighbours: Iterable[Log], seed: int
) -> tuple[Release, list[SensitivityUse]]:
    """Record a release of a log, and replay it on its neighbours; return it, and how far they moved."""
    runs = replayed(run, log, neighbours, seed)
    release, _ = next(runs)
    content, moves = saved(release), list[SensitivityUse]()
    for again, tape in runs:
        check_same(content, saved(again))
        _check_total(release, tape.moves)
        moves += tape.moves
    return release, moves


def _check_total(release: Release, moves: Sequence[SensitivityUse]) -> None:
    """What all draws cost together must not exceed what is promised."""
    for unit, cost, promised in (
        ("ε", sum(step.epsilon for step in moves), release.guarantee.epsilon),
        ("δ", sum(step.delta for step in moves), release.guarantee.delta),
    ):
        if cost > float(promised) * (1 + 1e-9):
            raise Violation(f"one person costs {unit} = {cost:.6g} in all, where {promised} is promised")


def check_same(content: Mapping[str, bytes], other: Mapping[str, bytes]) -> None:
    """Refuse two neighbours that differ in anything an analyst sees; show the first difference."""
    for name in sorted(content.keys() | other.keys()):
        first, second = content.get(name), other.get(name)
        if first != second:
            pairs = enumerate(zip(first or b"", second or b"", strict=False))
            begin = max(0, next((at for at, (left, right) in pairs if left != right), 0) - _SHOWN)
            shown = " and ".join(repr(text and text[begin : begin + 2 * _SHOWN]) for text in (first, second))
            raise Violation(f"{name} differs between two neighbours, though all draws came out alike: {shown}")


def saved(release: Release) -> dict[str, bytes]:
    """Return what a release writes to its folder, but for the time of creation."""
    with tempfile.TemporaryDirectory() as folder:
        kept = replace(release, created="").save(Path(folder) / "kept")
        return {path.relative_to(kept).as_posix(): path.read_bytes() for path in kept.rglob("*") if path.is_file()}
