"""How is a chat model asked for one answer?

Anything with a ``name`` and ``complete`` is a ChatModel (docs/reference/chat-model-protocol.md); a
model is never needed, only used where one is configured. ``OpenAIChat`` asks any OpenAI-compatible
endpoint.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from mnemic.errors import ChatError

if TYPE_CHECKING:
    from pydantic import SecretStr

    from mnemic.endpoint import Reply

_NO_SCHEMA = frozenset({400, 404, 415, 422, 501})
"""What servers answer that know no ``response_format``."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message to the model; its content is in no repr."""

    role: Literal["system", "user", "assistant"]
    content: str = field(repr=False)


class ChatModel(Protocol):
    """Answers messages with text."""

    @property
    def name(self) -> str:
        """Name of the model, for logs and reports."""

    async def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        json_schema: Mapping[str, object] | None = None,
    ) -> str:
        """Return the model's text, never blank.

        With ``json_schema`` the text should be JSON of that schema; callers do not trust that it
        is. Raises ChatError. Must not block the event loop.
        """


class OpenAIChat:
    """A ChatModel over ``{base_url}/chat/completions``.

    ``timeout`` (s) bounds one attempt and is not repeated (``chat_timeout``); 429, 5xx and broken
    connections are, ``retries`` times, with pauses from ``backoff`` (s) up. The key is in no repr,
    log or error. Raises HostNotAllowed or ConfigurationError at once.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | SecretStr | None = None,
        allowed_hosts: Collection[str] = (),
        timeout: float = 60.0,
        retries: int = 2,
        concurrency: int = 4,
        temperature: float | None = None,
        backoff: float = 0.5,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        # The HTTP client costs 60 ms to import: only those who call an endpoint pay them.
        from mnemic.endpoint import Endpoint, Patience

        self.name = model
        self._temperature = temperature
        self._takes_schema = True
        self._endpoint = Endpoint(
            base_url,
            api_key=api_key,
            allowed_hosts=allowed_hosts,
            patience=Patience(
                timeout=timeout, retries=retries, backoff=backoff, retry_timeouts=False
            ),
            concurrency=concurrency,
            failure=ChatError,
            prefix="chat",
            sleep=sleep,
        )

    def __repr__(self) -> str:
        return f"<OpenAIChat {self.name} at {self._endpoint.host}>"

    async def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        json_schema: Mapping[str, object] | None = None,
    ) -> str:
        """Return the text of the first choice.

        A server that refuses ``response_format`` is asked again without it, and from then on never
        with it. Raises ChatError: ``chat_unreachable``, ``chat_timeout``, ``chat_refused``
        (details: status), ``chat_bad_answer``.
        """
        body: dict[str, object] = {
            "model": self.name,
            "messages": [{"role": m.role, "content": m.content} for m in messages],
        }
        if self._temperature is not None:
            body["temperature"] = self._temperature
        reply = await self._ask(body, json_schema)
        if not reply.ok:
            raise _refused(reply)
        return read_text(reply.data)

    async def aclose(self) -> None:
        """Close the running loop's connections."""
        await self._endpoint.aclose()

    async def _ask(
        self, body: Mapping[str, object], json_schema: Mapping[str, object] | None
    ) -> Reply:
        if json_schema is None or not self._takes_schema:
            return await self._endpoint.post("/chat/completions", body)
        wanted = {"name": "answer", "strict": True, "schema": dict(json_schema)}
        response_format = {"type": "json_schema", "json_schema": wanted}
        reply = await self._endpoint.post(
            "/chat/completions", {**body, "response_format": response_format}
        )
        if reply.status in _NO_SCHEMA:
            plain = await self._endpoint.post("/chat/completions", body)
            if plain.ok:
                self._takes_schema = False
                return plain
        return reply


def read_text(data: object) -> str:
    """Return the first choice's text; raises ChatError (``chat_bad_answer``) if there is none."""
    choices = data.get("choices") if isinstance(data, Mapping) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, Mapping) else None
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, list):  # some servers answer in parts
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        content = "".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str) or not content.strip():
        raise ChatError("chat_bad_answer", "The chat endpoint's answer holds no text.")
    return content


def _refused(reply: Reply) -> ChatError:
    if reply.status in (401, 403):
        remedy = "check the key."
    elif reply.status == 429 or reply.status >= 500:
        remedy = "wait and try again."
    elif reply.status in (400, 413, 422):
        remedy = "it does not take this request; it may be too long for the model."
    else:
        remedy = "check the base URL and the model's name."
    details = {} if reply.retry_after is None else {"retry_after": reply.retry_after}
    return ChatError(
        "chat_refused",
        f"The chat endpoint answered {reply.status}: {remedy}",
        status=reply.status,
        **details,
    )
