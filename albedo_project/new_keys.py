"""`python -m albedo_project.new_keys`: the two lines of secrets that an environment file needs."""

from __future__ import annotations

import sys

from albedo_project.keys import new_encryption_key, new_secret_key


def lines() -> str:
    return f"SECRET_KEY={new_secret_key()}\nENCRYPTION_KEY={new_encryption_key()}\n"


if __name__ == "__main__":
    sys.stdout.write(lines())
