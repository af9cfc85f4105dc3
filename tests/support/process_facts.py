"""What the kernel says of a process."""

from __future__ import annotations

import os
from pathlib import Path

ESTABLISHED = "01"


def rss_bytes(pid: int) -> int:
    """Resident memory."""
    pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def open_files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def cpu_seconds(pid: int) -> float:
    """User and system time, all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_connected(port: int, peer_port: int) -> bool:
    """Whether the end at `port` of a connection over IPv4 loopback is open: neither closed nor reset."""
    rows = (line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:])
    pairs = {(row[1].partition(":")[2], row[2].partition(":")[2]) for row in rows if row[3] == ESTABLISHED}
    return (f"{port:04X}", f"{peer_port:04X}") in pairs
