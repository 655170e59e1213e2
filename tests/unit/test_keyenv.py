"""Are keys from the environment taken in the forms that people make them in, and read again from files?"""

from __future__ import annotations

import base64
from pathlib import Path
from uuid import UUID

import pytest

from mnemic.crypto import new_secret
from mnemic.errors import ConfigurationError, KeyUnavailable
from mnemic.keychoice import provider_of
from mnemic.keyenv import EnvironmentKeys, kek_id_of
from mnemic.keyfile import KeyFile
from mnemic.settings import Settings

ONE, TWO = new_secret(), new_secret()
HERE = UUID(int=3)


def text(key: bytes) -> str:
    return base64.b64encode(key).decode()


def keys(current: str, others: str = "") -> EnvironmentKeys:
    return EnvironmentKeys(lambda: (current, others))


@pytest.mark.parametrize(
    "form", [text, bytes.hex, lambda k: f" {base64.urlsafe_b64encode(k).decode()}\n"]
)
async def test_a_key_is_the_same_in_every_form(form: object) -> None:
    assert callable(form)
    assert await keys(form(ONE)).create() == kek_id_of(ONE)
    assert text(ONE) not in kek_id_of(ONE)
    assert ONE.hex()[:8] not in kek_id_of(ONE)


@pytest.mark.parametrize("bad", ["", "short", "??", text(b"x" * 31), text(b"x" * 33), "g" * 64])
@pytest.mark.parametrize("variable", ["MNEMIC_KEK", "MNEMIC_KEK_OTHERS"])
def test_what_is_no_key_is_refused_by_its_variable_and_not_repeated(
    bad: str, variable: str
) -> None:
    given = (bad, "") if variable == "MNEMIC_KEK" else (text(ONE), bad or ",x")
    with pytest.raises(ConfigurationError) as caught:
        keys(*given)
    assert caught.value.code == "bad_setting"
    assert caught.value.message.startswith(f"{variable}: ")
    assert len(bad) < 6 or bad not in caught.value.message


async def test_the_order_of_the_others_does_not_matter() -> None:
    wrapped = await keys(text(TWO)).wrap(kek_id_of(TWO), b"s", b"c")
    for others in (text(TWO), f"{text(new_secret())}, {text(TWO)},", f",{text(TWO)},{text(ONE)}"):
        assert await keys(text(ONE), others).unwrap(kek_id_of(TWO), wrapped, b"c") == b"s"


async def test_without_a_newer_key_a_rotation_is_told_what_to_do() -> None:
    with pytest.raises(ConfigurationError) as caught:
        await keys(text(ONE), text(TWO)).renew(kek_id_of(ONE))
    assert caught.value.code == "no_newer_kek"
    assert "MNEMIC_KEK_OTHERS" in caught.value.message


async def test_mounted_files_that_change_are_seen_by_a_running_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMIC_SECRETS_DIR", str(tmp_path))
    (tmp_path / "mnemic_kek").write_text(text(ONE))
    running = provider_of(Settings.read(key_provider="environment"), HERE)
    wrapped = await keys(text(TWO)).wrap(kek_id_of(TWO), b"s", b"c")
    with pytest.raises(KeyUnavailable) as caught:
        await running.unwrap(kek_id_of(TWO), wrapped, b"c")
    assert caught.value.code == "unknown_kek"
    (tmp_path / "mnemic_kek_others").write_text(text(TWO))
    assert await running.unwrap(kek_id_of(TWO), wrapped, b"c") == b"s"
    (tmp_path / "mnemic_kek").write_text(text(TWO))
    (tmp_path / "mnemic_kek_others").write_text(text(ONE))
    assert isinstance(running, EnvironmentKeys)
    assert await running.renew(kek_id_of(ONE)) == kek_id_of(TWO)


async def test_variables_alone_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_KEY_PROVIDER", "environment")
    monkeypatch.setenv("MNEMIC_KEK", text(ONE))
    running = provider_of(Settings.read(), HERE)
    monkeypatch.setenv("MNEMIC_KEK", text(TWO))
    assert await running.create() == kek_id_of(ONE)
    with pytest.raises(KeyUnavailable):
        await running.unwrap(kek_id_of(TWO), b"x" * 60, b"")


def test_the_key_file_is_the_default_and_belongs_to_the_deployment(tmp_path: Path) -> None:
    provider = provider_of(Settings.read(key_file=tmp_path / "k"), HERE)
    assert isinstance(provider, KeyFile)
    assert provider.path == tmp_path / "k"
    named = provider_of(Settings.read(), HERE)
    assert isinstance(named, KeyFile)
    assert str(HERE) in named.path.name
