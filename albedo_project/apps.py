"""The project itself as an application: its commands and checks."""

from __future__ import annotations

from django.apps import AppConfig

from albedo_project import checks


class AlbedoConfig(AppConfig):
    name = "albedo_project"

    def ready(self) -> None:
        checks.register()
