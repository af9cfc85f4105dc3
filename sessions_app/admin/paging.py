"""A paginator for tables that grow without end: it counts to a bound, so no page costs a whole count."""

from __future__ import annotations

from typing import Any, cast

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.utils.functional import cached_property

# What lies beyond is found by filters and search, not by leafing.
MAX_ROWS = 5_000


class BoundedPaginator(Paginator):  # type: ignore[type-arg]
    @cached_property
    def count(self) -> int:
        return cast("QuerySet[Any]", self.object_list).order_by()[:MAX_ROWS].count()
