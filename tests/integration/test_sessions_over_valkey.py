"""Do sessions read and end the same with their window in Valkey as without one?"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

from mnemic import Actor, NotFound, ToolCall, Turn
from mnemic.longterm.closing import Closing
from mnemic.session.messages import Logged, MessageLog
from mnemic.session.sessions import Sessions
from mnemic.session.state import SessionState
from mnemic.session.summaries import Summaries
from mnemic.session.turn_vectors import TurnVectors
from mnemic.session.window import Window
from mnemic.session.window_store import open_store
from mnemic.storage.valkey import JoinedValkey, join_valkey

if TYPE_CHECKING:
    from mnemic.model import Vector
    from mnemic.service import MemoryService

KIM = Actor("kim", session="s1")
CALL = ToolCall("c1", "measure", {"what": "mast"})


@pytest.fixture(scope="module")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JoinedValkey]:
    server = join_valkey(tmp_path_factory.mktemp("sessions") / "data")
    yield server
    server.leave()


@pytest.fixture
async def window(stub_memory: MemoryService, valkey: JoinedValkey) -> AsyncIterator[Window]:
    parts = stub_memory._parts
    database, keys = parts.deployment.database, parts.deployment.keys
    model = parts.models.deployments

    async def encode(actor: Actor, texts: Sequence[str]) -> list[Vector | None]:
        return list(await model.embedder.embed(texts))

    store = open_store(valkey.url, timeout=3.0)
    opened = Window(database, keys, store, MessageLog(database, keys), encode=encode)
    yield opened
    await opened.close()


@pytest.fixture
def sessions(stub_memory: MemoryService, window: Window) -> Sessions:
    parts = stub_memory._parts
    database, keys = parts.deployment.database, parts.deployment.keys
    return Sessions(
        database,
        MessageLog(database, keys),
        SessionState(database, keys),
        Summaries(database, keys),
        hot=window,
        vectors=TurnVectors(parts.models),
        close=Closing(parts.writer, parts.passes, drop_window=window.drop).run,
    )


def talk(first: int, last: int) -> list[Turn]:
    return [
        Turn("user", f"The wooden boat needs {n} new planks", client_id=f"m{n}")
        for n in range(first, last + 1)
    ]


async def test_the_window_is_the_tail_of_the_log(sessions: Sessions, window: Window) -> None:
    await sessions.append(KIM, talk(1, 20))
    assert await sessions.append(KIM, talk(15, 22)) == list(range(15, 23))
    await sessions.append(
        KIM,
        [Turn("assistant", "", tool_calls=(CALL,)), Turn("tool", "12 m", tool_call_id="c1")],
    )
    await sessions.window(KIM, 10)
    assert sessions.counts is window.counts
    hits = window.counts.hits
    shown = (await sessions.window(KIM, 10)).turns
    assert list(shown) == await sessions.read(KIM, after=14)
    assert window.counts.hits > hits
    assert [turn.seq for turn in (await sessions.window(KIM, 1)).turns] == [23, 24]


async def test_a_pin_is_seen_at_once(sessions: Sessions) -> None:
    await sessions.append(KIM, talk(1, 40))
    await sessions.window(KIM)
    await sessions.pin(KIM, [4])
    found = await sessions.window(KIM, budget_tokens=300)
    assert found.turns[0].seq == 4
    assert found.turns[0].pinned
    assert found.tokens <= 300


async def test_the_end_drops_the_window_and_the_log_stays(sessions: Sessions) -> None:
    await sessions.append(KIM, talk(1, 5))
    before = (await sessions.window(KIM)).turns
    await sessions.close(KIM)
    assert (await sessions.window(KIM)).turns == before


async def test_what_was_logged_is_told_although_its_user_is_erased_before_the_window_has_it(
    stub_memory: MemoryService, valkey: JoinedValkey
) -> None:
    deployment = stub_memory._parts.deployment

    class Erased(MessageLog):
        async def log(self, actor: Actor, turns: Sequence[Turn]) -> Logged:
            logged = await super().log(actor, turns)
            await stub_memory.forget_user(actor)
            deployment.keys.forget(actor.user_scope)
            return logged

    store = open_store(valkey.url, timeout=3.0)
    log = Erased(deployment.database, deployment.keys)
    window = Window(deployment.database, deployment.keys, store, log)
    try:
        assert await window.append(KIM, [Turn("user", "The boat is sold")]) == [1]
        assert window.counts.pushed == 0
        with pytest.raises(NotFound):
            await window.read(KIM)
    finally:
        await window.close()
