"""Which path belongs to whom. The stream's sockets are in `streaming.routing`."""

from __future__ import annotations

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

# The console comes first: its login counts failed tries, and takes the place of the admin's own.
urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("sessions_app.console.urls")),
    path("admin/", admin.site.urls),
]
