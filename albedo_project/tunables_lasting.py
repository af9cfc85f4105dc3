"""Tunables of the lasting half: bodies, lists, pages, provider defaults, database threads."""

from __future__ import annotations

from albedo_project.tunables_row import Tunable

KIB = 1024
MIB = 1024 * KIB
API = "sessions_app.api"
STORE = "sessions_app.store"
HEALTH = "sessions_app.health"
DATABASES = "albedo_project.databases"
PROVIDERS = "provider profiles"

LASTING: tuple[Tunable, ...] = (
    Tunable("body_bytes", 64 * KIB, "Request body, except an input's.", API, 1),
    Tunable("input_bytes", 9_000_000, "Body of an input; images travel in it as base64.", API, 1),
    Tunable("queue_limit", 32, "Inputs of one session that may wait; then 429.", STORE, 1),
    Tunable("list_limit", 50, "Items of a list where the request names no limit.", API, 1),
    Tunable("list_limit_max", 200, "The most that a request may ask of a list.", API, 1),
    Tunable("history_limit", 100, "Entries of a history page where the request names no limit.", API, 1),
    Tunable("history_limit_max", 200, "The most entries of a history page.", API, 1),
    Tunable("history_page_bytes", 256 * KIB, "Content of a history page.", "sessions_app.history", 1),
    Tunable("content_page_bytes", 256 * KIB, "One page of a large argument, result or text.", API, 1),
    Tunable(
        "content_chunk_bytes", 32 * KIB, "One stored row of large content: bounds a page's waste.", STORE, 4
    ),
    Tunable("inline_bytes", 16 * KIB, "Arguments or result up to this stand in the event itself.", STORE),
    Tunable("inline_text_bytes", 64 * KIB, "Text of an entry up to this stands in history itself.", STORE),
    Tunable(
        "drain_listen_seconds",
        0.5,
        "Connections are accepted so long after SIGTERM, to say so.",
        "serving",
    ),
    Tunable("server_close_seconds", 2.0, "For reading a last message, before the cut.", "serving", 0.001),
    Tunable("server_connections", 12_000, "Connections of a `serve`; further ones get 503.", "serving", 1),
    Tunable("login_attempts_per_minute", 10, "Failed logins of one account or address; then 429.", API, 1),
    Tunable("store_readers", 4, "Threads that read the database for async code.", STORE, 1),
    Tunable("store_writers", 4, "Threads that write, on PostgreSQL; SQLite has one writer anyway.", STORE, 1),
    Tunable("storage_reserve_bytes", 64 * MIB, "Less free space for DATA_DIR is a fault of health.", HEALTH),
    Tunable("database_pool_max", 16, "PostgreSQL connections of one process.", DATABASES, 2),
    Tunable(
        "database_busy_seconds",
        20.0,
        "How long work waits for a lock or its turn; then 503.",
        DATABASES,
        0.01,
    ),
    Tunable("database_statement_seconds", 20.0, "Longest statement on PostgreSQL; then 503.", DATABASES, 0.1),
    Tunable("connect_timeout", 10.0, "Default of a profile: connecting.", PROVIDERS, 0.001),
    Tunable("first_event_timeout", 120.0, "Default of a profile: up to the first event.", PROVIDERS, 0.001),
    Tunable("idle_timeout", 120.0, "Default of a profile: silence between events.", PROVIDERS, 0.001),
    Tunable("request_timeout", 600.0, "Default of a profile: one request.", PROVIDERS, 0.001),
    Tunable("run_timeout", 3_600.0, "Default of a profile: a whole run.", PROVIDERS, 0.001),
    Tunable("max_retries", 4, "Default of a profile: tries after the first.", PROVIDERS),
)
