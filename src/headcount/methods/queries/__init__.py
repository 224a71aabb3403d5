"""Many counting queries over a public grid, answered under one ε per user or per group of users."""

from headcount.methods.family import Family, Listed, Table

ANSWERS = Table(
    "answers",
    "answer",
    title="Answers to queries",
    columns=("query", "cell", "answer", "low", "high"),
    unforeseen="each {noun}: as noted below, or not known before the data is read",
    error="a query over one cell: {reach}; over s cells, about √s times that",
)

SYNTHETIC = Table(
    "synthetic",
    "synthetic row",
    title="Synthetic rows",
    unforeseen="synthetic rows: drawn from the model that answers queries, at no cost",
    beside="synthetic rows",
)
"""Its columns are those of the bins."""

WIDE = "pairs"
"""What answers where there are too many cells for any other method."""

FAMILY = Family(
    name="queries",
    package=__name__,
    heading="Queries",
    command=("query",),
    short_help="Answer many counting queries over a table of people.",
    reads="people",
    request="request:QueryRequest",
    default="auto",
    tables=(ANSWERS, SYNTHETIC),
    report="tables:answers_part",
    page="query.md",
    methods={
        "auto": Listed("auto:Automatic"),
        "histogram": Listed("histogram:Histogram"),
        "residuals": Listed("residuals:Residuals"),
        "mwem": Listed("mwem:MultiplicativeWeights"),
        WIDE: Listed("pairs:PairCounts"),
        "pmw": Listed("private_multiplicative_weights:PrivateWeights"),
    },
)
