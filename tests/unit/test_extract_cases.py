"""Which mistakes that users of other systems reported does the extraction not make?"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest

from mnemic.longterm.extract import extract_rules
from mnemic.model import Turn


def said(*texts: str) -> list[str]:
    return [c.content for c in extract_rules([Turn("user", text) for text in texts])]


def test_pf_008_one_sentence_becomes_one_memory() -> None:
    assert said("I prefer window seats on long flights.") == [
        "I prefer window seats on long flights"
    ]
    assert said("我喜欢靠窗的座位。") == ["我喜欢靠窗的座位"]


def test_pf_009_a_repeated_statement_stays_one_memory() -> None:
    found = extract_rules([Turn("user", "My name is Rowan", seq=n) for n in (4, 6, 8, 10, 12)])
    assert [c.content for c in found] == ["My name is Rowan"]
    assert found[0].seqs == (4, 6, 8, 10, 12)
    assert said("I like steak.", "I like steak.") == ["I like steak"]


def test_pf_016_chinese_names_stay_character_for_character() -> None:
    assert said("王小明在晨星科技上班") == ["王小明在晨星科技上班"]


def test_pf_017_a_chinese_conversation_gives_chinese_memories() -> None:
    turns = [
        "我叫韩笑，在一家诊所做前台。",
        "我平时用 Obsidian 记笔记。",
        "我每天早上都会喝一杯豆浆。",
        "我喜欢 Figma 的配色插件。",
        "我不吃羊肉。",
        "我会弹古筝。",
        "我女儿今年上三年级。",
        "我们决定周末搬家。",
        "以后请用中文回答我。",
        "我住在绍兴。",
    ]
    found = said(*turns)
    assert len(found) >= 8
    allowed = {"Obsidian", "Figma"}
    assert {word for text in found for word in re.findall(r"[A-Za-z]+", text)} <= allowed
    assert all(re.search(r"[\u4e00-\u9fff]", text) for text in found)


def test_pf_018_an_english_conversation_gives_english_memories() -> None:
    found = said("My name is Odette.", "I love sailing.", "I can read music.", "I'm from Malta.")
    assert len(found) == 4
    assert all(text.isascii() for text in found)


def test_pf_020_neither_the_assistant_nor_somebody_asked_about_becomes_the_user() -> None:
    found = extract_rules(
        [
            Turn("user", "I'm Kim."),
            Turn("assistant", "I'm Zhi, from Chengdu."),
            Turn("user", "What are the targets for Christophe?"),
        ]
    )
    assert [c.content for c in found] == ["I'm Kim"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("My friend Jack hates football but was enrolled in a class.", "Jack"),
        ("My sister Ada loves jazz.", "Ada"),
        ("我同事小陈讨厌下雨天。", "小陈"),
        ("我外婆最爱听评弹。", "外婆"),
    ],
)
def test_pf_021_what_others_like_names_them(text: str, name: str) -> None:
    found = extract_rules([Turn("user", text)])
    assert found
    assert all(name in c.content and c.memory_type == "fact" for c in found)


def test_pf_021_a_pronoun_is_replaced_by_the_person_it_means() -> None:
    assert said("My brother Idris lives in Fes. He loves cycling.") == [
        "My brother Idris lives in Fes",
        "My brother Idris loves cycling",
    ]
    assert said("He loves cycling.") == []
    assert said("我弟弟在拉萨当兵，特别喜欢摄影。") == [
        "我弟弟在拉萨当兵",
        "我弟弟特别喜欢摄影",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Here is what I remember:\n- You are a vegetarian\n- You live in Cork\n- We decided to use Go",
        "From my memory: you booked train 4471, reference KD-5510, and you prefer aisle seats.",
        "根据记忆：\n- 用户喜欢普洱茶\n- 已订好 G7321 次，订单号 E82K4\n- 用户住在宁波",
        "<memory>I prefer tabs. My name is Ann. Booking confirmed, reference QX-2231.</memory> Hello again!",
    ],
)
def test_pf_022_recalled_memories_are_not_stored_again(text: str) -> None:
    assert extract_rules([Turn("user", "hi"), Turn("assistant", text)]) == ()


@pytest.mark.parametrize("role", ["system", "tool"])
def test_pf_022_a_system_prompt_is_not_stored(role: str) -> None:
    prompt = "You are Pia. My name is Pia. Always answer in English. We decided to use Go. 记住：以后用中文。"
    turn = Turn("system" if role == "system" else "tool", prompt)
    assert extract_rules([turn, Turn("user", "hello")]) == ()


@pytest.mark.parametrize(
    "text", ["ok", "OK!", "thanks", "嗯嗯", "好的", "👍", "", "  \n", "...", "？"]
)
def test_pf_023_nothing_comes_from_nothing(text: str) -> None:
    assert extract_rules([Turn("user", text)]) == ()


@pytest.mark.parametrize(
    "when",
    [
        datetime(2026, 3, 3, 11, 17, tzinfo=UTC),
        datetime(2026, 3, 3, 19, 17, tzinfo=timezone(timedelta(hours=8))),
        None,
    ],
)
def test_pf_099_the_evening_stays_an_evening_in_any_zone(when: datetime | None) -> None:
    found = extract_rules([Turn("user", "I ran this evening", created_at=when)])
    assert [c.content for c in found] == ["I ran this evening"]
    found = extract_rules([Turn("user", "我今晚跑完了十公里", created_at=when)])
    assert [c.content for c in found] == ["我今晚跑完了十公里"]


def test_only_new_turns_are_read_and_earlier_ones_are_context() -> None:
    turns = [
        Turn("user", "I live in Riga.", seq=11),
        Turn("assistant", "Should I always use euros?", seq=12),
        Turn("user", "Yes, always.", seq=13),
    ]
    found = extract_rules(turns, first_new=2)
    assert [(c.content, c.memory_type, c.seqs) for c in found] == [
        ("Always use euros", "preference", (12, 13))
    ]
    assert extract_rules(turns, first_new=3) == ()


def test_a_receipt_is_the_assistants_and_sure() -> None:
    turns = [
        Turn("user", "Book it"),
        Turn("assistant", "Done: table for two, Friday 7 pm, reference ZQ-1180."),
    ]
    (receipt,) = extract_rules(turns)
    assert (receipt.source, receipt.confidence, receipt.memory_type) == ("ai", 0.95, "event")
    assert receipt.seqs == (2,)
    assert receipt.reason == "receipt"


@pytest.mark.parametrize(
    "text",
    [
        "Shall I book it? Your reference would be ZQ-1180.",
        "I could not book it, order ZQ-1180 failed.",
        "Once confirmed, you will get order number 55120.",
        "For example: booking confirmed, reference ABC-1234.",
        "I'm sure you will love it. I live in the cloud and I always answer quickly.",
        "订单号 E82K4 还没有提交成功。",
        "需要我帮您下单吗？订单号会是 E82K4。",
        "我喜欢帮助大家，我叫小助。",
    ],
)
def test_an_assistant_turn_without_a_finished_operation_is_nothing(text: str) -> None:
    assert extract_rules([Turn("user", "hm"), Turn("assistant", text)]) == ()


def test_the_rest_of_an_answer_is_read_too() -> None:
    turns = [
        Turn("assistant", "You live in Oslo, right?"),
        Turn("user", "No, in Bergen. My sister lives in Oslo."),
    ]
    assert [c.content for c in extract_rules(turns)] == [
        "I live in Bergen",
        "My sister lives in Oslo",
    ]


def test_a_long_content_is_cut_at_two_thousand_characters() -> None:
    found = extract_rules([Turn("user", "Remember that the code is " + "x" * 5000)])
    assert found
    assert all(len(c.content) <= 2000 for c in found)
