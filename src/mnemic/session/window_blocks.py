"""How do turns become sealed blocks of a window, and blocks turns? Pure functions over bytes.

A block is up to 20 neighbouring turns, sealed as one value, with their marks sealed apart behind it:

    "T" | first seq (8) | turns (4) | length of turns (4) | length of marks (4) | turns | marks

Numbers are big-endian, and in the clear so that a gap shows without a key. Each sealed part is ``nonce (12) |
AES-256-GCM``; its associated data names the window and the head of the block, so that a block which was moved
or renumbered does not open. Inside is JSON: only plain values can come out of a cache.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from mnemic.model import Turn, Vector

__all__ = [
    "BLOCK",
    "Block",
    "DamagedBlock",
    "Mark",
    "blocks_of",
    "fitting",
    "marks_in",
    "split",
    "turns_in",
]

BLOCK = 20
"""Turns of one block at most."""
_LONG = 16_000
"""Characters after which a block takes no further turn."""
_HEAD = struct.Struct(">cQIII")
_NONCE = 12
_FIELDS = tuple(field.name for field in fields(Turn) if field.name not in ("seq", "created_at"))


class DamagedBlock(ValueError):
    """What Redis holds is no block of this window; the log has the turns."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What is known of one turn beside its words: the intent that it serves, and its vector."""

    intent: str | None = None
    vector: Vector | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A block as it was read, still sealed; ``marks`` is empty when they were not asked for."""

    first: int
    count: int
    head: bytes
    turns: bytes
    marks: bytes = b""

    @property
    def last(self) -> int:
        return self.first + self.count - 1


def blocks_of(
    cipher: AESGCM, name: bytes, turns: Sequence[Turn], marks: Sequence[Mark] = ()
) -> list[bytes]:
    """Return turns with neighbouring seqs as sealed blocks of the window ``name``, in order.

    ``marks`` is empty or has one for each turn.
    """
    return [_block(cipher, name, turns[start:end], marks[start:end]) for start, end in _cuts(turns)]


def fitting(blocks: Sequence[bytes], size: int) -> Sequence[bytes]:
    """Return the newest blocks that a window of ``size`` bytes has room for."""
    start = len(blocks)
    while start > 0 and size >= len(blocks[start - 1]) + 8:
        start -= 1
        size -= len(blocks[start]) + 8
    return blocks[start:]


def split(data: bytes, *, with_marks: bool) -> list[Block]:
    """Return the blocks in the answer of a read, which are neighbours. Raises DamagedBlock."""
    found: list[Block] = []
    place = 0
    while place < len(data):
        if len(data) < place + _HEAD.size:
            raise DamagedBlock("cut short")
        kind, first, count, turns, marks = _HEAD.unpack_from(data, place)
        body = place + _HEAD.size
        end = body + turns + (marks if with_marks else 0)
        neighbours = not found or found[-1].last + 1 == first
        if kind != b"T" or not count or end > len(data) or not neighbours:
            raise DamagedBlock("not a block")
        middle = body + turns
        found.append(Block(first, count, data[place:body], data[body:middle], data[middle:end]))
        place = end
    return found


def turns_in(cipher: AESGCM, name: bytes, blocks: Sequence[Block]) -> list[Turn]:
    """Return the turns of blocks. Raises DamagedBlock for what this key did not seal here."""
    found: list[Turn] = []
    for block in blocks:
        rows = _opened(cipher, name + block.head, block.turns)
        if len(rows) != block.count:
            raise DamagedBlock("another number of turns")
        seq = block.first
        for row in rows:
            found.append(_turn(row, seq))
            seq += 1
    return found


def marks_in(cipher: AESGCM, name: bytes, blocks: Sequence[Block]) -> list[Mark]:
    """Return the marks of blocks, one for each turn, empty ones where there are none."""
    found: list[Mark] = []
    for block in blocks:
        found += _marks(cipher, name, block) if block.marks else [Mark()] * block.count
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


def _block(cipher: AESGCM, name: bytes, turns: Sequence[Turn], marks: Sequence[Mark]) -> bytes:
    first = turns[0].seq
    assert first is not None, "only logged turns have a place in a window"
    rows = json.dumps([_row(turn) for turn in turns], ensure_ascii=False, separators=(",", ":"))
    plain = rows.encode()
    known = _marks_bytes(marks) if any(mark != Mark() for mark in marks) else b""
    lengths = (len(plain) + _NONCE + 16, len(known) + _NONCE + 16 if known else 0)
    head = _HEAD.pack(b"T", first, len(turns), *lengths)
    sealed = head + _sealed(cipher, name + head, plain)
    return sealed + _sealed(cipher, name + head + b"marks", known) if known else sealed


def _row(turn: Turn) -> list[object]:
    time = turn.created_at.isoformat() if turn.created_at is not None else None
    values: list[object] = [time]
    values += [getattr(turn, name) for name in _FIELDS]
    while values[-1] is None:
        values.pop()
    return values


def _turn(row: list[object], seq: int) -> Turn:
    time = datetime.fromisoformat(str(row[0])) if row[0] is not None else None
    values = dict(zip(_FIELDS, row[1:], strict=False))
    return Turn(created_at=time, seq=seq, **values)  # type: ignore[arg-type]


def _marks_bytes(marks: Sequence[Mark]) -> bytes:
    """Return ``length of JSON (4) | JSON of [intent, dimensions] | the vectors in half precision``."""
    told = [[mark.intent, len(mark.vector or ())] for mark in marks]
    head = json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()
    halves = [x for mark in marks for x in mark.vector or ()]
    return len(head).to_bytes(4, "big") + head + struct.pack(f"<{len(halves)}e", *halves)


def _marks(cipher: AESGCM, name: bytes, block: Block) -> Iterator[Mark]:
    plain = _plain(cipher, name + block.head + b"marks", block.marks)
    start = 4 + int.from_bytes(plain[:4], "big")
    halves = struct.unpack(f"<{(len(plain) - start) // 2}e", plain[start:])
    place = 0
    for intent, dims in json.loads(plain[4:start]):
        yield Mark(intent, halves[place : place + dims] or None)
        place += dims


def _sealed(cipher: AESGCM, at: bytes, plain: bytes) -> bytes:
    nonce = os.urandom(_NONCE)
    return nonce + cipher.encrypt(nonce, plain, at)


def _plain(cipher: AESGCM, at: bytes, sealed: bytes) -> bytes:
    try:
        return cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], at)
    except (InvalidTag, ValueError):
        raise DamagedBlock("not sealed by this key, or not here") from None


def _opened(cipher: AESGCM, at: bytes, sealed: bytes) -> list[list[object]]:
    rows: list[list[object]] = json.loads(_plain(cipher, at, sealed))
    return rows
