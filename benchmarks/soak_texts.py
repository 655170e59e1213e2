"""What do the clients of the soak say and ask? Each has a user of its own, in English or Chinese.

Hardly a text or a question comes twice, so that no cache of vectors answers in the encoder's place.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from benchmarks.phrases import CHINESE, ENGLISH, TOPICS
from benchmarks.soak_clients import Request, request

_ASKED_EN = (
    "what did I say about {a} and {b}?",
    "do I prefer {a} or {b}?",
    "how often do I need {a}, {n} times or more?",
    "where is {a} in room {n}?",
)
_ASKED_ZH = (
    "我说过{a}和{b}的什么？",
    "我更喜欢{a}还是{b}？",
    "{a}我一年做{n}次吗？",
    "{n}号房间里有{a}吗？",
)


def our_asks(clients: int, adds: float, key: str) -> list[Iterator[Request]]:
    """Return what each client asks `mnemic serve`, with the key of a service that names the user."""
    return [_ours(number, adds, key) for number in range(clients)]


def bare_asks(clients: int, adds: float, seed: int) -> list[Iterator[Request]]:
    """Return the same for the bare route."""
    return [_bare(number, adds, seed) for number in range(clients)]


def user_of(client: int) -> str:
    """Return the user that a client asks for."""
    return f"soaked-{client}"


def _ours(client: int, adds: float, key: str) -> Iterator[Request]:
    headers = {"Authorization": f"Bearer {key}", "Mnemic-User": user_of(client)}
    for kind, text in _said(client, adds, 0):
        if kind == "add":
            yield request("add", "POST", "/api/memory", {"content": text}, headers)
        else:
            yield request("search", "POST", "/api/memory/search", {"query": text}, headers)


def _bare(client: int, adds: float, seed: int) -> Iterator[Request]:
    user = user_of(client)
    for kind, text in _said(client, adds, seed):
        body = {"user": user, "content" if kind == "add" else "query": text}
        yield request(kind, "POST", f"/{kind}", body, {})


def _said(client: int, adds: float, seed: int) -> Iterator[tuple[str, str]]:
    """Yield (kind, text) without end; the first is an add, so that a search can find something."""
    chosen = random.Random(client * 1_000 + seed)
    chinese = client % 2
    told, asked = (CHINESE, _ASKED_ZH) if chinese else (ENGLISH, _ASKED_EN)
    topics = [topic[0 if chinese else 1] for topic in TOPICS]
    first = True
    while True:
        a, b = (chosen.choice(chosen.choice(topics)) for _ in range(2))
        kind = "add" if first or chosen.random() < adds else "search"
        text = chosen.choice(told if kind == "add" else asked)
        text = text.format(a=a, b=b, n=chosen.randrange(2, 3_000))
        yield kind, f"{text} (note of client {client})" if kind == "add" else text
        first = False
