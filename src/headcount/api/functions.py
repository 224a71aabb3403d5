"""The public Python functions: release, rank, query, fit_neighbours, release_tags, check and pack."""

from __future__ import annotations

import difflib
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack

from headcount._internal.python_surface import document_parameters
from headcount.accounting.budget import Amount
from headcount.accounting.noise_distributions import NoiseKind
from headcount.api.option_types import QueryOptions, RecommenderOptions, ReleaseOptions, TagsOptions
from headcount.engines.engine import Engine, engine_for
from headcount.errors import UsageError, python
from headcount.events.inspect.report import Checked
from headcount.events.inspect.scan import scan
from headcount.events.log import EventLog, check_log
from headcount.events.tag_log import TagLog
from headcount.methods.counts.request import ReleaseRequest
from headcount.methods.queries.request import QueryRequest
from headcount.methods.rankings.request import RankRequest
from headcount.methods.recommender.request import RecommenderRequest
from headcount.methods.request import CHARGING, ChargedRequest, Request, flags_of, request_of
from headcount.methods.tags.request import TagsRequest
from headcount.releases.release import Release
from headcount.run.curator import Curator, charging_of

if TYPE_CHECKING:
    from headcount.ledger import Ledger
    from headcount.methods.recommender.recommender import NeighbourModel


from typing import Self

from headcount.methods.recommender.recommender import NeighbourModel

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _asking(kind: type[ChargedRequest], options: type | None = None) -> Callable[[_Function], _Function]:
    """Tell in a function's help what the fields of a request, and the ledger's words, are declared to be."""
    own = inspect.cleandoc(getattr(options, "__doc__", None) or "").split("\n")[2:]
    return document_parameters(
        {**flags_of(kind), **CHARGING},
        log="The log to read.",
        engine="Where events are counted, such as headcount.SparkEngine().",
        options=f"What is the method's own: {'; '.join(own)}.",
    )


@_asking(ReleaseRequest, ReleaseOptions)
def release(
    log: EventLog,
    *,
    epsilon: Amount,
    method: str | None = None,
    limit: int | None = None,
    at_most: int | None = None,
    what: Literal["items", "edges", "both", "totals"] | None = None,
    quantiles: Sequence[Amount] | str | None = None,
    by: Literal["contexts", "items"] | None = None,
    distinct: bool = False,
    shares: Mapping[str, Amount] | None = None,
    noise: NoiseKind = "laplace",
    delta: Amount | None = None,
    select_limit: int | None = None,
    research: bool = False,
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    analyst: str | None = None,
    again: bool = False,
    engine: Engine | None = None,
    **options: Unpack[ReleaseOptions],
) -> Release:
    """Release item counts, item-by-context counts or both, or totals, under user-level differential privacy.

    With a ``ledger`` (or ``HEADCOUNT_LEDGER``) the cost is charged to the budget of ``dataset``, a name or
    name@version, before any event is read; saving the release notes it as published. What was published for the
    same request before is returned at no cost, unless ``again`` asks for a fresh draw.

    The ``engine`` changes no number: by default it is the one that fits where the log lies.

    >>> log = EventLog.of([("ann", "tea"), ("bob", "tea")], items=["rye", "tea"])
    >>> release(log, epsilon="1").items.column_names
    ['item', 'label', 'count', 'low', 'high']
    >>> release(log, epsilon="1", delta="1e-6", method="sra", limit=1, noise="gaussian").guarantee.short()
    'ε = 1, δ = 1e-6, privacy: proven, per person'
    """
    return _released(ReleaseRequest, _counted(log), locals())


@_asking(RankRequest)
def rank(
    log: EventLog,
    *,
    k: int,
    epsilon: Amount,
    delta: Amount | None = None,
    per_context: bool = False,
    with_counts: bool = False,
    shares: Mapping[str, Amount] | None = None,
    select_limit: int | None = None,
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    analyst: str | None = None,
    again: bool = False,
    engine: Engine | None = None,
) -> Release:
    """Release the ``k`` items that most people have, directly, under user-level differential privacy.

    A ``ledger`` is charged as by :func:`release`.

    >>> log = EventLog.of([("ann", "tea"), ("bob", "tea")], items=["rye", "tea"])
    >>> rank(log, k=1, epsilon="100").ranking["item"].to_pylist()
    ['tea']
    """
    return _released(RankRequest, _counted(log), locals())


