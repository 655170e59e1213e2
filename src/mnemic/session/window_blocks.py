"""How do turns become sealed blocks of a window, and blocks turns? Pure functions over bytes.

A block is up to 20 neighbouring turns, sealed as one value, with their marks sealed apart behind it:

    "T" | first seq (8) | turns (4) | length of turns (4) | length of vectors (4) | turns | vectors

Numbers are big-endian, and in the clear so that a gap shows without a key. Each sealed part is ``nonce (12) |
AES-256-GCM``; its associated data names the window and the head of the block, so that a block which was moved
or renumbered does not open. Inside is JSON: only plain values can come out of a cache.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from mnemic.model import Turn, Vector

__all__ = [
    "BLOCK",
    "Block",
    "DamagedBlock",
    "blocks_of",
    "fitting",
    "split",
    "turns_in",
    "vectors_in",
]

BLOCK = 20
"""Turns of one block at most."""
_LONG = 16_000
"""Characters after which a block takes no further turn."""
_HEAD = struct.Struct(">cQIII")
_NONCE = 12
_written = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class DamagedBlock(ValueError):
    """What Redis holds is no block of this window; the log has the turns."""


class Block(NamedTuple):
    """A block as it was read, still sealed; ``vectors`` is empty when they were not asked for."""

    first: int
    length: int
    head: bytes
    turns: bytes
    vectors: bytes = b""

    @property
    def last(self) -> int:
        return self.first + self.length - 1


def blocks_of(
    cipher: AESGCM, name: bytes, turns: Sequence[Turn], vectors: Sequence[Vector | None] = ()
) -> list[bytes]:
    """Return turns with neighbouring seqs as sealed blocks of the window ``name``, in order.

    ``vectors`` is empty or has one for each turn.
    """
    return [
        _block(cipher, name, turns[start:end], vectors[start:end]) for start, end in _cuts(turns)
    ]


def fitting(blocks: Sequence[bytes], size: int) -> Sequence[bytes]:
    """Return the newest blocks that a window of ``size`` bytes has room for."""
    start = len(blocks)
    while start > 0 and size >= len(blocks[start - 1]) + 8:
        start -= 1
        size -= len(blocks[start]) + 8
    return blocks[start:]


def split(data: bytes, *, with_vectors: bool) -> list[Block]:
    """Return the blocks in the answer of a read, which are neighbours. Raises DamagedBlock."""
    found: list[Block] = []
    place = 0
    while place < len(data):
        if len(data) < place + _HEAD.size:
            raise DamagedBlock("cut short")
        kind, first, count, turns, vectors = _HEAD.unpack_from(data, place)
        body = place + _HEAD.size
        end = body + turns + (vectors if with_vectors else 0)
        neighbours = not found or found[-1].last + 1 == first
        if kind != b"T" or not count or end > len(data) or not neighbours:
            raise DamagedBlock("not a block")
        middle = body + turns
        found.append(Block(first, count, data[place:body], data[body:middle], data[middle:end]))
        place = end
    return found


def turns_in(cipher: AESGCM, name: bytes, blocks: Sequence[Block]) -> list[Turn]:
    """Return the turns of blocks. Raises DamagedBlock for what this key did not seal here."""
    if not blocks:
        return []
    # one JSON text of all: reading many small ones costs several times as much
    parts = [_plain(cipher, name + block.head, block.turns)[1:-1] for block in blocks]
    rows = json.loads("[" + b",".join(parts).decode() + "]")
    if len(rows) != blocks[-1].last - blocks[0].first + 1:
        raise DamagedBlock("another number of turns")
    return [
        Turn(role, content, time and datetime.fromisoformat(time), seq, *further)
        for seq, (role, content, time, *further) in enumerate(rows, blocks[0].first)
    ]


def vectors_in(cipher: AESGCM, name: bytes, blocks: Sequence[Block]) -> list[Vector | None]:
    """Return the vectors of blocks, one for each turn, None where there is none. Raises DamagedBlock."""
    found: list[Vector | None] = []
    for block in blocks:
        if block.vectors:
            plain = _plain(cipher, name + block.head + b"vectors", block.vectors)
            found += _vectors(plain, block.length)
        else:
            found += [None] * block.length
    return found


def _cuts(turns: Sequence[Turn]) -> Iterator[tuple[int, int]]:
    start = chars = 0
    for number, turn in enumerate(turns):
        if number > start and (number - start == BLOCK or chars + len(turn.content) > _LONG):
            yield start, number
            start, chars = number, 0
        chars += len(turn.content)
    if turns:
        yield start, len(turns)


def _block(
    cipher: AESGCM, name: bytes, turns: Sequence[Turn], vectors: Sequence[Vector | None]
) -> bytes:
    first = turns[0].seq
    assert first is not None, "only logged turns have a place in a window"
    rows = _written([_row(turn) for turn in turns])
    plain = rows.encode()
    known = _halves(vectors) if any(vectors) else b""
    lengths = (len(plain) + _NONCE + 16, len(known) + _NONCE + 16 if known else 0)
    head = _HEAD.pack(b"T", first, len(turns), *lengths)
    sealed = head + _sealed(cipher, name + head, plain)
    return sealed + _sealed(cipher, name + head + b"vectors", known) if known else sealed


def _row(turn: Turn) -> list[object]:
    """Return the fields of a turn in their order, without seq, which the block tells, and client id."""
    time = turn.created_at.isoformat() if turn.created_at is not None else None
    calls = [
        {"id": call.id, "name": call.name, "arguments": call.arguments} for call in turn.tool_calls
    ]
    row: list[object] = [turn.role, turn.content, time, turn.speaker, calls, turn.tool_call_id]
    row += [turn.intent, turn.pinned]
    while len(row) > 3 and not row[-1]:
        row.pop()
    return row


def _halves(vectors: Sequence[Vector | None]) -> bytes:
    """Return ``dimensions (2)`` of each vector, then their values in half precision."""
    values = [value for vector in vectors for value in vector or ()]
    lengths = [len(vector or ()) for vector in vectors]
    return struct.pack(f">{len(lengths)}H{len(values)}e", *lengths, *values)


def _vectors(plain: bytes, count: int) -> Iterator[Vector | None]:
    lengths = struct.unpack_from(f">{count}H", plain)
    place = 2 * count
    for length in lengths:
        yield struct.unpack_from(f">{length}e", plain, place) or None
        place += 2 * length


def _sealed(cipher: AESGCM, at: bytes, plain: bytes) -> bytes:
    nonce = os.urandom(_NONCE)
    return nonce + cipher.encrypt(nonce, plain, at)


def _plain(cipher: AESGCM, at: bytes, sealed: bytes) -> bytes:
    try:
        return cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], at)
    except (InvalidTag, ValueError):
        raise DamagedBlock("not sealed by this key, or not here") from None
