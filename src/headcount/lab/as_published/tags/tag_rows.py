"""Releases of published tag methods with a row per assignment of a user; none of them is private."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headcount.accounting.guarantee import Guarantee
from headcount.events.tag_log import Tagging, TagLog
from headcount.noise import NoiseSource
from headcount.releases.release import Interval, Release


def assignments_release(
    method: str,
    guarantee: Guarantee,
    tagging: Tagging,
    log: TagLog,
    steps: tuple[str, ...],
    noise: NoiseSource,
) -> Release:
    """Make a release of assignments, with people numbered in place of their ids."""
    names, words = (np.array([str(value) for value in ids], dtype=object) for ids in _ids(log))
    table = pa.table(
        {
            "user": pa.array([f"person-{number + 1}" for number in tagging.user.tolist()], pa.string()),
            "resource": pa.array(names[tagging.resource], pa.string()),
            "tag": pa.array(words[tagging.tag], pa.string()),
        }
    )
    return Release(
        method=method,
        guarantee=guarantee,
        noise={},
        tables={"model/assignments": table},
        interval=Interval(covers="true"),
        steps=steps,
        catalogue=log.catalogue.digest,
        simulated=not noise.is_private,
    )


def _ids(log: TagLog) -> tuple[tuple[object, ...], tuple[object, ...]]:
    return log.catalogue.ids, log.vocabulary.ids
