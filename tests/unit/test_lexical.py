"""Are words found in Chinese, English and both together, whatever they touch?"""

from __future__ import annotations

import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.lexical import (
    EVERYDAY,
    MAX_QUERY_TOKENS,
    MAX_TOKENS,
    query_tokens,
    script,
    telling,
    tokens,
    words,
)
from mnemic.retrieval.rank import Evidence, Statistics, word_score


def word_scores(memories: list[str], query: str) -> list[float]:
    """Score of the word arm for each memory, as the database would count it."""
    lexemes = query_tokens(query)
    counts = [Counter(tokens(memory)) for memory in memories]
    lengths = [sum(count.values()) for count in counts]
    df = tuple(sum(lexeme in count for count in counts) for lexeme in lexemes)
    weights = tuple(telling(lexeme) for lexeme in lexemes)
    statistics = Statistics(len(memories), sum(lengths) / len(lengths), df, weights)
    return [
        word_score(Evidence(None, tuple(count[lexeme] for lexeme in lexemes), length), statistics)
        for count, length in zip(counts, lengths, strict=True)
    ]


@pytest.mark.parametrize("query", ["重排", "模型"])
def test_pf_039_chinese_words_are_found_inside_a_sentence(query: str) -> None:
    memories = ["我们把重排模型换成了小型号", "周末去爬山"]
    scores = word_scores(memories, query)
    assert scores[0] > 0
    assert scores[1] == 0


def test_pf_040_mixed_chinese_and_english_query_finds_the_text_with_all_its_words() -> None:
    memories = ["每周例会 纪要 归档", "每日复盘 cron 备份 日志", "日志轮转"]
    scores = word_scores(memories, "复盘 cron 备份")
    assert scores[1] > 0
    assert max(scores) == scores[1]


def test_pf_041_of_four_short_chinese_lines_the_one_with_the_word_is_first() -> None:
    memories = ["阳台上种了薄荷", "书架要换新隔板", "周三去修自行车", "冰箱里还有豆腐"]
    scores = word_scores(memories, "薄荷")
    assert scores[0] > 0
    assert scores[1:] == [0, 0, 0]


def test_pf_042_a_company_name_is_not_found_in_words_that_share_a_character() -> None:
    memories = ["每天早上晨练，晚上看星图", "下周拜访晨星集团"]
    scores = word_scores(memories, "晨星")
    assert scores[1] > 0
    assert scores[0] == 0


@pytest.mark.parametrize("query", ["Redis", "redis", "ＲＥＤＩＳ", "会话"])
def test_pf_043_english_inside_chinese_is_a_word_of_its_own(query: str) -> None:
    assert word_scores(["我们用Redis存会话", "我们用文件存日志"], query)[0] > 0


def test_pf_044_a_pipe_is_no_operator() -> None:
    assert query_tokens("alpha|zeta") == query_tokens("alpha zeta")
    assert word_scores(["alpha note", "beta note"], "alpha|zeta")[1] == 0


@pytest.mark.parametrize(
    ("identifier", "parts"),
    [
        ("retry_after_seconds", {"retri", "after", "second"}),
        ("parseHTMLTable", {"pars", "html", "tabl"}),
        ("v4.12.0", {"4.12.0", "4.12"}),
        ("yarn.lock", {"yarn", "lock"}),
        ("maya.lindt@example.org", {"maya", "lindt", "exampl", "org"}),
        ("src/app/main.py", {"src", "app", "main", "py"}),
        ("feature/login-form", {"featur", "login", "form"}),
        ("12kg", {"12", "kg"}),
    ],
)
def test_identifiers_stay_whole_and_give_their_parts(identifier: str, parts: set[str]) -> None:
    found = set(tokens(f"用{identifier}的时候"))
    assert parts <= found
    assert query_tokens(identifier)[0] in found
    assert found >= set(query_tokens(identifier))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("she prefers running", "prefer to run"),
        ("Ｆｕｌｌ　ｗｉｄｔｈ １２３", "full width 123"),
        ("資料庫備份", "资料库备份"),
        ("Noah's café", "noah cafe"),
        ("1,250 euros", "1250 euro"),
        ("the 3rd of May", "may 3rd"),
    ],
)
def test_what_is_written_otherwise_meets_in_the_same_lexemes(one: str, other: str) -> None:
    assert set(query_tokens(other)) <= set(tokens(one))


def test_technical_signs_belong_to_their_words() -> None:
    assert {"c++", "c#", ".net"} <= set(tokens("We moved from C++ and C# to .NET"))


@pytest.mark.parametrize("text", ["", "   ", "🙂🎉👨‍👩‍👧", "?!…。，", "___"])
def test_text_without_words_has_no_lexemes(text: str) -> None:
    assert tokens(text) == []
    assert query_tokens(text) == []
    assert script(text) == ""


def test_a_query_loses_stop_words_unless_it_has_nothing_else() -> None:
    assert query_tokens("Where is the harbour?") == ["harbour"]
    assert query_tokens("我在哪里看见了灯塔？") == query_tokens("看见灯塔")
    assert query_tokens("who am I") == ["who", "am", "i"]


def test_everyday_words_say_less() -> None:
    weights = {word: telling(word) for word in ("weekend", "the", "喜欢", "ski", "薄荷")}
    assert weights == {"weekend": EVERYDAY, "the": EVERYDAY, "喜欢": EVERYDAY, "ski": 1, "薄荷": 1}


def test_single_characters_left_by_the_cutter_are_also_asked_for_as_pairs() -> None:
    assert set(query_tokens("猫")) <= set(tokens("我养了一只猫"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我用 VS Code 写代码", "han"),
        ("I met 李雷 in Berlin yesterday", "letters"),
        ("カタカナ", "unspaced"),
        ("2024", ""),
        ("Привет мир", "letters"),
    ],
)
def test_script_is_the_one_that_carries_the_text(text: str, expected: str) -> None:
    assert script(text) == expected


def test_reading_words_keep_signs_that_change_the_meaning() -> None:
    assert words("It's -5 °C; costs $3.50 ❤") == ["it's", "-5", "°", "c", "costs", "$", "3.50", "❤"]


def test_lexemes_are_bounded_in_number() -> None:
    assert len(tokens("word " * (2 * MAX_TOKENS))) == MAX_TOKENS
    assert len(query_tokens(" ".join(f"w{n}x" for n in range(500)))) == MAX_QUERY_TOKENS


@pytest.mark.parametrize(
    "hostile", ["ab", "a.", "a@a.", "-_/", "长", "的确", "A", "1,", "é", "x'", "token_", "。a"]
)
def test_time_is_linear_in_the_text(hostile: str) -> None:
    tokens(hostile * 200)  # loads the dictionary
    started = time.process_time()
    tokens(hostile * (100_000 // len(hostile)))
    query_tokens(hostile * (100_000 // len(hostile)))
    assert time.process_time() - started < 20.0


@given(st.text(max_size=300))
def test_any_text_is_cut_without_error_and_queries_find_their_own_text(text: str) -> None:
    indexed = tokens(text)
    assert all(token and not token.isspace() for token in indexed)
    latin = [token for token in query_tokens(text) if token.isascii()]
    assert set(latin) <= set(indexed)
