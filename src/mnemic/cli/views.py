"""How do verdicts, hits and items look, as JSON and for people?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mnemic.cli.output import Output, plain, verdict_text
from mnemic.model import Hit, MemoryItem, ResourceHit, Verdict

if TYPE_CHECKING:
    from rich.text import Text

_LABEL = 15
_RELATION = {"superseded": "instead of", "duplicate": "known as"}


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as the command line and the service show it."""
    value = plain(verdict)
    return {"verdict": value.pop("outcome"), **value}


def verdict_lines(verdict: Verdict, other: MemoryItem | None = None) -> list[Text]:
    """Return a verdict for people; ``other`` is the item that it is ``of``."""
    from rich.text import Text

    head = verdict_text(verdict.outcome)
    for part in (verdict.id, verdict.reason, verdict.message):
        if part:
            head.append(f"  {part}", style="not bold default")
    lines = [head]
    if other is not None:
        label = _RELATION.get(verdict.outcome, "replaced since by")
        lines.append(Text(f"  {label} {other.id}: {other.content}"))
    if verdict.removed:
        lines.append(Text(f"  taken out: {', '.join(verdict.removed).replace('_', ' ')}"))
    if verdict.masked and verdict.outcome != "rejected":
        lines.append(Text(f"  masked: {', '.join(verdict.masked).replace('_', ' ')}"))
    if verdict.question:
        lines.append(Text(f"  {verdict.question}"))
        lines.append(Text(f"  mnemic verify confirm {verdict.id}   or: deny"))
    if verdict.reason == "instruction_like":
        lines.append(Text("  it reads like an instruction, so it is never used: edit or deny it"))
    return lines


def hit_json(hit: Hit | ResourceHit) -> dict[str, Any]:
    """Return a hit as the command line and the service show it."""
    if isinstance(hit, ResourceHit):
        return _resource_json(hit)
    item = hit.item
    return {
        "id": str(item.id),
        "content": item.content,
        "memory_type": item.memory_type,
        "scope": item.scope,
        "score": round(hit.score, 4),
        "parts": {name: round(value, 4) for name, value in plain(hit.parts).items()},
        "arms": {"cosine": hit.cosine, "words": round(hit.words, 4), "matched": list(hit.matched)},
        "valid_from": item.valid_from.isoformat(),
        "valid_to": item.valid_to and item.valid_to.isoformat(),
        "status": item.status,
        "source": item.source,
        "source_id": item.source_id,
    }


def _resource_json(hit: ResourceHit) -> dict[str, Any]:
    return {
        "id": str(hit.id),
        "content": hit.content,
        "kind": hit.kind,
        "scope": hit.scope,
        "score": round(hit.score, 4),
        "parts": {name: round(value, 4) for name, value in plain(hit.parts).items()},
        "arms": {"cosine": hit.cosine, "words": round(hit.words, 4), "matched": list(hit.matched)},
        "resource_id": str(hit.resource_id),
        "session": hit.session,
        "seq": hit.seq,
        "role": hit.role if hit.session else None,
        "speaker": hit.speaker,
        "title": hit.title,
        "occurred_at": hit.occurred_at and hit.occurred_at.isoformat(),
    }


def _show_resource(hit: ResourceHit, out: Output) -> None:
    from rich.text import Text

    head = Text(f"{hit.score:.2f}", style="bold")
    dated = day_there if hit.session else day
    when = dated(hit.occurred_at) if hit.occurred_at else ""
    who = hit.speaker or (hit.role if hit.session else hit.title or "")
    where = f"{hit.session} {hit.seq}" if hit.session else f"piece {hit.seq}"
    head.append(f"  {hit.kind:<10}  {who}  {when}  {where}", style="not bold dim")
    out.record(head, hit.content, f"similarity {hit.parts.similarity:.2f}")


def show_hits(hits: Sequence[Hit | ResourceHit], out: Output) -> None:
    """Print hits for people, each with the parts of its score."""
    from rich.text import Text

    if not hits:
        out.line("No hits.")
    for hit in hits:
        if isinstance(hit, ResourceHit):
            _show_resource(hit, out)
            continue
        item = hit.item
        head = Text(f"{hit.score:.2f}", style="bold")
        kind = f"{item.memory_type:<10}  {item.scope:<7}  {day_there(item.valid_from)}"
        head.append(f"  {kind}  {item.id}", style="not bold dim")
        if item.status != "active":
            head.append(f"  {item.status}", style="not bold magenta")
        parts = hit.parts
        out.record(
            head,
            hit.content,
            f"similarity {parts.similarity:.2f}, confidence {parts.confidence:.2f},"
            f" scope {parts.scope:.2f}",
        )


def show_items(items: Sequence[MemoryItem], out: Output) -> None:
    """Print a list of items for people."""
    from rich.text import Text

    for item in items:
        head = Text(str(item.id), style="dim")
        kind = f"  {item.memory_type:<10}  {item.status:<10}  {day_there(item.valid_from)}"
        head.append(kind, style="not dim default")
        out.record(head, item.content)


def show_item(item: MemoryItem, out: Output) -> None:
    """Print every field of an item that says something, a field a line."""
    from rich.text import Text

    for name, value in plain(item).items():
        if value in (None, [], {}, ""):
            continue
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        body = text.replace("\n", "\n" + " " * _LABEL)
        out.line(Text(f"{name:<{_LABEL}}", style="dim") + Text(body, style="not dim"), hang=_LABEL)


def day(time: datetime) -> str:
    """Return the date of a time on this machine's calendar."""
    return time.astimezone().strftime("%Y-%m-%d")


def day_there(time: datetime) -> str:
    """Return the date of a time where it was said; where nobody told the zone, on this machine's calendar."""
    return time.strftime("%Y-%m-%d") if time.utcoffset() else day(time)
