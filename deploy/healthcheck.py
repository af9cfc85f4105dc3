"""Whether the web process of this container serves: exit code 0 where clients may be sent to it."""

from __future__ import annotations

import os
import sys
import urllib.error
import urllib.request

TIMEOUT_SECONDS = 7.0


def request(environment: dict[str, str]) -> urllib.request.Request:
    """As the proxy would ask: under a name that is allowed, and not to be sent on to HTTPS."""
    host = environment.get("ALLOWED_HOSTS", "").partition(",")[0].strip() or "127.0.0.1"
    url = f"http://127.0.0.1:{environment.get('PORT') or '8000'}/api/health"
    return urllib.request.Request(url, headers={"Host": host, "X-Forwarded-Proto": "https"})


def main() -> int:
    try:
        asked = request(dict(os.environ))
        with urllib.request.urlopen(asked, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310 - this machine's
            said, status = answer.read(), answer.status
    except urllib.error.HTTPError as error:
        said, status = error.read(), error.code
    except OSError as error:
        said, status = str(error).encode(), 0
    sys.stdout.write(said.decode("utf-8", "replace"))
    return 0 if status == 200 else 1


if __name__ == "__main__":
    sys.exit(main())
