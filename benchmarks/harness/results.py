"""Results of a run, saved in .work/results.json after every measurement, and how a later run resumes."""

import json
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.harness.logs import WORK
from benchmarks.harness.result_row import Row
from benchmarks.harness.versions import headcount_version, underneath

RESULTS = WORK / "results.json"
OF_RIVALS = "rival "  # what hangs on no line of ours


class Kept:
    """The document of one run; rows by the name they were asked for."""

    def __init__(self, source: str) -> None:
        self.rows: dict[str, list[Row]] = {}
        self.document: dict[str, Any] = {
            "taken": datetime.now(UTC).isoformat(timespec="seconds"),
            "headcount": headcount_version(),
            "underneath": underneath(),
            "machine": {"cores": os.cpu_count(), "platform": platform.platform(), "memory": _memory()},
            "load at the end": os.getloadavg(),
            "source": source,
            "measurements": {},
        }

    @property
    def measurements(self) -> dict[str, Any]:
        """All measurements so far."""
        measurements: dict[str, Any] = self.document["measurements"]
        return measurements

    def resume(self) -> str:
        """Take over what the last run measured, and say what that is; failures are tried again."""
        if not RESULTS.exists():
            return "nothing to go on from"
        last = json.loads(RESULTS.read_text())
        same = last["source"] == self.document["source"]
        for key, measurement in last["measurements"].items():
            if "could not run" not in measurement and (same or key.startswith(OF_RIVALS)):
                self.measurements[key] = measurement
        if not same:
            kept = len(self.measurements)
            return f"the source has changed: {kept} measurements of rivals are kept, all else is taken anew"
        self.document["taken"] = last["taken"]
        for name, rows in last["rows"].items():
            if all("could not run" not in row["measured"] for row in rows):
                self.rows[name] = [Row(**row) for row in rows]
        return f"{len(self.measurements)} measurements and {len(self.rows)} rows are kept"

    def save(self) -> None:
        """Write everything; an interrupted write leaves the last document whole."""
        self.document["load at the end"] = os.getloadavg()
        contents = {
            **self.document,
            "rows": {name: [row.as_json() for row in rows] for name, rows in self.rows.items()},
        }
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        unfinished = RESULTS.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(contents, indent=1, ensure_ascii=False) + "\n")
        unfinished.rename(RESULTS)


def _memory() -> int:
    if sys.platform != "linux":
        return 0
    return 1024 * int(Path("/proc/meminfo").read_text().split("MemTotal:")[1].split()[0])
