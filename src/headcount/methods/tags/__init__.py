"""Tag assignments of users to resources: a private model of them, and its post-processing."""

from headcount.methods.family import Family, Listed, Table

_WEIGHTS = ("label", "weight", "stands_out")
_ERROR = "each {noun}: {noise}standard deviation {deviation:,.2f}, where one person adds 1 at most"
TAGS = Table("model/tags", "tag weight", columns=("tag", *_WEIGHTS), error=_ERROR)
RESOURCES = Table("model/resources", "resource weight", columns=("resource", *_WEIGHTS), error=_ERROR)
ASSIGNMENTS = Table("model/assignments", "assignment", columns=("user", "resource", "tag"))

FAMILY = Family(
    name="tags",
    package=__name__,
    heading="Tags",
    command=("tags", "release"),
    short_help="Release a private model of tags, and recommend from it.",
    reads="tags",
    request="request:TagsRequest",
    default="tag-model",
    delta="proven",
    tables=(TAGS, RESOURCES, ASSIGNMENTS),
    report="topics:part",
    page="tags.md",
    methods={
        "tag-model": Listed("model:TagModel"),
    },
)
