"""Every module of the live half has its own unit test file, or a row that names the file that tries it."""

from __future__ import annotations

from fnmatch import fnmatch

from tests.architecture.source import PROJECT, Module, modules

# Plain values and constants: every bound is tested where it bounds.
VALUES = (
    "streaming/limits.py",
    "streaming/providers/errors.py",
    "streaming/providers/events.py",
    "streaming/providers/types.py",
    "streaming/kernel/errors.py",
    "streaming/kernel/values.py",
    "streaming/tools/mcp/config.py",
)

# Parts that mean something only together, by the file that tries them so. The first match counts.
TRIED_BY: dict[str, str] = {
    "streaming/actors/beat.py": "tests/integration/actors/test_beat.py",
    "streaming/actors/calls.py": "tests/acceptance/test_main_job.py",
    "streaming/actors/driver.py": "tests/acceptance/test_main_job.py",
    "streaming/actors/host.py": "tests/acceptance/test_recovery.py",
    "streaming/actors/lease.py": "tests/integration/actors/test_lease.py",
    "streaming/actors/mailbox.py": "tests/integration/actors/test_mailbox.py",
    "streaming/actors/recorder.py": "tests/integration/actors/test_recorder.py",
    "streaming/actors/removals.py": "tests/integration/retention/test_removal.py",
    "streaming/actors/services.py": "tests/acceptance/test_main_job.py",
    "streaming/actors/session.py": "tests/acceptance/test_main_job.py",
    "streaming/actors/step.py": "tests/acceptance/test_main_job.py",
    "streaming/actors/turn.py": "tests/acceptance/test_main_job.py",
    "streaming/actors/work.py": "tests/acceptance/test_interrupts.py",
    "streaming/delivery/codes.py": "tests/integration/delivery/test_websocket.py",
    "streaming/delivery/guard.py": "tests/integration/delivery/test_admission.py",
    "streaming/delivery/layer_probe.py": "tests/acceptance/test_health.py",
    "streaming/delivery/pages.py": "tests/acceptance/test_stream.py",
    "streaming/delivery/port.py": "tests/integration/delivery/test_websocket.py",
    "streaming/delivery/process.py": "tests/integration/delivery/test_server.py",
    "streaming/delivery/query.py": "tests/integration/delivery/test_websocket.py",
    "streaming/delivery/redis_layer.py": "tests/integration/delivery/test_redis_layer.py",
    "streaming/delivery/refusals.py": "tests/integration/delivery/test_admission.py",
    "streaming/delivery/rechecks.py": "tests/integration/delivery/test_admission.py",
    "streaming/delivery/sessions_socket.py": "tests/integration/delivery/test_websocket.py",
    "streaming/delivery/sse.py": "tests/integration/delivery/test_sse.py",
    "streaming/delivery/stream.py": "tests/integration/delivery/test_websocket.py",
    "streaming/delivery/summaries.py": "tests/integration/delivery/test_websocket.py",
    "streaming/delivery/watch.py": "tests/integration/delivery/test_websocket.py",
    "streaming/delivery/websocket.py": "tests/integration/delivery/test_websocket.py",
    "streaming/feed/capture.py": "tests/unit/feed/test_fold.py",
    "streaming/feed/live_state.py": "tests/unit/feed/test_fold.py",
    "streaming/providers/answer.py": "tests/integration/providers/test_attempt_answers.py",
    "streaming/providers/body.py": "tests/integration/providers/test_attempt_answers.py",
    "streaming/providers/call_drafts.py": "tests/unit/providers/test_wire_cases.py",
    "streaming/providers/chat_completions_*.py": "tests/unit/providers/test_chat_completions.py",
    "streaming/providers/error_reading.py": "tests/unit/providers/test_classify.py",
    "streaming/providers/response*_*.py": "tests/unit/providers/test_responses.py",
    "streaming/providers/shared.py": "tests/unit/providers/test_client.py",
    "streaming/providers/wire_errors.py": "tests/unit/providers/test_classify.py",
    "streaming/routing.py": "tests/integration/delivery/test_server.py",
    "streaming/tools/mcp/connection.py": "tests/integration/mcp/test_stdio.py",
    "streaming/tools/mcp/http.py": "tests/integration/mcp/test_http.py",
    "streaming/tools/mcp/servers.py": "tests/integration/mcp/test_stdio.py",
    "streaming/tools/mcp/tool.py": "tests/integration/mcp/test_stdio.py",
    "streaming/runtime.py": "tests/acceptance/test_main_job.py",
}


def own_file(module: Module) -> str:
    """`streaming/providers/sse.py` is tested by `tests/unit/providers/test_sse.py`."""
    inner = module.path.relative_to(PROJECT / "streaming")
    return str("tests/unit" / inner.with_name(f"test_{inner.name}"))


def with_code() -> list[Module]:
    return [m for m in modules("streaming") if m.path.name != "__init__.py" and m.where not in VALUES]


def test_every_module_of_the_live_half_is_tried_by_a_file_that_is_known() -> None:
    bare = [
        module.where
        for module in with_code()
        if not (PROJECT / own_file(module)).exists()
        and not any(fnmatch(module.where, pattern) for pattern in TRIED_BY)
    ]
    assert bare == []


def test_every_named_test_file_exists() -> None:
    assert [name for name in set(TRIED_BY.values()) if not (PROJECT / name).exists()] == []


def test_no_row_is_left_of_a_module_that_is_gone() -> None:
    there = [module.where for module in modules("streaming")]
    rows = (*VALUES, *TRIED_BY)
    assert [row for row in rows if not any(fnmatch(where, row) for where in there)] == []
