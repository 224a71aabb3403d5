"""A worker that takes its time once data may be read: ``python -m tests.studio.support.slow_worker``."""

from __future__ import annotations

import time
from typing import Any
from unittest import mock

from headcount.events.sources.spool import Spool
from headcount.studio.jobs import worker


def _slowly(_act: Any) -> Any:
    spool = Spool("rows")
    (spool.folder / "rows.arrow").write_bytes(b"raw")
    time.sleep(600)


if __name__ == "__main__":
    with mock.patch("headcount.run.curator.withhold_errors", _slowly):
        worker.main()
