"""What do the users of a benchmark remember, and what do they ask?

Seeded: the same corpus gives the same texts and vectors everywhere, one user at a time, so that a
million items need no memory. Vectors are random unit vectors around one centre a topic (no model
runs here): items of a topic have a cosine of about 0.36, of two topics about 0; a question lies
near one item (about 0.8) and borrows words from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.phrases import CHINESE, ENGLISH, TOPICS
from mnemic.embedding.calibration import Curve
from mnemic.errors import EmbeddingError
from mnemic.model import Vector

DIMS = 512
Matrix = NDArray[np.float32]
CURVE = Curve(((-0.05, 0.0), (0.13, 0.2), (0.33, 0.55), (0.6, 0.85), (0.78, 0.95), (1.0, 1.0)))
"""What a cosine of these vectors means; about the curve of the default encoder."""
_SPREAD = 0.8
_ASKED = 0.6


@dataclass(frozen=True, slots=True)
class Memories:
    """What one user remembers; row i of ``vectors`` (n x 512, length 1) belongs to text i."""

    user: str
    texts: Sequence[str]
    vectors: Matrix


@dataclass(frozen=True, slots=True)
class Question:
    """What one user asks, with the vector that an encoder would give."""

    user: str
    text: str
    vector: Vector


@dataclass(frozen=True, slots=True)
class Corpus:
    """``users`` users (named ``<name><number>``) with ``per_user`` distinct memories each."""

    name: str
    users: int
    per_user: int
    seed: int = 7

    @property
    def items(self) -> int:
        return self.users * self.per_user

    def memories(self, number: int) -> Memories:
        """Return what user ``number`` (from 0) remembers."""
        rng = Random(f"{self.seed}|{self.name}|{number}")
        texts: dict[str, int] = {}
        while len(texts) < self.per_user:
            topic = rng.randrange(len(TOPICS))
            texts.setdefault(sentence(rng, topic), topic)
        vectors = _around(rng.randrange(2**31), list(texts.values()))
        return Memories(f"{self.name}{number}", tuple(texts), vectors)

    def questions(self, count: int, seed: int = 0) -> Iterator[Question]:
        """Yield questions of users drawn at random."""
        rng = Random(f"{self.seed}|{self.name}|ask|{seed}")
        for _ in range(count):
            yield ask(self.memories(rng.randrange(self.users)), rng)


class Prepared:
    """An Embedder that knows its vectors beforehand, so that a benchmark measures what is around it."""

    name = "benchmark-prepared"
    dims = DIMS
    max_chars = 8_000

    def __init__(self) -> None:
        self.known: dict[str, Vector] = {}

    def learn(self, text: str, vector: Vector) -> None:
        self.known[text] = vector

    async def embed(self, texts: Sequence[str]) -> list[Vector | EmbeddingError]:
        """Return the prepared vectors; a text without one is a mistake of the benchmark (KeyError)."""
        return [self.known[text] for text in texts]


def ask(memories: Memories, rng: Random) -> Question:
    """Return a question about one of the memories: some of its words, and some of others."""
    chosen = rng.randrange(len(memories.texts))
    vector = nearby(memories.vectors[chosen], rng.randrange(2**31), _ASKED)
    return Question(memories.user, _borrowed(memories.texts[chosen], rng), vector)


def nearby(vector: Matrix, seed: int, noise: float) -> Vector:
    """Return a vector of length 1 with a cosine of about sqrt(1 - noise ** 2) to ``vector``."""
    other = _units(np.random.default_rng(seed), 1)[0]
    return tuple_of(vector * np.sqrt(1 - noise**2) + other * noise)


def tuple_of(vector: Any) -> Vector:
    """Return a vector as the library takes it, of length 1."""
    return tuple((vector / np.linalg.norm(vector)).tolist())


def sentence(rng: Random, topic: int) -> str:
    """Return one memory about a topic, in Chinese or English."""
    language = rng.randrange(2)
    forms, slots = (CHINESE, ENGLISH)[language], TOPICS[topic][language]
    first, second = rng.sample(slots, 2)
    return rng.choice(forms).format(a=first, b=second, n=rng.randrange(2, 400))


def _borrowed(text: str, rng: Random) -> str:
    """Return a question in the words of a memory."""
    if text.isascii():
        words = text.rstrip(".").split()
        start = rng.randrange(max(1, len(words) - 4))
        return "What about " + " ".join(words[start : start + 5]) + "?"
    start = rng.randrange(max(1, len(text) - 10))
    return text[start : start + 10].strip("，。") + "是怎么回事？"


def _around(seed: int, topics: Sequence[int]) -> Matrix:
    rng = np.random.default_rng(seed)
    near = _centres()[np.asarray(topics)] * np.float32(np.sqrt(1 - _SPREAD**2))
    vectors = near + _units(rng, len(topics)) * np.float32(_SPREAD)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def _units(rng: np.random.Generator, count: int) -> Matrix:
    vectors = rng.standard_normal((count, DIMS), dtype=np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


@cache
def _centres() -> Matrix:
    return _units(np.random.default_rng(1), len(TOPICS))
