"""Can anything that still exists open an erased user's values in a backup, once the epoch is closed?

A real base backup (pg_basebackup) of a server of its own. Values are tried without their associated data, by
the counter mode below GCM, so that only the key decides.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from psycopg import sql
from psycopg.rows import dict_row
from rotation_world import OPERATOR

from mnemic import Actor, MemoryService, Turn
from mnemic.audit import Audit
from mnemic.crypto import derive, unwrap
from mnemic.deployment import as_owner
from mnemic.errors import KeyUnavailable
from mnemic.keys import context_of
from mnemic.privacy.epochs import Closing, Epochs
from mnemic.settings import Settings
from mnemic.storage.cluster import wheel
from mnemic.storage.embedded import join
from stub_embedder import StubEmbedder

KIM, LEE = Actor("kim", session="s1"), Actor("lee", session="s1")
ERASED, LEFT = "Gohlis", "Connewitz"


@dataclass(frozen=True, slots=True)
class Dump:
    """Every data key (wrapped) and every sealed value of a database."""

    keys: list[dict[str, Any]]
    values: list[bytes]

    def opened(self, keks: Iterable[bytes]) -> list[bytes]:
        """Return the data keys that open with any of these keys of keys."""
        found = []
        for row in self.keys:
            for kek in keks:
                try:
                    found.append(
                        unwrap(kek, row["wrapped"], context_of(row["scope_key"], row["key_id"]))
                    )
                except KeyUnavailable:
                    continue
        return found

    def readable(self, secrets: Iterable[bytes], word: str) -> int:
        """Return how many values say the word when one of these secrets is the key."""
        keys = [key for secret in secrets for key in (secret, derive(secret, "mnemic/content"))]
        return sum(any(word.encode() in _decrypted(k, v) for k in keys) for v in self.values)


def _decrypted(key: bytes, sealed: bytes) -> bytes:
    nonce, body = sealed[16:28], sealed[28:-16]
    cipher = Cipher(algorithms.AES(key), modes.CTR(nonce + (2).to_bytes(4, "big")))
    return cipher.decryptor().update(body)


def dump(data_dir: Path) -> Dump:
    """Read everything as the owner, from a server that is started for it."""
    joined = join(data_dir)
    try:
        with psycopg.connect(joined.url("owner"), row_factory=dict_row) as conn:
            conn.execute("set search_path = mnemic, mnemic_private")
            columns = conn.execute(
                "select table_name as t, column_name as c from information_schema.columns"
                " where table_schema in ('mnemic', 'mnemic_private') and column_name like '%\\_enc'"
            ).fetchall()
            assert len(columns) > 10
            values = []
            for row in columns:
                query = sql.SQL("select {} as v from {}").format(
                    sql.Identifier(row["c"]), sql.Identifier(row["t"])
                )
                values += [bytes(r["v"]) for r in conn.execute(query).fetchall() if r["v"]]
            keys = conn.execute(
                "select scope_key, key_id, wrapped, kek_id from data_key"
            ).fetchall()
    finally:
        joined.leave()
    return Dump(keys, [value for value in values if len(value) > 44])


def keks(path: Path) -> list[bytes]:
    return [base64.b64decode(key) for key in json.loads(path.read_text())["keys"].values()]


def base_backup(data_dir: Path, to: Path) -> None:
    """Take a base backup with WAL, as an administrator does, and give it the server's owner."""
    joined = join(data_dir)
    pgdata = data_dir / "postgres"
    try:
        with (pgdata / "pg_hba.conf").open("a", encoding="utf-8") as hba:
            hba.write("local replication postgres peer map=mnemic\n")
        with psycopg.connect(joined.url("bootstrap"), autocommit=True) as conn:
            conn.execute("select pg_reload_conf()")
            place = conn.info.host
        to.mkdir(mode=0o700)
        subprocess.run(
            [
                wheel().bin / "pg_basebackup", "--host", place, "--username", "postgres",
                "--pgdata", to / "postgres", "--wal-method", "stream", "--checkpoint", "fast",
            ],
            check=True, capture_output=True, timeout=120,
        )  # fmt: skip
    finally:
        joined.leave()
    owner = pgdata.stat()
    if os.geteuid() == 0:
        for entry in [to / "postgres", *(to / "postgres").rglob("*")]:
            os.chown(entry, owner.st_uid, owner.st_gid, follow_symlinks=False)


async def live(data_dir: Path, key_file: Path) -> None:
    """Let two users leave something wherever texts go, and share a project."""
    async with MemoryService.open(
        data_dir=data_dir, key_file=key_file, embedder=StubEmbedder()
    ) as memory:
        for user, word in ((KIM, ERASED), (LEE, LEFT)):
            one = await memory.add_explicit_memory(user, f"My dentist is in {word}")
            assert one.id is not None
            await memory.update(user, one.id, content=f"My new dentist is in {word}")
            await memory.add_explicit_memory(user, f"Perhaps {word} is far", confidence=0.75)
            await memory.sessions.append(user, [Turn("user", f"I moved to {word} in May")])
            await memory.resources.add(user, f"The map of {word}.", title=f"{word}", uri="a:1")
        apollo = Actor("lee", project="apollo")
        await memory.projects.create(apollo, "apollo", "Lighthouse")
        await memory.projects.grant(apollo, "apollo", "kim", "editor")
        await memory.add_explicit_memory(
            Actor("kim", project="apollo"), f"The harbour of {ERASED} closes", scope="project"
        )


async def close(settings: Settings) -> Closing:
    async with as_owner(settings) as (deployment, _):
        provider = deployment.keys.provider
        audit = await Audit.open(deployment.database, provider)
        epochs = Epochs(deployment.database, provider, audit, days=30)
        closing = await epochs.close(OPERATOR, grace=0)
    assert closing is not None
    return closing


async def test_nothing_that_is_left_opens_an_erased_user_in_a_base_backup(tmp_path: Path) -> None:
    data, key_file, backup = tmp_path / "data", tmp_path / "keys" / "k", tmp_path / "backup"
    await live(data, key_file)
    base_backup(data, backup)
    shutil.copy2(key_file, tmp_path / "of-then.key")
    copy = dump(backup)
    async with MemoryService.open(
        data_dir=data, key_file=key_file, embedder=StubEmbedder()
    ) as memory:
        assert (await memory.forget_user(KIM)).total > 10

    # before the closing: the key that still exists opens it all
    secrets = copy.opened(keks(key_file))
    assert len(secrets) == len(copy.keys) >= 5
    told = copy.readable(secrets, ERASED)
    assert told >= 6
    living = dump(data).opened(keks(key_file))
    assert copy.readable(living, ERASED) == 0, "the erasure took the key from the database itself"

    closing = await close(Settings.read(data_dir=data, key_file=key_file))
    assert (closing.erasures, closing.destroyed) == (1, 1)

    # afterwards: no key of keys opens a data key of then, and no data key of now a value of the erased user
    left = keks(key_file)
    living = dump(data).opened(left)
    assert copy.opened(left) == []
    assert living
    assert copy.readable([*living, *left], ERASED) == 0
    assert copy.readable(living, LEFT) >= 5, "this way of trying does open what can be opened"
    # and it was the key of keys that decided
    assert copy.readable(copy.opened(keks(tmp_path / "of-then.key")), ERASED) == told

    with pytest.raises(KeyUnavailable) as caught:
        async with MemoryService.open(data_dir=backup, key_file=key_file, embedder=StubEmbedder()):
            raise AssertionError("unreachable")
    assert caught.value.code == "kek_destroyed"
