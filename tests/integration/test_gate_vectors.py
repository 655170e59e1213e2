"""What happens to a write, an update or a search when the model gives no usable vector?"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest
from structlog.testing import capture_logs

from mnemic import Actor, InvalidInput, MemoryService, Turn, Verdict
from mnemic.embedding.calibration import Curve
from mnemic.embedding.local import LocalEncoder
from mnemic.errors import EmbeddingError
from mnemic.longterm.draft import Draft
from mnemic.settings import Settings


async def told(memory: MemoryService, actor: Actor, *texts: str) -> list[Verdict]:
    return [await memory.add_explicit_memory(actor, text) for text in texts]


async def active(memory: MemoryService, actor: Actor) -> list[str]:
    return [item.content for item in (await memory.list(actor)).items]


async def everything(memory: MemoryService, actor: Actor) -> dict[str, str]:
    page = await memory.list(actor, status="all", limit=1000)
    return {item.content: item.status for item in page.items}


async def found(memory: MemoryService, actor: Actor, query: str, k: int = 5) -> list[str]:
    return [hit.content for hit in await memory.search_memories(actor, query, k)]


class Failing:
    """The real encoder, until told which calls or texts fail."""

    def __init__(self, encoder: LocalEncoder) -> None:
        self._encoder = encoder
        self.name, self.dims, self.max_chars = encoder.name, encoder.dims, encoder.max_chars
        self.bad: dict[str, object] = {}
        self.down = False
        self.calls = 0

    async def embed(self, texts: Sequence[str]) -> list[object]:
        self.calls += 1
        if self.down:
            raise EmbeddingError("embedding_unavailable", "The model does not answer.")
        vectors = await self._encoder.embed(texts)
        return [self.bad.get(text, vector) for text, vector in zip(texts, vectors, strict=True)]


@pytest.fixture
def failing(encoder: LocalEncoder) -> Failing:
    return Failing(encoder)


@pytest.fixture
async def shaky(
    settings: Settings, failing: Failing, encoder_curve: Curve, prepare: object
) -> AsyncIterator[MemoryService]:
    await prepare(settings, failing, encoder_curve)  # type: ignore[operator]
    async with MemoryService.open(settings=settings, embedder=failing) as service:  # type: ignore[arg-type]
        yield service


TEXTS = ("The museum opens at ten", "Our cat is called Pepper", "The gate code changed in May")


async def test_pf_076_one_of_three_texts_gets_no_vector(
    shaky: MemoryService, failing: Failing, actor: Actor
) -> None:
    failing.bad = {TEXTS[1]: EmbeddingError("embedding_refused", "The model refused this text.")}
    verdicts = await shaky.add_many(actor, [Draft(text) for text in TEXTS])
    assert [v.outcome for v in verdicts] == ["stored", "rejected", "stored"]
    assert verdicts[1].reason == "embedding_refused"
    assert (await shaky.list(actor, status="all")).total == 2
    failing.bad = {}
    again = await shaky.add_many(actor, [Draft(text) for text in TEXTS])
    assert [v.outcome for v in again] == ["duplicate", "stored", "duplicate"]
    for text in TEXTS:
        assert (await found(shaky, actor, text))[0] == text


async def test_pf_076_no_text_gets_a_vector(
    shaky: MemoryService, failing: Failing, actor: Actor
) -> None:
    failing.down = True
    with pytest.raises(EmbeddingError):
        await shaky.add_many(actor, [Draft(text) for text in TEXTS])
    assert (await shaky.list(actor, status="all")).total == 0
    failing.down = False
    again = await shaky.add_many(actor, [Draft(text) for text in TEXTS])
    assert [v.outcome for v in again] == ["stored"] * 3


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf")])
async def test_pf_102_a_vector_that_means_nothing_is_refused(
    shaky: MemoryService, failing: Failing, actor: Actor, value: float
) -> None:
    await told(shaky, actor, TEXTS[0])
    broken = [0.5] * failing.dims
    broken[3] = value
    failing.bad = {TEXTS[1]: [0.0] * failing.dims if value == 0.0 else broken}
    (verdict,) = await told(shaky, actor, TEXTS[1])
    assert verdict.outcome == "rejected"
    assert verdict.reason in ("embedding_zero", "embedding_not_finite")
    hits = await shaky.search_memories(actor, "museum")
    assert [hit.content for hit in hits] == [TEXTS[0]]
    assert all(0 <= hit.score <= 1 for hit in hits)
    # a query without a usable vector is searched by its words alone
    by_words = await shaky.search_memories(actor, TEXTS[1])
    assert all(hit.cosine is None and 0 <= hit.score <= 1 for hit in by_words)


async def test_pf_073_a_failed_update_leaves_the_whole_old_record(
    shaky: MemoryService, failing: Failing, actor: Actor
) -> None:
    (verdict,) = await told(shaky, actor, "I park in bay 12")
    before = await shaky.get(actor, verdict.id)
    failing.down = True
    with pytest.raises(EmbeddingError):
        await shaky.update(actor, verdict.id, content="I park in bay 90")
    failing.down = False
    assert await shaky.get(actor, verdict.id) == before
    await shaky.update(actor, verdict.id, content="I park in bay 90")
    for query in ("bay 12", "parking bay"):
        assert await found(shaky, actor, query) == ["I park in bay 90"]


async def test_what_needs_no_vector_works_without_the_embedder(
    shaky: MemoryService, failing: Failing, actor: Actor
) -> None:
    (stored,) = await told(shaky, actor, "I work at Northwind")
    unsure = await shaky.add_explicit_memory(actor, "I just joined Contoso", confidence=0.75)
    failing.down = True
    await shaky.update(actor, stored.id, metadata={"seen": True})
    await shaky.update(actor, stored.id, confidence=0.95)
    assert (await shaky.get(actor, stored.id)).version == 3
    verdict = await shaky.confirm(actor, unsure.id)
    assert verdict.superseded == (stored.id,)


async def test_pf_045_a_blank_query_never_reaches_the_embedder(
    shaky: MemoryService, failing: Failing, actor: Actor
) -> None:
    await told(shaky, actor, TEXTS[0])
    before = failing.calls
    for query in ("", "   ", "\t", "\u3000", "\n\r", "\0"):
        with pytest.raises(InvalidInput) as refused:
            await shaky.search_memories(actor, query)
        assert refused.value.code == "blank_query"
        with pytest.raises(InvalidInput):
            await shaky.build_context(actor, query)
    assert failing.calls == before


@pytest.mark.parametrize("text", ["We talked about the budget. ", "我们谈了预算的事情。"])
async def test_pf_103_a_very_long_text_is_refused_with_the_limit(
    memory: MemoryService, actor: Actor, text: str
) -> None:
    long = (text * 60_000)[:60_000]
    verdict = await memory.add_explicit_memory(actor, long)
    assert (verdict.outcome, verdict.reason) == ("rejected", "text_too_long")
    assert "2000" in (verdict.message or "")
    with capture_logs() as logged:
        await memory.search_memories(actor, long)
    assert [(line["event"], line["chars"]) for line in logged if line["event"] == "query cut"] == [
        ("query cut", len(long.strip()))
    ]


@pytest.mark.parametrize(
    ("filler", "fact", "asked"),
    [
        ("We talked about the budget. ", "Please remember: I own a red boat.", "red boat"),
        ("我们谈了预算的事情。", "请记住，我有一条红色的船。", "红色的船"),
    ],
    ids=["en", "zh"],
)
async def test_pf_103_a_long_conversation_and_document_are_read_to_their_end(
    memory: MemoryService, actor: Actor, filler: str, fact: str, asked: str
) -> None:
    long = (filler * 60_000)[:60_000] + filler + fact
    await memory.sessions.append(actor, [Turn("user", "Hello there!"), Turn("user", long)])
    with capture_logs() as logged:
        report = await memory.extract(actor)
        await memory.resources.index(actor)
    assert (report.turns, report.skipped) == (2, ())
    assert any(asked in text for text in await active(memory, actor))
    for event in ("long_turn_read_in_part", "long_turn_cut_for_vectors"):
        (cut,) = [line for line in logged if line["event"] == event]
        assert (cut["seq"], cut["chars"]) == (2, len(long))
    await memory.resources.add(actor, long + "\n\n" + fact, title="Notes")
    hits = await memory.search_memories(actor, asked, include=("resource",))
    assert asked in hits[0].content
    assert (await memory.extract(actor)).turns == 0, "nothing is stuck"


async def test_pf_104_the_longest_chinese_memory_fits_the_encoder(
    memory: MemoryService, actor: Actor
) -> None:
    text = ("我们每周三下午在三号会议室讨论下一季度的预算" * 100)[:2000]
    assert (await memory.add_explicit_memory(actor, text)).outcome == "stored"
    assert await found(memory, actor, "下一季度的预算") == [text]


async def test_pf_104_a_model_with_a_smaller_limit_says_so(
    shaky: MemoryService, failing: Failing, actor: Actor
) -> None:
    failing.max_chars = 1024
    verdict = await shaky.add_explicit_memory(actor, ("每天早上八点跑步" * 250)[:2000])
    assert (verdict.outcome, verdict.reason) == ("rejected", "text_too_long_for_model")
    assert "1024" in (verdict.message or "")
