"""Does every key provider keep what docs/reference/key-provider-protocol.md promises?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemic.crypto import new_secret
from mnemic.errors import KeyUnavailable
from mnemic.keyfile import KeyFile
from mnemic.keys import KeyProvider

Make = Callable[[], KeyProvider]


@pytest.fixture(params=["key file"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Open the same keys again and again, as several processes do."""
    return {"key file": lambda: KeyFile(tmp_path / "keys" / "k")}[request.param]


async def test_creating_at_once_and_again_gives_one_id(make: Make) -> None:
    found = await asyncio.gather(*(make().create() for _ in range(8)))
    assert set(found) == {await make().create()}
    assert found[0]


async def test_a_secret_comes_back_from_another_instance(make: Make) -> None:
    kek, secret = await make().create(), new_secret()
    wrapped = await make().wrap(kek, secret, b"context")
    assert await make().unwrap(kek, wrapped, b"context") == secret
    assert secret not in wrapped


async def test_wrapping_twice_gives_two_forms(make: Make) -> None:
    provider, secret = make(), new_secret()
    kek = await provider.create()
    assert await provider.wrap(kek, secret, b"") != await provider.wrap(kek, secret, b"")


@pytest.mark.parametrize("change", ["context", "bit", "cut", "empty"])
async def test_anything_else_is_a_wrong_key(change: str, make: Make) -> None:
    provider = make()
    kek = await provider.create()
    wrapped = await provider.wrap(kek, new_secret(), b"context")
    context = b"other" if change == "context" else b"context"
    forms = {"bit": wrapped[:-1] + bytes([wrapped[-1] ^ 1]), "cut": wrapped[:-1], "empty": b""}
    with pytest.raises(KeyUnavailable) as caught:
        await provider.unwrap(kek, forms.get(change, wrapped), context)
    assert caught.value.code == "wrong_key"


async def test_an_unknown_id_is_told(make: Make) -> None:
    provider = make()
    await provider.create()
    for attempt in (provider.wrap("nobody", b"s", b""), provider.unwrap("nobody", b"x" * 60, b"")):
        with pytest.raises(KeyUnavailable) as caught:
            await attempt
        assert caught.value.code == "unknown_kek"


async def test_a_long_context_is_taken(make: Make) -> None:
    provider = make()
    kek = await provider.create()
    wrapped = await provider.wrap(kek, b"s" * 32, b"c" * 500)
    assert await provider.unwrap(kek, wrapped, b"c" * 500) == b"s" * 32
