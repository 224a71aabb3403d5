"""Family of ranking methods: private top K without releasing all counts."""

from headcount.methods.family import Family, Listed, Table

RANKING = Table(
    "ranking",
    "place",
    columns=("rank", "item", "label"),
    error="the count of each place: {reach} of what people were allowed to add",
    unforeseen="which items are chosen; counts, if any, are as noisy as the data will tell",
)

FAMILY = Family(
    name="rankings",
    package=__name__,
    heading="Rankings",
    command=("rank",),
    short_help="Release a private ranking from an event log.",
    usage="headcount rank",
    request="request:RankRequest",
    default="top-k",
    delta="proven",
    tables=(RANKING,),
    report="tables:ranking_part",
    page="rank.md",
    methods={"top-k": Listed("top_k:DirectTopK")},
)
