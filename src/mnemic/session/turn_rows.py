"""How does a turn lie in the message log, and how is it read back? Pure, but for the key that seals it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mnemic.crypto import DataKey, place
from mnemic.local_time import local, offset_of
from mnemic.model import ToolCall, Turn
from mnemic.storage.transaction import Params

Row = Mapping[str, Any]
_SEALED = ("content", "speaker", "tool_calls", "tool_call_id", "intent")


def turn_row(key: DataKey, ids: Params, turn: Turn, seq: int) -> Params:
    """Return the columns of a turn that gets the number ``seq``."""
    texts = {
        "content": turn.content,
        "speaker": turn.speaker,
        "tool_calls": calls_text(turn.tool_calls),
        "tool_call_id": turn.tool_call_id,
        "intent": turn.intent,
    }
    sealed = {
        f"{name}_enc": None if text is None else key.seal(text, _at(ids, seq, name))
        for name, text in texts.items()
    }
    told = {"seq": seq, "role": turn.role, "pinned": turn.pinned}
    time = {"created_at": turn.created_at, "local_offset": offset_of(turn.created_at)}
    mac = None if turn.client_id is None else client_mac(key, turn.client_id)
    return ids | told | time | sealed | {"client_mac": mac}


def open_turn(key: DataKey, ids: Params, row: Row) -> Turn:
    """Return the turn of a row. Raises KeyUnavailable (``sealed_value_damaged`` ...)."""
    seq = row["seq"]
    texts = {
        name: sealed and key.open(sealed, _at(ids, seq, name))
        for name in _SEALED
        for sealed in (row[f"{name}_enc"],)
    }
    return Turn(
        role=row["role"],
        content=texts["content"],
        created_at=local(row["created_at"], row["local_offset"]),
        seq=seq,
        speaker=texts["speaker"],
        tool_calls=read_calls(texts["tool_calls"]),
        tool_call_id=texts["tool_call_id"],
        intent=texts["intent"],
        pinned=row["pinned"],
    )


def open_calls(key: DataKey, ids: Params, row: Row) -> tuple[ToolCall, ...]:
    """Return the tool calls of a row alone."""
    return read_calls(key.open(row["tool_calls_enc"], _at(ids, row["seq"], "tool_calls")))


def calls_text(calls: tuple[ToolCall, ...]) -> str | None:
    """Return tool calls as text, None for none."""
    if not calls:
        return None
    return json.dumps([[c.id, c.name, c.arguments] for c in calls], ensure_ascii=False)


def read_calls(text: str | None) -> tuple[ToolCall, ...]:
    """Undo ``calls_text``."""
    return () if text is None else tuple(ToolCall(*call) for call in json.loads(text))


def client_mac(key: DataKey, client_id: str) -> bytes:
    """Return the keyed hash by which a turn that is sent again is known."""
    return key.mac(f"client_id\0{client_id}")


def _at(ids: Params, seq: object, column: str) -> bytes:
    return place("message", str(ids["scope_key"]), seq, column)
