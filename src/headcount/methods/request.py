"""``ChargedRequest``, the base of all requests: exact ε and δ, budget split, and the method built from them.

A request is what is asked, as typed data that round-trips through JSON; never where the data lies. Each family has
its own, in its ``methods/request.py``. A field that carries a :class:`~headcount._internal.parameters.Flag` is an
option of the command, a key of a configuration and a keyword in Python; the others are for Python alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeVar, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    ValidationInfo,
    field_serializer,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo

from headcount._internal.parameters import Flag, method_options, read_pairs, read_whole_number, whole_number
from headcount.accounting.budget import Grant, amount, probability
from headcount.accounting.guarantee import Guarantee, Standing, format_delta
from headcount.errors import UsageError, param

if TYPE_CHECKING:
    from headcount.events.log import EventLog
    from headcount.methods.family import Family
    from headcount.methods.method import Method
    from headcount.methods.partition_selection.plan import Selections

Request = TypeVar("Request", bound="ChargedRequest")

Delta = Annotated[Decimal, PlainSerializer(format_delta, when_used="json")]
DELTA = Flag(f"How likely the promise may fail, such as 1e-6: for {param.noise('gaussian')}, and to select.", "D")
OPTIONS = Flag(
    "An option of the method (repeatable).", "NAME=VALUE", flag=param.option, many=True, read=method_options
)
SELECT_LIMIT = Flag(
    "So many random ones of each person count for what is selected; by default nothing is cut.", "L"
)


CHARGING: Mapping[str, Flag] = {
    "ledger": Flag(
        "Ledger to charge, such as sqlite:///headcount.db.  [default: HEADCOUNT_LEDGER, else none]", "URL"
    ),
    "dataset": Flag("Whose budget is spent, and the version of the data.", "NAME[@VERSION]"),
    "analyst": Flag("Who asks, for the ledger.  [default: the name of this user]", "NAME"),
    "again": Flag("Draw and charge anew what was published already.", switch=True),
}
"""How a request is charged, whatever it asks for."""


def _whole(value: Any, info: ValidationInfo) -> int | None:
    return None if value is None else whole_number(value, str(info.field_name))


Whole = Annotated[int, BeforeValidator(_whole)]
MaybeWhole = Annotated[int | None, BeforeValidator(_whole)]
"""Whole numbers of at least 1, and those that may be left out."""


def shares_flag(example: str) -> Flag:
    """Declare the shares of stages, with an example for the help."""
    return Flag(f"How the stages share ε, such as {example}.", "STAGE=S,…", read=read_pairs)


class ChargedRequest(BaseModel, ABC):
    """What every charged request has: an exact ε, a δ where one is used, and a method built from the rest.

    ``select_limit`` and shares such as ``selection`` say how items, contexts or tags without a public list are
    selected.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    command: ClassVar[str]

    epsilon: Annotated[Decimal, Flag("The privacy budget to spend, such as 1 or 0.5.", "E")]
    delta: Annotated[Delta | None, DELTA] = None
    shares: Mapping[str, Decimal] | None = None
    select_limit: Annotated[MaybeWhole, SELECT_LIMIT] = None

    @field_validator("shares", mode="before")
    @classmethod
    def _exact_shares(cls, value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise UsageError(
                "shares must name each stage's share", given=value, remedy="such as items=0.5,edges=0.5"
            )
        return {stage: amount(share, f"the share of {stage}") for stage, share in value.items()}

    @field_validator("epsilon", mode="before")
    @classmethod
    def _exact(cls, value: Any) -> Decimal:
        return Decimal(f"{amount(value):f}")  # 1e3 is echoed as 1000

    @field_validator("delta", mode="before")
    @classmethod
    def _exact_delta(cls, value: Any) -> Decimal | None:
        return None if value is None else probability(value).normalize()

    @field_serializer("epsilon")
    def _plain(self, value: Decimal) -> str:
        return f"{value:f}"

    @model_validator(mode="after")
    def _gaussian_has_delta(self) -> Self:
        if self.delta is None:  # whether a δ is of use hangs on the log
            self.check_delta(selecting=False)
        return self

    def check_delta(self, *, selecting: bool) -> None:
        """Refuse a δ that nothing could use, and the lack of one that is needed."""
        check_delta(self.delta, self.noise_kind, selecting=selecting)

    @property
    def noise_kind(self) -> str | None:
        """Which noise is asked for, or None where there is no choice."""
        return None

    def grant(self) -> Grant:
        """Return a fresh grant of the amounts asked for."""
        return Grant(self.epsilon, self.delta)

    def for_log(self, log: EventLog) -> Self:  # noqa: ARG002
        """Return the request with what is left to the log settled: by its description, before a row is read."""
        return self

    @property
    def uses_value(self) -> bool:
        """Whether the method has a use for a value column."""
        return False

    @property
    def finds_range(self) -> bool:
        """Whether the range of a value column can be found, where none is declared."""
        return False

    @property
    def needs_items(self) -> bool:
        """Whether a log needs a catalogue of items, or a selection of them."""
        return True

    def names_contexts(self, log: EventLog) -> bool:
        """Whether a table names contexts, so that it matters which of them there are."""
        return any("context" in columns for columns in self.columns(log).values())

    def selections(self, log: EventLog) -> Selections:
        """Say how that is selected of which a log has no public list; refuse what does not fit."""
        from headcount.events.selection_targets import CONTEXTS, find_missing_lists

        if log.roles.value is not None and not self.uses_value:
            raise UsageError(
                f"{param.value} is of no use here", remedy=f"leave it out, or release {param.what('totals')}"
            )
        if log.roles.value is not None and log.value_range is None and not self.finds_range:
            raise UsageError(
                f"{param.value} is given without {param.value_range}, the public range it is cut to",
                remedy=f"for example {param.value_range('1,5')}",
            )
        kinds = find_missing_lists(log)
        self.check_delta(selecting=bool(kinds))
        if CONTEXTS in kinds and log.context_of == "record" and not self.names_contexts(log):
            raise UsageError(
                f"{CONTEXTS.flag} is of no use here: no table would name contexts",
                remedy=f"leave it and {param.context} out",
            )
        if not kinds and self.select_limit is not None:
            raise UsageError(
                f"{param.select_limit} is given, but nothing is selected",
                remedy=f"leave it out, or add {param.select_items(True)}",
            )
        if not kinds:
            return ()
        from headcount.methods.partition_selection.plan import Selection, divide_budget_split

        budget_split = divide_budget_split(self.shares, kinds)[0]
        halves = self.noise_kind == "gaussian"
        return tuple(
            Selection(limit=self.select_limit, share=budget_split[kind.stage], halves_delta=halves, of=kind)
            for kind in kinds
        )

    def own_shares(self, *, selecting: bool) -> Mapping[str, Decimal] | None:
        """Return the shares of the method's own stages, of what is left to it."""
        if self.shares is None or not selecting:
            return self.shares
        from headcount.events.selection_targets import SELECTABLE
        from headcount.methods.partition_selection.plan import divide_budget_split

        return divide_budget_split(
            self.shares, [selectable for selectable in SELECTABLE if selectable.stage in self.shares]
        )[1]

    @abstractmethod
    def build(self, *, selecting: bool = False) -> Method:
        """Build the method asked for, with what a selection leaves if there is one.

        What the method cannot use, and research that is not declared, is refused.
        """

    def adapt(self, method: Method, items: int) -> Method:  # noqa: ARG002
        """Return the method for so many selected items."""
        return method

    @abstractmethod
    def columns(self, log: EventLog) -> dict[str, tuple[str, ...]]:
        """Return the columns of each table."""

    @abstractmethod
    def cells(self, log: EventLog) -> dict[str, int]:
        """Return how many numbers each table will hold."""

    def guarantee(self) -> Guarantee:
        """Say what the release will promise; known without data."""
        return self.build().guarantee(self.grant())


class MethodRequest(ChargedRequest):
    """A request that names one of several methods, and options that are its own."""

    options: Annotated[Mapping[str, Any], OPTIONS] = Field(default_factory=dict)
    research: Annotated[bool, Flag("Allow methods whose published claim is not established.")] = False

    def chosen(self, family: Family, name: str | None, own: Mapping[str, Any], *, instead: str = "") -> Method:
        """Make a method of a family from the options and what is given beside them, unless it is only claimed.

        ``instead`` is what to use in place of one that is, if that has another name.
        """
        given = {parameter: value for parameter, value in own.items() if value is not None}
        method = family.build(name or family.default, {**self.options, **given})
        if method.standing is Standing.CLAIMED and not self.research:
            raise UsageError(
                f"{method.name} is kept for research: {method.reason}",
                remedy=f"use {instead or method.name.removesuffix('-published')}, or add {param.research(True)}",
            )
        return method


def check_delta(delta: Decimal | None, noise: str | None, *, selecting: bool = False) -> None:
    """Refuse a δ that nothing could use, and the lack of one that is needed.

    >>> check_delta(Decimal("1e-6"), "laplace")
    Traceback (most recent call last):
    headcount.errors.UsageError: --delta needs --noise gaussian or --select-items or --select-contexts; \
leave it out, or add one of them
    """
    if delta is None and noise == "gaussian":
        raise UsageError(
            f"{param.noise('gaussian')} needs {param.delta}", remedy=f"for example {param.delta('1e-6')}"
        )
    if delta is None and selecting:
        raise UsageError(
            f"a selection needs {param.delta}: with some small probability what one person alone has is released, "
            "and delta limits it",
            remedy=f"give one far below 1 in the number of people, such as {param.delta('1e-6')}",
        )
    if delta is not None and not selecting and noise != "gaussian":
        raise UsageError(
            f"{param.delta} needs {param.noise('gaussian')} or {param.select_items(True)} or "
            f"{param.select_contexts(True)}",
            remedy="leave it out, or add one of them",
        )


def request_of(kind: type[Request], /, **fields: Any) -> Request:
    """Make a request, turning what is wrong with it into one clear sentence."""
    try:
        return kind(**fields)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{name}: {first['msg'].lower()}", given=first.get("input")) from error


def flags_of(kind: type[ChargedRequest]) -> dict[str, Flag]:
    """Return the parameters of a request that its command offers, as their fields declare them.

    >>> flags = flags_of(ChargedRequest)
    >>> list(flags), flags["epsilon"].needed
    (['epsilon', 'delta', 'select_limit'], True)
    """
    return {
        name: _complete_flag(field, flag)
        for name, field in kind.model_fields.items()
        for flag in field.metadata
        if isinstance(flag, Flag)
    }


def _complete_flag(field: FieldInfo, flag: Flag) -> Flag:
    """Add what a field's type and default say by themselves."""
    kinds = (field.annotation, *get_args(field.annotation))
    choices = next((get_args(annotation) for annotation in kinds if get_origin(annotation) is Literal), ())
    given = isinstance(field.default, str | int) and field.annotation is not bool
    return replace(
        flag,
        choices=choices,
        default=str(field.default) if given else None,
        switch=field.annotation is bool,
        needed=flag.needed or field.is_required(),
        read=read_whole_number if int in kinds else flag.read,
    )
