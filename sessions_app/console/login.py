"""Signing in: by password, by an API token, or by a one-time link. All three make a Django login."""

from __future__ import annotations

from django.contrib.auth import authenticate, login
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from sessions_app.console.login_links import take_ticket
from sessions_app.console.throttle import LoginThrottle
from sessions_app.console.token_logins import remember
from sessions_app.models import ApiToken
from sessions_app.store.tokens import token_by_text

MODEL_BACKEND = "django.contrib.auth.backends.ModelBackend"
REFUSED = "That does not match an account."
NOT_STAFF = "This account may not see the admin."
TOO_MANY = "Too many tries. Wait a minute."
TOKEN_CHARS = 200


@never_cache
@sensitive_post_parameters("password", "token")
@require_http_methods(["GET", "HEAD", "POST"])
def login_page(request: HttpRequest) -> HttpResponse:
    """The form and what it does. Failed tries are counted: 429 with Retry-After beyond the limit."""
    following = _local_path(request)
    if request.method != "POST":
        if not request.user.is_authenticated:
            return _form(request, following)
        if _may_see(request.user, following):
            return HttpResponseRedirect(following)
        return _form(request, "/", NOT_STAFF, 403)
    return _sign_in(request, following)


def _sign_in(request: HttpRequest, following: str) -> HttpResponse:
    throttle = LoginThrottle(*_counted(request))
    if throttle.exhausted():
        answer = _form(request, following, TOO_MANY, 429)
        answer.headers["Retry-After"] = str(throttle.retry_after_seconds)
        return answer
    token = _token(request)
    user = token.user if token else _user_by_password(request)
    if user is None:
        throttle.failed()
        return _form(request, following, REFUSED, 401)
    login(request, user, backend=MODEL_BACKEND)
    remember(request.session, token)
    return HttpResponseRedirect(following if _may_see(user, following) else "/")


@never_cache
@require_safe
def enter(request: HttpRequest) -> HttpResponse:
    """Use a one-time link. HEAD does not use it up: what only looks at links gets nothing."""
    user = take_ticket(request.GET.get("ticket", "")) if request.method == "GET" else None
    if user is None:
        return render(request, "albedo/ticket_refused.html", status=403)
    login(request, user, backend=MODEL_BACKEND)
    remember(request.session, None)
    return HttpResponseRedirect("/")


def _counted(request: HttpRequest) -> list[str]:
    names = [f"address {request.META.get('REMOTE_ADDR', '')}"]
    if "token" not in request.POST:
        names.append(f"account {request.POST.get('username', '')[:150].lower()}")
    return names


def _token(request: HttpRequest) -> ApiToken | None:
    token = request.POST.get("token", "").strip()
    usable = token and token.isascii() and len(token) <= TOKEN_CHARS
    return token_by_text(token) if usable else None


def _user_by_password(request: HttpRequest) -> User | None:
    """Nobody where a token was given: that one is not made up for."""
    if request.POST.get("token", "").strip():
        return None
    name, password = request.POST.get("username", ""), request.POST.get("password", "")
    if "\x00" in name or "\x00" in password:
        return None
    user = authenticate(request, username=name, password=password)
    return user if isinstance(user, User) else None


def _local_path(request: HttpRequest) -> str:
    """Where to go then: a path of this host, whatever else was asked for."""
    wanted = request.POST.get("next") or request.GET.get("next") or "/"
    secure = request.is_secure()
    local = url_has_allowed_host_and_scheme(wanted, allowed_hosts=None, require_https=secure)
    return wanted if local and wanted.startswith("/") else "/"


def _may_see(user: object, path: str) -> bool:
    return not path.startswith("/admin") or bool(getattr(user, "is_staff", False))


def _form(request: HttpRequest, following: str, problem: str = "", status: int = 200) -> HttpResponse:
    return render(request, "albedo/login.html", {"next": following, "problem": problem}, status=status)
