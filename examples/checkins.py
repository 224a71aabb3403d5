"""From a check-in log to the best places for a Friday: ``python examples/checkins.py``.

The city is made up, so nothing here is about real people. Everything is written to a temporary folder.
"""

import tempfile
from pathlib import Path

import headcount as hc
from headcount.lab.synthetic.logs import checkins


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        city = checkins(folder, users=5_000, venues=500, events=100_000)

        log = hc.read_events(
            city.visits,
            user="user",
            item="venue",
            context=hc.weekday("time"),
            items=city.venues,  # public: everybody may know which venues there are
        )
        release = hc.release(log, epsilon="1", method="hpa", limit=10)

        print("Best for a Friday")
        for row in release.top(5, context="Friday"):
            print(f"{row['rank']}. {row['label']}: {row['count']:.0f} ({row['low']:.0f} to {row['high']:.0f})")

        print()
        print(release.explain())

        saved = release.save(Path(folder) / "friday")
        print()
        print("On disk:", ", ".join(sorted(path.name for path in saved.iterdir())))


if __name__ == "__main__":
    main()
