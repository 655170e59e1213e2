"""What would an endpoint of a user's own model do? Answers with the stub's vectors, at any width.

Each width keeps the stub's values at another place, so that vectors of two widths have nothing in common and
cosines within one are the stub's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from contract.scripted_server import Answer, Request, Scripted, error, serving, vectors
from stub_embedder import DIMS, vector


def _accepts(_: str) -> bool:
    return False


def _ignores(_: list[str]) -> None:
    return None


@dataclass
class Endpoint:
    """A running endpoint. While ``down`` it answers 503, to ``refused`` texts 400; after ``limit`` texts it
    is down."""

    dims: int
    server: Scripted = field(default_factory=lambda: Scripted(0))
    down: bool = False
    key: str | None = None
    limit: int | None = None
    refused: Callable[[str], bool] = _accepts
    before: Callable[[list[str]], None] = _ignores

    def answer(self, request: Request) -> Answer:
        texts = request.body["input"]
        self.before(texts)
        if self.limit is not None:
            self.limit -= len(texts)
            self.down = self.down or self.limit < 0
        if self.down:
            return error(503, "away")
        if self.key is not None and request.headers.get("authorization") != f"Bearer {self.key}":
            return error(401, "who are you")
        if any(self.refused(text) for text in texts):
            return error(400, "not this text")
        return vectors([padded(text, self.dims) for text in texts])

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def texts(self) -> list[str]:
        return [text for request in self.server.requests for text in request.body["input"]]


def padded(text: str, dims: int) -> list[float]:
    """Return the stub's vector of a text at this width."""
    left = (dims - DIMS) // 2
    return [0.0] * left + list(vector(text)) + [0.0] * (dims - DIMS - left)


class WideEmbedder:
    """The same as an object in this process."""

    max_chars = 8_000

    def __init__(self, dims: int, name: str = "stub-wide") -> None:
        self.dims = dims
        self.name = name

    async def embed(self, texts: list[str]) -> list[list[float]]:
        return [padded(text, self.dims) for text in texts]


@contextmanager
def endpoint(dims: int) -> Iterator[Endpoint]:
    """Serve embeddings of this width on a loopback port."""
    made = Endpoint(dims)
    lock = threading.Lock()

    def script(request: Request) -> Answer:
        with lock:
            return made.answer(request)

    with serving(script) as server:
        made.server = server
        yield made
