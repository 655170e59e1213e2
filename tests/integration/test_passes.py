"""Do conversations become the memories that were stated in them, once each, and nothing else?"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mnemic import Actor, MemoryService, ToolCall, Turn
from mnemic.chat import ChatMessage
from mnemic.errors import ChatError, InvalidInput, NotFound, RateLimited
from mnemic.longterm.passes import PassReport
from mnemic.settings import Settings


async def talk(memory: MemoryService, actor: Actor, *said: str, start: str = "user") -> PassReport:
    """Log turns of user and assistant in turn, and extract from them."""
    roles = ("user", "assistant") if start == "user" else ("assistant", "user")
    turns = [Turn(roles[n % 2], text) for n, text in enumerate(said)]  # type: ignore[arg-type]
    await memory.sessions.append(actor, turns)
    return await memory.extract(actor)


async def known(memory: MemoryService, actor: Actor) -> list[str]:
    return [item.content for item in (await memory.list(actor, status="current")).items]


async def test_pf_008_one_statement_is_one_memory(memory: MemoryService, actor: Actor) -> None:
    await memory.add_explicit_memory(actor, "I prefer tabs over spaces")
    report = await talk(memory, actor, "I prefer tabs over spaces.")
    assert [finding.verdict.outcome for finding in report.findings] == ["duplicate"]
    assert await known(memory, actor) == ["I prefer tabs over spaces"]
    assert len(await memory.search_memories(actor, "tabs or spaces")) == 1


async def test_pf_009_repeats_do_not_grow(memory: MemoryService, actor: Actor) -> None:
    name, steak = "My name is Rowan.", "I like steak."
    await talk(memory, actor, *[part for _ in range(5) for part in (name, "Noted.")], steak, "Ok.")
    await talk(memory, actor, name, "I know.", steak)
    texts = await known(memory, actor)
    assert sum("Rowan" in text for text in texts) == 1
    assert sum("steak" in text for text in texts) == 1
    assert len(texts) == 2


async def test_pf_016_names_stay_character_for_character(
    memory: MemoryService, actor: Actor
) -> None:
    await talk(memory, actor, "请记住，王小明在晨星科技上班。")
    (text,) = await known(memory, actor)
    assert "王小明" in text
    assert "晨星科技" in text
    assert text.isascii() is False


CHINESE = (
    "我叫林岚，是一名护士。",
    "你好，林岚！",
    "我平时用 Obsidian 记笔记。",
    "好的。",
    "我不喜欢开会太久。",
    "明白。",
    "以后请用 Markdown 回答我。",
    "没问题。",
    "我住在宁波。",
    "记下了。",
)
ENGLISH = (
    "My name is Nora and I am a nurse.",
    "Hello, Nora!",
    "I prefer short answers.",
    "Fine.",
    "I live in Leeds.",
)


async def test_pf_017_chinese_memories_of_a_chinese_conversation(
    memory: MemoryService, actor: Actor
) -> None:
    await talk(memory, actor, *CHINESE)
    texts = await known(memory, actor)
    assert len(texts) >= 4
    for text in texts:
        left = text.replace("Obsidian", "").replace("Markdown", "")
        assert not any(char.isascii() and char.isalpha() for char in left), text


async def test_pf_018_english_memories_of_an_english_conversation(
    memory: MemoryService, actor: Actor
) -> None:
    await talk(memory, actor, *ENGLISH)
    items = (await memory.list(actor, status="current")).items
    assert len(items) >= 3
    for item in items:
        assert f"{item.content}{item.reason or ''}{item.memory_type}".isascii()


async def test_pf_020_the_assistant_and_asked_about_people_are_not_the_user(
    memory: MemoryService, actor: Actor
) -> None:
    await talk(
        memory,
        actor,
        "I'm Kim.",
        "I'm Zhi, from Chengdu.",
        "What are the targets for Christophe?",
    )
    texts = " ".join(await known(memory, actor))
    for word in ("Zhi", "Chengdu", "Christophe", "targets"):
        assert word not in texts


async def test_pf_021_a_friend_keeps_his_dislike(memory: MemoryService, actor: Actor) -> None:
    await talk(memory, actor, "My friend Jack hates football but was enrolled in a class.")
    assert all("Jack" in text for text in await known(memory, actor))


async def test_pf_022_quoted_memories_and_prompts_are_not_learned_again(
    memory: MemoryService, actor: Actor
) -> None:
    facts = ["I prefer tabs over spaces", "I live in Leeds", "My dog is called Biscuit"]
    for fact in facts:
        await memory.add_explicit_memory(actor, fact)
    context = await memory.build_context(actor, "What do you know about me: tabs, Leeds, my dog?")
    await memory.sessions.append(
        actor,
        [
            Turn("system", "You are a helpful assistant. I am Atlas. Always answer in English."),
            Turn("system", context or "\n".join(facts)),
            Turn("user", "What do you know about me?"),
            Turn(
                "assistant",
                "You told me: " + "; ".join(facts) + ".",
                tool_calls=(ToolCall("call-1", "look_up"),),
            ),
            Turn("tool", "I prefer dark themes. My name is Terminal.", tool_call_id="call-1"),
        ],
    )
    report = await memory.extract(actor)
    assert report.turns == 5
    assert report.findings == ()
    assert set(await known(memory, actor)) == set(facts)
    pasted = await talk(memory, actor, f"You said: {facts[0]}. {facts[0]}.")
    assert {f.verdict.outcome for f in pasted.findings} <= {"duplicate"}
    assert len(await known(memory, actor)) == 3


@pytest.mark.parametrize("text", ["ok", "thanks", "嗯嗯", "👍", "...", "好的谢谢", "lol"])
async def test_pf_023_small_talk_is_nothing(memory: MemoryService, actor: Actor, text: str) -> None:
    report = await talk(memory, actor, text)
    assert (report.turns, report.findings) == (1, ())


async def test_a_memory_names_the_turns_that_it_comes_from(
    memory: MemoryService, actor: Actor
) -> None:
    said_at = datetime(2026, 3, 2, 9, 14, tzinfo=UTC)
    await memory.sessions.append(
        actor, [Turn("assistant", "Hello!"), Turn("user", "I live in Leeds.", said_at)]
    )
    await memory.extract(actor)
    (item,) = (await memory.list(actor)).items
    assert (item.source_id, item.source_seqs, item.valid_from) == ("s1", (2,), said_at)


async def test_an_import_of_the_past_leaves_what_is_newer(
    memory: MemoryService, actor: Actor
) -> None:
    now = datetime.now(UTC)
    await memory.add_explicit_memory(actor, "I live in York.", valid_from=now - timedelta(days=1))
    archive = Actor(actor.user, session="archive")
    await memory.sessions.append(
        archive, [Turn("user", "I live in Leeds.", now - timedelta(days=300))]
    )
    report = await memory.extract(archive)
    assert [finding.verdict.reason for finding in report.findings] == ["older_than_known"]
    assert await known(memory, actor) == ["I live in York."]


async def test_passes_are_counted_and_what_a_refused_one_missed_comes_later(
    memory: MemoryService, actor: Actor, connect: Any
) -> None:
    for n, text in enumerate(("I live in Leeds.", "I like steak.", "My dog is called Biscuit.")):
        await talk(memory, actor, text)
        assert (await memory.check_rate_limit(actor)).used == n + 1
    assert (await memory.extract(actor)).turns == 0  # nothing new: nothing counted
    with pytest.raises(RateLimited) as refused:
        await talk(memory, actor, "I prefer tabs over spaces.")
    assert refused.value.code == "extraction_rate_limited"
    assert 0 < float(str(refused.value.details["retry_after"])) <= 86_400
    owner = await connect("owner")
    await owner.execute("update extraction_log set at = at - interval '25 hours'")
    report = await memory.extract(actor)
    (finding,) = report.findings
    assert "tabs over spaces" in finding.candidate.content


async def test_passes_at_once_store_each_statement_once(
    memory: MemoryService, actor: Actor
) -> None:
    await memory.sessions.append(actor, [Turn("user", "I live in Leeds. I like steak.")])
    reports = await asyncio.gather(
        *(memory.extract(actor) for _ in range(3)), return_exceptions=True
    )
    assert all(isinstance(report, PassReport) for report in reports), reports
    assert len(await known(memory, actor)) == 2


async def test_a_long_log_is_read_to_its_end(memory: MemoryService, actor: Actor) -> None:
    turns = [Turn("assistant", f"Step {n} is done.") for n in range(900)]
    turns[450] = Turn("user", "I live in Leeds.")
    turns[899] = Turn("user", "I like steak.")
    await memory.sessions.append(actor, turns)
    report = await memory.extract(actor)
    assert report.turns == 900
    texts = " / ".join(await known(memory, actor))
    assert "Leeds" in texts
    assert "steak" in texts


async def test_a_session_is_needed(memory: MemoryService) -> None:
    with pytest.raises(InvalidInput) as refused:
        await memory.extract(Actor("kim"))
    assert refused.value.code == "session_required"
    with pytest.raises(NotFound) as missing:
        await memory.extract(Actor("kim", session="never"))
    assert missing.value.code == "session_not_found"


class Flaky:
    """A chat model that fails until it is well."""

    name = "flaky"

    def __init__(self) -> None:
        self.well = False

    async def complete(
        self, messages: Sequence[ChatMessage], *, json_schema: Mapping[str, object] | None = None
    ) -> str:
        if not self.well:
            raise ChatError("chat_unavailable", "The chat model does not answer.")
        return '{"memories": []}'


async def test_a_failed_chat_model_leaves_the_turns_for_the_next_pass(
    settings: Settings, encoder: Any, encoder_curve: Any, prepare: Any, actor: Actor
) -> None:
    await prepare(settings, encoder, encoder_curve)
    chat = Flaky()
    async with MemoryService.open(settings=settings, embedder=encoder, chat_model=chat) as memory:
        with pytest.raises(ChatError):
            await talk(memory, actor, "I live in Leeds.")
        chat.well = True
        assert (await memory.extract(actor)).turns == 1
        assert (await memory.check_rate_limit(actor)).used == 2
