"""Does every surface leave one entry a deed, with its states before and after, and none for a refusal?"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from episode_world import config, counter
from mcp import Client

from api_world import app_on, asking
from conftest import Connect, Server
from mnemic.audit import Audit
from mnemic.audit.verify import newest
from mnemic.deployment import as_owner
from mnemic.errors import MnemicError, NotFound, StorageError
from mnemic.ids import new_id
from mnemic.integrations.mcp import make_server
from mnemic.integrations.mcp.door import fixed
from mnemic.keyfile import KeyFile
from mnemic.model import Actor, Turn

if TYPE_CHECKING:
    import httpx2

    from mnemic.service import MemoryService
    from mnemic.settings import Settings
    from mnemic.storage.pool import Database

KIM = Actor("kim", session="s1")
YES = "Yes, that is so."
Entry = tuple[str, bool, bool]
DEEDS: list[Entry] = [
    ("add_memory", False, True),
    ("edit_memory", True, True),
    ("add_memory", False, True),
    ("confirm_memory", True, True),
    ("delete_memory", True, False),
    ("delete_memory", True, False),
]
"""What ``test_pf_078`` does: the action, and whether there is a state before and one after."""
FACTS = (
    "My bicycle is parked at the station",
    "My bicycle is parked behind the library",
    "Kim may learn Danish",
)


class ByLibrary:
    """The deeds of a user by the methods of the library."""

    def __init__(self, memory: MemoryService) -> None:
        self._memory = memory

    async def add(self, text: str, confidence: float) -> str:
        return str((await self._memory.add_explicit_memory(KIM, text, confidence=confidence)).id)

    async def edit(self, item: str, text: str) -> None:
        assert (await self._memory.update(KIM, item, content=text)).outcome == "stored"

    async def confirm(self, item: str) -> None:
        await self._memory.confirm(KIM, item)

    async def delete(self, item: str) -> int:
        return (await self._memory.delete(KIM, item)).count


class ByRest:
    """The same by HTTP."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def add(self, text: str, confidence: float) -> str:
        body = {"content": text, "confidence": confidence}
        return str((await self._client.post("/api/memory", json=body)).json()["id"])

    async def edit(self, item: str, text: str) -> None:
        changed = await self._client.patch(
            f"/api/memory/{item}", json={"content": text}, headers={"if-match": "*"}
        )
        assert changed.status_code == 200, changed.text

    async def confirm(self, item: str) -> None:
        answer = {"answer": "confirm"}
        assert (await self._client.post(f"/api/verifications/{item}", json=answer)).is_success

    async def delete(self, item: str) -> int:
        return int((await self._client.delete(f"/api/memory/{item}")).json()["count"])


