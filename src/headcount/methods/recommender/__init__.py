"""Recommenders: private models of ratings or visits, co-occurrence counts, and predictions from them."""

from headcount.methods.family import Family, Listed, Table

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
    request="request:RecommenderRequest",
    default="private",
    delta="proven",
    tables=(ITEMS, EDGES, PREDICTIONS),
    report="recommenders:part",
    page="neighbours.md",
    methods={
        "private": Listed("rating_model:RatingModel"),
        VISITS: Listed("visit_model:VisitModel"),
        "co-counts": Listed("co_occurrence:CoOccurrence"),
    },
)
