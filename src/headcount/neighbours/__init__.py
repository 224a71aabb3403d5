"""Recommendation from ratings and from what people have in common: private models, and what is read off them."""

from headcount.family import Family, Listed, Table

ITEMS = Table("model/items", "item")
PREDICTIONS = Table("model/predictions", "prediction", columns=("user", "item", "rating"))

FAMILY = Family(
    name="neighbours",
    package=__name__,
    heading="Recommendation",
    command=("neighbours", "fit"),
    short_help="Fit a private model of ratings; predict, recommend, find related items.",
    reads="ratings",
    request="request:NeighboursRequest",
    default="private",
    delta="proven",
    tables=(ITEMS, PREDICTIONS),
    report="models:part",
    page="neighbours.md",
    methods={
        "private": Listed("private:PrivateNeighbours"),
        "co-counts": Listed("related:CoCountRelease"),
    },
)
