"""Is a Vault that is sealed, slow, foreign or down told in one sentence, and a hiccup survived?

Against a loopback fake of the transit engine (tests/vault_server.py), not a real Vault.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from mnemic import keyvault
from mnemic.crypto import new_secret
from mnemic.errors import ConfigurationError, KeyUnavailable
from mnemic.keychoice import provider_of
from mnemic.keyvault import VaultKeys
from mnemic.settings import Settings
from vault_server import TOKEN, FakeVault, fake_vault


@pytest.fixture
def vault(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeVault]:
    monkeypatch.setattr(keyvault, "_PAUSES", (0.01, 0.02))
    with fake_vault() as running:
        yield running


def keys(vault: FakeVault, **more: Any) -> VaultKeys:
    given = {"vault_addr": vault.url, "vault_token": TOKEN, "vault_timeout": 1.0} | more
    return VaultKeys.of(Settings.read(**given), "mnemic-x")


async def refusal(attempt: Any) -> KeyUnavailable:
    with pytest.raises(KeyUnavailable) as caught:
        await attempt
    assert TOKEN not in str(caught.value)
    return caught.value


async def made(provider: VaultKeys) -> tuple[str, bytes, bytes]:
    kek, secret = await provider.create(), new_secret()
    return kek, secret, await provider.wrap(kek, secret, b"c")


async def test_a_sealed_vault_is_named_and_works_again_once_unsealed(vault: FakeVault) -> None:
    provider = keys(vault)
    kek, secret, wrapped = await made(provider)
    vault.sealed = True
    error = await refusal(provider.unwrap(kek, wrapped, b"c"))
    assert error.code == "vault_sealed"
    assert "unseal" in error.message
    vault.sealed = False
    assert await provider.unwrap(kek, wrapped, b"c") == secret


async def test_passing_failures_are_asked_again_and_lasting_ones_told(vault: FakeVault) -> None:
    provider = keys(vault)
    kek, secret, wrapped = await made(provider)
    vault.failures = 2
    assert await provider.unwrap(kek, wrapped, b"c") == secret
    vault.failures = 3
    assert (await refusal(provider.unwrap(kek, wrapped, b"c"))).code == "vault_unready"


async def test_a_slow_vault_ends_in_time_and_stops_nobody_else(vault: FakeVault) -> None:
    provider = keys(vault, vault_timeout=0.1)
    kek, _, wrapped = await made(provider)
    vault.delay = 0.5
    loop = asyncio.get_running_loop()
    began, ticks = loop.time(), 0
    waiting = asyncio.ensure_future(refusal(provider.unwrap(kek, wrapped, b"c")))
    while not waiting.done():
        await asyncio.sleep(0.01)
        ticks += 1
    assert (await waiting).code == "vault_timeout"
    assert loop.time() - began < 2
    assert ticks > 10


async def test_nobody_at_the_address(vault: FakeVault) -> None:
    provider = keys(vault, vault_addr="http://127.0.0.1:1")
    assert (await refusal(provider.create())).code == "vault_unreachable"


async def test_a_wrong_token_and_a_wrong_namespace_are_refused(vault: FakeVault) -> None:
    assert (await refusal(keys(vault, vault_token="old").create())).code == "vault_forbidden"
    vault.namespace = "team"
    assert (await refusal(keys(vault).create())).code == "vault_forbidden"
    assert await keys(vault, vault_namespace="team").create() == "mnemic-x-1"


async def test_a_token_file_that_an_agent_renews_is_read_again(
    vault: FakeVault, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    provider = keys(vault, vault_token=None, vault_token_file=file)
    kek, secret, wrapped = await made(provider)
    vault.token = "another"
    assert (await refusal(provider.unwrap(kek, wrapped, b"c"))).code == "vault_forbidden"
    file.write_text("another")
    assert await provider.unwrap(kek, wrapped, b"c") == secret
    file.unlink()
    error = await refusal(provider.unwrap(kek, wrapped, b"c"))
    assert error.code == "vault_token_unreadable"
    assert str(file) in error.message


async def test_a_mount_that_is_not_there(vault: FakeVault) -> None:
    kek, _, wrapped = await made(keys(vault))
    elsewhere = keys(vault, vault_mount="other")
    error = await refusal(elsewhere.unwrap(kek, wrapped, b"c"))
    assert error.code == "unknown_kek"
    assert "MNEMIC_VAULT_MOUNT" in error.message
    assert await keys(vault, vault_mount="transit").unwrap(kek, wrapped, b"c")


async def test_a_key_is_never_made_by_wrapping(vault: FakeVault) -> None:
    kek, _, _ = await made(keys(vault))
    assert (await refusal(keys(vault).wrap("mnemic-x-9", b"s", b"c"))).code == "unknown_kek"
    assert set(vault.keys) == {kek}


async def test_a_key_that_was_deleted_in_the_vault_is_not_made_anew_by_whoever_knew_it(
    vault: FakeVault,
) -> None:
    provider = keys(vault)
    kek, _, wrapped = await made(provider)
    del vault.keys[kek]
    for attempt in (
        provider.wrap(kek, b"s", b"c"),
        provider.wrap(kek, b"s", b"c"),
        provider.unwrap(kek, wrapped, b"c"),
        provider.renew(kek),
    ):
        assert (await refusal(attempt)).code == "unknown_kek"
    assert vault.keys == {}


async def test_keys_of_other_names_are_left_alone(vault: FakeVault) -> None:
    for name in ("mnemic-x-1-old", "mnemic-x", "mnemic-xy-7", "mnemic-x-09", "other"):
        vault.keys[name] = new_secret()
    provider = keys(vault)
    assert await provider.ids() == ()
    assert await provider.create() == "mnemic-x-1"
    for number in range(1, 11):
        assert await provider.renew(f"mnemic-x-{number}") == f"mnemic-x-{number + 1}"
    assert (await provider.ids())[-2:] == ("mnemic-x-10", "mnemic-x-11")
    await provider.destroy("mnemic-x-10")
    assert "mnemic-x-10" not in vault.keys
    assert "mnemic-xy-7" in vault.keys


@pytest.mark.parametrize(
    "address", ["http://vault.example:8200", "vault.example", "ftp://127.0.0.1", "https://", "http://[::1"]
)  # fmt: skip
def test_a_vault_elsewhere_without_tls_is_refused(address: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        VaultKeys.of(Settings.read(vault_addr=address, vault_token="t"), "x")
    assert caught.value.code == "vault_not_tls"


def test_certificates_are_verified_with_the_authority_that_is_named(tmp_path: Path) -> None:
    plain = VaultKeys.of(Settings.read(vault_addr="https://v.example", vault_token="t"), "x")
    assert plain._client.adapter._kwargs["verify"] is True
    authority = tmp_path / "ca.pem"
    own = Settings.read(vault_addr="https://v.example", vault_token="t", vault_ca_file=authority)
    assert VaultKeys.of(own, "x")._client.adapter._kwargs["verify"] == str(authority)


def test_without_hvac_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hvac", None)
    with pytest.raises(ConfigurationError) as caught:
        VaultKeys.of(Settings.read(vault_addr="https://v.example", vault_token="t"), "x")
    assert caught.value.code == "vault_not_installed"
    assert "'.[vault]'" in caught.value.message


def test_settings_choose_it_and_name_its_keys_by_the_deployment(vault: FakeVault) -> None:
    given = {"key_provider": "vault", "vault_addr": vault.url, "vault_token": TOKEN}
    assert str(UUID(int=5)) in repr(provider_of(Settings.read(**given), UUID(int=5)))
    named = provider_of(Settings.read(**given, vault_key="memory"), UUID(int=5))
    assert repr(named) == "VaultKeys(memory)"