@_asking(RecommenderRequest, RecommenderOptions)
def fit_neighbours(
    log: EventLog,
    *,
    epsilon: Amount,
    delta: Amount | None = None,
    method: str | None = None,
    limit: int | None = None,
    asked: Sequence[tuple[Any, Any]] = (),
    select_limit: int | None = None,
    research: bool = False,
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    analyst: str | None = None,
    again: bool = False,
    engine: Engine | None = None,
    **options: Unpack[RecommenderOptions],
) -> NeighbourModel:
    """Fit a model under user-level differential privacy, and return it: it may be kept and shared.

    From a log with ratings, a person's own ratings then predict that person's others, on their own device; from
    one without, what a person has recommends what they may want (``method="visits"``), by context where the log
    has one. With ``method="co-counts"`` it is counted which items people have together. For research,
    ``method="pncf-predictions-published"`` predicts the ratings ``asked`` for, pairs of a person and an item, from
    the log itself: see the model's ``predictions``. A ``ledger`` is charged as by :func:`release`.

    >>> stars = [(f"u{n}", item, 5 if item == "tea" else 2) for n in range(400) for item in ("tea", "rye")]
    >>> log = EventLog.of(stars, items=["rye", "tea"], value_range=(1, 5))
    >>> model = fit_neighbours(log, epsilon="4", delta="1e-6")
    >>> model.recommend({"rye": 3}, k=1)[0]["item"]
    'tea'
    >>> log = EventLog.of([(f"u{n}", item) for n in range(400) for item in ("tea", "rye")], items=["rye", "tea"])
    >>> fit_neighbours(log, epsilon="4", delta="1e-6").recommend(["tea"], k=1)[0]["item"]
    'rye'
    """
    from headcount.methods.recommender.recommender import NeighbourModel

    return NeighbourModel(_released(RecommenderRequest, log, locals()))


@_asking(QueryRequest, QueryOptions)
def query(
    log: EventLog,
    queries: Any,
    *,
    epsilon: Amount,
    delta: Amount | None = None,
    bins: Any,
    groups: str | None = None,
    max_group: int | None = None,
    max_records: int = 1,
    method: str | None = None,
    synthetic: int | None = None,
    shares: Mapping[str, Amount] | None = None,
    research: bool = False,
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    analyst: str | None = None,
    again: bool = False,
    engine: Engine | None = None,
    **options: Unpack[QueryOptions],
) -> Release:
    """Answer counting queries over a table of people, all under one ε, which may cover whole ``groups``.

    ``queries`` are SQL statements, one text or several, or a matrix of zeros and ones with a row a query and a
    column a cell of the ``bins``. So many ``synthetic`` rows are drawn beside the answers, as the table of that
    name. A ``ledger`` is charged as by :func:`release`.

    >>> import pyarrow as pa
    >>> from headcount.events.user_table import read_people
    >>> log = read_people(pa.table({"id": range(90), "age": [n % 100 for n in range(90)]}), user="id")
    >>> adults = "SELECT COUNT(*) FROM people WHERE age >= 18"
    >>> query(log, adults, epsilon="50", bins={"age": {"edges": [0, 18, 65, 120]}}).answers["answer"].to_pylist()
    [72.0]
    """
    texts = isinstance(queries, str) or (
        isinstance(queries, list | tuple) and all(isinstance(statement, str) for statement in queries)
    )
    given = {**locals(), "queries" if texts else "rows": queries}
    return _released(QueryRequest, log, given if texts else {**given, "queries": ()})


@_asking(TagsRequest, TagsOptions)
def release_tags(
    log: EventLog,
    *,
    epsilon: Amount,
    delta: Amount | None = None,
    method: str | None = None,
    shares: Mapping[str, Amount] | None = None,
    select_limit: int | None = None,
    research: bool = False,
    ledger: Ledger | str | None = None,
    dataset: str | None = None,
    analyst: str | None = None,
    again: bool = False,
    engine: Engine | None = None,
    **options: Unpack[TagsOptions],
) -> Release:
    """Release a model of who tags what how, under user-level differential privacy.

    Make the log with :func:`headcount.read_tags`. A ``ledger`` is charged as by :func:`release`.

    >>> from headcount.events.tag_log import TagLog
    >>> log = TagLog.listing([("ann", "film", "sad")], resources=["film"], vocabulary=["dull", "sad"])
    >>> release_tags(log, epsilon="1", delta="1e-6").tables["model/tags"]["tag"].to_pylist()
    ['dull', 'sad']
    """
    return _released(TagsRequest, log, locals())


