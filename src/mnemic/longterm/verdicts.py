"""How is told, and recorded, what became of a text?"""

from __future__ import annotations

from uuid import UUID

from mnemic.longterm.gate import Decision
from mnemic.model import Verdict
from mnemic.storage.pool import Deed


def written(item_id: UUID, decision: Decision, reason: str | None) -> Verdict:
    """Return the verdict about a row that is there now, what it superseded and what supersedes it."""
    old = decision.supersedes
    if decision.superseded_by is not None:
        return Verdict(
            "stored",
            id=item_id,
            reason=decision.why,
            of=decision.superseded_by,
            superseded=old,
            message="Stored as history: something newer is known already.",
        )
    return Verdict(
        "superseded" if old else "stored",
        id=item_id,
        reason=reason,
        of=old[0] if old else None,
        superseded=old,
    )


def deed_of(verdict: Verdict) -> Deed | None:
    """Return what a verdict did, None where it only strengthened what stood or refused."""
    if verdict.outcome in ("duplicate", "rejected"):
        return None
    return Deed("add_memory", verdict.id, list(verdict.superseded) or None, verdict.outcome)
