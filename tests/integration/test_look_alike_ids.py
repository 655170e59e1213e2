"""Do ids that look alike, or like a pattern, ever lead to somebody else's rows?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mnemic.errors import InvalidInput
from mnemic.model import Actor

if TYPE_CHECKING:
    from mnemic.service import MemoryService

LOOK_ALIKES = [
    "kim", "kim_1", "kimA1", "KIM", "%", "_", "'", "/", ",", "kim/", "kim/s1", "kim,lee", "k%m", "kim%2F",
    "user:kim", "ｋｉｍ", "kìm", "к\u0456м", '"kim"', "\\", "kim\\", "{kim}", "kim;", "NULL", "kim s1",
]  # fmt: skip


async def test_pf_034_pf_070_ids_that_look_alike_never_meet(stub_memory: MemoryService) -> None:
    for user in LOOK_ALIKES:
        for actor, scope in ((Actor(user), "user"), (Actor(user, session="s1"), "session")):
            verdict = await stub_memory.add_explicit_memory(
                actor,
                f"A lighthouse keeper of row {LOOK_ALIKES.index(user)}",
                scope=scope,  # type: ignore[arg-type]
            )
            assert verdict.outcome == "stored", user
    for number, user in enumerate(LOOK_ALIKES):
        for session, most in ((None, 1), ("s1", 2), ("s2", 1)):
            page = await stub_memory.list(Actor(user, session=session))
            assert page.total == most, (user, session)
            assert {item.content for item in page.items} == {f"A lighthouse keeper of row {number}"}
        hits = await stub_memory.search_memories(Actor(user), "lighthouse keeper", k=50)
        assert [hit.item.owner_id for hit in hits] == [user]
    for left, user in enumerate(reversed(LOOK_ALIKES)):
        assert (await stub_memory.delete_all(Actor(user))).count == 2
        others = LOOK_ALIKES[: len(LOOK_ALIKES) - left - 1]
        assert [(await stub_memory.list(Actor(one))).total for one in others] == [1] * len(others)


async def test_pf_034_pf_070_white_space_is_trimmed_and_invisible_characters_are_refused(
    stub_memory: MemoryService,
) -> None:
    await stub_memory.add_explicit_memory(Actor("kim "), "I keep three goats")
    assert (await stub_memory.list(Actor("kim"))).total == 1
    with pytest.raises(InvalidInput):
        Actor("ki\u206am")


async def test_a_user_session_pair_is_no_other_pair(stub_memory: MemoryService) -> None:
    pairs = [("a", "b/c"), ("a/b", "c"), ("a", "b%2Fc"), ("a%2Fb", "c"), ("a,session:a", "b")]
    for user, session in pairs:
        await stub_memory.add_explicit_memory(
            Actor(user, session=session), "There is a harbour here", scope="session"
        )
    for user, session in pairs:
        assert (await stub_memory.list(Actor(user, session=session))).total == 1
