"""What does a caller get whose text the gate, or the search for secrets, did not let pass?"""

from __future__ import annotations

from collections.abc import Callable

from mnemic.errors import InvalidInput
from mnemic.model import Verdict

Namespace = tuple[str, ...]
OnVerdict = Callable[[Namespace, str, Verdict], None]
"""Is told what the gate did with each value: its namespace, its key and the verdict."""


class MemoryRefused(InvalidInput):
    """A value was refused; ``verdict`` says why, ``code`` is its reason. Nothing of the batch was put."""

    def __init__(self, verdict: Verdict) -> None:
        code = verdict.reason or verdict.outcome
        super().__init__(code, verdict.message or "This was not stored.")
        self.verdict = verdict
