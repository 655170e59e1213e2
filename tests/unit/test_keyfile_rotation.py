"""Does the key file take and lose keys in one step, whatever happens meanwhile?"""

from __future__ import annotations

import asyncio
import base64
import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from mnemic.crypto import new_secret
from mnemic.errors import ConfigurationError, Conflict, KeyUnavailable
from mnemic.keyfile import KeyFile

ONE, TWO = UUID(int=1), UUID(int=2)
RENEWER = """
import asyncio, sys
from pathlib import Path
from mnemic.keyfile import KeyFile

async def main(path, old):
    print(await KeyFile(Path(path)).renew(old))

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys" / "one.key"


def held(path: Path) -> Any:
    return json.loads(path.read_text())


def put(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    path.chmod(0o600)


def alone(path: Path) -> bool:
    return [entry.name for entry in path.parent.iterdir()] == [path.name]


def status(path: Path) -> os.stat_result:
    return path.stat()


async def test_a_file_of_the_first_version_is_read_and_grows_up_when_it_changes(path: Path) -> None:
    key = base64.b64encode(new_secret()).decode()
    put(path, {"current": "a", "keys": {"a": key}})
    file = KeyFile(path)
    wrapped = await file.wrap("a", b"s" * 32, b"c")
    assert "version" not in held(path), "reading changes nothing"
    new = await file.renew("a")
    data = held(path)
    assert (data["version"], data["current"], data["keys"]["a"]) == (2, new, key)
    assert await file.unwrap("a", wrapped, b"c") == b"s" * 32


async def test_a_file_of_a_later_version_is_left_alone(path: Path) -> None:
    put(path, {"version": 3, "current": "a", "keys": {"a": "sealed elsewhere"}})
    with pytest.raises(KeyUnavailable) as caught:
        await KeyFile(path).create()
    assert caught.value.code == "key_file_too_new"
    assert held(path)["version"] == 3


async def test_the_file_keeps_its_mode_and_its_directory_nothing_else(path: Path) -> None:
    old = await KeyFile(path).create()
    mask = os.umask(0)
    try:
        await KeyFile(path).renew(old)
    finally:
        os.umask(mask)
    assert status(path).st_mode & 0o777 == 0o600
    assert alone(path)
    await KeyFile(path).destroy(old)
    assert alone(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
async def test_the_file_keeps_its_owner_when_root_rotates(path: Path) -> None:
    old = await KeyFile(path).create()
    os.chown(path, 12345, 12346)
    await KeyFile(path).renew(old)
    assert (status(path).st_uid, status(path).st_gid) == (12345, 12346)


async def test_a_link_to_the_file_stays_a_link(path: Path, tmp_path: Path) -> None:
    old = await KeyFile(path).create()
    link = tmp_path / "link.key"
    link.symlink_to(path)
    new = await KeyFile(link).renew(old)
    assert link.is_symlink()
    assert held(path)["current"] == new


@pytest.mark.parametrize("call", ["replace", "fsync", "open"])
@pytest.mark.parametrize("deed", ["renew", "destroy"])
async def test_a_change_that_fails_leaves_the_file_as_it_was(
    path: Path, call: str, deed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = await KeyFile(path).create()
    if deed == "destroy":
        await KeyFile(path).renew(old)
    before = path.read_bytes()  # noqa: ASYNC240
    plain = os.open

    def refuse(*args: Any, **more: Any) -> int:
        if call == "open" and args and args[-1] != 0o600:  # only files that are written
            return plain(*args, **more)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, refuse)
    if call == "replace":
        monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(ConfigurationError) as caught:
        await getattr(KeyFile(path), deed)(old)
    monkeypatch.undo()
    assert caught.value.code == "key_file_unwritable"
    assert path.read_bytes() == before  # noqa: ASYNC240
    assert alone(path)


async def test_processes_that_renew_at_once_agree(path: Path) -> None:
    old = await KeyFile(path).create()
    started = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", RENEWER, str(path), old, stdout=subprocess.PIPE
        )
        for _ in range(4)
    ]
    found = {(await process.communicate())[0] for process in started}
    assert len(found) == 1
    assert len(held(path)["keys"]) == 2


async def test_readers_never_see_half_a_file(path: Path) -> None:
    file = KeyFile(path)
    kek = await file.create()
    wrapped = await file.wrap(kek, b"s" * 32, b"c")
    rotating = True

    async def read() -> int:
        count = 0
        while rotating:
            assert await KeyFile(path).unwrap(kek, wrapped, b"c") == b"s" * 32
            count += 1
            await asyncio.sleep(0)
        return count

    reading = asyncio.ensure_future(read())
    newest = kek
    for _ in range(30):
        newest = await file.renew(newest)
    rotating = False
    assert await reading > 30
    assert len(await file.ids()) == 31


async def test_a_renewal_from_a_key_that_is_not_there_makes_none(path: Path) -> None:
    await KeyFile(path).create()
    before = held(path)
    with pytest.raises(KeyUnavailable) as caught:
        await KeyFile(path).renew("elsewhere")
    assert caught.value.code == "unknown_kek"
    assert held(path) == before


async def test_what_was_destroyed_is_told_from_what_was_never_there(path: Path) -> None:
    file = KeyFile(path)
    old = await file.create()
    wrapped = await file.wrap(old, b"s" * 32, b"c")
    await file.renew(old)
    await file.destroy(old)
    with pytest.raises(KeyUnavailable) as caught:
        await file.unwrap(old, wrapped, b"c")
    assert caught.value.code == "kek_destroyed"
    assert held(path)["destroyed"][old] in caught.value.message


async def test_a_shared_key_goes_with_the_last_deployment(path: Path) -> None:
    first, second = KeyFile(path, ONE), KeyFile(path, TWO)
    old = await first.create()
    assert await second.create() == old
    assert held(path)["claims"] == {old: [str(ONE), str(TWO)]}
    await first.renew(old)
    with pytest.raises(Conflict) as caught:
        await first.destroy(old)
    assert caught.value.code == "kek_shared"
    assert old in held(path)["keys"]
    assert held(path)["claims"][old] == [str(TWO)]
    await second.renew(old)
    await second.destroy(old)
    assert old not in held(path)["keys"]
    await first.destroy(old)
