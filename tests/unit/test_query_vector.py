"""Does the vector of a query hold its sentences and what is lent, and survive texts without a vector?"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mnemic.embedding.registry import Model
from mnemic.errors import EmbeddingError
from mnemic.retrieval.query_vector import query_vector
from stub_embedder import DIMS, StubEmbedder, curve, vector

LONG = "The boiler is broken again. It dripped all night long. Who could repair it tomorrow?"


class Choosy(StubEmbedder):
    """Refuses texts with a given word."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.calls: list[list[str]] = []

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        self.calls.append(list(texts))
        refused = EmbeddingError("embedding_refused", "Not this text.", status=400)
        return [refused if self.word in text else vector(text) for text in texts]  # type: ignore[misc]


def model(word: str = "no such word") -> tuple[Model, Choosy]:
    embedder = Choosy(word)
    return Model(embedder, 1, curve()), embedder


def near(first: Sequence[float], second: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(first, second, strict=True))


async def test_a_short_query_is_its_own_vector() -> None:
    asked, embedder = model()
    assert await query_vector(asked, "Where is the key?") == pytest.approx(
        vector("Where is the key?")
    )
    assert embedder.calls == [["Where is the key?"]]


async def test_what_is_lent_draws_the_vector_a_little_in_one_call() -> None:
    asked, embedder = model()
    plain, wish = vector("recommend a snack"), "no peanuts and no almonds"
    drawn = await query_vector(asked, "recommend a snack", [wish])
    assert len(embedder.calls) == 1
    assert len(drawn) == DIMS
    assert near(drawn, vector(wish)) > near(plain, vector(wish))
    assert near(drawn, plain) > near(drawn, vector(wish))


async def test_the_last_line_of_a_conversation_counts_most() -> None:
    asked, embedder = model()
    lines = ["my boat leaks badly", "which paint is on it", "where is the grey paint"]
    talk = f"User: {lines[0]}\nAssistant: {lines[1]}\nUser: {lines[2]}"
    drawn = await query_vector(asked, talk, by_sentence=False)
    assert embedder.calls == [["\n".join(lines), *reversed(lines)]]
    whole = vector("\n".join(lines))
    gained = [near(drawn, vector(line)) - 0.5 * near(whole, vector(line)) for line in lines]
    assert gained[0] < gained[2]


async def test_sentences_and_what_is_lent_go_together() -> None:
    asked, embedder = model()
    await query_vector(asked, LONG, ["a wish"])
    assert [len(call) for call in embedder.calls] == [5]


@pytest.mark.parametrize("word", ["almonds", "dripped all night long. Who"])
async def test_a_part_without_a_vector_is_left_out(word: str) -> None:
    asked, _ = model(word)
    drawn = await query_vector(asked, "recommend a snack", ["no almonds"])
    plain = vector("recommend a snack")
    assert (drawn == pytest.approx(plain)) == (word == "almonds")


async def test_a_query_without_a_vector_has_none() -> None:
    asked, _ = model("snack")
    with pytest.raises(EmbeddingError):
        await query_vector(asked, "recommend a snack", ["no almonds"])
