"""Requests: what is asked, as typed data that round-trips through JSON; never where the data lies."""

from headcount.request.counting import ReleaseRequest
from headcount.request.neighbours import NeighboursRequest
from headcount.request.queries import QueryRequest, SessionRequest
from headcount.request.ranking import RankRequest
from headcount.request.spending import Spending, check_delta, refuse_research, whole_number
from headcount.request.tags import TagsRequest

__all__ = [
    "NeighboursRequest",
    "QueryRequest",
    "RankRequest",
    "ReleaseRequest",
    "SessionRequest",
    "Spending",
    "TagsRequest",
    "check_delta",
    "refuse_research",
    "whole_number",
]
