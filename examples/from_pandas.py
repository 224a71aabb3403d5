"""A release from a pandas table, and back to pandas: ``python examples/from_pandas.py``.

Needs pandas, which Headcount itself does not.
"""

import pandas as pd

import headcount as hc

ORDERS = pd.DataFrame(
    {
        "customer": ["ann", "ann", "bob", "cem", "cem", "cem", "dee"] * 40,
        "dish": ["soup", "bread", "soup", "rice", "soup", "soup", "cake"] * 40,
        "meal": ["lunch", "dinner", "lunch", "dinner", "dinner", None, "lunch"] * 40,
    }
)
MENU = ["bread", "rice", "salad", "soup"]  # public; cake is not on it and is dropped


def main() -> None:
    log = hc.read_events(
        ORDERS, user="customer", item="dish", items=MENU, context="meal", contexts=["lunch", "dinner"]
    )
    release = hc.release(log, epsilon="1", method="sra", limit=5)

    # Four customers are far too few: the noise hides them, as it must.
    print(release.items.to_pandas())

    wide = release.edges.to_pandas().pivot_table(index="item", columns="context", values="count", dropna=False)
    print(wide.round(1))


if __name__ == "__main__":
    main()
