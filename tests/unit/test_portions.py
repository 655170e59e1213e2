"""Does a chat model get all of a conversation, however long, in portions that it can take?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.chat import ChatMessage
from mnemic.errors import ChatError
from mnemic.longterm.extract.portions import LEAST, extract_in_portions, portions
from mnemic.model import Turn
from mnemic.session.tokens import estimate_tokens

TEXTS = st.text(alphabet="ab .。我，\n", max_size=400)


class Small:
    """A chat model that refuses what is longer than ``most``, and finds what is said of boats."""

    name = "small"

    def __init__(self, most: int, status: int = 400) -> None:
        self.most, self.status = most, status
        self.calls = 0

    async def complete(
        self, messages: Sequence[ChatMessage], *, json_schema: Mapping[str, object] | None = None
    ) -> str:
        self.calls += 1
        told = messages[-1].content
        if estimate_tokens(told) > self.most:
            raise ChatError("chat_refused", "Too long.", status=self.status)
        rows = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
        found = [
            {"content": said, "memory_type": "fact", "scope": "user", "confidence": 0.9,
             "turns": [row["id"]]}
            for row in rows
            for said in ("I own a red boat", "我有一条红色的船")
            if row["new"] and said in row["text"]
        ]  # fmt: skip
        return json.dumps({"memories": found})


@given(st.lists(TEXTS, max_size=8), st.integers(0, 8), st.integers(4, 200))
def test_portions_hold_every_new_word_once_and_are_no_longer_than_they_may_be(
    texts: list[str], first_new: int, most: int
) -> None:
    turns = [Turn("user", text, seq=n) for n, text in enumerate(texts, start=5)]
    first_new = min(first_new, len(turns))
    said: dict[int | None, str] = {}
    for portion in portions(turns, first_new, most):
        assert portion.tokens <= most + len(portion.turns)
        seqs = [turn.seq or 0 for turn in portion.turns]
        assert len(set(seqs)) == len(seqs)
        assert seqs == sorted(seqs)
        for turn in portion.turns[portion.first_new :]:
            said[turn.seq] = said.get(turn.seq, "") + turn.content
    assert said == {turn.seq: turn.content for turn in turns[first_new:]}


def test_a_conversation_that_fits_is_one_portion_as_it_is() -> None:
    turns = [Turn("user", f"Sentence {n}.", seq=n) for n in range(1, 30)]
    (portion,) = portions(turns, 4, 8_000)
    assert (portion.turns, portion.first_new) == (tuple(turns), 4)
    assert list(portions(turns, len(turns), 8_000)) == []


@pytest.mark.parametrize(
    ("filler", "fact"),
    [
        ("We talked about the weather for a while. ", "I own a red boat. "),
        ("我们聊了一会儿天气。", "我有一条红色的船。"),
    ],
    ids=["en", "zh"],
)
@pytest.mark.parametrize("most", [2_000, 12_000, 1_000_000])
async def test_pf_103_a_long_conversation_is_read_to_its_end_by_a_model_of_any_size(
    filler: str, fact: str, most: int
) -> None:
    long = (filler * 60_000)[:60_000]
    middle = len(filler) * (30_000 // len(filler))
    turns = [
        Turn("user", "Hello!", seq=1),
        Turn("user", long[:middle] + fact + long[middle:], seq=2),
        Turn("user", long, seq=3),
        Turn("user", fact, seq=4),
    ]
    found = await extract_in_portions(turns, chat=Small(most))
    said = {(candidate.content, candidate.seqs) for candidate in found.candidates}
    assert said == {(fact.strip(" 。."), (2,)), (fact.strip(" 。."), (4,))}


async def test_a_model_that_refuses_everything_is_told_and_not_asked_for_ever() -> None:
    chat = Small(1)
    with pytest.raises(ChatError) as refused:
        await extract_in_portions([Turn("user", "We talked. " * 6_000, seq=1)], chat=chat)
    assert refused.value.code == "chat_refused"
    assert chat.calls <= 2 + (8_000 // LEAST).bit_length()


@pytest.mark.parametrize("status", [401, 429, 500])
async def test_what_is_not_about_length_is_told_at_once(status: int) -> None:
    chat = Small(1, status)
    with pytest.raises(ChatError):
        await extract_in_portions([Turn("user", "We talked. " * 6_000, seq=1)], chat=chat)
    assert chat.calls == 1
