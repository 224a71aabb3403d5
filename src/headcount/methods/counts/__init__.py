"""Families of count methods (item and item-context counts) and of totals, which share one command."""

from headcount.methods.family import Family, Listed, Table

_BLUE, _GREY, _ORANGE, _RED = "#0072B2", "#8A8A8A", "#B87A00", "#D55E00"
_SKY, _GREEN, _PINK = "#2E93CC", "#009E73", "#CC79A7"

ITEMS = Table("items", "item count", columns=("item", "label", "count", "low", "high"))
EDGES = Table("edges", "item-by-context count", columns=("item", "context", "count", "low", "high"))
ACTIVITY = Table("activity", "bin", beside="a histogram of how active people are")

FAMILY = Family(
    name="counts",
    package=__name__,
    heading="Counts",
    command=("release",),
    short_help="Release private counts from an event log.",
    request="request:ReleaseRequest",
    default="adaptive",
    delta="noise",
    tables=(ITEMS, EDGES, ACTIVITY),
    report="tables:counts_part",
    methods={
        "adaptive": Listed("adaptive:Adaptive", _BLUE, "circle"),
        "lpa": Listed("laplace:LaplacePerturbation", _GREY, "square"),
        "sra": Listed("simple_random:SimpleRandom", _ORANGE, "triangle-up"),
        "hpa": Listed("hand_picked:HandPicked", _RED, "diamond"),
        "fpa": Listed("walsh_hadamard:WalshHadamardPerturbation", _SKY, "square"),
        "gs-r": Listed("smoothing.random_groups:RandomGroups", _GREEN, "triangle-down"),
        "gs-s": Listed("smoothing.sampled_groups:SampledGroups", _GREEN, "square"),
        "gs": Listed("smoothing.tuned_groups:TunedGroups", _GREEN, "circle"),
        "dpsense": Listed("dpsense:SensitivityControl", _PINK, "circle"),
        "dpsense-s": Listed("dpsense_scaled:ScaledSensitivityControl", _PINK, "triangle-up"),
    },
)
