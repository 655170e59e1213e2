"""How much of this machine's memory may a server of ours take?"""

from __future__ import annotations

import os
from pathlib import Path

LEAST, MOST = 128, 512
"""MiB that PostgreSQL keeps pages in, at least and at most."""
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def shared_buffers(memory: int) -> int:
    """Return how many MiB of ``memory`` bytes PostgreSQL keeps pages in: a sixteenth, within bounds.

    A scope of 20,000 items is 35 MiB. A table that is larger than a quarter of the buffers is read past them.
    """
    return max(LEAST, min(MOST, memory // 16 // 2**20))


def memory() -> int:
    """Return the bytes that this process may use: the machine's, or a container's where that is less."""
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([whole, *(limit for path in _LIMITS if (limit := _limit(Path(path))) is not None)])


def _limit(path: Path) -> int | None:
    try:
        told = path.read_text("ascii").strip()
    except OSError:  # no container of this kind
        return None
    return int(told) if told.isdigit() else None
