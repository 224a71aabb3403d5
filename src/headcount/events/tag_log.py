"""Tag log: an event log of (user, resource, tag) with public or selected tags, and ``read_tags``.

The items are resources and the contexts are tags. No measurement of a tag log holds a cell for every resource and
tag, so there may be any number of them. ``Tagging`` holds assignments as integer codes.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Codes
from headcount._internal.python_surface import document_parameters
from headcount.errors import Parameter, UsageError, param
from headcount.events.catalogue import Catalogue, UnknownCatalogue, read_catalogue
from headcount.events.contexts import Context, UnknownContext
from headcount.events.log import EventLog, open_packed, packed_log
from headcount.events.log_parameters import KEPT, READERS
from headcount.events.notation import Separators
from headcount.events.roles import read_roles
from headcount.events.sources.databases.table_or_query import TableOrQuery
from headcount.events.sources.files.formats import TextOptions
from headcount.events.sources.source import open_source


@dataclass(frozen=True, kw_only=True, repr=False)
class TagLog(EventLog):
    """Who gave which tag to which resource.

    >>> log = TagLog.listing([("ann", "film", "funny")], resources=["film"], vocabulary=["funny", "sad"])
    >>> log.vocabulary.ids, log.describe()["tag"]
    (('funny', 'sad'), 'context')
    """

    most_cells: ClassVar[int] = 2**62
    vocabulary: Catalogue

    @classmethod
    def of_log(cls, log: EventLog, vocabulary: Catalogue | None = None) -> TagLog:
        """Take a log with one listed context column for a tag log; refuse any other."""
        if isinstance(log, TagLog):
            return log
        if log.context is None or log.context.part is not None or len(log.context.columns) != 1:
            raise UsageError(
                "tags are the contexts of a log, in one column with listed values",
                remedy="make the log with headcount.read_tags",
            )
        fields = {field.name: getattr(log, field.name) for field in dataclasses.fields(log)}
        return cls(**fields, vocabulary=vocabulary or Catalogue.of(log.context.domains[0]))

    def as_events(self) -> EventLog:
        """Return the log as one of items and contexts, for counts; there may be too many cells for that."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(EventLog)}
        return EventLog(**fields)

    @classmethod
    def listing(cls, records: Sequence[Sequence[Any]], *, resources: Any, vocabulary: Sequence[str]) -> TagLog:
        """Make a small log from (user, resource, tag) records."""
        return cls.of_log(EventLog.of(records, items=resources, contexts=vocabulary))

    def describe(self) -> dict[str, Any]:
        """Return the parameters of the log; the vocabulary by its digest, for it may be long."""
        described = super().describe()
        for name in ("item", "context", "contexts", "select_contexts", "context_of", "count"):
            described.pop(name, None)
        tag = "" if self.context is None else self.context.columns[0]
        described |= {"resource": self.roles.item, "tag": tag}
        if self.selects_contexts:
            return described | {"select_tags": True}
        text = json.dumps([str(tag_id) for tag_id in self.vocabulary.ids], ensure_ascii=False)
        digest = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
        return described | {"vocabulary": digest}


