"""Do turns survive being sealed into blocks, and does nothing else open?"""

from __future__ import annotations

import os
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.crypto import DataKey
from mnemic.ids import new_id
from mnemic.model import ROLES, Actor, ToolCall, Turn, Vector
from mnemic.session.window_blocks import (
    BLOCK,
    DamagedBlock,
    blocks_of,
    fitting,
    split,
    turns_in,
    vectors_in,
)
from mnemic.session.window_keys import WindowKey

CIPHER, NAME = AESGCM(os.urandom(32)), b"mnemic:ctx:{a}:b"
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
CALLS = st.lists(
    st.builds(ToolCall, id=TEXT, name=TEXT, arguments=st.dictionaries(TEXT, PLAIN, max_size=3)),
    max_size=2,
).map(tuple)
TIMES = st.datetimes(
    min_value=datetime(2, 1, 2), max_value=datetime(9998, 12, 30), timezones=st.just(UTC)
)
TURNS = st.builds(
    Turn,
    role=st.sampled_from(ROLES),
    content=TEXT,
    created_at=st.none() | TIMES,
    speaker=st.none() | TEXT.filter(bool),
    tool_calls=CALLS,
    tool_call_id=st.none() | TEXT.filter(bool),
    intent=st.none() | TEXT.filter(bool),
    pinned=st.booleans(),
)
HALVES = st.lists(st.floats(-1, 1, width=16), min_size=1, max_size=6).map(tuple)


def numbered(turns: list[Turn], first: int) -> list[Turn]:
    return [replace(turn, seq=seq) for seq, turn in enumerate(turns, first)]


def some(count: int, content: str = "x") -> list[Turn]:
    return numbered([Turn("user", content)] * count, 1)


@settings(deadline=None)
@given(st.lists(TURNS, max_size=50), st.integers(1, 2**52), st.data())
def test_turns_and_vectors_come_back_as_they_were(
    turns: list[Turn], first: int, data: st.DataObject
) -> None:
    turns = numbered(turns, first)
    each = st.lists(st.none() | HALVES, min_size=len(turns), max_size=len(turns))
    vectors: list[Vector | None] = data.draw(each)
    sealed = blocks_of(CIPHER, NAME, turns, vectors)
    read = split(b"".join(sealed), with_vectors=True)
    assert turns_in(CIPHER, NAME, read) == turns
    assert vectors_in(CIPHER, NAME, read) == vectors
    bare = blocks_of(CIPHER, NAME, turns)
    assert turns_in(CIPHER, NAME, split(b"".join(bare), with_vectors=False)) == turns
    assert all(block.length <= BLOCK for block in read)


def test_a_block_tells_every_field_of_a_turn() -> None:
    told = {
        *("role", "content", "created_at", "seq", "speaker", "tool_calls", "tool_call_id"),
        *("intent", "pinned"),
    }
    assert {field.name for field in fields(Turn)} - told == {"client_id"}, (
        "a new field of a turn needs its place in a row of a block"
    )


def test_a_time_of_another_zone_is_the_same_instant() -> None:
    time = datetime(2026, 3, 2, 9, 14, tzinfo=timezone(timedelta(hours=8)))
    (turn,) = numbered([Turn("user", "x", time)], 1)
    (block,) = blocks_of(CIPHER, NAME, [turn])
    assert turns_in(CIPHER, NAME, split(block, with_vectors=False)) == [turn]


@settings(deadline=None)
@given(st.integers(0, 400), st.integers(1, 255))
def test_a_block_with_a_changed_byte_is_damaged(place: int, change: int) -> None:
    (block,) = blocks_of(CIPHER, NAME, some(3, "some text that is long enough to be hit"))
    place %= len(block)
    changed = block[:place] + bytes([block[place] ^ change]) + block[place + 1 :]
    with pytest.raises(DamagedBlock):
        turns_in(CIPHER, NAME, split(changed, with_vectors=True))


def test_a_block_of_another_window_key_or_number_is_damaged() -> None:
    (block,) = blocks_of(CIPHER, NAME, some(2))
    found = split(block, with_vectors=False)
    for cipher, name in ((AESGCM(os.urandom(32)), NAME), (CIPHER, NAME + b"c")):
        with pytest.raises(DamagedBlock):
            turns_in(cipher, name, found)
    moved = block[:8] + bytes([block[8] + 1]) + block[9:]
    with pytest.raises(DamagedBlock):
        turns_in(CIPHER, NAME, split(moved, with_vectors=False))


def test_what_is_cut_short_or_has_a_gap_is_damaged() -> None:
    sealed = [blocks_of(CIPHER, NAME, [turn])[0] for turn in some(3)]
    for wrong in (
        sealed[0] + sealed[2],
        sealed[1] + sealed[0],
        sealed[0] * 2,
        sealed[0][:-1],
        b"T",
        b"x" * 90,
    ):
        with pytest.raises(DamagedBlock):
            split(wrong, with_vectors=False)
    assert split(b"", with_vectors=False) == []


@settings(deadline=None)
@given(st.lists(st.integers(1, 30_000), min_size=1, max_size=60), st.integers(0, 300_000))
def test_what_fits_is_the_newest_and_no_block_is_long_for_many_turns(
    lengths: list[int], size: int
) -> None:
    turns = numbered([Turn("user", "x" * length) for length in lengths], 1)
    blocks = blocks_of(CIPHER, NAME, turns)
    found = split(b"".join(blocks), with_vectors=False)
    assert [turn.seq for turn in turns_in(CIPHER, NAME, found)] == list(range(1, len(turns) + 1))
    assert all(block.length == 1 or len(block.turns) < 20_000 for block in found)
    kept = fitting(blocks, size)
    assert list(kept) == blocks[len(blocks) - len(kept) :]
    assert sum(len(block) + 8 for block in kept) <= size
    if len(kept) < len(blocks):
        assert sum(len(block) + 8 for block in blocks[len(blocks) - len(kept) - 1 :]) > size


def test_names_need_the_data_key_and_keep_a_user_in_one_slot() -> None:
    first, second = (WindowKey.of(DataKey(new_id(), os.urandom(32))) for _ in range(2))
    one, other = Actor("kim", session="s1"), Actor("kim", session="s2")
    names = {key.name(actor) for key in (first, second) for actor in (one, other)}
    assert len(names) == 4
    assert first.name(one) == first.name(Actor("kim", session="s1", project="p", agent="a"))
    tag = first.name(one).partition(b"}")[0]
    assert first.name(other).startswith(tag + b"}:")
    assert not first.name(Actor("lee", session="s1")).startswith(tag)
    assert b"kim" not in first.name(one)
    assert first.name(one) == first.name_of(one.user_scope, str(one.session_scope))
