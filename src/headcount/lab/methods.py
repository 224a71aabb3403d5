"""Methods exactly as published, by family, for research: most of their guarantees are unproven."""

from __future__ import annotations

from collections.abc import Mapping

from headcount.lab.as_published.cim import CoupledIteration
from headcount.lab.as_published.dpsense import ScaledSensitivityControlPublished, SensitivityControlPublished
from headcount.lab.as_published.laplace_hpa import HandPickedPublished, LaplacePerturbationPublished
from headcount.lab.as_published.pncf_predictions import PncfPredictionsPublished
from headcount.lab.as_published.pncf_release import PncfPublished
from headcount.lab.as_published.pritop import PriTopPublished
from headcount.lab.as_published.smoothing import (
    FourierPerturbationPublished,
    RandomGroupsPublished,
    SampledGroupsPublished,
    TunedGroupsPublished,
)
from headcount.lab.as_published.suppression import SuppressionPublished
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
