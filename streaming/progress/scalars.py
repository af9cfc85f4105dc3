"""Text as Unicode scalars: halves of surrogate pairs that meet, cuts that never split a character.

A Python str may hold lone surrogates (JSON allows their escapes), which nothing downstream can encode.
"""

from __future__ import annotations

REPLACEMENT = "\ufffd"


def join_halves(held: str, text: str) -> tuple[str, str]:
    """The scalars of `held + text`, and the high surrogate at its end that may still meet its partner.

    `held` is what the call before returned second, "" at first. A half without a partner becomes U+FFFD.
    """
    if not held and text.isascii():
        return text, ""
    whole = held + text
    if "\ud800" <= whole[-1:] <= "\udbff":
        return heal(whole[:-1]), whole[-1]
    return heal(whole), ""


def heal(text: str) -> str:
    """The same text with the halves of each surrogate pair joined and each lone half as U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def utf8_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def first_bytes(text: str, limit_bytes: int) -> str:
    """The longest beginning that takes at most `limit_bytes` of UTF-8."""
    if len(text) * 4 <= limit_bytes:
        return text
    return text[:limit_bytes].encode("utf-8", "replace")[:limit_bytes].decode("utf-8", "ignore")


def last_bytes(text: str, limit_bytes: int) -> str:
    """The longest end that takes at most `limit_bytes` of UTF-8."""
    if len(text) * 4 <= limit_bytes:
        return text
    if limit_bytes <= 0:
        return ""
    return text[-limit_bytes:].encode("utf-8", "replace")[-limit_bytes:].decode("utf-8", "ignore")
