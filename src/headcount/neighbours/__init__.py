"""Recommendation from ratings and from what people have in common: private models, and what is read off them."""

from headcount.family import Family, Listed, Table

ITEMS = Table("model/items", "item")
EDGES = Table("model/edges", "item-by-context count")
PREDICTIONS = Table("model/predictions", "prediction", columns=("user", "item", "rating"))

VISITS = "visits"
"""The method for logs without ratings."""

FAMILY = Family(
    name="neighbours",
    package=__name__,
    heading="Recommendation",
    command=("neighbours", "fit"),
    short_help="Fit a private model of ratings or visits; recommend, find related items.",
    reads="ratings",
    request="request:NeighboursRequest",
    default="private",
    delta="proven",
    tables=(ITEMS, EDGES, PREDICTIONS),
    report="models:part",
    page="neighbours.md",
    methods={
        "private": Listed("private:PrivateNeighbours"),
        VISITS: Listed("visits:VisitModel"),
        "co-counts": Listed("related:CoCountRelease"),
    },
)
