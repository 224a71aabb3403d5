"""Forms that follow from declarations: of what can be asked of a log, and of how it is read.

A method, a flag or a family that is declared has its form by itself; nothing here knows any of them by name, but
for words that read better than the names do.
"""

from headcount.studio.forms.budget_fields import budget_fields
from headcount.studio.forms.field import Field, FormError
from headcount.studio.forms.log_fields import reading_fields
from headcount.studio.forms.posted_form import (
    Posted,
    build_request,
    collect_texts,
    fill_fields,
    read_json,
    read_posted,
    read_request,
    without_required,
)
from headcount.studio.forms.request_fields import Offer, fields_for_method, fields_of, offers

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
    "read_request",
    "reading_fields",
    "without_required",
]
