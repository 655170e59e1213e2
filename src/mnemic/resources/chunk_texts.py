"""Of which texts were a chunk's vectors made, so that another model can make its own?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from mnemic.crypto import DataKey, place
from mnemic.embedding.refill import ChunkText, Row
from mnemic.errors import KeyUnavailable
from mnemic.model import Actor, Turn
from mnemic.resources.turns import read_turn
from mnemic.session.messages import read_turns
from mnemic.storage.pool import Transaction


async def chunk_texts(
    tx: Transaction, key: DataKey, actor: Actor, rows: Sequence[Row]
) -> dict[UUID, ChunkText]:
    """Return the texts by chunk id: a turn's are read from the message log, a document's from the chunk."""
    found: dict[UUID, ChunkText] = {}
    chats: dict[str, dict[int, UUID]] = {}
    for row in rows:
        if row["kind"] == "chat":
            chats.setdefault(row["session_id"], {})[row["ordinal"]] = row["id"]
        else:
            text = _piece(key, row)
            if text is not None:
                found[row["id"]] = ChunkText(text)
    for session, wanted in chats.items():
        turns = await _turns(tx, key, replace(actor, session=session), sorted(wanted))
        for seq, chunk_id in wanted.items():
            if seq in turns:
                found[chunk_id] = _said(turns, seq)
    return found


def _piece(key: DataKey, row: Row) -> str | None:
    try:
        return key.open(row["text_enc"], place("chunk", row["scope_key"], row["id"], "text"))
    except KeyUnavailable:
        return None


def _said(turns: Mapping[int, Turn], seq: int) -> ChunkText:
    reading = read_turn(turns[seq], turns.get(seq - 1), turns.get(seq + 1))
    return ChunkText(reading.window, reading.passages)


async def _turns(
    tx: Transaction, key: DataKey, actor: Actor, wanted: Sequence[int]
) -> dict[int, Turn]:
    """Read the turns and their neighbours, run by run."""
    turns: dict[int, Turn] = {}
    for first, last in _runs(wanted):
        said = await read_turns(tx, key, actor, after=max(0, first - 2), until=last + 1)
        turns |= {turn.seq: turn for turn in said if turn.seq}
    return turns


def _runs(ordered: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of each run of numbers without a gap."""
    first = last = ordered[0]
    for number in ordered[1:]:
        if number != last + 1:
            yield first, last
            first = number
        last = number
    yield first, last
