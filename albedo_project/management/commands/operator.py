"""`manage.py operator`: the operator's account, made where there is none, and a link that signs it in."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from albedo_project.operator import ensure_operator
from sessions_app.console.login_links import make_login_link


class Command(BaseCommand):
    help = (
        "Make the operator account and its token (secrets/operator_token in DATA_DIR) where there is none, "
        "and print a link that signs it in once within ten minutes."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--url", required=True, help="where browsers find the server: https://host")

    def handle(self, *args: Any, **options: Any) -> None:
        operator, _ = ensure_operator(settings.SECRETS_DIR)
        self.stdout.write(make_login_link(operator, options["url"]))
