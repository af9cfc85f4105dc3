"""Names of called tools as models leak and servers split them."""

from __future__ import annotations

# gpt-oss writes its control tokens behind the name, and the namespace before it.
_CONTROL_MARK = "<|"
_NAMESPACE = "functions."


def clean_name(raw: str, known: frozenset[str]) -> str:
    """`raw` without what is no part of a name; kept as it is where that would leave nothing."""
    name = raw.strip()
    if name in known:
        return name
    name = name.partition(_CONTROL_MARK)[0].strip() or name
    bare = name.removeprefix(_NAMESPACE)
    return bare if bare in known else name


def joined_name(so_far: str, fragment: str, known: frozenset[str]) -> str:
    """The name after one more fragment: restated whole, restated so far, or really split."""
    if not so_far:
        return fragment
    joined = so_far + fragment
    if fragment == so_far:
        return joined if joined in known and so_far not in known else so_far
    if fragment.strip() == so_far.strip():
        return so_far
    if fragment.startswith(so_far) and joined not in known:
        return fragment
    return joined