def check(log: EventLog) -> Checked:
    """Look through a log of any kind, and say what would not be counted and why: ``problems``, and more beside.

    Not private: it tells exact numbers and raw values, for the curator's eyes only. Nothing is charged.

    >>> report = check(EventLog.of([("ann", "tea"), ("bob", "tee")], items=["rye", "tea"]))
    >>> report.all_counts, report.records, str(report.problems[0])
    (False, 1, "1 record (50.0 %): an item outside the catalogue: 'tee' (1)")
    """
    check_log(log)
    return scan(log, surface=python)


def pack(log: EventLog, store: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write a log as a store, which :func:`headcount.read_events` takes in its place and reads more quickly.

    A store holds raw events: only its owner may open it. ``force`` replaces a store that is there already.

    >>> import tempfile
    >>> from headcount.events.log import read_events
    >>> log = EventLog.of([("ann", "tea"), ("bob", "tea")], items=["rye", "tea"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_events(pack(log, folder + "/store")).cells
    2
    """
    log = _counted(log)
    from headcount.engines.local import pack as packing

    return packing.pack(log, store, force=force)


def _released(kind: type[Request], log: EventLog, given: Mapping[str, Any]) -> Release:
    """Run a request of this kind: its fields and the ledger's words are among what was given to a function."""
    check_log(log)
    _check_spelling(given)
    request = request_of(kind, **{name: given[name] for name in kind.model_fields if name in given})
    charging = charging_of(given["ledger"], **{name: given[name] for name in ("dataset", "analyst", "again")})
    try:
        with engine_for(log, given["engine"]) as engine:
            curator = Curator(engine=engine, charging=charging)
            return curator.run(curator.prepare(request, log))
    finally:
        if charging is not None:
            charging.close()


def _check_spelling(given: Mapping[str, Any]) -> None:
    """Refuse what looks like a word of the function itself, misspelt, among the options of a method."""
    words = [name for name in given if name not in ("log", "options")]
    for option in given.get("options", ()):
        near = difflib.get_close_matches(option, words, n=1, cutoff=0.8)
        if near:
            raise UsageError(f"there is no {option}", remedy=f"did you mean {near[0]}?")


def _counted(log: EventLog) -> EventLog:
    """Return a log of items and contexts, whatever kind of log is given."""
    check_log(log)
    return log.as_events() if isinstance(log, TagLog) else log


class NeighbourRecommender:
    """Predicts ratings with a private model; a thin wrapper of :func:`headcount.fit_neighbours`.

    >>> stars = [(f"u{n}", item, 5 if item == "tea" else 2) for n in range(400) for item in ("tea", "rye")]
    >>> log = EventLog.of(stars, items=["rye", "tea"], value_range=(1, 5))
    >>> recommender = NeighbourRecommender(epsilon="4", delta="1e-6").fit(log)
    >>> recommender.predict([({"rye": 3}, "tea"), ({}, "rye")]).__len__()
    2
    """

    def __init__(self, epsilon: Amount = "1", delta: Amount | None = None, **parameters: Any) -> None:
        self._parameters: dict[str, Any] = {"epsilon": epsilon, "delta": delta, **parameters}
        self._model: NeighbourModel | None = None

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self._parameters.items() if value is not None)
        return f"NeighbourRecommender({given})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """Return the parameters, as scikit-learn asks for them."""
        return dict(self._parameters)

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters; the model that was fitted with others is let go."""
        self._parameters |= parameters
        self._model = None
        return self

    def fit(self, log: EventLog, y: object = None) -> Self:  # noqa: ARG002
        """Fit the model to a log: this spends ε, each time."""
        self._model = fit_neighbours(log, **self._parameters)
        return self

    def predict(self, asked: Sequence[tuple[Mapping[Any, float], Any]]) -> list[float]:
        """Return the rating that each pair asks for: of a person with these ratings, for that item."""
        return [self.model_.predict(own, [item])[0]["rating"] for own, item in asked]

    @property
    def model_(self) -> NeighbourModel:
        """The fitted model."""
        if self._model is None:
            raise UsageError("there is no model yet", remedy="call fit first")
        return self._model
