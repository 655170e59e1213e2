"""How does an OpenAI-compatible endpoint turn texts into vectors?

One POST to ``/embeddings`` a batch. Two facts shape this module. An endpoint refuses a whole batch
(400) for one text that it cannot take, so a refused batch is halved until the text is found, and
only that one is reported. And only the endpoint can count its tokens: how many characters make one
depends on the language, so no guess is made here; its refusal of one text is the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from mnemic.embedding.openai_answer import Result, about_length, read_vectors, refused
from mnemic.embedding.protocol import MAX_DIMS, refusal, too_long
from mnemic.errors import ConfigurationError, EmbeddingError

if TYPE_CHECKING:
    from pydantic import SecretStr

    from mnemic.endpoint import Reply

MAX_CHARS = 8_000
"""One token a character, the ordinary worst case, for models that read 8,191 tokens."""
BATCH_CHARS = 100_000
"""Characters in one request at most: endpoints bound the tokens of a request too."""

_ABOUT_TEXTS = frozenset({400, 413, 422})
_MAX_UNEXPLAINED = 24
"""Refusals without a reason that we know, after which the batch's texts are not to blame."""


class OpenAIEmbedder:
    """An Embedder over ``{base_url}/embeddings``.

    ``dims`` (1 to 4000) is the width that is asked for and expected; None asks for nothing and
    learns it from the first answer (``learn_dims``). ``timeout`` (s) bounds one attempt;
    ``retries`` counts the repeats after 429, 5xx, a broken connection or a timeout, with pauses
    from ``backoff`` (s) up. ``public_only`` refuses hosts inside a private network (``Endpoint``).
    The key is in no repr, log or error. Raises HostNotAllowed or ConfigurationError at once.
    """

    def __init__(
        self,
        base_url: str,
        model: str = "text-embedding-3-small",
        *,
        api_key: str | SecretStr | None = None,
        dims: int | None = 1536,
        allowed_hosts: Collection[str] = (),
        batch_size: int = 64,
        timeout: float = 30.0,
        retries: int = 4,
        concurrency: int = 2,
        max_chars: int = MAX_CHARS,
        backoff: float = 0.5,
        public_only: bool = False,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        # The HTTP client costs 60 ms to import: only those who call an endpoint pay them.
        from mnemic.endpoint import Endpoint, Patience

        _require("dims", dims is None or 1 <= dims <= MAX_DIMS)
        _require("batch_size", batch_size >= 1)
        self.name = model
        self.max_chars = max_chars
        self._dims = dims
        self._batch_size = batch_size
        self._names_dims = dims is not None
        self._dims_taken = False
        self._endpoint = Endpoint(
            base_url,
            api_key=api_key,
            allowed_hosts=allowed_hosts,
            patience=Patience(timeout=timeout, retries=retries, backoff=backoff),
            concurrency=concurrency,
            failure=EmbeddingError,
            prefix="embedding",
            public_only=public_only,
            sleep=sleep,
        )

    def __repr__(self) -> str:
        return f"<OpenAIEmbedder {self.name} dims={self._dims} at {self._endpoint.host}>"

    @property
    def dims(self) -> int:
        """Width of the vectors; ConfigurationError (``embedding_dims_unknown``) before that."""
        if self._dims is None:
            raise ConfigurationError(
                "embedding_dims_unknown",
                "Set the embedding dimensions, or call learn_dims() first.",
            )
        return self._dims

    async def learn_dims(self) -> int:
        """Return the width; asks the endpoint for one word's vector if it is not known yet."""
        if self._dims is None:
            (result,) = await self.embed(["memory"])
            if isinstance(result, EmbeddingError):
                raise result
        return self.dims

    async def embed(self, texts: Sequence[str]) -> list[Result]:
        """Return the endpoint's vector, or the reason why there is none, for each text, in order.

        Raises EmbeddingError when no batch got an answer: ``embedding_unreachable``,
        ``embedding_timeout``, ``embedding_refused`` (details: status) or ``embedding_bad_answer``.
        When some batches did, the texts of the others carry that error.
        """
        results: list[Result | None] = [refusal(text, self.max_chars) for text in texts]
        wanted = [index for index, result in enumerate(results) if result is None]
        batches = list(batched(texts, wanted, self._batch_size))
        answers = await self._embed_batches([[texts[i] for i in batch] for batch in batches])
        failures = [answer for answer in answers if isinstance(answer, EmbeddingError)]
        if failures and len(failures) == len(answers):
            raise failures[0]
        for batch, answer in zip(batches, answers, strict=True):
            for place, index in enumerate(batch):
                results[index] = answer if isinstance(answer, EmbeddingError) else answer[place]
        return [result for result in results if result is not None]

    async def aclose(self) -> None:
        """Close the running loop's connections."""
        await self._endpoint.aclose()

    async def _embed_batches(
        self, batches: Sequence[Sequence[str]]
    ) -> list[list[Result] | EmbeddingError]:
        down: list[EmbeddingError] = []
        places = asyncio.Semaphore(self._endpoint.concurrency)

        async def one(batch: Sequence[str]) -> list[Result] | EmbeddingError:
            async with places:
                if down:  # all retries were spent on it once: not again for each batch
                    return down[0]
                try:
                    return self._seen(await _Halving(self._ask).embed(batch))
                except EmbeddingError as failure:
                    down.append(failure)
                    return failure

        return list(await asyncio.gather(*map(one, batches)))

    async def _ask(self, texts: Sequence[str]) -> Reply:
        body = {"model": self.name, "input": list(texts), "encoding_format": "float"}
        if not self._names_dims:
            return await self._endpoint.post("/embeddings", body)
        reply = await self._endpoint.post("/embeddings", {**body, "dimensions": self._dims})
        if reply.ok:
            self._dims_taken = True
        elif (
            reply.status in _ABOUT_TEXTS
            and not self._dims_taken
            and not about_length(reply.status, reply.data)
        ):
            # Models of one fixed width refuse the parameter itself, whatever its value.
            plain = await self._endpoint.post("/embeddings", body)
            if plain.ok:
                self._names_dims = False
                return plain
        return reply

    def _seen(self, results: list[Result]) -> list[Result]:
        if self._dims is None:
            widths = {len(result) for result in results if isinstance(result, list)}
            if len(widths) == 1 and max(widths) <= MAX_DIMS:
                self._dims = widths.pop()
        return results


class _Halving:
    """One batch on its way through the endpoint, halved wherever it is refused."""

    def __init__(self, ask: Callable[[Sequence[str]], Awaitable[Reply]]) -> None:
        self._ask = ask
        self._accepted = False
        self._unexplained = 0

    async def embed(self, texts: Sequence[str]) -> list[Result]:
        if self._unexplained >= _MAX_UNEXPLAINED and not self._accepted:
            return [refused(400) for _ in texts]
        reply = await self._ask(texts)
        if reply.ok:
            self._accepted = True
            return read_vectors(reply.data, len(texts))
        if reply.status not in _ABOUT_TEXTS:
            raise refused(reply.status, reply.retry_after)
        long = about_length(reply.status, reply.data)
        self._unexplained += not long
        if len(texts) == 1:
            return [too_long(len(texts[0])) if long else refused(reply.status)]
        half = len(texts) // 2
        return [*await self.embed(texts[:half]), *await self.embed(texts[half:])]


def batched(texts: Sequence[str], wanted: Sequence[int], size: int) -> Iterator[list[int]]:
    """Cut ``wanted`` (indexes) into batches of ``size`` texts and BATCH_CHARS characters at "
    "most."""
    batch: list[int] = []
    chars = 0
    for index in wanted:
        length = len(texts[index])
        if batch and (len(batch) == size or chars + length > BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(index)
        chars += length
    if batch:
        yield batch


def _require(name: str, fits: bool) -> None:
    if not fits:
        raise ConfigurationError(
            "embedding_setting_invalid", f"The embedding setting {name} is out of range.", name=name
        )
