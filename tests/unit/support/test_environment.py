"""What a test's environment is cleaned of."""

from __future__ import annotations

from tests.support.environment import clean_environment


def test_provider_keys_databases_and_proxies_are_taken_out_and_the_rest_stays() -> None:
    environment = {
        "OPENAI_API_KEY": "k",
        "ALBEDO_FEED_WINDOW_EVENTS": "7",
        "ALBEDO_TEST_LIVE_VENDOR": "1",
        "DATABASE_URL": "postgresql://somewhere/else",
        "HTTPS_PROXY": "http://proxy.example",
        "TEST_REDIS_URL": "redis://127.0.0.1/0",
        "PATH": "/bin",
    }
    clean_environment(environment)
    assert environment == {
        "ALBEDO_TEST_LIVE_VENDOR": "1",
        "TEST_REDIS_URL": "redis://127.0.0.1/0",
        "PATH": "/bin",
    }
