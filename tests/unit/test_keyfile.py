"""Is the key file made once, kept from others, and refused when it is not what it should be?"""

from __future__ import annotations

import base64
import errno
import json
import os
import stat
import threading
from pathlib import Path
from typing import Any
from uuid import UUID

import platformdirs
import pytest

from mnemic.crypto import KEY_BYTES, new_secret
from mnemic.errors import ConfigurationError, KeyUnavailable
from mnemic.keyfile import KeyFile, default_key_file
from mnemic.storage.embedded import default_data_dir


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys" / "one.key"


def put(path: Path, content: bytes | str, mode: int = 0o600) -> KeyFile:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)
    return KeyFile(path)


def content(**keys: bytes) -> str:
    encoded = {name: base64.b64encode(key).decode() for name, key in keys.items()}
    return json.dumps({"current": next(iter(keys)), "keys": encoded})


def read(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def refusal(file: KeyFile) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        await file.create()
    return caught.value


async def test_first_use_makes_a_file_that_only_its_owner_reads(path: Path) -> None:
    old = os.umask(0)
    try:
        kek = await KeyFile(path).create()
    finally:
        os.umask(old)
    assert mode(path) == 0o600
    assert mode(path.parent) == 0o700
    data = json.loads(read(path) or b"")
    assert data["current"] == kek
    assert len(base64.b64decode(data["keys"][kek])) == KEY_BYTES
    assert [entry.name for entry in path.parent.iterdir()] == ["one.key"]


async def test_later_use_finds_the_same_key(path: Path) -> None:
    first = await KeyFile(path).create()
    before = read(path)
    assert await KeyFile(path).create() == first
    assert read(path) == before


async def test_what_one_wrapped_another_unwraps(path: Path) -> None:
    kek, secret = await KeyFile(path).create(), new_secret()
    wrapped = await KeyFile(path).wrap(kek, secret, b"context")
    assert await KeyFile(path).unwrap(kek, wrapped, b"context") == secret
    with pytest.raises(KeyUnavailable) as caught:
        await KeyFile(path).unwrap(kek, wrapped, b"other")
    assert caught.value.code == "wrong_key"


def test_starters_at_once_agree_on_one_key(path: Path) -> None:
    gate, found = threading.Barrier(12), []

    def start() -> None:
        gate.wait()
        coroutine = KeyFile(path).create()
        with pytest.raises(StopIteration) as done:
            coroutine.send(None)
        found.append(done.value.value)

    threads = [threading.Thread(target=start) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 12
    assert len(set(found)) == 1
    assert [entry.name for entry in path.parent.iterdir()] == ["one.key"]


@pytest.mark.parametrize("bits", [0o640, 0o604, 0o660, 0o606, 0o644, 0o610, 0o601])
async def test_a_file_that_others_can_read_or_write_is_refused(path: Path, bits: int) -> None:
    error = await refusal(put(path, content(a=new_secret()), bits))
    assert error.code == "key_file_exposed"
    assert "chmod 600" in error.message


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "null", '"x"', "{}", '{"current": "a"}', '{"current": "a", "keys": []}',
        '{"current": "a", "keys": {"a": 7}}', '{"current": "a", "keys": {"a": "??"}}',
        '{"current": "a", "keys": {"a": ""}}', '{"current": "a", "keys": {"a": "AAAA"}}',
        content(a=b"x" * KEY_BYTES).replace('"current": "a"', '"current": "b"'),
        content(a=b"x" * KEY_BYTES, b=b"short"), b"\xff\xfe\x00binary", b"\x00" * 64,
    ],
)  # fmt: skip
async def test_a_damaged_file_is_refused_and_left_alone(path: Path, text: bytes | str) -> None:
    file = put(path, text)
    before = read(path)
    error = await refusal(file)
    assert isinstance(error, KeyUnavailable)
    assert error.code == "key_file_damaged"
    assert read(path) == before


async def test_a_missing_file_is_not_made_when_a_key_is_asked_for(path: Path) -> None:
    with pytest.raises(KeyUnavailable) as caught:
        await KeyFile(path).unwrap("a", b"x" * 60, b"")
    assert caught.value.code == "key_file_missing"
    assert read(path) is None


async def test_a_file_with_other_keys_names_the_missing_one(path: Path) -> None:
    with pytest.raises(KeyUnavailable) as caught:
        await put(path, content(a=new_secret())).unwrap("b", b"x" * 60, b"")
    assert caught.value.code == "unknown_kek"
    assert str(path) in caught.value.message


async def test_a_retired_key_in_the_file_still_unwraps(path: Path) -> None:
    old, new = new_secret(), new_secret()
    wrapped = await put(path, content(old=old)).wrap("old", b"secret", b"")
    file = put(path, content(new=new, old=old))
    assert await file.create() == "new"
    assert await file.unwrap("old", wrapped, b"") == b"secret"


async def test_a_pipe_in_its_place_is_refused_and_not_waited_for(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path, 0o600)
    assert (await refusal(KeyFile(path))).code == "key_file_unreadable"


async def test_a_place_below_a_file_or_a_directory_in_its_place_is_refused(path: Path) -> None:
    put(path, content(a=new_secret()))
    assert (await refusal(KeyFile(path / "deeper"))).code in (
        "key_file_unwritable",
        "key_file_unreadable",
    )
    assert (await refusal(KeyFile(path.parent))).code == "key_file_unreadable"


@pytest.mark.parametrize("call", ["link", "fsync", "open"])
async def test_a_place_that_cannot_be_written_is_named_and_nothing_is_left(
    path: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any, **more: Any) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, call, refuse)
    error = await refusal(KeyFile(path))
    monkeypatch.undo()
    assert error.code == "key_file_unwritable"
    assert "MNEMIC_KEY_FILE" in error.message
    assert list(path.parent.iterdir()) == []


async def test_no_refusal_repeats_key_material(path: Path) -> None:
    secret = base64.b64encode(new_secret()).decode()
    for text in (secret, json.dumps({"current": secret, "keys": {"a": secret}})):
        assert secret not in str(await refusal(put(path, text)))


@pytest.mark.parametrize("system", ["Linux", "macOS", "root"])
def test_the_default_place_is_named_by_the_deployment_and_not_with_the_data(
    system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = Path("/home/kim/Library")
    folders = {
        "Linux": (Path("/home/kim/.config"), Path("/home/kim/.local")),
        "macOS": (shared, shared),
    }
    config, data = folders.get(system, (Path("/root"), Path("/root")))
    monkeypatch.setattr(os, "geteuid", lambda: 0 if system == "root" else 1000)
    monkeypatch.setattr(platformdirs, "user_config_path", lambda name, **_: config / name)
    monkeypatch.setattr(platformdirs, "user_data_path", lambda name, **_: data / name)
    place = default_key_file(UUID(int=5))
    assert place.name == f"{UUID(int=5)}.key"
    assert not place.is_relative_to(default_data_dir())
