"""Does what matters stay when a conversation is shortened, and what belongs together stay together?"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.embedding.calibration import Curve
from mnemic.embedding.local import LocalEncoder
from mnemic.errors import InvalidInput
from mnemic.model import ToolCall, Turn, Vector
from mnemic.session.exchanges import layout, whole_tail
from mnemic.session.tokens import estimate_tokens, turn_tokens
from mnemic.session.truncate import FLOOR, Truncation, truncate

ROOM_ZH = [
    ("帮我订一间会议室", "好的，请问什么时候用？"),
    ("后天上午十点，十二个人", "后天上午十点能坐十二人的有海棠厅和青松厅。"),
    ("哪间有投影仪？", "海棠厅有投影仪，青松厅只有白板。"),
    ("那就海棠厅吧", "好的，海棠厅，用到几点？"),
    ("杭州今天天气怎么样？", "杭州今天小雨，气温十二度左右。"),
    ("用到十二点", "海棠厅已暂定为后天十点到十二点。"),
    ("会议室里需要茶水", "已为海棠厅的会议加上十二份茶水。"),
    ("给市场部发会议邀请", "已向市场部发送海棠厅的会议邀请。"),
    ("会议改到十点半开始", "海棠厅的会议已改为十点半到十二点。"),
    ("确认预订会议室", "预订成功：海棠厅，后天十点半到十二点。"),
]
ROOM_EN = [
    ("I need to book a meeting room for Friday", "Sure, how many people will come?"),
    ("Twelve people, from 2 to 4 pm", "The Maple room and the Cedar room are free then."),
    ("Does the Maple room have a projector?", "Yes, the Maple room has a projector."),
    ("Take the Maple room please", "The Maple room is held for Friday, 2 to 4 pm."),
    ("What is the weather like in Paris?", "It is sunny in Paris, 21 degrees."),
    ("Order coffee for the meeting", "Coffee for twelve comes to the Maple room at 3 pm."),
    ("Send the meeting invitation to design", "The invitation to the Maple room was sent."),
    ("Move the meeting half an hour back", "The Maple room is held from 2:30 to 4:30 pm."),
    ("Can the room be reached by wheelchair?", "Yes, there is a lift next to the Maple room."),
    ("Confirm the booking", "Booked: the Maple room, Friday 2:30 to 4:30 pm."),
]
BUG_EN = [
    ("My parser crashes on empty files", "Which line raises the exception?"),
    ("parse_header in reader.py, an IndexError", "It reads the first line of the file unchecked."),
    ("How do I guard parse_header?", "Return early in parse_header when the file is empty."),
    ("Suggest a dish for dinner", "A mushroom risotto takes forty minutes."),
    ("The parser still fails on a blank first line", "Strip the line in parse_header first."),
    ("Write a test for the empty file", "def test_empty_file(): assert parse_header('') is None"),
]


def spoken(pairs: Sequence[tuple[str, str]]) -> list[Turn]:
    said = [
        turn for user, answer in pairs for turn in (Turn("user", user), Turn("assistant", answer))
    ]
    return [Turn(t.role, t.content, seq=seq) for seq, t in enumerate(said, 1)]


def embedded(encoder: LocalEncoder, turns: Sequence[Turn]) -> list[Vector | None]:
    return list(asyncio.run(encoder.embed([turn.content for turn in turns])))


@pytest.mark.parametrize(
    ("pairs", "strange"),
    [(ROOM_ZH, 4), (ROOM_EN, 4), (BUG_EN, 3)],
    ids=["room zh", "room en", "bug en"],
)
def test_ten_turns_on_one_matter_stay_and_the_question_in_between_goes(
    encoder: LocalEncoder, encoder_curve: Curve, pairs: list[tuple[str, str]], strange: int
) -> None:
    turns = spoken(pairs)
    budget = sum(map(turn_tokens, turns)) - 1
    cut = truncate(turns, budget, vectors=embedded(encoder, turns), curve=encoder_curve)
    gone = turns[2 * strange : 2 * strange + 2]
    assert list(cut.aside) == gone
    assert (cut.oldest, cut.pairs, cut.fits) == ((), (), True)
    assert list(cut.kept) == [turn for turn in turns if turn not in gone]
    assert cut.weights[2 * strange] < FLOOR


@pytest.mark.parametrize("pairs", [ROOM_ZH, ROOM_EN], ids=["zh", "en"])
def test_without_vectors_shared_words_tell_what_the_session_is_about(
    pairs: list[tuple[str, str]],
) -> None:
    turns = spoken(pairs)
    cut = truncate(turns, sum(map(turn_tokens, turns)) - 1)
    assert set(turns[8:10]) <= set(cut.aside)


def test_what_has_room_is_left_alone() -> None:
    turns = spoken(ROOM_EN)
    cut = truncate(turns, sum(map(turn_tokens, turns)))
    assert cut == Truncation(
        tuple(turns), weights=(1.0,) * len(turns), tokens=sum(map(turn_tokens, turns))
    )


def test_a_named_intent_decides_whatever_the_words_say() -> None:
    turns = [
        Turn("user", "the same words every time", seq=seq, intent="side" if seq == 2 else "main")
        for seq in range(1, 6)
    ]
    cut = truncate(turns, sum(map(turn_tokens, turns)) - 1)
    assert [turn.seq for turn in cut.aside] == [2]
    cut = truncate(turns, sum(map(turn_tokens, turns)) - 1, intent="side")
    assert (cut.aside, [turn.seq for turn in cut.oldest]) == ((), [1])


def test_a_mere_yes_weighs_what_it_answers() -> None:
    turns = spoken([*ROOM_EN[:3], ("yes please", "OK."), *ROOM_EN[4:]])
    cut = truncate(turns, sum(map(turn_tokens, turns)) - 1)
    assert cut.weights[6] >= cut.weights[4] > 0


def test_what_is_about_nothing_in_particular_goes_by_age() -> None:
    topics = ("volcano", "sonata", "lawnmower", "parliament", "oyster", "zipper")
    turns = [Turn("user", f"{topic}", seq=seq) for seq, topic in enumerate(topics, 1)]
    cut = truncate(turns, sum(map(turn_tokens, turns)) - 1)
    assert (cut.aside, [turn.seq for turn in cut.oldest]) == ((), [1])


def test_pinned_turns_system_prompt_and_newest_question_never_go() -> None:
    turns = [
        Turn("system", "You are a travel agent", seq=1),
        Turn("user", "I am allergic to peanuts", seq=2, pinned=True),
        Turn("assistant", "Noted.", seq=3),
        Turn("user", "what now", seq=4),
        Turn("assistant", "Anything.", seq=5),
        Turn("user", "x" * 300, seq=6),
    ]
    cut = truncate(turns, 10)
    assert [turn.seq for turn in cut.kept] == [1, 2, 6]
    assert not cut.fits


def calling(seq: int, *ids: str) -> Turn:
    return Turn("assistant", "", seq=seq, tool_calls=tuple(ToolCall(i, "look_up") for i in ids))


def result(seq: int, of: str) -> Turn:
    return Turn("tool", "found " * 20, seq=seq, tool_call_id=of)


def test_calls_and_results_go_together_and_into_no_summary() -> None:
    turns = [
        Turn("user", "first question about trains", seq=1),
        calling(2, "a", "b"),
        result(3, "a"),
        Turn("user", "second question about trains", seq=4),
        result(5, "b"),
        Turn("assistant", "answer", seq=6),
        Turn("user", "third question", seq=7),
    ]
    cut = truncate(turns, 20)
    assert [turn.seq for turn in cut.pairs] == [2, 3, 5]
    assert [turn.seq for turn in cut.oldest] == [1, 4, 6]
    assert [turn.seq for turn in cut.kept] == [7]


def test_an_id_that_comes_again_means_the_latest_call() -> None:
    turns = [calling(1, "call_0"), result(2, "call_0"), calling(3, "call_0"), result(4, "call_0")]
    assert layout(turns).blocks == ((0, 1), (2, 3))


def test_a_result_without_its_call_is_shown_to_no_model() -> None:
    turns = [result(8, "gone"), Turn("user", "and now?", seq=9)]
    cut = truncate(turns, 1_000)
    assert [turn.seq for turn in cut.orphans] == [8]
    assert [turn.seq for turn in cut.kept] == [9]


def test_a_tail_reaches_back_to_the_call_of_its_first_result() -> None:
    turns = [
        Turn("user", "q", seq=1),
        calling(2, "a", "b"),
        result(3, "a"),
        result(4, "b"),
        Turn("user", "r", seq=5),
    ]
    assert [turn.seq for turn in whole_tail(turns, 2)] == [2, 3, 4, 5]
    assert [turn.seq for turn in whole_tail(turns, 1)] == [5]
    assert [turn.seq for turn in whole_tail(turns[2:], 3)] == [5]


def test_pf_091_a_tail_of_none_is_none_and_of_more_than_there_is_all() -> None:
    turns = spoken(ROOM_EN)
    assert whole_tail(turns, 0) == []
    assert whole_tail(turns, 500) == turns


def test_pf_104_chinese_is_not_counted_like_english() -> None:
    assert estimate_tokens("汉" * 2_000) >= 2_000
    assert estimate_tokens("word " * 300) == 500


@pytest.mark.parametrize("budget", [0, -1, 2.5, True, "9", None])
def test_a_budget_that_is_none_is_refused(budget: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        truncate([], budget)  # type: ignore[arg-type]
    assert refused.value.code == "budget_tokens_out_of_range"


def test_vectors_must_match_the_turns() -> None:
    with pytest.raises(InvalidInput) as refused:
        truncate(spoken(ROOM_EN), 50, vectors=[None])
    assert refused.value.code == "vectors_not_matching"


# ---- whatever the conversation

_TEXTS = st.sampled_from(
    ["book a room", "sure", "the weather in Oslo", "订会议室", "好的", "x" * 90, ""]
)


@st.composite
def conversations(draw: st.DrawFn) -> list[Turn]:
    turns: list[Turn] = []
    called: list[str] = []
    for seq in range(1, draw(st.integers(1, 25)) + 1):
        kind = draw(st.sampled_from(["user", "assistant", "system", "call", "result"]))
        text, pinned = draw(_TEXTS), draw(st.integers(0, 9)) == 0
        if kind == "result" and called:
            answered = draw(st.sampled_from(called))
            turns.append(Turn("tool", text, seq=seq, tool_call_id=answered, pinned=pinned))
        elif kind == "call":
            called.append(draw(st.sampled_from(["a", "b", f"c{seq}"])))
            turns.append(Turn("assistant", text, seq=seq, tool_calls=(ToolCall(called[-1], "t"),)))
        else:
            role = "assistant" if kind == "result" else kind
            intent = draw(st.sampled_from([None, None, "one", "two"]))
            turns.append(Turn(role, text, seq=seq, pinned=pinned, intent=intent))  # type: ignore[arg-type]
    return turns


@given(conversations(), st.integers(1, 300))
def test_every_turn_is_somewhere_once_and_in_order(turns: list[Turn], budget: int) -> None:
    cut = truncate(turns, budget)
    parts = (cut.kept, cut.aside, cut.oldest, cut.pairs, cut.orphans)
    assert sorted(turn.seq or 0 for part in parts for turn in part) == [t.seq for t in turns]
    for part in parts:
        assert all((a.seq or 0) < (b.seq or 0) for a, b in pairwise(part))
    assert cut.tokens == sum(map(turn_tokens, cut.kept))
    assert cut.fits == (cut.tokens <= budget)


@given(conversations(), st.integers(1, 300))
def test_what_never_goes_is_there_and_pairs_are_whole(turns: list[Turn], budget: int) -> None:
    cut = truncate(turns, budget)
    kept = {turn.seq for turn in cut.kept}
    assert {turn.seq for turn in turns if turn.pinned} <= kept
    users = [turn.seq for turn in turns if turn.role == "user"]
    assert set(users[-1:]) <= kept
    for block in layout(turns).blocks:
        assert len({turns[place].seq in kept for place in block}) == 1
    assert not any(turn.tool_calls or turn.role == "tool" for turn in cut.oldest)


@given(conversations(), st.integers(1, 300))
def test_nothing_goes_that_has_room(turns: list[Turn], budget: int) -> None:
    cut = truncate(turns, budget)
    if not cut.fits:
        fixed = {turn.seq for turn in cut.kept if turn.pinned or turn.role in ("user", "system")}
        assert fixed or not cut.kept
    if not (cut.aside or cut.oldest or cut.pairs):
        assert [t for t in turns if t not in cut.orphans] == list(cut.kept)


@given(conversations())
def test_weights_are_shares(turns: list[Turn]) -> None:
    cut = truncate(turns, 1)
    assert len(cut.weights) == len(turns)
    assert all(0.0 <= weight <= 1.0 for weight in cut.weights)
