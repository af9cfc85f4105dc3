"""Every bound of the live half, in one place, each with its unit in its name.

Nothing here reads settings: `streaming.runtime` fills these from `settings.ALBEDO`, and
tests make their own. A number that is not obvious carries its reason.
"""

from __future__ import annotations

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class WireLimits:
    """What one provider response may cost before it is ours to stop."""

    # A 16 MiB argument arrives whole in one `.done` event, JSON inside JSON, so escaped twice.
    line_bytes: int = 48 * MIB
    event_bytes: int = 48 * MIB
    response_bytes: int = 256 * MIB
    error_body_bytes: int = 64 * KIB
    # 10,000 calls in one response are an attack or a fault, never work.
    calls: int = 256
    name_bytes: int = 256
    native_id_bytes: int = 4 * KIB
    text_chars: int = 4 * MIB
    default_argument_chars: int = 16_384
    python_argument_chars: int = 16 * MIB
    runaway_chars: int = 8_192
    close_seconds: float = 2.0
    # A person waits for the run: a server that asks for more is tried sooner and may fail again.
    retry_after_seconds: float = 120.0
    breaker_failures: int = 10
    breaker_open_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class ProgressLimits:
    """Contract section 6: what the live view of written calls may hold."""

    preview_scalars: int = 512
    preview_bytes: int = 2_048
    event_bytes: int = 8_192
    tool_call_id_bytes: int = 200
    name_bytes: int = 100
    shown_calls: int = 32
    depth: int = 64
    projection_bytes: int = 64 * KIB
    coalesce_seconds: float = 0.1


@dataclass(frozen=True, slots=True)
class FeedLimits:
    """Contract section 5: the replay window, the pages, the provisional message."""

    window_events: int = 1_024
    window_bytes: int = 4 * MIB
    page_bytes: int = 1 * MIB
    text_coalesce_seconds: float = 0.05
    current_message_bytes: int = 64 * KIB
    # A coalesced text event is cut here so that one event never approaches a page.
    text_event_bytes: int = 16 * KIB
    output_event_bytes: int = 16 * KIB


@dataclass(frozen=True, slots=True)
class DeliveryLimits:
    """What a subscriber may cost, and how long it may stand still."""

    keepalive_seconds: float = 5.0
    send_seconds: float = 30.0
    socket_buffer_bytes: int = 1 * MIB
    mirror_bytes: int = 1 * MIB
    mirror_batches: int = 256
    # Lost layer messages are noticed by this timer at the latest.
    heal_seconds: float = 2.0
    capture_seconds: float = 5.0
    subscribers_per_user: int = 200
    # A stream costs a file, four tasks and its buffers: this many fit beside what else a process does.
    subscribers: int = 10_000
    # Enough to keep the threads that read busy.
    attaching: int = 16
    # Longer than a send may take, so that a peer that only does not read hears its code.
    peer_seconds: float = 45.0


@dataclass(frozen=True, slots=True)
class KernelLimits:
    """The python tool: time, output and what it leaves behind."""

    prewarmed: int = 1
    start_seconds: float = 30.0
    interrupt_grace_seconds: float = 5.0
    default_timeout_seconds: float = 600.0
    max_timeout_seconds: float = 3_600.0
    model_output_bytes: int = 64 * KIB
    history_output_bytes: int = 16 * MIB
    error_bytes: int = 16 * KIB
    displays: int = 32
    artifact_bytes: int = 8 * MIB
    message_bytes: int = 32 * MIB
    # A kernel takes about 40 MB; a person at lunch should still find the variables.
    idle_seconds: float = 1_800.0


@dataclass(frozen=True, slots=True)
class McpLimits:
    """MCP servers: how long they may take, and how much they may say."""

    start_seconds: float = 30.0
    call_seconds: float = 600.0
    # A well-behaved server ends when its input does; what is left of the others is killed then.
    close_seconds: float = 2.0
    tools: int = 128
    description_chars: int = 4_000
    schema_chars: int = 65_536
    answer_bytes: int = 16 * MIB


@dataclass(frozen=True, slots=True)
class ActorLimits:
    """Leases, sweeps and rests (contract section 11)."""

    lease_seconds: float = 15.0
    renew_seconds: float = 5.0
    self_fence_seconds: float = 10.0
    sweep_seconds: float = 2.0
    idle_seconds: float = 600.0
    drain_seconds: float = 10.0
    # A full disk or a long backup should cost a wait, not a run.
    patience_seconds: float = 120.0
    steps_per_run: int = 200


@dataclass(frozen=True, slots=True)
class Limits:
    """All of them, as the runtime hands them down."""

    wire: WireLimits = WireLimits()
    progress: ProgressLimits = ProgressLimits()
    feed: FeedLimits = FeedLimits()
    delivery: DeliveryLimits = DeliveryLimits()
    kernel: KernelLimits = KernelLimits()
    mcp: McpLimits = McpLimits()
    actor: ActorLimits = ActorLimits()
