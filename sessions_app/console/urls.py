"""The console's paths. Included before the admin's: the admin's own login would not count failed tries."""

from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.templatetags.static import static
from django.urls import path
from django.views.generic import RedirectView

from sessions_app.console.frames import frame
from sessions_app.console.login import enter, login_page
from sessions_app.console.views import index, session_page

urlpatterns = [
    path("", index, name="console"),
    path("sessions/<uuid:session_id>/", session_page, name="console-session"),
    path("sessions/<uuid:session_id>/frames/<uuid:artifact_id>/", frame, name="console-frame"),
    path("enter/", enter, name="enter"),
    path("login/", login_page, name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("favicon.ico", RedirectView.as_view(url=static("albedo/icon.svg"))),
    path("admin/login/", RedirectView.as_view(pattern_name="login", query_string=True)),
]