class ByMcp:
    """The same by the tools of a model, which need the user's words."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def _call(self, name: str, **arguments: Any) -> Any:
        result = await self._client.call_tool(name, arguments)
        assert not result.is_error, result.content
        return result.structured_content

    async def add(self, text: str, confidence: float) -> str:
        quote = {} if confidence < 0.8 else {"quote": text}
        return str((await self._call("memory_add", content=text, **quote))["id"])

    async def edit(self, item: str, text: str) -> None:
        await self._call("memory_edit", id=item, content=text)

    async def confirm(self, item: str) -> None:
        await self._call("memory_confirm", id=item, quote=YES)

    async def delete(self, item: str) -> int:
        return int((await self._call("memory_delete", id=item))["count"])


@asynccontextmanager
async def surface_of(stub_memory: MemoryService, name: str) -> AsyncIterator[Any]:
    async def opened() -> MemoryService:
        return stub_memory

    async with (
        asking(app_on(stub_memory), mnemic_session="s1") as rest,
        Client(make_server(fixed(opened, KIM))) as tools,
    ):
        ways = {"library": ByLibrary(stub_memory), "rest": ByRest(rest), "mcp": ByMcp(tools)}
        yield ways[name]


@pytest.fixture
async def audit(stub_memory: MemoryService, server: Server) -> Audit:
    return await Audit.open(stub_memory.deployment.database, KeyFile(server.key_file))


@pytest.fixture
async def owners(settings: Settings) -> AsyncIterator[Database]:
    async with as_owner(settings) as (opened, _):
        yield opened.database


@pytest.fixture
async def entries(connect: Connect) -> Callable[[], Any]:
    owner = await connect("owner")

    async def told() -> list[Entry]:
        rows = await owner.execute(
            "select action, before_mac is not null as before, after_mac is not null as after"
            " from audit_log order by at, seq"
        )
        return [(row["action"], row["before"], row["after"]) for row in await rows.fetchall()]

    return told


@pytest.mark.parametrize("surface", ["library", "rest", "mcp"])
async def test_pf_078_every_surface_leaves_the_same_entry_of_each_deed(
    stub_memory: MemoryService, entries: Callable[[], Any], surface: str
) -> None:
    await stub_memory.sessions.append(KIM, [Turn("user", text) for text in (*FACTS[:2], YES)])
    before = await entries()
    async with surface_of(stub_memory, surface) as did:
        bicycle = await did.add(FACTS[0], 0.9)
        await did.edit(bicycle, FACTS[1])
        danish = await did.add(FACTS[2], 0.75)
        await did.confirm(danish)
        assert await did.delete(bicycle) == 2, "the memory with its earlier version"
    assert (await entries())[len(before) :] == DEEDS


@pytest.mark.parametrize("surface", ["library", "rest", "mcp"])
async def test_pf_078_what_was_refused_leaves_no_entry(
    stub_memory: MemoryService, entries: Callable[[], Any], surface: str
) -> None:
    await stub_memory.sessions.append(KIM, [Turn("user", FACTS[0])])
    async with surface_of(stub_memory, surface) as did:
        await did.add(FACTS[0], 0.9)
        before = await entries()
        await did.add(FACTS[0], 0.9)  # a duplicate
        for deed in (did.delete(str(new_id())), did.edit(str(new_id()), FACTS[1])):
            with pytest.raises((AssertionError, KeyError, MnemicError)):
                await deed
        assert await entries() == before


async def test_a_thread_that_was_deleted_leaves_how_many_checkpoints_it_had(
    stub_memory: MemoryService, connect: Connect, audit: Audit
) -> None:
    graph = counter(stub_memory.episodes.checkpointer(KIM))
    for _ in range(2):
        await graph.ainvoke({"mood": "glad"}, config(KIM))
    archived = await stub_memory.episodes.archive(KIM, "t1", keep=1, older_than=timedelta(0))
    (thread,) = await stub_memory.episodes.threads(KIM)
    assert (thread.live, thread.archived) == (1, archived)
    await stub_memory.episodes.delete_thread(KIM, "t1")
    owner = await connect("owner")
    rows = await owner.execute("select * from audit_log where action = 'delete_thread'")
    (entry,) = await rows.fetchall()
    assert entry["before_mac"] == audit.key.state(KIM, "kim/t1", [1, archived])
    assert entry["after_mac"] is None


async def test_a_checkpointer_leaves_the_same_entry_as_the_library(
    stub_memory: MemoryService, connect: Connect, audit: Audit
) -> None:
    episodes, saver = stub_memory.episodes, stub_memory.episodes.checkpointer(KIM)
    graph, names = counter(saver), ("by hand", "by langgraph")
    for name in names:
        for run in ("first", "second"):
            await graph.ainvoke({"mood": "glad"}, config(KIM, name) | {"metadata": {"run_id": run}})
    steps = (await episodes.threads(KIM))[0].live // 2
    await episodes.delete_runs(KIM, ["first"])
    await saver.adelete_for_runs(["second"])
    for name in names:
        for _ in range(2):
            await graph.ainvoke({"mood": "sad"}, config(KIM, name))
    await episodes.prune(KIM, names[0])
    await saver.aprune([names[1]])
    await episodes.delete_thread(KIM, names[0])
    await saver.adelete_thread(names[1])
    owner = await connect("owner")
    rows = await owner.execute(
        "select action, target_mac, before_mac, after_mac from audit_log"
        " where action ~ '^(delete|prune)_' order by at, seq"
    )
    places = [("kim/by%20hand", 2 * steps - 1), ("kim/by%20langgraph", 2 * steps - 1)]
    deeds = [("delete_runs", KIM.user_scope, 2 * steps) for _ in range(2)]
    deeds += [("prune_thread", *place) for place in places]
    deeds += [("delete_thread", place, [1, 0]) for place, _ in places]
    key = audit.key
    assert [tuple(row.values()) for row in await rows.fetchall()] == [
        (action, key.target(target), key.state(KIM, target, before), None)
        for action, target, before in deeds
    ]


async def test_whole_threads_that_a_checkpointer_prunes_leave_an_entry_each(
    stub_memory: MemoryService, entries: Callable[[], Any]
) -> None:
    saver = stub_memory.episodes.checkpointer(KIM)
    for name in ("a", "b"):
        await counter(saver).ainvoke({"mood": "glad"}, config(KIM, name))
    before = await entries()
    await saver.aprune(["a", "none", "b"], strategy="delete")
    assert (await entries())[len(before) :] == [("delete_thread", True, False)] * 2


async def test_a_checkpointer_and_the_library_leave_no_entry_where_nothing_goes(
    stub_memory: MemoryService, entries: Callable[[], Any]
) -> None:
    episodes, saver = stub_memory.episodes, stub_memory.episodes.checkpointer(KIM)
    stranger = episodes.checkpointer(Actor("lee"))
    await counter(saver).ainvoke({"mood": "glad"}, config(KIM))
    await saver.aprune(["t1"])
    before = await entries()
    for checkpointer in (saver, stranger):
        await checkpointer.adelete_thread("none")
        await checkpointer.aprune(["none"])
        await checkpointer.adelete_for_runs(["none"])
    await saver.aprune(["t1"])
    assert await episodes.prune(KIM, "t1") == await episodes.delete_runs(KIM, ["none"]) == 0
    assert await episodes.delete_all(Actor("lee")) == 0
    assert (await stub_memory.delete_all(Actor("lee"))).count == 0
    assert await entries() == before


async def test_what_a_checkpointer_takes_stays_where_the_audit_cannot_be_written(
    stub_memory: MemoryService, connect: Connect
) -> None:
    saver = stub_memory.episodes.checkpointer(KIM)
    for _ in range(2):
        await counter(saver).ainvoke({"mood": "glad"}, config(KIM, run_id="run"))
    (before,) = await stub_memory.episodes.threads(KIM)
    owner = await connect("owner")
    await owner.execute("delete from audit_chain")
    for taking in (
        saver.adelete_thread("t1"),
        saver.aprune(["t1"]),
        saver.adelete_for_runs(["run"]),
    ):
        with pytest.raises(StorageError, match="audit_chain_missing"):
            await taking
    assert await stub_memory.episodes.threads(KIM) == (before,)


async def test_a_thread_that_is_copied_or_forked_leaves_where_from_and_where_to(
    stub_memory: MemoryService, connect: Connect, audit: Audit
) -> None:
    episodes, saver = stub_memory.episodes, stub_memory.episodes.checkpointer(KIM)
    for _ in range(2):
        await counter(saver).ainvoke({"mood": "glad"}, config(KIM))
    early = [one async for one in saver.alist(config(KIM))][1].config["configurable"]
    at = early["checkpoint_id"]
    await saver.acopy_thread("t1", "by langgraph")
    await episodes.fork(KIM, "t1", at, into="by hand")
    await episodes.fork(KIM, "t1", at)
    newest_one = await saver.aget_tuple(config(KIM))
    assert newest_one is not None
    await counter(saver).ainvoke({"mood": "sad"}, config(KIM))
    owner = await connect("owner")
    rows = await owner.execute(
        "select action, target_mac, before_mac, after_mac from audit_log"
        " where action ~ '_thread$' order by at, seq"
    )
    key, thread = audit.key, "kim/t1"
    assert [tuple(row.values()) for row in await rows.fetchall()] == [
        (action, key.target(thread), *(key.state(KIM, thread, state) for state in states))
        for action, *states in (
            ("copy_thread", None, "kim/by%20langgraph"),
            ("fork_thread", at, "kim/by%20hand"),
            ("fork_thread", at, newest_one.checkpoint["id"]),
        )
    ]


async def test_a_thread_is_neither_copied_nor_forked_where_the_audit_cannot_be_written(
    stub_memory: MemoryService, connect: Connect
) -> None:
    saver = stub_memory.episodes.checkpointer(KIM)
    for _ in range(2):
        await counter(saver).ainvoke({"mood": "glad"}, config(KIM))
    at = [one async for one in saver.alist(config(KIM))][1].config["configurable"]["checkpoint_id"]
    (before,) = await stub_memory.episodes.threads(KIM)
    owner = await connect("owner")
    await owner.execute("delete from audit_chain")
    for giving in (saver.acopy_thread("t1", "t2"), stub_memory.episodes.fork(KIM, "t1", at)):
        with pytest.raises(StorageError, match="audit_chain_missing"):
            await giving
    assert await stub_memory.episodes.threads(KIM) == (before,)


async def test_a_thread_that_cannot_be_copied_or_forked_leaves_no_entry(
    stub_memory: MemoryService, entries: Callable[[], Any]
) -> None:
    saver = stub_memory.episodes.checkpointer(KIM)
    for name in ("t1", "t2"):
        await counter(saver).ainvoke({"mood": "glad"}, config(KIM, name))
    before = await entries()
    for giving in (
        saver.acopy_thread("t1", "t2"),
        saver.acopy_thread("none", "t3"),
        stub_memory.episodes.fork(KIM, "t1", "none"),
    ):
        with pytest.raises(MnemicError):
            await giving
    assert await entries() == before


async def test_turns_leave_an_entry_of_those_that_were_not_pinned_yet(
    stub_memory: MemoryService, connect: Connect, audit: Audit
) -> None:
    sessions = stub_memory.sessions
    await sessions.append(KIM, [Turn("user", text) for text in (*FACTS, YES)])
    assert await sessions.pin(KIM, [2, 1, 99]) == 2
    assert await sessions.pin(KIM, [1, 2]) == 2
    assert await sessions.pin(KIM, [3, 2]) == 2
    assert await sessions.pin(KIM, [4, 99], pinned=False) == 1
    assert await sessions.pin(KIM, [4, 3], pinned=False) == 2
    owner = await connect("owner")
    rows = await owner.execute(
        "select action, after_mac from audit_log where action ~ 'pin_turns$' order by at, seq"
    )
    assert [tuple(row.values()) for row in await rows.fetchall()] == [
        (action, audit.key.state(KIM, KIM.session_scope, seqs))
        for action, seqs in (("pin_turns", [1, 2]), ("pin_turns", [3]), ("unpin_turns", [3]))
    ]


async def test_a_role_that_stays_as_it_is_leaves_no_entry(
    stub_memory: MemoryService, entries: Callable[[], Any]
) -> None:
    projects = stub_memory.projects
    await projects.create(KIM, "apollo", "Apollo")
    await projects.grant(KIM, "apollo", "lee", "editor")
    before = await entries()
    assert (await projects.grant(KIM, "apollo", "lee", "editor")).role == "editor"
    assert (await projects.transfer(KIM, "apollo", "kim")).role == "owner"
    assert await entries() == before
    await projects.grant(KIM, "apollo", "lee", "admin")
    await projects.transfer(KIM, "apollo", "lee")
    changes = (await entries())[len(before) :]
    assert changes == [("grant_role", True, True), ("transfer_project", True, True)]


async def test_one_target_finds_all_deeds_of_a_project(
    stub_memory: MemoryService, owners: Database, audit: Audit
) -> None:
    """Also those that come of an erasure, and whatever is around the id."""
    projects, (first, second) = stub_memory.projects, ("moon & back", "apollo/11")
    for project in (first, second):
        await projects.create(KIM, f" {project} ", "A name")
    await projects.grant(KIM, first, "lee", "editor")
    await stub_memory.forget_user(KIM)
    await projects.delete(Actor("lee"), f" {first} ")
    for project, deeds in (
        (first, {"create_project", "grant_role", "inherit_project", "delete_project"}),
        (second, {"create_project", "end_project"}),
    ):
        found = (await newest(owners, audit.key, target=project)).entries
        assert {entry.action for entry in found} == deeds
        assert len(found) == len(deeds)


async def test_pf_077_a_deleted_memory_leaves_its_entries_to_its_user_and_to_auditors(
    stub_memory: MemoryService, owners: Database, audit: Audit
) -> None:
    kept = (await stub_memory.add_explicit_memory(KIM, FACTS[0])).id
    await stub_memory.update(KIM, kept, content=FACTS[1])
    await stub_memory.delete(KIM, kept)
    with pytest.raises(NotFound):
        await stub_memory.history(KIM, kept)  # its words are gone
    mine = (await audit.mine(KIM)).entries
    of_kept = (await newest(owners, audit.key, target=str(kept))).entries
    for found in (mine, of_kept):
        actions = [entry.action for entry in found if entry.target == of_kept[0].target]
        assert actions == ["delete_memory", "edit_memory", "add_memory"]
    assert (await audit.mine(Actor("lee"))).entries == ()


async def test_a_document_that_gives_its_address_to_a_known_one_leaves_an_entry(
    stub_memory: MemoryService, entries: Callable[[], Any]
) -> None:
    add, address = stub_memory.resources.add, "handbook.md"
    await add(KIM, "The ferry leaves at noon.", uri=address)
    await add(KIM, "The ferry leaves at two.", uri="another.md")
    before = await entries()
    report = await add(KIM, "The ferry leaves at two.", uri=address)
    assert report.outcome == "replaced"
    assert (await entries())[len(before) :] == [("delete_resource", True, False)]
