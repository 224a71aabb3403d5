"""Methods as published, by family, for research: the claims of most are not established, and these say so."""

from __future__ import annotations

from collections.abc import Mapping

from headcount.lab.published.cim import CoupledIteration
from headcount.lab.published.counts import HandPickedPublished, LaplacePerturbationPublished
from headcount.lab.published.dpsense import ScaledSensitivityControlPublished, SensitivityControlPublished
from headcount.lab.published.pncf_method import PncfPublished
from headcount.lab.published.pncf_predictions import PncfPredictionsPublished
from headcount.lab.published.pritop import PriTopPublished
from headcount.lab.published.smoothing import (
    FourierPerturbationPublished,
    RandomGroupsPublished,
    SampledGroupsPublished,
    TunedGroupsPublished,
)
from headcount.lab.published.suppression import SuppressionPublished
from headcount.method import Method

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
