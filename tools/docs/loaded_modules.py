"""Count the modules and lines that each charged command imports: ``python tools/docs/loaded_modules.py``.

Every command runs in a process of its own on a small made-up log. ``ran`` are the modules of which some function
was called, ``built`` says how often a method was made.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_ITEMS = ["--user", "u", "--item", "i", "--items", "0,1,2"]
_BINS = "[age]\nedges = [0, 18, 65, 120]\n"
_QUERY = "SELECT COUNT(*) FROM people WHERE age >= 18;"
COMMANDS = {
    "--help": ["--help"],
    "release": ["release", "log.parquet", *_ITEMS, "--epsilon", "1", "--out", "release"],
    "rank": ["rank", "log.parquet", *_ITEMS, "--epsilon", "1", "-k", "2"],
    "query": ["query", "log.parquet", "--user", "u", "--bins", "bins.toml", "--queries", "queries.sql",
              "--epsilon", "1", "--out", "query"],
    "tags release": ["tags", "release", "log.parquet", "--user", "u", "--resource", "i", "--tag", "t",
                     "--resources", "0,1,2", "--vocabulary", "x,y", "--epsilon", "1", "--out", "tags"],
    "neighbours fit": ["neighbours", "fit", "log.parquet", *_ITEMS, "--value", "age", "--value-range", "0,100",
                       "--epsilon", "1", "--out", "model"],
}  # fmt: skip

_RUN = """
import json, sys
from pathlib import Path
ran, built = set(), 0
def profile(frame, event, argument):
    global built
    if event == "call" and frame.f_code.co_flags & 1:  # of a function: not the body of a module or class
        ran.add(frame.f_globals.get("__name__", ""))
        kind = type(frame.f_locals.get("self"))
        is_method = hasattr(kind, "noise_distributions") and hasattr(kind, "standing")
        built += frame.f_code.co_name == "__init__" and is_method
sys.setprofile(profile)
from headcount.cli.main import main
code = main(sys.argv[1:])
sys.setprofile(None)
mine = {name: module.__file__ for name, module in sys.modules.items() if name.split(".")[0] == "headcount"}
lines = {name: len(Path(file).read_text().splitlines()) for name, file in mine.items() if file}
used = ran & set(lines)
print(json.dumps([code, len(lines), sum(lines.values()), len(used), sum(lines[name] for name in used), built]))
"""


def main() -> int:
    print(f"{'command':<16}{'loaded':>8}{'lines':>8}{'ran':>6}{'lines':>8}{'built':>7}")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        people = range(60)
        columns = {"u": people, "i": [n % 3 for n in people], "t": ["xy"[n % 2] for n in people], "age": people}
        pq.write_table(pa.table(columns), folder / "log.parquet")
        (folder / "bins.toml").write_text(_BINS, encoding="utf-8")
        (folder / "queries.sql").write_text(_QUERY, encoding="utf-8")
        for name, arguments in COMMANDS.items():
            command = [sys.executable, "-c", _RUN, *arguments]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            code, *counts = json.loads(done.stdout.splitlines()[-1])
            if code:
                raise SystemExit(f"{name}: {done.stderr}")
            print(f"{name:<16}{counts[0]:>8}{counts[1]:>8}{counts[2]:>6}{counts[3]:>8}{counts[4]:>7}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
