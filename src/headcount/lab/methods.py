"""Methods exactly as published, by family, for research: most of their guarantees are unproven."""

from __future__ import annotations

from collections.abc import Mapping

from headcount.lab.as_published.counts.dpsense import (
    ScaledSensitivityControlPublished,
    SensitivityControlPublished,
)
from headcount.lab.as_published.counts.laplace_hpa import HandPickedPublished, LaplacePerturbationPublished
from headcount.lab.as_published.counts.smoothing import (
    FourierPerturbationPublished,
    RandomGroupsPublished,
    SampledGroupsPublished,
    TunedGroupsPublished,
)
from headcount.lab.as_published.queries.cim import CoupledIteration
from headcount.lab.as_published.recommender.pncf_model import PncfPublished
from headcount.lab.as_published.recommender.pncf_predictions import PncfPredictionsPublished
from headcount.lab.as_published.tags.pritop import PriTopPublished
from headcount.lab.as_published.tags.suppression import SuppressionPublished
from headcount.methods.method import Method

METHODS: Mapping[str, tuple[type[Method], ...]] = {
    "counts": (
        LaplacePerturbationPublished,
        HandPickedPublished,
        FourierPerturbationPublished,
        RandomGroupsPublished,
        SampledGroupsPublished,
        TunedGroupsPublished,
        SensitivityControlPublished,
        ScaledSensitivityControlPublished,
    ),
    "neighbours": (PncfPublished, PncfPredictionsPublished),
    "tags": (PriTopPublished, SuppressionPublished),
    "queries": (CoupledIteration,),
}
"""In the order of listings, after the methods that are ours to recommend in the same family."""
