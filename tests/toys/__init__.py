"""A family of one small method, as its package would hold it: all lists have it from this value alone."""

from headcount.family import Family, Listed, Table

SIZES = Table("sizes", "size", title="How many people there are", columns=("size", "low", "high"))

FAMILY = Family(
    name="toys",
    package=__name__,
    heading="Toys",
    command=("toys",),
    short_help="Say how many people there are.",
    request="toy:ToyRequest",
    default="toy",
    tables=(SIZES,),
    methods={"toy": Listed("toy:Toy")},
)
