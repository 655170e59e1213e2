"""Does a session keep values for their time, sealed, and for nobody else?"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic import Actor, InvalidInput, MemoryService, NotFound
from mnemic.errors import Conflict
from mnemic.session.state import MAX_VALUES, _written
from session_world import sessions_on

KIM, LEE = Actor("kim", session="s1"), Actor("lee", session="s1")
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class Clock:
    """A clock that is put forward by hand."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def forward(self, minutes: float) -> None:
        self.now += timedelta(minutes=minutes)


async def test_a_value_is_there_for_30_minutes_and_then_no_more(stub_memory: MemoryService) -> None:
    clock = Clock()
    sessions = sessions_on(stub_memory, clock=clock)
    entry = await sessions.set(KIM, "draft", {"to": ["li", "王"], "total": 12.5, "sent": None})
    assert (entry.expires_at - entry.updated_at, entry.version) == (timedelta(minutes=30), 1)
    clock.forward(29.9)
    assert await sessions.get(KIM, "draft") == {"to": ["li", "王"], "total": 12.5, "sent": None}
    clock.forward(0.2)
    assert await sessions.get(KIM, "draft") is None
    assert await sessions.get(KIM, "draft", "nothing") == "nothing"
    assert await sessions.entry(KIM, "draft") is None
    assert await sessions.state(KIM) == {}
    assert await sessions.delete(KIM, "draft") is False


async def test_a_value_lives_as_long_as_it_was_told(stub_memory: MemoryService) -> None:
    clock = Clock()
    sessions = sessions_on(stub_memory, clock=clock, ttl=60)
    await sessions.set(KIM, "short", 1)
    await sessions.set(KIM, "long", 2, ttl=7_200)
    clock.forward(30)
    assert list(await sessions.state(KIM)) == ["long"]
    again = await sessions.set(KIM, "long", 3)
    assert (again.version, again.expires_at) == (2, clock.now + timedelta(seconds=60))


async def test_the_clock_is_the_databases_where_none_is_given(
    stub_memory: MemoryService, connect: Any
) -> None:
    sessions = sessions_on(stub_memory)
    await sessions.set(KIM, "a", 1)
    assert await sessions.get(KIM, "a") == 1
    owner = await connect("owner")
    await owner.execute("update session_state set expires_at = now() - interval '1 second'")
    assert await sessions.get(KIM, "a") is None
    await sessions.set(KIM, "b", 2)
    rows = await (await owner.execute("select count(*) as n from session_state")).fetchone()
    assert rows == {"n": 1}, "what has expired goes with the next change"


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "America/Los_Angeles"])
async def test_pf_095_expiry_is_the_same_in_every_time_zone(
    stub_memory: MemoryService, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    import time

    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        sessions = sessions_on(stub_memory)
        entry = await sessions.set(KIM, "a", 1)
        assert timedelta(minutes=29) < entry.expires_at - datetime.now(UTC) <= timedelta(minutes=30)
        assert await sessions.get(KIM, "a") == 1
    finally:
        monkeypatch.undo()
        time.tzset()


async def test_two_users_and_two_sessions_keep_apart_what_has_one_name(
    stub_memory: MemoryService,
) -> None:
    sessions = sessions_on(stub_memory)
    second = Actor("kim", session="s2")
    for actor, value in ((KIM, "kim"), (LEE, "lee"), (second, "kim too")):
        await sessions.set(actor, "name", value)
    assert [await sessions.get(a, "name") for a in (KIM, LEE, second)] == ["kim", "lee", "kim too"]
    assert await sessions.delete(LEE, "name") is True
    assert await sessions.delete(LEE, "name") is False
    assert await sessions.get(KIM, "name") == "kim"


async def test_a_session_that_has_not_begun_keeps_nothing(stub_memory: MemoryService) -> None:
    sessions = sessions_on(stub_memory)
    assert await sessions.get(KIM, "a", 7) == 7
    assert await sessions.delete(KIM, "a") is False
    with pytest.raises(NotFound) as refused:
        await sessions.state(KIM)
    assert refused.value.code == "session_not_found"


@pytest.mark.parametrize(
    ("name", "value", "more", "code"),
    [
        ("", 1, {}, "invalid_name"),
        (" a", 1, {}, "invalid_name"),
        ("a\n\x00", 1, {}, "invalid_name"),
        ("x" * 201, 1, {}, "invalid_name"),
        (5, 1, {}, "invalid_name"),
        ("a", {1, 2}, {}, "value_not_json"),
        ("a", float("nan"), {}, "value_not_json"),
        ("a", {1: "one"}, {}, "value_not_json"),
        ("a", "\ud800", {}, "value_not_json"),
        ("a", b"bytes", {}, "value_not_json"),
        ("a", "x" * 100_001, {}, "value_too_long"),
        ("a", 1, {"ttl": 0}, "ttl_out_of_range"),
        ("a", 1, {"ttl": True}, "ttl_out_of_range"),
        ("a", 1, {"ttl": 1e9}, "ttl_out_of_range"),
        ("a", 1, {"ttl": float("nan")}, "ttl_out_of_range"),
    ],
)
async def test_what_cannot_be_kept_is_refused(
    stub_memory: MemoryService, name: Any, value: Any, more: dict[str, Any], code: str
) -> None:
    sessions = sessions_on(stub_memory)
    with pytest.raises(InvalidInput) as refused:
        await sessions.set(KIM, name, value, **more)
    assert refused.value.code == code
    assert await sessions.get(KIM, "a") is None


async def test_a_session_keeps_200_values(stub_memory: MemoryService) -> None:
    sessions = sessions_on(stub_memory)
    for n in range(MAX_VALUES):
        await sessions.set(KIM, f"v{n}", n)
    with pytest.raises(InvalidInput) as refused:
        await sessions.set(KIM, "one more", 1)
    assert refused.value.code == "session_state_full"
    assert (await sessions.set(KIM, "v7", 8)).version == 2
    assert len(await sessions.state(KIM)) == MAX_VALUES


async def test_changes_at_once_leave_one_of_them_whole(stub_memory: MemoryService) -> None:
    sessions = sessions_on(stub_memory)
    entries = await asyncio.gather(*(sessions.set(KIM, "n", [n] * 50) for n in range(16)))
    assert sorted(entry.version for entry in entries) == list(range(1, 17))
    last = max(entries, key=lambda entry: entry.version)
    assert await sessions.get(KIM, "n") == last.value


async def test_no_name_and_no_value_is_readable_in_the_database(
    stub_memory: MemoryService, connect: Any
) -> None:
    sessions = sessions_on(stub_memory)
    await sessions.set(KIM, "winning-number", {"it is": "zanzibar"})
    rows = await (await (await connect("owner")).execute("select * from session_state")).fetchall()
    text = repr(
        [{k: bytes(v) if isinstance(v, memoryview) else v for k, v in r.items()} for r in rows]
    )
    assert rows
    assert "zanzibar" not in text
    assert "winning" not in text


async def test_a_closed_session_keeps_nothing_more(stub_memory: MemoryService) -> None:
    sessions = sessions_on(stub_memory)
    await sessions.set(KIM, "a", 1)
    await sessions.close(KIM)
    assert await sessions.get(KIM, "a") is None
    with pytest.raises(Conflict) as refused:
        await sessions.set(KIM, "a", 2)
    assert refused.value.code == "session_closed"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(_JSON)
def test_whatever_json_holds_can_be_kept(value: Any) -> None:
    import json

    try:
        text = _written(value)
    except InvalidInput:
        assert "\\ud" in json.dumps(value), "only half a surrogate pair is no text"
        return
    assert json.loads(text) == value
