"""Do those who wait for a model together get it together, each the own vectors?"""

from __future__ import annotations

import asyncio
import threading

import pytest

from mnemic.embedding.pieces import SHARED_CHARS, SHARED_TEXTS, Pieces
from mnemic.model import Vector


class Model:
    """Answers with the length of each text, once it is let."""

    def __init__(self) -> None:
        self.pieces: list[list[str]] = []
        self.begun, self.let = threading.Event(), threading.Event()
        self.fails = False

    def compute(self, texts: list[str]) -> list[Vector]:
        self.pieces.append(texts)
        self.begun.set()
        assert self.let.wait(10)
        if self.fails:
            raise RuntimeError("no vector")
        return [(float(len(text)),) for text in texts]


async def _busy(pieces: Pieces, model: Model) -> asyncio.Task[list[Vector]]:
    """Return the first call once the model works on it."""
    first = asyncio.create_task(pieces.encode(["first"]))
    await asyncio.to_thread(model.begun.wait, 10)
    return first


async def test_who_comes_while_the_model_computes_is_served_with_the_next_piece() -> None:
    model = Model()
    pieces = Pieces(model.compute)
    first = await _busy(pieces, model)
    rest = [asyncio.create_task(pieces.encode(["x" * n, "y"])) for n in range(2, 6)]
    await asyncio.sleep(0)
    model.let.set()
    assert await first == [(5.0,)]
    assert await asyncio.gather(*rest) == [[(float(n),), (1.0,)] for n in range(2, 6)]
    assert [len(piece) for piece in model.pieces] == [1, 8]
    pieces.close()


async def test_who_comes_a_few_turns_of_the_loop_later_goes_along() -> None:
    model = Model()
    pieces = Pieces(model.compute)
    model.let.set()
    calls = []
    for text in "abcd":
        calls.append(asyncio.create_task(pieces.encode([text])))
        await asyncio.sleep(0)
    await asyncio.gather(*calls)
    assert model.pieces == [["a", "b", "c", "d"]]
    pieces.close()


async def test_a_call_whose_loop_ended_at_once_hinders_nobody() -> None:
    model = Model()
    pieces = Pieces(model.compute)
    model.let.set()
    calls: list[asyncio.Task[list[Vector]]] = []

    async def given_up() -> None:
        calls.append(asyncio.create_task(pieces.encode(["gone"])))
        await asyncio.sleep(0)

    await asyncio.to_thread(asyncio.run, given_up())
    assert calls[0].cancelled()
    assert await asyncio.wait_for(pieces.encode(["stays"]), 10) == [(5.0,)]
    assert model.pieces == [["stays"]]
    pieces.close()


@pytest.mark.parametrize(
    ("text", "sizes"), [("x", [SHARED_TEXTS, 4]), ("x" * (SHARED_CHARS // 2), [2] * 10)]
)
async def test_a_piece_is_bounded(text: str, sizes: list[int]) -> None:
    model = Model()
    pieces = Pieces(model.compute)
    first = await _busy(pieces, model)
    rest = [asyncio.create_task(pieces.encode([text])) for _ in range(SHARED_TEXTS + 4)]
    await asyncio.sleep(0)
    model.let.set()
    await asyncio.gather(first, *rest)
    assert [len(piece) for piece in model.pieces[1:]] == sizes
    pieces.close()


async def test_one_large_call_is_a_piece_of_its_own() -> None:
    model = Model()
    pieces = Pieces(model.compute)
    model.let.set()
    assert len(await pieces.encode(["x" * SHARED_CHARS] * 40)) == 40
    assert [len(piece) for piece in model.pieces] == [40]
    pieces.close()


async def test_a_call_that_was_given_up_is_not_computed_and_hinders_nobody() -> None:
    model = Model()
    pieces = Pieces(model.compute)
    first = await _busy(pieces, model)
    gone, stays = (asyncio.create_task(pieces.encode([text])) for text in ("gone", "stays"))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.sleep(0)
    model.let.set()
    assert await stays == [(5.0,)]
    assert await first == [(5.0,)]
    assert [text for piece in model.pieces for text in piece] == ["first", "stays"]
    pieces.close()


async def test_a_failure_reaches_all_of_the_piece_and_nobody_after_it() -> None:
    model = Model()
    pieces = Pieces(model.compute)
    model.fails = True
    calls = [asyncio.create_task(pieces.encode([text])) for text in ("a", "b")]
    await asyncio.sleep(0)
    model.let.set()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(answer, RuntimeError) for answer in answers)
    model.fails = False
    assert await pieces.encode(["c"]) == [(1.0,)]
    pieces.close()


async def test_a_model_that_gives_too_few_vectors_leaves_nobody_waiting() -> None:
    pieces = Pieces(lambda texts: [(1.0,)])
    assert await asyncio.wait_for(pieces.encode(["a", "b"]), 10) == [(1.0,)]
    pieces.close()


async def test_what_waits_when_the_model_is_closed_is_still_served() -> None:
    model = Model()
    pieces = Pieces(model.compute)
    first = await _busy(pieces, model)
    second = asyncio.create_task(pieces.encode(["second"]))
    await asyncio.sleep(0)
    pieces.close()
    model.let.set()
    assert await asyncio.gather(first, second) == [[(5.0,)], [(6.0,)]]
    assert await pieces.encode(["third"]) == [(5.0,)]
    pieces.close()
