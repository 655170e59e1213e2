"""After any history of additions, replacements, deletions and edits: is the profile one made from scratch?

What is expected is computed from the items as their user reads them, and from a note of the user's own word,
never from a profile. The makers are stopped, cut off in the middle and started again meanwhile.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as trial
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from mnemic import Actor, MemoryService
from mnemic.errors import Conflict
from mnemic.longterm.judge import slots
from mnemic.profile.aggregate import of_user
from mnemic.profile.consumer import Consumer
from mnemic.profile.known import Known
from mnemic.profile.rows import USERS, open_fields
from mnemic.settings import Settings
from mnemic.storage.statements import statements
from stub_embedder import StubEmbedder, curve

SAYINGS = st.sampled_from(
    (
        ("fact", "My name is Rowan"),
        ("fact", "我叫王伟"),
        ("fact", "I work as a beekeeper"),
        ("fact", "I work as a cartographer now"),
        ("preference", "I like steak"),
        ("preference", "我喜欢爵士乐了"),
        ("preference", "我不喜欢爵士乐"),
        ("preference", "Please keep your answers short"),
        ("skill", "I'm good at negotiation"),
        ("habit", "I use Vim every day"),
        ("fact", "I live in Oslo"),
        ("fact", "I no longer live in Oslo, I live in Lisbon now"),
    )
)
EDITS = st.sampled_from(
    (
        ("username", "Ro"),
        ("username", ""),
        ("communication_style", "detailed"),
        ("preferences", ["tea", "jazz"]),
        ("preferences", []),
        ("background", "Born at sea."),
        ("email", "Kim@Example.org"),
    )
)
FIELDS = st.sampled_from(("username", "communication_style", "preferences", "background", "email"))
_users = itertools.count()
Told = dict[str, tuple[tuple[str, ...], frozenset[UUID]]]
"""The texts of each field, and the items behind it."""


class Shared:
    """One loop for all runs of the machine; every run is a user of its own."""

    loop: asyncio.AbstractEventLoop
    settings: Settings
    memory: MemoryService
    consumer: Consumer

    @classmethod
    def run(cls, work: Coroutine[Any, Any, Any]) -> Any:
        return cls.loop.run_until_complete(work)

    @classmethod
    async def start(cls) -> None:
        """Open a service whose makers work when the machine says so."""
        cls.memory = MemoryService.open(settings=cls.settings, embedder=StubEmbedder())
        await cls.memory.__aenter__()
        await cls.memory.profiles.consumer.close()
        cls.consumer = Consumer(cls.memory.profiles._refresh)


@pytest.fixture
def shared(settings: Settings, prepare: Any) -> Iterator[None]:
    Shared.loop, Shared.settings = asyncio.new_event_loop(), settings
    Shared.run(prepare(settings, StubEmbedder(), curve()))
    Shared.run(Shared.start())
    yield
    Shared.run(Shared.memory.close())
    Shared.loop.close()


class Profiles(RuleBasedStateMachine):
    """Each rule changes something; after each the profile is what the rest says."""

    def __init__(self) -> None:
        super().__init__()
        self.actor = Actor(f"machine-{next(_users)}")
        self.word: dict[str, tuple[str, ...]] = {}
        self.deleted = False
        self.items: list[Any] = []

    # ---- what happens

    @rule(saying=SAYINGS, confidence=st.sampled_from((0.75, 0.9)))
    def say(self, saying: tuple[Any, str], confidence: float) -> None:
        Shared.run(
            Shared.memory.add_explicit_memory(
                self.actor, saying[1], saying[0], confidence=confidence
            )
        )

    @precondition(lambda self: self.items)
    @rule(data=st.data(), saying=SAYINGS)
    def change(self, data: st.DataObject, saying: tuple[str, str]) -> None:
        item = self._pick(data)
        with suppress(Conflict):
            Shared.run(Shared.memory.update(self.actor, item.id, content=saying[1]))

    @precondition(lambda self: self.items)
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        item = self._pick(data)
        with suppress(Conflict):
            Shared.run(Shared.memory.update(self.actor, item.id, valid_to=datetime.now(UTC)))

    @precondition(lambda self: self.items)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        Shared.run(Shared.memory.delete(self.actor, self._pick(data).id))

    @precondition(lambda self: any(item.status == "pending" for item in self.items))
    @rule(yes=st.booleans())
    def answer(self, yes: bool) -> None:
        item = next(item for item in self.items if item.status == "pending")
        Shared.run((Shared.memory.confirm if yes else Shared.memory.deny)(self.actor, item.id))

    @rule(edit=EDITS)
    def edit(self, edit: tuple[str, Any]) -> None:
        name, value = edit
        Shared.run(Shared.memory.profiles.edit(self.actor, name, value))
        texts = tuple(value) if isinstance(value, list) else (value,) if value else ()
        self.word[name] = tuple(t.lower() for t in texts) if name == "email" else texts
        self.deleted = False

    @rule(field=FIELDS)
    def give_back(self, field: str) -> None:
        Shared.run(Shared.memory.profiles.edit(self.actor, field, None))
        self.word.pop(field, None)
        self.deleted = False

    @rule()
    def take_away(self) -> None:
        Shared.run(Shared.memory.profiles.delete(self.actor))
        self.word.clear()
        self.deleted = True

    # ---- what the makers do

    @rule()
    def start_again(self) -> None:
        """The whole service ends and begins anew, whatever waits."""
        Shared.run(Shared.memory.close())
        Shared.run(Shared.start())

    @rule(steps=st.integers(1, 60))
    def cut_off(self, steps: int) -> None:
        """A maker is cut off after some steps, wherever that is; another takes its place."""

        async def work() -> None:
            task = asyncio.ensure_future(Shared.consumer.turn())
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

        Shared.run(work())
        Shared.consumer = Consumer(Shared.memory.profiles._refresh)

    @rule()
    def fall_asleep(self) -> None:
        """As a user who stays away; the next contact, of whatever kind, wakes them."""
        hibernation = Shared.memory._parts.sleep.hibernation
        Shared.run(hibernation.rest(self.actor, datetime.now(UTC) + timedelta(days=1)))

    # ---- what is seen

    @rule()
    def read(self) -> None:
        """A reader makes what waits of its own, so it sees what was written before."""
        profile = Shared.run(Shared.memory.profiles.get(self.actor, contact=True))
        self._compare()
        seen = {name: value for name, value in profile.values.items() if value}
        told = {name: texts for name, (texts, _) in self._from_scratch().items() if texts}
        assert {name: (v,) if isinstance(v, str) else v for name, v in seen.items()} == {
            name: ("\n".join(texts),) if name == "background" else texts
            for name, texts in told.items()
        }

    @rule()
    def catch_up(self) -> None:
        """The makers come to an end; then they have nothing left to do."""
        while Shared.run(Shared.consumer.turn()):
            pass
        self._compare()

    @invariant()
    def the_items_are_read(self) -> None:
        page = Shared.run(Shared.memory.list(self.actor, status="all", limit=1000))
        self.items = [item for item in page.items if item.status in ("active", "pending")]

    def teardown(self) -> None:
        self.catch_up()

    # ---- how the machine looks

    def _compare(self) -> None:
        assert Shared.run(self._stored()) == self._from_scratch()

    def _from_scratch(self) -> Told:
        now = datetime.now(UTC)
        said = [
            Known(
                item.id,
                item.memory_type,
                item.content,
                item.valid_from,
                frozenset(slots(item.content)),
                item.source,
            )
            for item in self.items
            if item.status == "active" and (item.valid_to is None or item.valid_to > now)
        ]
        fields = {} if self.deleted else of_user(said)
        found = {name: (field.texts, frozenset(field.items)) for name, field in fields.items()}
        return found | {name: (texts, frozenset()) for name, texts in self.word.items()}

    async def _stored(self) -> Told:
        """What lies in the table: nothing is made anew for this."""
        deployment, scope_key = Shared.memory._parts.deployment, self.actor.user_scope
        async with deployment.database.transaction(self.actor) as tx:
            row = await tx.one(statements("profiles")["user"], {"scope_key": scope_key})
            if row is None:
                return {}
            key = await deployment.keys.obtain(tx, self.actor)
        fields = open_fields(key, USERS, scope_key, row, row["version"])
        return {name: (field.texts, frozenset(field.items)) for name, field in fields.items()}

    def _pick(self, data: st.DataObject) -> Any:
        ordered = sorted(self.items, key=lambda item: (item.recorded_at, item.id))
        return ordered[data.draw(st.integers(0, len(ordered) - 1))]


@pytest.mark.usefixtures("shared")
def test_random_histories_leave_the_profile_that_is_made_from_scratch() -> None:
    run_state_machine_as_test(
        Profiles,
        settings=trial(
            max_examples=24,
            stateful_step_count=16,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
