"""Forms that follow from declarations: of what can be asked of a log, and of how it is read.

A declared method, flag or family needs no form of its own: only some labels name them.
"""

from headcount.studio.forms.field import Field, FormError
from headcount.studio.forms.parameter_fields import (
    Offer,
    budget_fields,
    fields_for_method,
    fields_of,
    offers,
    reading_fields,
)
from headcount.studio.forms.posted_form import (
    Posted,
    build_request,
    collect_texts,
    fill_fields,
    read_json,
    read_posted,
    text,
    without_required,
)

__all__ = [
    "Field",
    "FormError",
    "Offer",
    "Posted",
    "budget_fields",
    "build_request",
    "collect_texts",
    "fields_for_method",
    "fields_of",
    "fill_fields",
    "offers",
    "read_json",
    "read_posted",
    "reading_fields",
    "text",
    "without_required",
]
