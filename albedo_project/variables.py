"""The environment variables that are not tunables: name, kind, default as shown, and what each is for.

`settings.py` can read only what stands here or in `tunables.py`; docs/settings.md is made from both.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    kind: str
    default: str
    reason: str


VARIABLES: tuple[Variable, ...] = (
    Variable(
        "DATA_DIR", "path", "`data` beside manage.py", "Database, workspaces, secrets; owner-only rights."
    ),
    Variable("DATABASE_URL", "text", "SQLite in DATA_DIR", "`postgresql://user:password@host:port/name`."),
    Variable(
        "REDIS_URL",
        "text",
        "layers in memory",
        "`redis://host:port/0`; needed by more than one process. The number is for this installation alone.",
    ),
    Variable("SECRET_KEY", "text", "made in DATA_DIR/secrets", "Signs cookies and page tokens."),
    Variable(
        "ENCRYPTION_KEY",
        "text",
        "made in DATA_DIR/secrets",
        "Fernet key that encrypts provider keys at rest.",
    ),
    Variable("ALLOWED_HOSTS", "list", "localhost, 127.0.0.1, [::1]", "Host names that requests may carry."),
    Variable("CSRF_TRUSTED_ORIGINS", "list", "none", "Further origins (`https://host`) that may post forms."),
    Variable(
        "OPENAI_API_KEY", "text", "none", "A key makes the provider profile `default` from the environment."
    ),
    Variable(
        "OPENAI_BASE_URL", "text", "OpenAI's own", "Base of that profile: `{base}/responses` and so on."
    ),
    Variable("ALBEDO_MODEL", "text", "gpt-5-mini", "Model of that profile."),
    Variable("ALBEDO_PROTOCOL", "text", "responses", "`responses` or `chat_completions`, for that profile."),
    Variable("ALBEDO_ENV", "text", "embedded", "`embedded` or `production`; production means HTTPS only."),
    Variable(
        "ALBEDO_TRUST_PROXY",
        "flag",
        "0",
        "Believe X-Forwarded-Proto (`run_web`: and -For); only behind a proxy that sets them itself.",
    ),
    Variable("ALBEDO_BIND_HOST", "text", "127.0.0.1", "Set by `serve --host`; joins ALLOWED_HOSTS."),
    Variable("ALBEDO_INSPECT", "flag", "0", "Opens /api/inspect to staff; meant for tests and measuring."),
    Variable(
        "ALBEDO_TOOLS",
        "list",
        "streaming.tools.python.PythonTool",
        "Tools that the model is offered, by dotted path (tools.md).",
    ),
    Variable(
        "ALBEDO_KERNEL_ENVIRONMENT",
        "list",
        "none",
        "Names of variables that kernels may see besides the usual.",
    ),
    Variable("ALBEDO_METRICS_TOKEN", "text", "none: staff only", "Bearer token that may read /metrics."),
    Variable(
        "ALBEDO_METRICS_PORT", "number", "none", "Where `run_actors` answers /metrics; web servers do anyway."
    ),
    Variable("ALBEDO_METRICS_HOST", "text", "127.0.0.1", "Its address; joins ALLOWED_HOSTS."),
    Variable("ALBEDO_LOG_LEVEL", "text", "INFO", "DEBUG, INFO, WARNING or ERROR."),
    Variable("NOTIFY_SOCKET", "text", "none", "Set by systemd: where a process says that it is ready."),
)
