"""What do the turns of a conversation mean, as vectors? From the window where it has them, else the encoder.

The encoder is the user's, the same for every kind of text. What it gave is kept for a while, in this process
and bounded; a turn whose vector fails has none.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import OrderedDict
from collections.abc import Callable, Sequence

from mnemic.embedding.models import Models
from mnemic.errors import EmbeddingError
from mnemic.model import Actor, Turn, Vector

CAPACITY = 4_000
_READ = 1_000
"""Characters of a turn that its vector is made of."""
Curve = Callable[[float], float]


class TurnVectors:
    """Gives turns of users and assistants their vectors; what tools and systems say is about nothing."""

    def __init__(self, models: Models, *, capacity: int = CAPACITY) -> None:
        self._models = models
        self._capacity = capacity
        self._kept: OrderedDict[bytes, array[float]] = OrderedDict()

    async def of(
        self, actor: Actor, turns: Sequence[Turn], known: Sequence[Vector | None]
    ) -> tuple[list[Vector | None], Curve]:
        """Return one vector (or None) for each turn, and the curve that tells what their cosines mean.

        ``known`` has what is known already. Raises as ``Models.for_actor``; never for a text that gets none.
        """
        model = await self._models.for_actor(actor)
        dims = model.embedder.dims
        found = [v if v is not None and len(v) == dims else None for v in known]
        texts: dict[bytes, str] = {}
        for place, turn in enumerate(turns):
            text = turn.content[:_READ].strip()
            if found[place] is not None or turn.role not in ("user", "assistant") or not text:
                continue
            name = _name(model.model_id, text)
            kept = self._kept.get(name)
            if kept is None:
                texts[name] = text
            else:
                self._kept.move_to_end(name)
                found[place] = tuple(kept)
        if texts:
            made = await model.vectors(list(texts.values()))
            fresh = dict(zip(texts, made, strict=True))
            for place, turn in enumerate(turns):
                vector = fresh.get(_name(model.model_id, turn.content[:_READ].strip()))
                if found[place] is None and vector and not isinstance(vector, EmbeddingError):
                    found[place] = vector
            self._keep(fresh)
        return found, model.curve

    def _keep(self, fresh: dict[bytes, Vector | EmbeddingError]) -> None:
        for name, vector in fresh.items():
            if not isinstance(vector, EmbeddingError):
                self._kept[name] = array("f", vector)
        while len(self._kept) > self._capacity:
            self._kept.popitem(last=False)


def _name(model_id: int, text: str) -> bytes:
    return hashlib.blake2b(f"{model_id}\0{text}".encode(), digest_size=16).digest()
