"""Which path belongs to whom. The stream's sockets are in `streaming.routing`."""

from __future__ import annotations

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from albedo_project.metrics import metrics
from sessions_app.admin.hosts import hosts_page
from sessions_app.api import api

# The console comes first: its login counts failed tries, and takes the place of the admin's own.
urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("sessions_app.console.urls")),
    path("admin/hosts/", admin.site.admin_view(hosts_page), name="admin-hosts"),
    path("admin/", admin.site.urls),
    path("api/", api.urls),
    path("metrics", metrics),
]

# Under /api/ these errors have the API's shape too.
handler400 = "sessions_app.api.fallback.bad_request"
handler404 = "sessions_app.api.fallback.not_found"
handler500 = "sessions_app.api.fallback.server_error"
