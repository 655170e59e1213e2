"""Is the profile what the items say, at once, and the user's own word above them?"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from conftest import Connect
from mnemic.errors import Conflict, ConsentRequired, InvalidInput, PermissionDenied
from mnemic.model import Actor

if TYPE_CHECKING:
    from mnemic.service import MemoryService

KIM = Actor("kim", session="s1")
NUMBER = "138" + "0013" + "8000"


async def say(memory: MemoryService, *texts: tuple[str, str], of: Actor = KIM) -> list[object]:
    ids = []
    for memory_type, text in texts:
        verdict = await memory.add_explicit_memory(of, text, memory_type=memory_type)  # type: ignore[arg-type]
        ids.append(verdict.id)
    return ids


async def test_a_profile_is_made_of_items_and_names_them(stub_memory: MemoryService) -> None:
    name, style, job = await say(
        stub_memory,
        ("fact", "My name is Rowan"),
        ("preference", "回答尽量简洁一点"),
        ("fact", "I work as a cartographer at Northwind"),
    )
    profile = await stub_memory.profiles.get(KIM)
    assert profile.values["username"] == "Rowan"
    assert profile.values["communication_style"] == "concise"
    assert profile.values["profession"] == "cartographer"
    assert profile.origins["username"].items == (name,)
    assert profile.origins["communication_style"].items == (style,)
    assert profile.origins["profession"].items == (job,)


async def test_the_first_contact_makes_an_empty_profile(
    stub_memory: MemoryService, connect: Connect
) -> None:
    profile = await stub_memory.profiles.get(Actor("newcomer"))
    assert profile.is_empty
    assert profile.version == 1
    await stub_memory.profiles.greet(Actor("another"))
    owner = await connect("owner")
    rows = await owner.execute("select user_id from user_profile order by user_id")
    assert [row["user_id"] for row in await rows.fetchall()] == ["another", "newcomer"]


async def test_deleting_an_item_withdraws_what_it_said(stub_memory: MemoryService) -> None:
    first, _ = await say(
        stub_memory, ("skill", "I'm good at negotiation"), ("skill", "我擅长数据分析")
    )
    assert (await stub_memory.profiles.get(KIM)).values["expertise_areas"] == (
        "数据分析",
        "negotiation",
    )
    await stub_memory.delete(KIM, first)
    assert (await stub_memory.profiles.get(KIM)).values["expertise_areas"] == ("数据分析",)
    await stub_memory.delete_all(KIM)
    assert (await stub_memory.profiles.get(KIM)).is_empty


async def test_pf_009_what_is_said_five_times_stands_once(stub_memory: MemoryService) -> None:
    await say(stub_memory, *[("fact", "My name is Rowan")] * 5)
    await say(stub_memory, ("preference", "I like steak"), ("preference", "I like steak."))
    values = (await stub_memory.profiles.get(KIM)).values
    assert values["username"] == "Rowan"
    assert len(values["preferences"] or ()) == 1


async def test_pf_013_a_reversed_preference_is_the_profiles_too(
    stub_memory: MemoryService,
) -> None:
    await say(stub_memory, ("preference", "我不喜欢爵士乐"))
    assert (await stub_memory.profiles.get(KIM)).values["preferences"] == ("我不喜欢爵士乐",)
    await say(stub_memory, ("preference", "我喜欢爵士乐了"))
    assert (await stub_memory.profiles.get(KIM)).values["preferences"] == ("我喜欢爵士乐了",)


async def test_a_pending_item_says_nothing_until_it_is_confirmed(
    stub_memory: MemoryService,
) -> None:
    verdict = await stub_memory.add_explicit_memory(KIM, "My name is Rowan", confidence=0.75)
    assert (await stub_memory.profiles.get(KIM)).values["username"] is None
    await stub_memory.confirm(KIM, verdict.id)
    assert (await stub_memory.profiles.get(KIM)).values["username"] == "Rowan"


async def test_a_pending_item_that_is_said_again_speaks(stub_memory: MemoryService) -> None:
    await stub_memory.add_explicit_memory(KIM, "My name is Rowan", confidence=0.75)
    again = await stub_memory.add_explicit_memory(KIM, "My name is Rowan")
    assert again.outcome == "duplicate"
    assert (await stub_memory.profiles.get(KIM)).values["username"] == "Rowan"


async def test_what_ends_is_withdrawn_when_its_time_has_come(stub_memory: MemoryService) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=0.8)
    await stub_memory.add_explicit_memory(KIM, "My name is Rowan", valid_to=soon)
    assert (await stub_memory.profiles.get(KIM)).values["username"] == "Rowan"
    await asyncio.sleep(1)
    assert (await stub_memory.profiles.get(KIM)).values["username"] is None


async def test_what_a_session_holds_stays_out(stub_memory: MemoryService) -> None:
    await stub_memory.add_explicit_memory(KIM, "My name is Rowan", scope="session")
    assert (await stub_memory.profiles.get(KIM)).is_empty


async def test_the_users_own_word_stands_whatever_items_say(stub_memory: MemoryService) -> None:
    await say(stub_memory, ("fact", "My name is Rowan"))
    edited = await stub_memory.profiles.edit(KIM, "username", "Ro")
    assert edited.values["username"] == "Ro"
    assert edited.origins["username"].edited_at is not None
    assert edited.origins["username"].items == ()
    await say(stub_memory, ("fact", "My name is Robin now"))
    assert (await stub_memory.profiles.get(KIM)).values["username"] == "Ro"
    back = await stub_memory.profiles.edit(KIM, "username", None)
    assert back.values["username"] == "Robin"
    assert back.origins["username"].edited_at is None


async def test_an_emptied_field_stays_empty(stub_memory: MemoryService) -> None:
    await stub_memory.profiles.patch(KIM, {"preferences": [], "email": ""})
    await say(stub_memory, ("preference", "I like steak"), ("fact", "My email is k@example.org"))
    values = (await stub_memory.profiles.get(KIM)).values
    assert values["preferences"] == ()
    assert values["email"] is None


async def test_put_gives_back_what_it_does_not_name(stub_memory: MemoryService) -> None:
    await say(stub_memory, ("fact", "My name is Rowan"))
    await stub_memory.profiles.patch(KIM, {"username": "Ro", "profession": "pilot"})
    put = await stub_memory.profiles.put(KIM, {"profession": "sailor"})
    assert (put.values["username"], put.values["profession"]) == ("Rowan", "sailor")


async def test_a_stale_version_changes_nothing(stub_memory: MemoryService) -> None:
    first = await stub_memory.profiles.edit(KIM, "username", "Ro")
    await stub_memory.profiles.edit(KIM, "username", "Robin", expected_version=first.version)
    with pytest.raises(Conflict) as raised:
        await stub_memory.profiles.edit(KIM, "username", "Kim", expected_version=first.version)
    assert raised.value.code == "version_conflict"
    assert (await stub_memory.profiles.get(KIM)).values["username"] == "Robin"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"shoe_size": "43"}, "unknown_profile_field"),
        ({"behavior_vector": [1.0]}, "unknown_profile_field"),
        ({"username": 7}, "profile_value_invalid"),
        ({"preferences": "tea"}, "profile_value_invalid"),
        ({"preferences": ["tea", 1]}, "profile_value_invalid"),
        ({"response_format": "xml"}, "profile_value_invalid"),
        ({"content": "x" * 1_000_000}, "profile_value_too_long"),
        ({"preferences": ["x"] * 51}, "profile_value_too_long"),
        ({"phone": "12"}, "phone_without_country"),
        ({"email": "kim at example"}, "invalid_email"),
        ({}, "nothing_to_change"),
    ],
)
async def test_an_edit_that_cannot_be_meant_changes_nothing(
    stub_memory: MemoryService, changes: dict[str, object], code: str
) -> None:
    before = await stub_memory.profiles.edit(KIM, "profession", "pilot")
    with pytest.raises(InvalidInput) as raised:
        await stub_memory.profiles.patch(
            KIM, {"profession": "sailor", **changes} if changes else {}
        )
    assert raised.value.code == code
    assert await stub_memory.profiles.get(KIM) == before


async def test_an_edit_holds_no_secret(stub_memory: MemoryService) -> None:
    secret = "my password is " + "hunter" + "2" + "Zq!"
    with pytest.raises(InvalidInput) as raised:
        await stub_memory.profiles.edit(KIM, "content", secret)
    assert raised.value.code == "profile_sensitive"
    assert "hunter" not in str(raised.value)


async def test_addresses_are_masked_but_for_their_user(stub_memory: MemoryService) -> None:
    await say(stub_memory, ("fact", f"我的手机号是 {NUMBER}"))
    await stub_memory.profiles.edit(KIM, "email", " Ｋim@Example.ORG ")
    shown = (await stub_memory.profiles.get(KIM)).values
    assert shown["email"] == "k***@e***.org"
    assert shown["phone"] == "+86***00"
    full = (await stub_memory.profiles.get(KIM, contact=True)).values
    assert full["email"] == "kim@example.org"
    assert full["phone"] == f"+86{NUMBER}"
    with pytest.raises(PermissionDenied):
        await stub_memory.profiles.get(Actor("kim", agent="helper"), contact=True)
    told = await stub_memory.get_profile_for_agent(KIM)
    assert told.user.values["email"] == "k***@e***.org"
    text = await stub_memory.build_context(KIM, "weather")
    assert "kim@" not in text
    assert NUMBER not in text


async def test_a_profile_taken_away_stays_away_until_it_is_edited(
    stub_memory: MemoryService,
) -> None:
    await say(stub_memory, ("fact", "My name is Rowan"))
    await stub_memory.profiles.edit(KIM, "profession", "pilot")
    assert (await stub_memory.profiles.delete(KIM)).is_empty
    await say(stub_memory, ("preference", "I like steak"))
    assert (await stub_memory.profiles.get(KIM)).is_empty
    back = await stub_memory.profiles.edit(KIM, "profession", "sailor")
    assert back.values["username"] == "Rowan"
    assert back.values["profession"] == "sailor"


async def test_who_refused_has_no_profile_to_read_or_to_edit(stub_memory: MemoryService) -> None:
    await say(stub_memory, ("fact", "My name is Rowan"))
    await stub_memory.consent.refuse(KIM)
    for call in (
        stub_memory.profiles.get(KIM),
        stub_memory.get_profile_for_agent(KIM),
        stub_memory.profiles.edit(KIM, "username", "Ro"),
        stub_memory.profiles.note_intent(KIM, (1.0, 0.0)),
    ):
        with pytest.raises(ConsentRequired):
            await call
    assert await stub_memory.profiles.catch_up() == 0


async def test_intents_move_the_behaviour_but_not_the_version(stub_memory: MemoryService) -> None:
    before = await stub_memory.profiles.get(KIM)
    assert await stub_memory.profiles.behaviour(KIM) is None
    await stub_memory.profiles.note_intent(KIM, (1.0, 0.0))
    await stub_memory.profiles.note_intent(KIM, (0.0, 2.0))
    found = await stub_memory.profiles.behaviour(KIM)
    assert found is not None
    assert found.mean == pytest.approx((0.5, 0.5), abs=1e-2)
    assert found.weight == pytest.approx(2, abs=1e-3)
    assert await stub_memory.profiles.get(KIM) == before


async def test_the_background_task_needs_no_reader(
    stub_memory: MemoryService, connect: Connect
) -> None:
    (item,) = await say(stub_memory, ("fact", "My name is Rowan"))
    owner = await connect("owner")

    async def seen() -> bool:
        row = await (
            await owner.execute("select username_enc is not null as x from user_profile")
        ).fetchone()
        return bool(row and row["x"])

    async def within_a_second(wanted: bool) -> None:
        for _ in range(30):
            if await seen() == wanted:
                return
            await asyncio.sleep(0.05)
        pytest.fail("the profile is still behind")

    await within_a_second(True)
    await stub_memory.delete(KIM, item)
    await within_a_second(False)


async def test_the_prompt_begins_with_the_profile_in_the_users_language(
    stub_memory: MemoryService,
) -> None:
    await say(stub_memory, ("fact", "My name is Rowan"), ("skill", "I'm good at negotiation"))
    english = await stub_memory.build_context(KIM, "something else", budget_tokens=400)
    assert english.startswith("<profile>")
    assert "- name: Rowan" in english
    await stub_memory.profiles.edit(KIM, "language_preference", "zh")
    chinese = await stub_memory.build_context(KIM, "something else", budget_tokens=400)
    assert "- 称呼: Rowan" in chinese
    text = stub_memory.format_memories_for_prompt(
        [], 300, profile=await stub_memory.get_profile_for_agent(KIM)
    )
    assert "- 擅长领域: negotiation" in text


async def test_equal_addresses_written_differently_have_one_index(
    stub_memory: MemoryService, connect: Connect
) -> None:
    lee = Actor("lee")
    await stub_memory.profiles.patch(KIM, {"email": "Kim@Example.org", "phone": f"+86 {NUMBER}"})
    await stub_memory.profiles.patch(lee, {"email": " kim@example.ORG", "phone": NUMBER})
    await stub_memory.profiles.patch(Actor("max"), {"email": "max@example.org"})
    owner = await connect("owner")
    rows = await owner.execute("select email_mac, phone_mac from user_profile order by user_id")
    kims, lees, others = await rows.fetchall()
    assert kims == lees
    assert others["email_mac"] != kims["email_mac"]
    assert others["phone_mac"] is None


async def test_pf_127_a_user_has_one_current_profile(
    stub_memory: MemoryService, connect: Connect
) -> None:
    for name in ("Ro", "Rowan"):
        await stub_memory.profiles.edit(KIM, "username", name)
    owner = await connect("owner")
    rows = await (await owner.execute("select version from user_profile")).fetchall()
    assert [row["version"] for row in rows] == [3]


async def test_pf_079_an_erased_users_profile_is_gone_and_a_newcomers_empty(
    stub_memory: MemoryService, connect: Connect
) -> None:
    await say(stub_memory, ("fact", "My name is Rowan"))
    await stub_memory.profiles.edit(KIM, "email", "rowan@example.org")
    await stub_memory.forget_user(KIM)
    owner = await connect("owner")
    for table in ("user_profile", "outbox"):
        assert (await owner.execute(f"select from {table}")).rowcount == 0
    assert (await stub_memory.profiles.get(KIM)).is_empty
