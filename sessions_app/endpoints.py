"""Which addresses a provider profile may point at: one plain spelling, and never the cloud's own metadata.

Loopback is allowed, for models on this machine. A host name is not resolved here: what it resolves to is
judged by whoever connects.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import SplitResult, urlsplit

from sessions_app.problems import InvalidRequest

MAX_CHARS = 500
# Visible ASCII without the characters that URL readers disagree about.
PLAIN = re.compile(r"[!$&-;=A-Z_a-z~\[\]%]+", re.ASCII)
LABEL = re.compile(r"[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?", re.ASCII)
# Hosts that some resolvers read as numbers: 127.1, 0x7f.1, 2130706433.
NUMERIC_LAST_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
METADATA_HOSTS = frozenset(
    {"metadata", "metadata.google.internal", "instance-data", "instance-data.ec2.internal"}
)
METADATA_ADDRESSES = frozenset({ip_address("100.100.100.200"), ip_address("fd00:ec2::254")})


def checked_base_url(text: str) -> str:
    """`text` without a slash at its end, if a profile may point there. Raises InvalidRequest."""
    if len(text) > MAX_CHARS or not PLAIN.fullmatch(text):
        raise _refused()
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise _refused() from None
    bare = parts.scheme in ("http", "https") and not parts.query and not parts.fragment and port != 0
    if not bare or "@" in parts.netloc or "?" in text or not _host_allowed(parts):
        raise _refused()
    return text.rstrip("/")


def _host_allowed(parts: SplitResult) -> bool:
    host = parts.hostname or ""
    address = _address(host)
    if address is not None:
        return _address_allowed(address)
    labels = host.split(".")
    named = len(host) <= 253 and all(LABEL.fullmatch(label) for label in labels)
    return named and not NUMERIC_LAST_LABEL.fullmatch(labels[-1]) and host not in METADATA_HOSTS


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _address_allowed(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address) and (address.ipv4_mapped or address.sixtofour or address.scope_id):
        return False
    if address.is_loopback:
        return True
    never = address.is_link_local or address.is_unspecified or address.is_multicast or address.is_reserved
    return not never and address not in METADATA_ADDRESSES


def _refused() -> InvalidRequest:
    return InvalidRequest(
        "base_url must be http(s)://host[:port][/path] without user, query or fragment, "
        "and not a link-local, metadata or oddly spelled address.",
        "/base_url",
    )
