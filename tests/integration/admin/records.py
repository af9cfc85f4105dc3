"""An attempt's record as contract section 10 has it, whole."""

from __future__ import annotations

from typing import Any

RECORD: dict[str, Any] = {
    "id": "a",
    "run_id": "r",
    "step": 1,
    "attempt": 1,
    "started_at": "2026-01-02T03:04:05.000000Z",
    "first_event_at": "2026-01-02T03:04:05.300000Z",
    "first_text_at": "2026-01-02T03:04:05.350000Z",
    "first_argument_at": "2026-01-02T03:04:05.500000Z",
    "last_byte_at": "2026-01-02T03:04:07.000000Z",
    "ended_at": "2026-01-02T03:04:07.200000Z",
    "longest_gap_ms": 900,
    "stream_guard": {"kind": "limit", "tool": "python", "limit": 100, "chars": 101},
    "usage": {"input_tokens": 7},
    "usage_source": "reported",
    "wire_request_constraints": {
        "max_output_tokens": None,
        "tools": [
            {
                "name": "python",
                "strict": "omitted",
                "schema": {"properties": 2, "required_properties": 1, "optional_properties": 1},
            }
        ],
    },
    "wire_responses": [
        {
            "status": 200,
            "opened_at": "2026-01-02T03:04:05.100000Z",
            "first_byte_at": "2026-01-02T03:04:05.250000Z",
            "bytes": 4321,
            "events": 12,
            "close_started_at": "2026-01-02T03:04:07.000000Z",
            "closed_at": "2026-01-02T03:04:07.100000Z",
            "close_error_type": None,
            "body_eof_observed": True,
            "tools": [
                {
                    "index": 0,
                    "name": "python",
                    "argument_chars": 101,
                    "argument_delta_events": 9,
                    "arguments_done_events": 0,
                }
            ],
        }
    ],
}
