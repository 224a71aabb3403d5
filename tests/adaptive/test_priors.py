"""Priors: every constant has a unit, and every group says where it was chosen."""

from __future__ import annotations

import inspect
import re
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest

from headcount.accounting.budget import Grant
from headcount.adaptive import priors
from headcount.adaptive.estimator import Inference
from headcount.adaptive.priors import PRIORS
from headcount.engines.local.engine import LocalEngine
from headcount.methods.counts.adaptive import Adaptive
from headcount.noise import SeededNoise
from tests.support.synthetic_logs import town


@pytest.mark.parametrize("group", PRIORS.groups, ids=lambda group: type(group).__name__)
def test_every_constant_has_a_unit_and_a_place_where_it_was_chosen(group: object) -> None:
    source = inspect.getsource(type(group))
    assert type(group).chosen in (priors.FIVE_LOGS, priors.ALL_LOGS, priors.ALL_LOGS_AT_HALF)  # type: ignore[attr-defined]
    for constant in fields(group):  # type: ignore[arg-type]
        assert re.search(rf"^    {constant.name}: .* = .*  # \w", source, re.MULTILINE), constant.name


def test_priors_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        PRIORS.counts.median_shift = 0.0  # type: ignore[misc]


@pytest.mark.parametrize("what", ["items", "both"])
@pytest.mark.parametrize("counting", ["records", "users"])
def test_inference_is_a_function_of_measurements_and_priors(what: str, counting: str) -> None:
    """The measurements alone, without what was inferred on the way, make the same counts; other priors do not."""
    log = town(400, 40, 9, counting=counting)  # type: ignore[arg-type]
    method = Adaptive(what=what)  # type: ignore[arg-type]
    inference = method.measure(log, Grant("2"), SeededNoise(1), LocalEngine()).inference
    fresh = Inference(inference.measurements).infer()
    for table, counts in inference.infer().items():
        for ends in ("mean", "low", "high"):
            assert np.array_equal(getattr(counts, ends), getattr(fresh[table], ends))
    other = replace(PRIORS, shrinkage=replace(PRIORS.shrinkage, joint_steps=1))
    assert not np.array_equal(Inference(inference.measurements, other).infer()["items"].mean, fresh["items"].mean)
