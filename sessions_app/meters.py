"""What a process counts of the lasting half, for /metrics. Counting never fails and never waits.

Each process counts its own since it began; Prometheus adds them up. Labels are few and known beforehand.
"""

from __future__ import annotations

from prometheus_client import Counter, Histogram

# From a commit in memory to a wait for somebody else's lock.
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0)

RUNS = Counter("albedo_runs", "Runs that ended, by outcome.", ["outcome"])
INPUTS = Counter("albedo_inputs_accepted", "Inputs that were accepted; one sent again counts once.")
WRITES = Histogram(
    "albedo_store_write_seconds", "Transactions that write, from their begin to their end.", buckets=SECONDS
)
WAITS = Histogram(
    "albedo_store_wait_seconds",
    "How long store work waited for a thread, by queue.",
    ["queue"],
    buckets=SECONDS,
)
TROUBLES = Counter(
    "albedo_store_troubles", "Store work that failed for the storage's sake, by kind.", ["kind"]
)
RESETS = Counter(
    "albedo_stream_resets", "Resets that clients of a session's stream were sent, by reason.", ["reason"]
)

for outcome in ("completed", "interrupted", "failed", "abandoned"):
    RUNS.labels(outcome)
for queue in ("read", "write", "keep"):
    WAITS.labels(queue)
for kind in ("busy", "away", "read_only", "full", "failed"):
    TROUBLES.labels(kind)
for reason in ("initial", "generation_changed", "replay_unavailable"):
    RESETS.labels(reason)