@document_parameters(READERS["tags"].flags(), events="Where the events are: see above.")
def read_tags(
    events: Any,
    *,
    user: str | None = None,
    resource: str | None = None,
    tag: str | None = None,
    resources: Any = None,
    vocabulary: Any = None,
    select_tags: bool = False,
    where: str | Sequence[str] = (),
    since: str | None = None,
    until: str | None = None,
    time: str | None = None,
    decimal: Separators = None,
    thousands: Separators = None,
    time_format: str | None = None,
    timezone: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    header: bool = True,
    format: str | None = None,  # noqa: A002  (the name of the flag)
    table: str | None = None,
    query: str | None = None,
    drop_nulls: bool = True,
) -> TagLog:
    """Describe a log of tags: a path, several paths, any Arrow-compatible object, or a store packed from one.

    ``resources`` and ``vocabulary`` are public lists, as files or sequences, such as ``tags.csv:id,name``. Where
    there is no vocabulary, ``select_tags`` lets a release find the tags that enough users use; it takes a delta.

    >>> import pyarrow as pa
    >>> table = pa.table({"who": ["ann", "bob"], "film": [7, 9], "word": ["sad", "dull"]})
    >>> read_tags(table, user="who", resource="film", tag="word", resources=[7, 9], vocabulary="dull,sad").cells
    6
    """
    arguments = locals()
    words = {name: arguments[name] for name in KEPT if name in arguments and name != "user"}
    named = {name: arguments[name] for name in _WANTED}
    text, target = TextOptions(delimiter, encoding, header, format), TableOrQuery(table, query)
    given = {**named, "vocabulary": None, **words}
    store = open_packed(events, given, text, target, selecting={param.select_tags(True): select_tags})
    if store is not None:
        return TagLog.of_log(packed_log(store))
    if select_tags and vocabulary is not None:
        raise UsageError(
            f"{param.vocabulary} and {param.select_tags(True)} are both given",
            remedy="leave one out: a public list is never worse",
        )
    for name, value in named.items():
        if value is None and not (select_tags and name == "vocabulary"):
            raise UsageError(f"{Parameter(name)} is missing", remedy=_WANTED[name])
    listed = UnknownCatalogue() if select_tags else read_catalogue(vocabulary)
    roles, _, conditions = read_roles(user=str(user), item=str(resource), **words)
    log = TagLog(
        source=open_source(events, text, target),
        roles=roles,
        catalogue=read_catalogue(resources),
        context=UnknownContext(str(tag)) if select_tags else Context((str(tag),), (tuple(map(str, listed.ids)),)),
        conditions=conditions,
        vocabulary=listed,
    )
    roles.numbers.check(log.type_of)
    return log


_WANTED = {
    "user": "give the column that says who; only a store goes without",
    "resource": "give the column that says what was tagged; only a store goes without",
    "tag": "give the column that holds the tag; only a store goes without",
    "resources": f"list the resources that may be released with {param.resources('FILE')}; they must be public",
    "vocabulary": f"list the tags that may be released with {param.vocabulary('FILE')}; they must be public; or, "
    "if there "
    f"is no public list, add {param.select_tags(True)} and {param.delta('1e-6')}, which releases those that "
    "enough people use",
}


@dataclass(frozen=True)
class Tagging:
    """Distinct assignments, sorted by user, resource and tag; users are numbered, the rest are places in lists.

    >>> many = Tagging.from_codes([1, 0, 1], [0, 0, 0], [2, 1, 2], people=2, resources=1, tags=3)
    >>> many.user.tolist(), many.tag.tolist()
    ([0, 1], [1, 2])
    """

    user: Codes
    resource: Codes
    tag: Codes
    people: int
    resources: int
    tags: int

    @classmethod
    def from_codes(
        cls, user: object, resource: object, tag: object, *, people: int, resources: int, tags: int
    ) -> Tagging:
        """Sort assignments, and keep each once."""
        a, b, c = (np.asarray(codes, dtype=np.int32) for codes in (user, resource, tag))
        order = np.lexsort((c, b, a))
        a, b, c = a[order], b[order], c[order]
        new = np.ones(order.size, dtype=np.bool_)
        new[1:] = (a[1:] != a[:-1]) | (b[1:] != b[:-1]) | (c[1:] != c[:-1])
        return cls(a[new], b[new], c[new], people, resources, tags)

    @property
    def size(self) -> int:
        """How many assignments there are."""
        return int(self.user.size)

    def where(self, kept: NDArray[np.bool_]) -> Tagging:
        """Keep some of the assignments."""
        return replace(self, user=self.user[kept], resource=self.resource[kept], tag=self.tag[kept])
