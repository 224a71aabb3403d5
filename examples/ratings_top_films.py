"""Films by how many people liked them: ``python examples/ratings_top_films.py``.

Only ratings of 4 or 5 count, and each person counts once per film. Both are public choices, made before the
log is read. The films and the people are made up.
"""

import tempfile

import headcount as hc
from headcount.lab.synthetic.logs import ratings


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        films = ratings(folder, users=3_000, items=500, events=150_000)
        liked = hc.read_events(
            films.ratings,
            user="user",
            item="item",
            items=films.movies,
            where="rating >= 4",
            count="users",
        )

        for epsilon in ("0.2", "1", "5"):
            release = hc.release(liked, epsilon=epsilon, method="sra", limit=10)
            best = release.top(3)
            spread = (best[0]["high"] - best[0]["low"]) / 2
            print(f"ε = {epsilon}: 95 % of counts are within ± {spread:.0f} of the bounded count")
            for row in best:
                print(f"  {row['rank']}. {row['label']}: {row['count']:.0f} people")


if __name__ == "__main__":
    main()
