"""Recommendation from ratings: plain neighbourhood methods, the published private ones, and a proven one."""

from headcount.family import Family, Listed, Table

ITEMS = Table("model/items", "item")

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
    tables=(ITEMS,),
    report="models:part",
    methods={
        "private": Listed("private:PrivateNeighbours"),
        "co-counts": Listed("related:CoCountRelease"),
        "pncf-published": Listed("pncf:PncfPublished"),
    },
)
