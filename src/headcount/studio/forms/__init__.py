"""Forms that follow from declarations: of what can be asked of a log, and of how it is read.

A method, a flag or a family that is declared has its form by itself; nothing here knows any of them by name, but
for words that read better than the names do.
"""

from headcount.studio.forms.budget_fields import budget_fields
from headcount.studio.forms.field import Field, FormError
from headcount.studio.forms.log_fields import reading_fields
from headcount.studio.forms.posted_form import (
    Posted,
    given,
    optional,
    posted,
    read_request,
    request_from,
    shown,
    values,
)
from headcount.studio.forms.request_fields import Offer, fields_of, for_method, offers

__all__ = [
    "Field",
    "FormError",
    "Offer",
    "Posted",
    "budget_fields",
    "fields_of",
    "for_method",
    "given",
    "offers",
    "optional",
    "posted",
    "read_request",
    "reading_fields",
    "request_from",
    "shown",
    "values",
]
