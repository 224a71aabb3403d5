"""scikit-learn style estimators (``fit``, ``predict``) around the private recommender models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from headcount.accounting.budget import Amount
from headcount.api.functions import fit_neighbours
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.methods.recommender.recommender import NeighbourModel


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
