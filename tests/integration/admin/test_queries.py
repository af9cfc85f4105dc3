"""What a page costs the database does not grow with the table: the number of queries is pinned."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from sessions_app import models
from sessions_app.admin.paging import MAX_ROWS, BoundedPaginator
from tests.integration.admin.conftest import World, make_world
from tests.integration.admin.test_looking import NAMES, list_url, page_url

# The login, the user and two kinds of permissions are four; a list counts and reads, a page reads.
LIST_QUERIES = 6
PAGE_QUERIES = 6


def queries(client: Client, url: str) -> int:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(url).status_code == 200
    return len(captured)


@pytest.mark.parametrize("name", NAMES)
def test_a_list_costs_the_same_whatever_its_length(
    looking: Client, alice: User, world: World, name: str
) -> None:
    one = queries(looking, list_url(name))
    for _ in range(10):
        make_world(alice)
    assert queries(looking, list_url(name)) == one <= LIST_QUERIES


@pytest.mark.parametrize("name", NAMES)
def test_a_page_costs_few_queries(looking: Client, world: World, name: str) -> None:
    row = next(row for row in world.rows() if row._meta.model_name == name)
    assert queries(looking, page_url(row)) <= PAGE_QUERIES


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("input", "text"),
        ("entry", "content"),
        ("toolcall", "result_text"),
        ("contentchunk", "text"),
        ("artifact", "data"),
    ],
)
def test_a_list_leaves_large_columns_where_they_are(
    looking: Client, world: World, name: str, column: str
) -> None:
    with CaptureQueriesContext(connection) as captured:
        looking.get(list_url(name))
    table = f'"sessions_app_{name}"."{column}"'
    assert all(table not in query["sql"] for query in captured)


@pytest.mark.django_db
def test_counting_stops_at_the_bound() -> None:
    with CaptureQueriesContext(connection) as captured:
        assert BoundedPaginator(models.Session.objects.order_by("id"), 50).count == 0
    assert f"LIMIT {MAX_ROWS}" in captured[0]["sql"]
