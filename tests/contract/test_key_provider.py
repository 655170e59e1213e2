"""Does every key provider keep what docs/reference/key-provider-protocol.md promises?

The Vault is a loopback fake of its transit engine (tests/vault_server.py).
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import UUID

import pytest

from mnemic.crypto import new_secret
from mnemic.errors import KeyUnavailable, MnemicError
from mnemic.keyenv import EnvironmentKeys
from mnemic.keyfile import KeyFile
from mnemic.keys import RotatingKeys
from mnemic.keyvault import VaultKeys
from mnemic.settings import Settings
from vault_server import TOKEN, fake_vault

Make = Callable[[], RotatingKeys]


class Variables:
    """The variables of an operator, who gives a new key and takes an old one away."""

    def __init__(self) -> None:
        self.keys = [base64.b64encode(new_secret()).decode()]

    def read(self) -> tuple[str, str]:
        return self.keys[0], ",".join(self.keys[1:])

    def renew(self) -> None:
        self.keys.insert(0, base64.b64encode(new_secret()).decode())

    def take_away(self) -> None:
        del self.keys[1:]


@pytest.fixture
def variables() -> Variables:
    return Variables()


@pytest.fixture(params=["key file", "key file of a deployment", "environment", "vault"])
def make(request: pytest.FixtureRequest, tmp_path: Path, variables: Variables) -> Iterator[Make]:
    """Open the same keys again and again, as several processes do."""
    with ExitStack() as stack:
        if request.param == "vault":
            vault = stack.enter_context(fake_vault())
            settings = Settings.read(key_provider="vault", vault_addr=vault.url, vault_token=TOKEN)
            yield lambda: VaultKeys.of(settings, "mnemic-x")
        elif request.param == "environment":
            yield lambda: EnvironmentKeys(variables.read, variables.read)
        else:
            deployment = UUID(int=7) if "deployment" in request.param else None
            yield lambda: KeyFile(tmp_path / "keys" / "k", deployment)


async def refused(attempt: object) -> str:
    with pytest.raises(MnemicError) as caught:
        await attempt  # type: ignore[misc]
    return caught.value.code


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
    before = await provider.ids()
    for attempt in (
        provider.wrap("nobody", b"s", b""),
        provider.unwrap("nobody", b"x" * 60, b""),
        provider.unwrap("nobody", b"vault:v1:" + b"x" * 80, b""),
    ):
        with pytest.raises(KeyUnavailable) as caught:
            await attempt
        assert caught.value.code == "unknown_kek"
        assert "nobody" in caught.value.message
    assert await provider.ids() == before


async def test_a_long_context_is_taken(make: Make) -> None:
    provider = make()
    kek = await provider.create()
    wrapped = await provider.wrap(kek, b"s" * 32, b"c" * 500)
    assert await provider.unwrap(kek, wrapped, b"c" * 500) == b"s" * 32


async def test_all_can_be_rotated(make: Make) -> None:
    assert isinstance(make(), RotatingKeys)


async def test_a_new_key_is_known_to_those_who_were_there_before(
    make: Make, variables: Variables
) -> None:
    running, secret = make(), new_secret()
    old = await running.create()
    wrapped = await running.wrap(old, secret, b"c")
    variables.renew()
    new = await make().renew(old)
    assert new != old
    assert await make().ids() == (old, new)
    assert await make().create() == new
    again = await make().wrap(new, secret, b"c")
    assert await running.unwrap(new, again, b"c") == secret
    assert await running.unwrap(old, wrapped, b"c") == secret
    assert await refused(running.unwrap(old, again, b"c")) == "wrong_key"


async def test_renewing_again_after_an_interruption_makes_no_third_key(
    make: Make, variables: Variables
) -> None:
    old = await make().create()
    variables.renew()
    found = {await make().renew(old) for _ in range(3)}
    assert len(found) == 1
    assert len(await make().ids()) == 2


async def test_renewing_at_once_makes_one_key(make: Make, variables: Variables) -> None:
    old = await make().create()
    variables.renew()
    found = await asyncio.gather(*(make().renew(old) for _ in range(6)))
    assert len(set(found)) == 1
    assert len(await make().ids()) == 2


async def test_a_destroyed_key_opens_nothing_and_the_others_stay(
    make: Make, variables: Variables
) -> None:
    provider, secret = make(), new_secret()
    old = await provider.create()
    wrapped = await provider.wrap(old, secret, b"c")
    variables.renew()
    new = await provider.renew(old)
    kept = await provider.wrap(new, secret, b"c")
    variables.take_away()
    await make().destroy(old)
    await make().destroy(old)  # gone is gone
    assert await make().ids() == (new,)
    assert await refused(make().unwrap(old, wrapped, b"c")) in ("unknown_kek", "kek_destroyed")
    assert await refused(make().wrap(old, secret, b"c")) in ("unknown_kek", "kek_destroyed")
    assert await make().unwrap(new, kept, b"c") == secret
    assert await refused(make().renew(old)) in ("unknown_kek", "kek_destroyed")


async def test_the_current_key_is_not_destroyed(make: Make) -> None:
    kek, secret = await make().create(), new_secret()
    wrapped = await make().wrap(kek, secret, b"c")
    assert await refused(make().destroy(kek)) in ("kek_in_use", "kek_still_configured")
    assert await make().unwrap(kek, wrapped, b"c") == secret


async def test_no_repr_shows_key_material(make: Make, variables: Variables) -> None:
    provider = make()
    await provider.create()
    assert TOKEN not in repr(provider)
    assert not any(key in repr(provider) for key in variables.keys)
