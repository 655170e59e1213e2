"""Does a search find what is there, by meaning and by word, and never what it must not show?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as trial
from hypothesis import strategies as st

from mnemic import Actor, InvalidInput, MemoryItem, MemoryService
from mnemic.longterm.draft import Draft
from mnemic.retrieval.rank import final_score


async def stored(memory: MemoryService, actor: Actor, *texts: str, **more: Any) -> None:
    verdicts = await memory.add_many(actor, [Draft(text, **more) for text in texts])
    assert {verdict.outcome for verdict in verdicts} == {"stored"}, verdicts


def contents(hits: Any) -> list[str]:
    return [hit.content for hit in hits]


# ---- words


@pytest.mark.parametrize("query", ["重排", "模型", "重排模型"])
async def test_pf_039_chinese_words_inside_a_sentence(
    memory: MemoryService, actor: Actor, query: str
) -> None:
    await stored(memory, actor, "我们把重排模型换成了小型号", "周五下午去游泳", "仓库钥匙在前台")
    first = (await memory.search_memories(actor, query))[0]
    assert first.content == "我们把重排模型换成了小型号"
    assert first.words > 0


async def test_pf_040_a_mixed_query(memory: MemoryService, actor: Actor) -> None:
    await stored(
        memory, actor, "每日复盘 cron 备份 日志", "The nightly cron job failed", "周报在周五"
    )
    first = (await memory.search_memories(actor, "复盘 cron 备份"))[0]
    assert first.content == "每日复盘 cron 备份 日志"
    assert first.words > 0
    assert "cron" in first.matched


@pytest.mark.parametrize("word", ["茶壶", "雨伞", "地图", "口琴"])
async def test_pf_041_a_word_that_only_one_line_holds(
    memory: MemoryService, actor: Actor, word: str
) -> None:
    await stored(
        memory, actor, *(f"{thing}放在柜子里" for thing in ("茶壶", "雨伞", "地图", "口琴"))
    )
    hits = await memory.search_memories(actor, word)
    assert hits[0].content == f"{word}放在柜子里"
    assert hits[0].words > max([hit.words for hit in hits[1:]], default=0.0)
    assert all(hits[0].score > hit.score for hit in hits[1:])


async def test_pf_042_a_company_name_is_no_sum_of_halves(
    memory: MemoryService, actor: Actor
) -> None:
    await stored(memory, actor, "晨星集团的合同下月到期", "他每天晨练一小时", "墙上挂着一幅星图")
    assert contents(await memory.search_memories(actor, "晨星"))[0] == "晨星集团的合同下月到期"


@pytest.mark.parametrize("query", ["Redis", "redis", "ＲＥＤＩＳ", "会话"])
async def test_pf_043_latin_words_inside_chinese(
    memory: MemoryService, actor: Actor, query: str
) -> None:
    await stored(memory, actor, "我们用Redis存会话", "数据库每晚备份", "接口文档写完了")
    first = (await memory.search_memories(actor, query))[0]
    assert first.content == "我们用Redis存会话"
    assert first.words > 0


@pytest.mark.parametrize(
    "query", ["alpha|zeta", "alpha & !beta", "alpha:*", "'alpha", "alpha <-> beta", "(alpha", "\\"]
)
async def test_pf_044_operators_are_no_operators(
    memory: MemoryService, actor: Actor, query: str
) -> None:
    await stored(memory, actor, "alpha note", "gamma diary")
    hits = await memory.search_memories(actor, query)
    by_word = {hit.content for hit in hits if hit.words > 0}
    assert by_word <= {"alpha note"}
    assert ("alpha note" in by_word) == ("alpha" in query)


@pytest.mark.parametrize("query", ["", "   ", "\t", "\u3000", "\u2028"])
async def test_pf_045_a_blank_query_is_refused(
    stub_memory: MemoryService, actor: Actor, query: str
) -> None:
    await stored(stub_memory, actor, "The blue box holds the cables")
    for call in (
        stub_memory.search_memories(actor, query),
        stub_memory.build_context(actor, query),
    ):
        with pytest.raises(InvalidInput) as refused:
            await call
        assert refused.value.code == "blank_query"


@pytest.mark.parametrize("query", ["😀🎉", "?!…", "。。。", "🤷‍♀️"])
async def test_a_query_without_words_finds_nothing(
    memory: MemoryService, actor: Actor, query: str
) -> None:
    await stored(memory, actor, "The blue box holds the cables")
    assert list(await memory.search_memories(actor, query)) == []
    assert await memory.build_context(actor, query) == ""


async def test_of_a_query_of_ten_thousand_characters_the_first_part_is_read(
    memory: MemoryService, actor: Actor
) -> None:
    await stored(memory, actor, "The blue box holds the cables", "The green tin holds the tea")
    for query in ("Which box holds the cables? " * 360, "电缆在哪个盒子里？" * 1_200):
        assert len(query) > 10_000
        assert contents(await memory.search_memories(actor, query, 1)) == [
            "The blue box holds the cables"
        ]
    late = "cables " * 300 + "tea " * 2_500
    assert contents(await memory.search_memories(actor, late, 1)) == [
        "The blue box holds the cables"
    ], "what stands behind the limit is not asked for"


async def test_of_a_long_conversation_the_last_lines_are_asked(
    memory: MemoryService, actor: Actor
) -> None:
    await stored(memory, actor, "The blue box holds the cables", "The green tin holds the tea")
    cables = "User: And which cables go into the blue box?\n"
    chatter = "Assistant: All right then.\nUser: Hm, do go on.\n" * 60
    for last in ("User: Where is the tea, in which tin?", "User: tea tin\n"):
        assert contents(await memory.search_memories(actor, cables + chatter + last, 1)) == [
            "The green tin holds the tea"
        ]
    one = "User: tea\nAssistant: " + "cables " * 400
    assert contents(await memory.search_memories(actor, one, 1)) == [
        "The blue box holds the cables"
    ], "of a line that is too long its end is read"


# ---- repeats


@pytest.mark.parametrize(
    ("first", "second"),
    [("I keep bees.", "I KEEP BEES"), ("我喜欢茶和咖啡。", "我喜歡咖啡、茶")],
)
async def test_only_the_best_of_repeats_of_one_type_is_an_answer(
    stub_memory: MemoryService, actor: Actor, first: str, second: str
) -> None:
    await stored(stub_memory, actor, first)
    await stored(stub_memory, actor, second, scope="session")
    for query in (first, second):
        (hit,) = await stub_memory.search_memories(actor, query)
        assert hit.content in (first, second)
    (best,) = await stub_memory.search_memories(actor, second)
    assert best.content == second, "the nearer one, of the nearer scope"


async def test_another_type_or_number_is_no_repeat(
    stub_memory: MemoryService, actor: Actor
) -> None:
    await stored(stub_memory, actor, "I keep bees", "I keep 2 goats")
    await stored(stub_memory, actor, "I keep bees!", memory_type="habit", scope="session")
    await stored(stub_memory, actor, "I keep 3 goats", scope="session")
    assert len(await stub_memory.search_memories(actor, "bees and goats")) == 4


# ---- bounds


NO_K: tuple[Any, ...] = (0, -1, 101, 10**9, True, 5.0, "5", None, float("nan"), [5])


async def test_pf_090_k_is_one_to_a_hundred(stub_memory: MemoryService, actor: Actor) -> None:
    for k in NO_K:
        with pytest.raises(InvalidInput) as refused:
            await stub_memory.search_memories(actor, "cables", k)
        assert refused.value.code == "k_out_of_range"


NO_BUDGET: tuple[Any, ...] = (0, 19, -5, True, 80.0, "80", None, float("nan"), 10**6)


async def test_a_budget_is_twenty_to_a_hundred_thousand(
    stub_memory: MemoryService, actor: Actor
) -> None:
    for budget in NO_BUDGET:
        with pytest.raises(InvalidInput) as refused:
            await stub_memory.build_context(actor, "cables", budget)
        assert refused.value.code == "budget_tokens_out_of_range"
        with pytest.raises(InvalidInput):
            stub_memory.format_memories_for_prompt([], budget)


NO_SHARE: tuple[Any, ...] = (float("nan"), float("inf"), -0.1, 1.1, True, "0.5", None)


async def test_a_least_score_is_a_share(stub_memory: MemoryService, actor: Actor) -> None:
    for least in NO_SHARE:
        with pytest.raises(InvalidInput) as refused:
            await stub_memory.search_memories(actor, "cables", min_score=least)
        assert refused.value.code == "min_score_out_of_range"


NO_TEXT: tuple[Any, ...] = (None, 5, b"cables", ["cables"])


async def test_a_query_is_text(stub_memory: MemoryService, actor: Actor) -> None:
    for query in NO_TEXT:
        with pytest.raises(InvalidInput) as refused:
            await stub_memory.search_memories(actor, query)
        assert refused.value.code == "query_not_text"


async def test_a_user_without_memories_finds_nothing(stub_memory: MemoryService) -> None:
    assert list(await stub_memory.search_memories(Actor("nobody"), "cables")) == []
    assert await stub_memory.build_context(Actor("nobody"), "cables") == ""


# ---- any store, any question

WORDS = ("tea", "boat", "river", "lamp", "clock", "glass", "北京", "图书馆", "自行车", "下雨")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=3, max_size=6, unique=True).map(" ".join)
ITEMS = st.lists(
    st.tuples(
        TEXTS,
        st.sampled_from(("fact", "habit", "preference")),
        st.sampled_from(("user", "session")),
        st.sampled_from((0.8, 0.9, 1.0)),
    ),
    max_size=14,
)
_users = iter(f"u{n}" for n in range(10**9))


@trial(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    items=ITEMS,
    query=TEXTS,
    k=st.sampled_from((1, 3, 10, 100)),
    memory_type=st.sampled_from((None, "fact", "habit")),
    scope=st.sampled_from((None, "user", "session")),
    min_score=st.sampled_from((0.0, 0.4, 0.6, 1.0)),
)
async def test_pf_089_an_answer_holds_all_that_it_can(
    stub_memory: MemoryService,
    items: list[tuple[str, str, str, float]],
    query: str,
    k: int,
    memory_type: Any,
    scope: Any,
    min_score: float,
) -> None:
    """min(k, distinct readable items at or above min_score); a filter never adds a row."""
    actor = Actor(next(_users), session="s")
    drafts = [Draft(text, kind, where, trust) for text, kind, where, trust in items]  # type: ignore[arg-type]
    await stub_memory.add_many(actor, drafts)
    known = (await stub_memory.list(actor, limit=1000)).items
    every = await stub_memory.search_memories(actor, query, 100)
    assert {hit.id for hit in every} <= {item.id for item in known}
    assert len(every) >= distinct(known)
    hits = await stub_memory.search_memories(
        actor, query, k, memory_type, scope, min_score=min_score
    )
    assert len(hits) <= min(k, len(every))
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        parts, item = hit.parts, hit.item
        assert hit.score == final_score(parts.similarity, item.confidence, item.scope) >= min_score
        assert memory_type in (None, item.memory_type)
        assert scope in (None, item.scope)
    if memory_type is scope is None:
        best = [hit.id for hit in every if hit.score >= min_score]
        assert [hit.id for hit in hits] == best[:k]
    elif min_score == 0:
        fitting = [item for item in known if memory_type in (None, item.memory_type)]
        assert len(hits) >= min(k, distinct([i for i in fitting if scope in (None, i.scope)]))


def distinct(items: Sequence[MemoryItem]) -> int:
    """How many items say something else, at least: other words, or another type."""
    return len({(item.memory_type, frozenset(item.content.split())) for item in items})


SHARES = st.floats(0, 1)


@given(SHARES, SHARES, SHARES, SHARES, st.sampled_from(("user", "project", "session")))
def test_a_final_score_rises_with_each_part(
    s1: float, s2: float, c1: float, c2: float, scope: Any
) -> None:
    low = final_score(min(s1, s2), min(c1, c2), scope)
    high = final_score(max(s1, s2), max(c1, c2), scope)
    assert 0 <= low <= high <= 1
    assert final_score(s1, c1, "user") < final_score(s1, c1, "project")
    assert final_score(s1, c1, "project") < final_score(s1, c1, "session")


async def test_a_hundred_hits_come_when_a_hundred_are_there(
    stub_memory: MemoryService, actor: Actor
) -> None:
    drafts = [Draft(f"Locker {n} in the annex belongs to team {n}") for n in range(120)]
    await stub_memory.add_many(actor, drafts)
    hits = await stub_memory.search_memories(actor, "a boat on the river", 100)
    assert len({hit.id for hit in hits}) == 100
