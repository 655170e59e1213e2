"""What is counted about windows? Plain numbers of one process, for a metric to show."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class WindowCounts:
    """How often what happened since the process began."""

    hits: int = 0
    """Reads answered from the window."""
    away: int = 0
    """Reads answered from the log because Redis was away."""
    absent: int = 0
    """... because there was no window (yet, or any more)."""
    broken: int = 0
    """... because the window had a gap, or did not open."""
    stale: int = 0
    """... because the log was newer."""
    short: int = 0
    """... because more turns were wanted than the window holds."""
    rebuilt: int = 0
    """Windows built from the log."""
    pushed: int = 0
    """Writes that reached Redis."""
    unpushed: int = 0
    """Writes that did not; the log has them."""
    unencoded: int = 0
    """Turns without a vector because their encoder failed."""

    @property
    def misses(self) -> int:
        """Reads that the window did not answer."""
        return self.away + self.absent + self.broken + self.stale + self.short
