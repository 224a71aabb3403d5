"""The claims of a paper: one TOML file each, written before a run, and validated when it is read.

A claim says in our words what the paper says and where, on which of its data sets, and by which rule of
:mod:`headcount.lab.replicate.claims.rules` it is judged. The file also says which charts each section of the page
has (:mod:`headcount.lab.replicate.pages.chart_declarations`).
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from importlib import resources
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from headcount.errors import DataError
from headcount.lab.datasets.by_name import Dataset, Kind
from headcount.lab.replicate.claims.rules import NotInTheText, Rule
from headcount.lab.replicate.pages.chart_declarations import Picture, Pictures, drawn

ALL = "all"
"""The name under which comparisons between data sets are judged; no data are loaded for it."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Publication(_Frozen):
    """Which paper it is."""

    name: str
    authors: str
    title: str
    venue: str
    methods: Annotated[list[str], Field(min_length=1)]
    """The methods that it is about, by the names that it gives them."""

    @property
    def heading(self) -> str:
        """Whose it is, and about which methods: what its readers know it by."""
        return (
            f"{' & '.join(author.split()[-1] for author in self.authors.split(', '))}: {', '.join(self.methods)}"
        )

    @property
    def reference(self) -> str:
        """How it is cited."""
        return f"{self.authors}. {self.title}. {self.venue}."


class Rerun(_Frozen):
    """What the report says of our run: what the paper is about, and how its experiments are set up here."""

    about: str
    setup: list[str]
    lists: dict[str, list[str]] = {}
    """Lists that the paper prints, by title."""


class _Stands(_Frozen):
    """Which data set stands for one of the paper, and whether it is the same."""

    name: str
    same: bool
    note: str
    lacks: list[Literal["items", "edges"]] = []


class Preferred(_Stands):
    """A better one, for those who have it; ``form``: only if it is read from its publisher's own files."""

    form: Literal["original download"] | None = None


class PaperData(_Stands):
    """A data set of the paper, and the one that we take for it.

    ``first`` are those that are taken in its place where they are at hand, the best first. None is a stand-in.
    """

    paper: str
    first: list[Preferred] = []

    def at_hand(self, form_of: Callable[[str], Kind | None]) -> PaperData:
        """Return it with what is taken for it; ``form_of`` says in which form a data set is there."""
        for candidate in self.first:
            form = form_of(candidate.name)
            if form not in (None, "stand-in") and candidate.form in (None, form):
                return PaperData(paper=self.paper, **candidate.model_dump(exclude={"form"}))
        return self


class ClaimCase(_Frozen):
    """One data set and one table of counts that a claim is about."""

    dataset: str
    table: Literal["items", "edges", "both"]

    def __str__(self) -> str:
        return f"{self.dataset} {'items and edges' if self.table == 'both' else self.table}"


class Claim(_Frozen):
    """What the paper says, and how it is judged.

    ``shape_alone``: it depends on sizes alone, so that a stand-in of the same shape can decide it. ``exact_data``:
    it gives a number of the paper's own data, so that no other data can.
    """

    id: str
    figure: str
    place: str
    says: str
    cases: list[ClaimCase]
    judge: Rule
    shape_alone: bool = False
    exact_data: bool = False


class Section(_Frozen):
    """A part of the report: some figures of the paper, what it reports there, and our charts of the same."""

    name: str
    title: str
    reports: str
    figures: list[str]
    picture: list[Pictures] = []

    def covers(self, claim: Claim) -> bool:
        """Tell whether a claim belongs to it."""
        return claim.figure in self.figures

    def drawn(self, datasets: Mapping[str, Dataset]) -> list[Picture]:
        """Return its charts for the data there are."""
        return [picture for pictures in self.picture for picture in drawn(pictures, datasets)]


class Claims(_Frozen):
    """A paper's file."""

    paper: Publication
    run: Rerun
    dataset: list[PaperData]
    section: list[Section]
    claim: list[Claim]

    def data(self, name: str) -> PaperData:
        """Return what stands for a data set of the paper."""
        return next(dataset for dataset in self.dataset if dataset.paper == name)

    def at_hand(self, form_of: Callable[[str], Kind | None]) -> Claims:
        """Return the claims with the data that are taken for those of the paper."""
        return self.model_copy(update={"dataset": [dataset.at_hand(form_of) for dataset in self.dataset]})

    def with_parts(self, parts: Collection[str]) -> Claims:
        """Return the claims where some data are but a part of those of the paper, and so not the same."""

        def less(data: PaperData) -> PaperData:
            is_part = data.paper in parts and data.same
            changed = {"same": False, "note": "a part of the data of the paper"}
            return data.model_copy(update=changed) if is_part else data

        return self.model_copy(update={"dataset": [less(dataset) for dataset in self.dataset]})


def read_claims(name: str) -> Claims:
    """Read the claims of one of the papers.

    >>> read_claims("fan-jin").paper.reference
    'L. Fan, H. Jin. A Practical Framework for Privacy-Preserving Data Analytics. WWW 2015.'
    """
    file = f"{name.replace('-', '_')}.toml"
    text = resources.files("headcount.lab.replicate.claims").joinpath(file).read_text(encoding="utf-8")
    return parse_claims(text, file)


def parse_claims(text: str, where: str) -> Claims:
    """Check and return claims; ``where`` names the file in complaints."""
    try:
        claims = Claims.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{where} is not TOML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise DataError(f"{where}: {place}: {first['msg']}", remedy="see headcount.lab.replicate") from error
    _check_claims(claims, where)
    _check_pictures(claims, where)
    return claims


def _check_claims(claims: Claims, where: str) -> None:
    """Refuse claims that cannot be told apart, or that no section or data set knows."""
    ids = Counter(entry.id for entry in claims.claim)
    shown = Counter(figure for section in claims.section for figure in section.figures)
    dataset_names = {entry.paper for entry in claims.dataset}
    for claim in claims.claim:
        if ids[claim.id] > 1:
            raise DataError(f"{where} has two claims {claim.id!r}", remedy="rename one")
        strange = [entry.dataset for entry in claim.cases if entry.dataset not in dataset_names]
        if strange:
            raise DataError(f"{where}: claim {claim.id!r} is about {strange[0]!r}, which is no data set of it")
        if not claim.cases and not isinstance(claim.judge, NotInTheText):
            raise DataError(f"{where}: claim {claim.id!r} names no cases", remedy="list data sets and tables")
        if shown[claim.figure] != 1:
            raise DataError(
                f"{where}: {claim.figure!r} of claim {claim.id!r} stands in {shown[claim.figure]} sections"
            )


def _check_pictures(claims: Claims, where: str) -> None:
    """Refuse charts that would overwrite each other, or of data that the paper does not have."""
    dataset_names = [entry.paper for entry in claims.dataset]
    chart_names = set()
    for picture in (entry for section in claims.section for pictures in section.picture for entry in pictures):
        strange = [entry for entry in picture.datasets if entry not in dataset_names]
        if strange:
            raise DataError(f"{where}: picture {picture.name!r} is of {strange[0]!r}, which is no data set of it")
        shown = (
            [(entry,) for entry in picture.datasets or dataset_names]
            if picture.kind == "curves"
            else [tuple(dataset_names)]
        )
        for name in (picture.on(*entry).name for entry in shown):
            if name in chart_names:
                raise DataError(f"{where} has two pictures {name!r}", remedy="rename one, or use {dataset}")
            chart_names.add(name)
