"""Which items belong together, from noisy numbers of people who have both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def relatedness(pairs: pa.Table, items: pa.Table, place: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    raise NotImplementedError


__all__: list[Any] = ["relatedness"]
