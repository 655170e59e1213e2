"""Where does one memory end and the next begin, and does each stand alone?"""

from __future__ import annotations

import pytest

from mnemic.longterm.extract import extract_rules
from mnemic.model import Turn


def said(*texts: str) -> list[str]:
    return [c.content for c in extract_rules([Turn("user", text) for text in texts])]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我叫林夏，住在苏州，做牙医。", ["我叫林夏", "我住在苏州，做牙医"]),
        ("我女儿六岁，最近迷上了恐龙。", ["我女儿六岁", "我女儿最近迷上了恐龙"]),
        ("我外公以前是船长，现在爱下象棋。", ["我外公以前是船长", "我外公现在爱下象棋"]),
        ("I'm Kim, a nurse from Leeds.", ["I'm Kim", "I'm a nurse from Leeds"]),
        ("I live in Leeds and work as a nurse.", ["I live in Leeds", "I work as a nurse"]),
        (
            "My aunt Vera lives in Lima and works as a judge.",
            ["My aunt Vera lives in Lima", "My aunt Vera works as a judge"],
        ),
        (
            "Lapwing is in closed beta, and the launch is planned for June.",
            ["Lapwing is in closed beta", "the launch is planned for June"],
        ),
        ("“麻雀”项目正在公测，计划年底发布。", ["“麻雀”项目正在公测", "“麻雀”项目计划年底发布"]),
    ],
)
def test_what_may_change_apart_is_kept_apart(text: str, expected: list[str]) -> None:
    assert said(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "我换工作了，现在在一家电厂做调度",
        "我会写 Go，写了六年",
        "I've changed jobs: I'm at the county archive now",
        "I prefer short answers: result first, reasons after",
        "我们决定用 Go 写网关，因为大家都熟",
    ],
)
def test_what_belongs_together_stays_one(text: str) -> None:
    assert said(text + ("。" if "我" in text else ".")) == [text]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("我喜欢划船，这个周末想去湖边试试。", "我喜欢划船"),
        ("我朋友阿南爱吃荔枝，下次聚餐记得给他买点。", "我朋友阿南爱吃荔枝"),
        ("我会写 Go，写了六年，所以后端我来吧。", "我会写 Go，写了六年"),
        (
            "I drink tea every morning, by the way, so call me after nine.",
            "I drink tea every morning",
        ),
        ("I don't eat olives, and the canteen puts them everywhere.", "I don't eat olives"),
        ("My name is Ute Kern, that is how the badge should read.", "My name is Ute Kern"),
    ],
)
def test_what_only_serves_the_moment_is_left_out(text: str, kept: str) -> None:
    assert said(text)[0] == kept


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("As a left-handed person, which knife should I buy?", "I'm a left-handed person"),
        ("Being a paramedic, I sleep at odd hours.", "I'm a paramedic"),
        ("作为一个养蜂人，我想问问怎么过冬？", "我是一个养蜂人"),
        ("Long queues? Phone menus drive me crazy.", "Phone menus drive me crazy"),
        ("Open offices wear me out, I'd always rather avoid them.", "Open offices wear me out"),
    ],
)
def test_a_content_stands_alone(text: str, kept: str) -> None:
    assert any(content.startswith(kept) for content in said(text))


@pytest.mark.parametrize(
    "text", ["I love it.", "I really like the ending.", "I prefer that one.", "以后都这样。"]
)
def test_a_content_whose_object_stands_elsewhere_is_dropped(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    "taken_back", ["Just kidding!", "逗你玩的", "开玩笑的啦", "haha I'm only joking"]
)
def test_a_joke_may_be_taken_back_in_the_next_turn(taken_back: str) -> None:
    assert said("I live in a lighthouse in Oban.") == ["I live in a lighthouse in Oban"]
    assert said("I live in a lighthouse in Oban.", taken_back) == []


def test_a_later_joke_takes_back_only_the_turn_before_it() -> None:
    assert said("I live in Oban.", "I have four cats.", "Just kidding!") == ["I live in Oban"]


def test_a_bracket_that_opens_in_a_content_is_closed_in_it() -> None:
    assert said("我下周一去成都出差 3 天 (5/4-5/6), 带什么?") == [
        "我下周一去成都出差 3 天 (5/4-5/6)"
    ]


def test_the_users_own_words_win_over_a_guess_put_right() -> None:
    turns = [Turn("assistant", "你是编程新手，对吧？"), Turn("user", "不是，我写 Perl 写了四年。")]
    assert [c.content for c in extract_rules(turns)] == ["我写 Perl 写了四年"]
