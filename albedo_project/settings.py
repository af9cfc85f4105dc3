"""Django's settings, and the only place that reads the environment. docs/settings.md lists all of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from albedo_project import databases, keys, layers
from albedo_project.env import Env
from albedo_project.tunables import VARIABLE_NAMES, read_tunables
from albedo_project.variables import VARIABLES

BASE_DIR = Path(__file__).resolve().parent.parent
env = Env(os.environ, [variable.name for variable in VARIABLES] + list(VARIABLE_NAMES))

PRODUCTION = env.choice("ALBEDO_ENV", ("embedded", "production"), "embedded") == "production"
DATA_DIR = keys.private_directory(env.path("DATA_DIR", BASE_DIR / "data"))
SECRETS_DIR = keys.private_directory(DATA_DIR / "secrets")
ALBEDO = read_tunables(env)
INSPECT = env.flag("ALBEDO_INSPECT")
METRICS_TOKEN = env.text("ALBEDO_METRICS_TOKEN")
METRICS_HOST = env.text("ALBEDO_METRICS_HOST", "127.0.0.1")
METRICS_PORT = env.integer("ALBEDO_METRICS_PORT", 0)
NOTIFY_SOCKET = env.text("NOTIFY_SOCKET")
LIVE_BACKEND = "streaming.delivery.port.ChannelLive"
TOOLS = env.items("ALBEDO_TOOLS", ("streaming.tools.python.PythonTool",))
# What a kernel may inherit from is this process's environment, through an allow-list and these names.
ENVIRONMENT: Mapping[str, str] = os.environ
KERNEL_ENVIRONMENT_NAMES = env.items("ALBEDO_KERNEL_ENVIRONMENT")

# Where `env:NAME` of a stored profile is looked up, at the time of its use.
PROVIDER_KEY_SOURCE = os.environ

ENV_PROFILE: dict[str, str] | None = None
if api_key := env.text("OPENAI_API_KEY"):
    ENV_PROFILE = {
        "name": "default",
        "base_url": env.text("OPENAI_BASE_URL", "https://api.openai.com/v1").rstrip("/"),
        "protocol": env.choice("ALBEDO_PROTOCOL", ("responses", "chat_completions"), "responses"),
        "model": env.text("ALBEDO_MODEL", "gpt-5-mini"),
        "api_key": api_key,
    }

SECRET_KEY = env.text("SECRET_KEY") or keys.stored_key(SECRETS_DIR / "secret_key", keys.new_secret_key)
ENCRYPTION_KEY = keys.checked_encryption_key(
    env.text("ENCRYPTION_KEY") or keys.stored_key(SECRETS_DIR / "encryption_key", keys.new_encryption_key)
)
KEYS_GIVEN = bool(env.text("SECRET_KEY") and env.text("ENCRYPTION_KEY"))
if PRODUCTION:
    keys.checked_secret("SECRET_KEY", SECRET_KEY)
    keys.checked_secret("ENCRYPTION_KEY", ENCRYPTION_KEY)

DEBUG = False
ALLOWED_HOSTS = env.items("ALLOWED_HOSTS", ("localhost", "127.0.0.1", "[::1]"))
if (bind_host := env.text("ALBEDO_BIND_HOST")) and bind_host not in ALLOWED_HOSTS:
    ALLOWED_HOSTS.append(f"[{bind_host}]" if ":" in bind_host else bind_host)
if METRICS_PORT and METRICS_HOST not in ALLOWED_HOSTS:
    ALLOWED_HOSTS.append(f"[{METRICS_HOST}]" if ":" in METRICS_HOST else METRICS_HOST)
CSRF_TRUSTED_ORIGINS = env.items("CSRF_TRUSTED_ORIGINS")

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "ninja",  # so that the API's page runs its own scripts, not ones from elsewhere
    "sessions_app",
    "albedo_project",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "albedo_project.security.security_headers",
    "servestatic.middleware.ServeStaticMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "sessions_app.console.token_logins.Authentication",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "albedo_project.urls"
ASGI_APPLICATION = "albedo_project.asgi.application"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

busy_seconds = float(ALBEDO["database_busy_seconds"])
if database_url := env.text("DATABASE_URL"):
    database = databases.postgresql(
        database_url,
        int(ALBEDO["database_pool_max"]),
        busy_seconds,
        float(ALBEDO["database_statement_seconds"]),
    )
else:
    database = databases.sqlite(keys.private_file(DATA_DIR / "albedo.sqlite3"), busy_seconds)
DATABASES = {"default": database}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env.text("REDIS_URL")
CHANNEL_LAYERS = layers.channel_layers(REDIS_URL)
CACHES = layers.caches(REDIS_URL)

LANGUAGE_CODE = "en-us"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
# Files are served from where they stand: no collecting step, no second server.
SERVESTATIC_USE_FINDERS = True
SERVESTATIC_AUTOREFRESH = False
SERVESTATIC_ALLOW_ALL_ORIGINS = False

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("MinimumLengthValidator", "CommonPasswordValidator", "NumericPasswordValidator")
]
LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/login/"

# Django answers a larger body itself; the API's own bounds are below this one.
DATA_UPLOAD_MAX_MEMORY_SIZE = int(ALBEDO["input_bytes"]) + int(ALBEDO["body_bytes"])
# What is taken whole anyway need not go through a disk, which may be full.
FILE_UPLOAD_MAX_MEMORY_SIZE = DATA_UPLOAD_MAX_MEMORY_SIZE
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1_000

# The console reads the CSRF token from its page, so no script needs either cookie.
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
if PRODUCTION:
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    # The prefix makes browsers refuse the cookie from a sibling domain or over plain HTTP.
    SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "__Host-sessionid", "__Host-csrftoken"
    SECURE_SSL_REDIRECT = True
    # Balancers and Prometheus ask each process itself, behind whatever ends TLS.
    SECURE_REDIRECT_EXEMPT = ["^api/health$", "^metrics$"]
    SECURE_HSTS_SECONDS = 365 * 24 * 3600
    SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = True
TRUST_PROXY = env.flag("ALBEDO_TRUST_PROXY")
if TRUST_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

LOG_LEVEL = env.choice("ALBEDO_LOG_LEVEL", ("DEBUG", "INFO", "WARNING", "ERROR"), "INFO")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "albedo_project.logs.OneLineFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s %(message)s",
        }
    },
    "filters": {
        "client_faults": {"()": "albedo_project.logs.ClientFaults"},
        "lost_lines": {"()": "albedo_project.logs.LostLines"},
        "seldom": {"()": "albedo_project.logs.Seldom"},
    },
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["client_faults"]}
    },
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    # Django's own handlers would print the same records a second time, unescaped.
    "loggers": {
        "django": {"handlers": [], "propagate": True, "level": LOG_LEVEL},
        "django.server": {"handlers": [], "propagate": True, "level": LOG_LEVEL},
        # Both write request headers or SQL at DEBUG, where secrets stand.
        "httpcore": {"level": "WARNING"},
        "httpx": {"level": "WARNING"},
        "httpcore2": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
        # What an MCP server says beside its protocol, however much, is not ours to repeat.
        "mcp": {"level": "CRITICAL"},
        "django.db.backends": {"level": "INFO"},
        # Says once a second that Redis is away, with a traceback.
        "channels_redis.pubsub": {"filters": ["lost_lines", "seldom"]},
    },
}
