"""The servers that tests start for themselves."""

from __future__ import annotations

import psycopg
import pytest
import redis

from tests.support.services import PostgresServer, RedisServer


def test_the_suite_s_redis_answers(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.ping()


def test_a_redis_of_one_s_own_comes_back_empty_on_its_port(own_redis: RedisServer) -> None:
    with redis.Redis.from_url(own_redis.url) as client:
        client.set("kept", "no")
    own_redis.stop()
    own_redis.start()
    with redis.Redis.from_url(own_redis.url) as client:
        assert client.get("kept") is None


def test_each_new_database_is_empty_and_can_be_dropped(postgres_server: PostgresServer) -> None:
    url = postgres_server.new_database()
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    assert row == (0,)
    postgres_server.drop(url)
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)


def test_a_database_is_there_for_all_who_ask(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
