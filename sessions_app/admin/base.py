"""What every admin page of ours is: for looking. Staff may look, as by the API; that they did is recorded."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar
from uuid import UUID

from django.contrib import admin
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest

from sessions_app.admin.paging import BoundedPaginator
from sessions_app.ids import parse_id
from sessions_app.models import Session

M = TypeVar("M", bound=Model)

audit = logging.getLogger("albedo.audit")
SEARCH_CHARS = 200
LIST_ROWS = 50


if TYPE_CHECKING:

    class _Admin(admin.ModelAdmin[M], Generic[M]):
        """Django's own takes no type parameter when it runs."""

else:

    class _Admin(admin.ModelAdmin, Generic[M]):
        pass


class LookOnly(_Admin[M], Generic[M]):
    """Lists of bounded cost, and pages without a form. `change` permission is needed to act, none to look."""

    list_per_page = LIST_ROWS
    list_max_show_all = LIST_ROWS
    show_full_result_count = False
    # Only the order that an index gives: sorting by any column would read every row.
    sortable_by = ()
    show_facets = admin.ShowFacets.NEVER
    paginator = BoundedPaginator
    ordering: ClassVar[tuple[str, ...]] = ("-id",)
    # An id finds itself and what hangs on it; other words are looked up only where a list says so.
    id_lookups: tuple[str, ...] = ("id",)
    text_lookups: tuple[str, ...] = ()
    search_fields: ClassVar[tuple[str, ...]] = ("id",)

    class Media:
        css = {"all": ["albedo/admin.css"]}

    def has_module_permission(self, request: HttpRequest) -> bool:
        return may_look(request)

    def has_view_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return may_look(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return False

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """For actions: more than looking."""
        name = f"{self.opts.app_label}.change_{self.opts.model_name}"
        return may_look(request) and request.user.has_perm(name)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[M], search_term: str
    ) -> tuple[QuerySet[M], bool]:
        term = search_term.strip()[:SEARCH_CHARS].replace("\x00", "")
        if not term:
            return queryset, False
        key = parse_id(term)
        lookups: list[tuple[str, UUID | str]] = [(name, term) for name in self.text_lookups]
        if key is not None:
            lookups = [(name, key) for name in self.id_lookups]
        return (queryset.filter(_any(lookups)), False) if lookups else (queryset.none(), False)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> M | None:
        found = super().get_object(request, object_id, from_field)
        session = None if found is None else self.session_of(found)
        if session is not None and session.owner_id != request.user.pk:
            audit.info(
                "user %s looks at %s %s in session %s of user %s",
                request.user.pk,
                self.opts.model_name,
                object_id[:SEARCH_CHARS],
                session.pk,
                session.owner_id,
            )
        return found

    def session_of(self, obj: M) -> Session | None:
        """The session that an object belongs to; None for what belongs to none."""
        session: Any = getattr(obj, "session", None)
        return session if isinstance(session, Session) else None


def may_look(request: HttpRequest) -> bool:
    return bool(request.user.is_active and getattr(request.user, "is_staff", False))


def shows_one(request: HttpRequest) -> bool:
    """True for the page of one object: lists leave large columns in the database."""
    return bool(request.resolver_match and request.resolver_match.kwargs)


def _any(lookups: list[tuple[str, UUID | str]]) -> Q:
    condition = Q()
    for name, value in lookups:
        condition |= Q(**{name: value})
    return condition
