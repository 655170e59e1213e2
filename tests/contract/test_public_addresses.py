"""Can a user's endpoint lead into the operator's own network, by its name or by changing it?"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from contract.scripted_server import Scripted, serving, vectors
from mnemic.embedding.openai import OpenAIEmbedder
from mnemic.errors import EmbeddingError, HostNotAllowed
from mnemic.hosts import require_public

PRIVATE = [
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
    "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:0:1::", "nonsense",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8"]


@pytest.mark.parametrize("address", PRIVATE)
def test_a_name_that_leads_to_an_address_of_no_public_network_is_refused(address: str) -> None:
    for addresses in ([address], ["8.8.8.8", address]):
        with pytest.raises(HostNotAllowed) as caught:
            require_public("api.example.com", addresses, {"api.example.com"})
        assert caught.value.code == "address_not_public"


@pytest.mark.parametrize("address", PUBLIC)
def test_a_name_that_leads_to_a_public_address_passes(address: str) -> None:
    require_public("api.example.com", [address], {"*.example.com"})


def test_an_operator_may_list_the_address_itself() -> None:
    require_public("embed.example.com", ["10.1.2.3"], {"embed.example.com", "10.1.2.3"})
    require_public("embed.example.com", ["fc00::7"], {"*.example.com", "[fc00::7]:8443"})
    require_public("10.1.2.3", ["10.1.2.3"], {"10.1.2.3"})
    require_public("localhost", ["127.0.0.1", "::1"], {"localhost"})


@pytest.fixture
def server() -> Iterator[Scripted]:
    with serving(lambda request: vectors([[1.0, 0.0] for _ in request.body["input"]])) as made:
        yield made


def looked_up(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    """Let look-ups answer these addresses in turn, the last one for ever; return the names asked for."""
    asked: list[str] = []
    left = list(answers)

    async def getaddrinfo(self: Any, host: str, port: int, **more: Any) -> list[Any]:
        asked.append(host)
        address = left.pop(0) if len(left) > 1 else left[0]
        if not address:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)
    return asked


def embedder(url: str, *allowed: str, public_only: bool = True) -> OpenAIEmbedder:
    return OpenAIEmbedder(
        url, "m", dims=2, allowed_hosts=allowed, public_only=public_only, retries=1, backoff=0.0
    )


async def test_no_byte_is_sent_to_a_private_address_behind_an_allowed_name(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up(monkeypatch, "127.0.0.1")
    users = embedder(f"https://api.example.com:{server.port}/v1", "*.example.com")
    with pytest.raises(HostNotAllowed) as caught:
        await users.embed(["hello"])
    assert caught.value.code == "address_not_public"
    assert server.requests == []
    await users.aclose()


async def test_the_address_that_was_checked_is_the_one_that_is_called(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is public at the check and private at the connection: there is only one look-up."""
    asked = looked_up(monkeypatch, "192.0.2.1", "127.0.0.1")
    monkeypatch.setattr("mnemic.hosts.is_public", lambda address: str(address) == "192.0.2.1")
    users = embedder(f"https://api.example.com:{server.port}/v1", "api.example.com")
    users._endpoint._patience = users._endpoint._patience.__class__(timeout=0.3, retries=0)
    with pytest.raises(EmbeddingError):
        await users.embed(["hello"])
    assert len(asked) == 1
    assert server.requests == []
    await users.aclose()


async def test_a_listed_loopback_address_is_called_by_its_name(server: Scripted) -> None:
    users = embedder(f"http://localhost:{server.port}/v1", "localhost")
    assert await users.embed(["hello"]) == [[1.0, 0.0]]
    assert server.requests[0].headers["host"] == f"localhost:{server.port}"
    await users.aclose()


async def test_the_operators_own_endpoint_may_be_private(
    server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    operators = embedder(server.url, server.host, public_only=False)
    assert await operators.embed(["hello"]) == [[1.0, 0.0]]
    await operators.aclose()


async def test_a_name_that_nobody_knows_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up(monkeypatch, "")
    users = embedder("https://api.example.com/v1", "api.example.com")
    with pytest.raises(EmbeddingError) as caught:
        await users.embed(["hello"])
    assert caught.value.code == "embedding_unreachable"
    await users.aclose()
