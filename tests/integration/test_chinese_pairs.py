"""Does a Chinese question find its memory among fifty others, whatever the two have in common?

A hundred pairs of four kinds: no word in common, one word, traditional against simplified characters, mixed
scripts. Every user holds the 25 memories of one kind beside the 50 distractors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from mnemic import Actor, Hit, MemoryService, ResourceHit, Turn
from mnemic.lexical import query_tokens, tokens, words
from mnemic.longterm.draft import Draft

ROWS: list[dict[str, str]] = [
    json.loads(line)
    for line in Path(__file__).with_name("chinese_pairs.jsonl").read_text("utf-8").splitlines()
]
KINDS = ("no word", "one word", "variants", "scripts")
PAIRS = {kind: [row for row in ROWS if row["kind"] == kind] for kind in KINDS}
DISTRACTORS = [row["item"] for row in ROWS if row["kind"] == "distractor"]
FLOOR = 0.8
_SLIGHT = frozenset("我的了在是")
Found = Sequence[tuple[str, Sequence[Hit | ResourceHit]]]
Answers = Mapping[str, Found]


def common_words(query: str, item: str) -> set[str]:
    """Words of both, without the slightest ones."""
    return set(words(query)) & set(words(item)) - _SLIGHT


def test_the_pairs_are_what_they_are_called() -> None:
    assert {kind: len(pairs) for kind, pairs in PAIRS.items()} == dict.fromkeys(KINDS, 25)
    assert len(set(DISTRACTORS)) == 50
    for row in PAIRS["no word"]:
        assert not set(query_tokens(row["query"])) & set(tokens(row["item"])), row
    for row in PAIRS["one word"]:
        assert len(common_words(row["query"], row["item"])) <= 1, row
        assert set(query_tokens(row["query"])) & set(tokens(row["item"])), row
    for row in PAIRS["variants"]:
        assert common_words(row["query"], row["item"]), row
    for row in PAIRS["scripts"]:
        assert any(char.isascii() and char.isalpha() for char in row["query"] + row["item"]), row
        assert any("\u4e00" <= char <= "\u9fff" for char in row["query"] + row["item"]), row


async def ask(memory: MemoryService, actor: Actor, kind: str, include: str) -> Found:
    """The whole ranking for each query, with the text that answers it."""
    found = []
    for row in PAIRS[kind]:
        hits = await memory.search_memories(actor, row["query"], 100, include=(include,))
        assert len(hits) == len(PAIRS[kind]) + len(DISTRACTORS)
        found.append((row["item"], hits))
    return found


@pytest.fixture
async def answers(memory: MemoryService) -> Answers:
    """What a search of memories finds."""
    found = {}
    for number, (kind, pairs) in enumerate(PAIRS.items()):
        actor = Actor(f"user {number}")
        texts = [row["item"] for row in pairs] + DISTRACTORS
        verdicts = await memory.add_many(actor, [Draft(text) for text in texts])
        assert {verdict.outcome for verdict in verdicts} == {"stored"}
        found[kind] = await ask(memory, actor, kind, "memory")
    return found


@pytest.fixture
async def turns(memory: MemoryService) -> Answers:
    """What a search of turns finds; strangers stand between the turns that are asked for."""
    found = {}
    for number, (kind, pairs) in enumerate(PAIRS.items()):
        actor = Actor(f"user {number}", session="s1")
        said = iter(DISTRACTORS)
        order = [t for row in pairs for t in (next(said), row["item"], next(said))]
        await memory.sessions.append(actor, [Turn("user", text) for text in order])
        await memory.resources.index(actor)
        found[kind] = await ask(memory, actor, kind, "resource")
    return found


def share_in_five(found: Found, worth: Callable[[Hit | ResourceHit], float]) -> float:
    """How many of the answers stand among the five that ``worth`` puts first; 0 is worth no place."""
    hit = 0
    for item, hits in found:
        best = sorted((one for one in hits if worth(one)), key=worth, reverse=True)[:5]
        hit += item in [one.content for one in best]
    return hit / len(found)


def by_score(hit: Hit | ResourceHit) -> float:
    return hit.score


def by_words(hit: Hit | ResourceHit) -> float:
    return hit.words


def by_meaning(hit: Hit | ResourceHit) -> float:
    return hit.cosine or 0.0


async def test_each_kind_is_found_among_fifty_others(answers: Answers) -> None:
    reached = {kind: share_in_five(found, by_score) for kind, found in answers.items()}
    print("memories, hit@5", reached)
    assert min(reached.values()) >= FLOOR, reached


async def test_each_kind_is_found_among_turns(turns: Answers) -> None:
    reached = {kind: share_in_five(found, by_score) for kind, found in turns.items()}
    print("turns, hit@5", reached)
    assert min(reached.values()) >= FLOOR, reached


async def test_each_arm_of_the_memories_finds_what_it_is_for(answers: Answers) -> None:
    require_both_arms(answers)


async def test_each_arm_of_the_turns_finds_what_it_is_for(turns: Answers) -> None:
    require_both_arms(turns)


def require_both_arms(answers: Answers) -> None:
    """An arm that returns nothing scores 0 here, while the other may still carry the whole search."""
    words_alone = {kind: share_in_five(found, by_words) for kind, found in answers.items()}
    meaning_alone = {kind: share_in_five(found, by_meaning) for kind, found in answers.items()}
    print("words", words_alone, "meaning", meaning_alone)
    assert words_alone["no word"] == 0.0, "these pairs tell nothing about words"
    assert min(words_alone["one word"], words_alone["variants"]) >= 0.9
    assert min(meaning_alone.values()) >= FLOOR
