"""Does no statement about sessions reach those of somebody else, and is no word of them readable?"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from conftest import Connect
from mnemic.errors import PermissionDenied
from mnemic.model import Actor, ToolCall, Turn
from mnemic.storage.statements import statements
from session_world import sessions_on

if TYPE_CHECKING:
    from mnemic.service import MemoryService

KIM, LEE = Actor("kim", session="s1"), Actor("lee", session="s1")
_NEW = {"messages": ("hold_session", "sent_before", "calls", "pin", "pinned")}
STATEMENTS: Mapping[str, Any] = {
    **statements("sessions"),
    **{name: statements("messages")[name] for name in _NEW["messages"]},
}


class _Undo(Exception):
    """Nothing that was tried is kept."""


async def outcome(memory: MemoryService, actor: Actor, name: str, params: Any) -> Any:
    """Return the rows that a statement gives or touches, or "refused"."""
    result: Any = "refused"
    with suppress(_Undo, PermissionDenied):
        async with memory._parts.deployment.database.transaction(actor) as tx:
            cursor = await tx.conn.execute(STATEMENTS[name], params)
            result = await cursor.fetchall() if cursor.description else cursor.rowcount
            raise _Undo
    return result


@pytest.mark.parametrize("name", sorted(STATEMENTS))
async def test_a_statement_aimed_at_anothers_session_finds_nothing(
    name: str, stub_memory: MemoryService, connect: Connect
) -> None:
    sessions = sessions_on(stub_memory)
    said = [
        Turn("user", "hello there", client_id="m1", pinned=True),
        Turn("assistant", "", tool_calls=(ToolCall("c1", "look_up"),)),
    ]
    for actor in (KIM, LEE):
        await sessions.append(actor, said)
        await sessions.set(actor, "a", 1)
        await stub_memory.add_explicit_memory(actor, "The draft is blue", scope="session")
    owner = await connect("owner")
    query = "select client_mac from message where scope_key = 'session:kim/s1' and client_mac is not null"
    (mac,) = await (await owner.execute(query)).fetchall()
    query = "select name_mac from session_state where scope_key = 'session:kim/s1'"
    (of_name,) = await (await owner.execute(query)).fetchall()
    now = datetime.now(UTC)
    aimed = {
        "scope_key": "session:kim/s1",
        "session_id": "s1",
        "name_mac": os.urandom(32) if name in ("count_state", "set_state") else of_name["name_mac"],
        "client_macs": [mac["client_mac"]],
        "entry_enc": os.urandom(60),
        "version": 1,
        "updated_at": now,
        "expires_at": now + timedelta(hours=1),
        "now": now + timedelta(days=1) if name == "sweep_state" else now,
        "before": 100,
        "limit": 10,
        "seqs": [1],
        "pinned": False,
        "summary_enc": os.urandom(60),
        "summary_seqs": [1],
        "summary_by": "extract",
        "summary_version": 1,
        "session_scopes": "session:kim/",
        "user_id": "kim",
        "before_at": None,
        "before_id": None,
    }
    own = await outcome(stub_memory, KIM, name, aimed)
    others = await outcome(stub_memory, LEE, name, aimed)
    if name == "set_state":
        assert (own, others) == (1, "refused")
        return
    void = {
        "scope_key": "session:kim/void",
        "session_id": "void",
        "session_scopes": "session:void/",
    }
    nothing = await outcome(stub_memory, KIM, name, aimed | void)
    assert own not in ("refused", nothing)
    assert others in ("refused", nothing)


async def test_no_word_of_a_session_is_readable_in_its_rows(
    stub_memory: MemoryService, connect: Connect
) -> None:
    sessions = sessions_on(stub_memory)
    call = ToolCall("zanzibar-1", "zanzibar", {"zanzibar": "zanzibar"})
    await sessions.append(
        KIM,
        [
            Turn("user", "The zanzibar boat has a mast", intent="zanzibar", client_id="zanzibar"),
            Turn("assistant", "", tool_calls=(call,)),
            Turn("tool", "zanzibar", tool_call_id="zanzibar-1"),
            *(Turn("user", f"The zanzibar boat has mast number {n}") for n in range(40)),
        ],
    )
    found = await sessions.window(KIM, budget_tokens=200)
    assert found.summary is not None
    assert "zanzibar" in found.summary.text
    await sessions.set(KIM, "zanzibar", "zanzibar")
    owner = await connect("owner")
    shown = []
    for table in ("message", "session", "session_state"):
        rows = await (await owner.execute(f"select * from {table}".encode())).fetchall()
        assert rows
        shown += [bytes(v) if isinstance(v, memoryview) else v for r in rows for v in r.values()]
    assert "zanzibar" not in repr(shown)


async def test_an_erased_user_leaves_no_session(
    stub_memory: MemoryService, connect: Connect
) -> None:
    sessions = sessions_on(stub_memory)
    for actor in (KIM, LEE):
        await sessions.append(actor, [Turn("user", "hello there")])
        await sessions.set(actor, "a", 1)
    await stub_memory.forget_user(KIM)
    owner = await connect("owner")
    for table in ("session", "message", "session_state"):
        rows = await (await owner.execute(f"select scope_key from {table}".encode())).fetchall()
        assert {row["scope_key"] for row in rows} == {"session:lee/s1"}
