"""Run the getting-started commands in a fresh clone and time them: ``python tools/docs/first_hour.py``.

Only what README.md and docs/getting-started.md say is done: the demo, the line that makes the shell find the
command, and those marked ``<!-- first hour -->``, with the log and the columns of uci-online-retail in the
place of the demo's. It must end with a private top 20 of each weekday, without a catalogue, in at most five
commands and three minutes, set-up included.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

ROOT = Path(__file__).parents[2]
COMMANDS, SECONDS, PLACES = 5, 180, 20
COLUMNS = {"--item venue": "--item item", "weekday:time": "weekday:timestamp"}
"""What a newcomer puts in the place of the demo's columns, having looked at the log with ``inspect``."""


def quickstart_commands(root: Path, log: Path) -> Iterator[str]:
    """Yield the commands of both pages, for a log."""
    readme = (root / "README.md").read_text(encoding="utf-8")
    for needed in ("make demo", ". .venv/bin/activate"):
        if not re.search(rf"^{re.escape(needed)}(?=$|\s)", readme, re.MULTILINE):
            raise SystemExit(f"README.md does not say {needed}")
        yield needed
    page = (root / "docs" / "getting-started.md").read_text(encoding="utf-8")
    marked = re.search(r"^<!-- first hour -->\n```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    if marked is None:
        raise SystemExit("docs/getting-started.md has no block marked <!-- first hour -->")
    commands = re.sub(r" \\\n\s*", " ", marked[1])
    for old, new in {"headcount-demo/visits.parquet": str(log), **COLUMNS}.items():
        commands = commands.replace(old, new)
    yield from commands.splitlines()


def played(clone: Path, commands: list[str]) -> list[float]:
    """Run commands in one shell, and return the seconds that each took."""
    stamps = clone / "stamps"
    script = "\n".join(["set -e", *(f"{command}\ndate +%s.%N >> {stamps}" for command in commands)])
    environment = {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    begin = time.time()
    subprocess.run(["sh", "-c", script], cwd=clone, env=environment, check=True)
    ends = [float(stamp) for stamp in stamps.read_text(encoding="utf-8").split()]
    return [end - start for start, end in zip([begin, *ends], ends, strict=False)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("HEADCOUNT_DATA", "../shared/data"))
    log = Path(parser.parse_args().data).resolve() / "uci-online-retail.parquet"
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "headcount"
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        commands = list(quickstart_commands(clone, log))
        seconds = played(clone, commands)
        ranking = pq.read_table(clone / "best" / "ranking.parquet")
        release = json.loads((clone / "best" / "release.json").read_text(encoding="utf-8"))
        page = (clone / "best.html").stat().st_size
    for command, took in zip(commands, seconds, strict=True):
        print(f"{took:6.1f} s  {command}")
    contexts = set(ranking["context"].to_pylist())
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{own.ru_utime + own.ru_stime:6.1f} s  of processors; what is more was waited for")
    print(
        f"{sum(seconds):6.1f} s  {len(commands)} commands: {ranking.num_rows} places in {len(contexts)} rankings, "
        f"ε = {release['guarantee']['epsilon']}, {release['guarantee']['standing']}; a page of {page:,} bytes"
    )
    full = max(ranking["rank"].to_pylist()) == PLACES and len(contexts) > 1
    return int(not full or len(commands) > COMMANDS or sum(seconds) > SECONDS)


if __name__ == "__main__":
    sys.exit(main())
