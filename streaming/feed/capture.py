"""An actor's answer to a capture: taken in one go from its window and live part, publishing nothing.

Pure, so that nothing can come between reading the cursor and reading the state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from streaming.feed.batch import capture_text
from streaming.feed.live_state import DEFAULT_BOUNDS, Bounds, State, fold_live
from streaming.feed.window import Page, Window, judge

# What stands around the events of a page: generation, cursor, attach.
ENVELOPE_BYTES = 512


def capture(
    window: Window,
    state: State,
    *,
    after_generation: str | None,
    after_sequence: int | None,
    page_bytes: int,
    waiting: Iterable[Mapping[str, Any]] = (),
    bounds: Bounds = DEFAULT_BOUNDS,
) -> str:
    """The reply's JSON text, its page within `page_bytes`.

    `waiting` are coalesced events (`type`, `data`) not yet published, in their order: a snapshot shows them,
    and they still follow as events.
    """
    generation: str = state["cursor"]["generation"]
    judgement = judge(window, generation, after_generation, after_sequence)
    live: State | None = None
    if judgement.verdict == "reset" or after_sequence is None:
        page = Page([], window.newest, more=False)
        live = shown(state, waiting, bounds)
    else:
        page = window.after(after_sequence, page_bytes - ENVELOPE_BYTES)
    return capture_text(
        generation,
        judgement,
        page,
        oldest=window.oldest,
        newest=window.newest,
        live=live,
    )


def shown(state: State, waiting: Iterable[Mapping[str, Any]], bounds: Bounds = DEFAULT_BOUNDS) -> State:
    """The live part with what waits for its time applied; the cursor stays at what was published."""
    for event in waiting:
        state = fold_live(state, {"type": event["type"], "data": event["data"]}, bounds)
    return state
