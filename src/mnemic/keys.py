"""Which key seals whose data, and who keeps the key of keys?

Every user has a data key, made on first contact. It lies in the database wrapped by a key-encryption key
(KEK) that a KeyProvider keeps elsewhere: here a key file. ``KeyRing`` hands out opened data keys from a
bounded cache; an entry lives 60 seconds and dies with its user's key epoch.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Protocol
from uuid import UUID

import psycopg
from psycopg import AsyncConnection, sql

from mnemic.crypto import DataKey, new_secret
from mnemic.errors import ConfigurationError, KeyUnavailable
from mnemic.ids import new_id
from mnemic.model import Actor
from mnemic.storage.failures import translate
from mnemic.storage.pool import Transaction
from mnemic.storage.statements import statements

_SQL = statements("keys")


class KeyProvider(Protocol):
    """Keeps key-encryption keys; extension point (docs/reference/key-provider-protocol.md)."""

    async def create(self) -> str:
        """Make a KEK, or find the current one, and return its id."""

    async def wrap(self, kek_id: str, secret: bytes, context: bytes) -> bytes:
        """Return ``secret`` encrypted under a KEK and bound to ``context``."""

    async def unwrap(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        """Undo ``wrap``. Raises KeyUnavailable when the KEK is not there or not the one."""


class KeyRing:
    """The opened data keys of recent users."""

    def __init__(
        self, provider: KeyProvider, kek_id: str, *, capacity: int = 10_000, ttl: float = 60.0
    ):
        self._provider = provider
        self._kek_id = kek_id
        self._capacity = capacity
        self._ttl = ttl
        self._cache: OrderedDict[str, tuple[DataKey, int, float]] = OrderedDict()

    async def find(self, tx: Transaction, actor: Actor) -> DataKey | None:
        """Return the actor's data key, or None for a user who never wrote anything."""
        if not tx.known_user:
            return None
        cached = self._cached(actor.user_scope, tx.key_epoch)
        if cached is not None:
            return cached
        row = await tx.one(_SQL["current_key"], {"scope_key": actor.user_scope})
        if row is None:
            return None
        context = _context(actor.user_scope, row["key_id"])
        secret = await self._provider.unwrap(row["kek_id"], row["wrapped"], context)
        return self._keep(actor.user_scope, DataKey(row["key_id"], secret), tx.key_epoch)

    async def obtain(self, tx: Transaction, actor: Actor) -> DataKey:
        """Return the actor's data key and make user and key on first contact."""
        found = await self.find(tx, actor)
        if found is not None:
            return found
        key_id, secret = new_id(), new_secret()
        wrapped = await self._provider.wrap(
            self._kek_id, secret, _context(actor.user_scope, key_id)
        )
        params = {
            "scope_key": actor.user_scope,
            "user_id": actor.user,
            "key_id": key_id,
            "wrapped": wrapped,
            "kek_id": self._kek_id,
        }
        await tx.run(_SQL["add_user"], params)
        await tx.run(_SQL["add_key"], params)
        # two first contacts at once: the row that won is the key of both
        row = await tx.one(_SQL["current_key"], params)
        if row is None:
            raise KeyUnavailable(
                "data_key_missing", "A user's data key could not be made; try again."
            )
        secret = await self._provider.unwrap(
            row["kek_id"], row["wrapped"], _context(actor.user_scope, row["key_id"])
        )
        return DataKey(row["key_id"], secret)

    def forget(self, scope_key: str) -> None:
        """Drop a key from the cache, at an erase."""
        self._cache.pop(scope_key, None)

    def _cached(self, scope_key: str, epoch: int) -> DataKey | None:
        entry = self._cache.get(scope_key)
        if entry is None:
            return None
        key, of_epoch, until = entry
        if of_epoch != epoch or until < time.monotonic():
            del self._cache[scope_key]
            return None
        self._cache.move_to_end(scope_key)
        return key

    def _keep(self, scope_key: str, key: DataKey, epoch: int) -> DataKey:
        self._cache[scope_key] = (key, epoch, time.monotonic() + self._ttl)
        while len(self._cache) > self._capacity:
            self._cache.popitem(last=False)
        return key


def _context(scope_key: str, key_id: UUID) -> bytes:
    return f"data_key|{scope_key}|{key_id}".encode()


async def deployment_id(conn: AsyncConnection[tuple[object, ...]], schema: str) -> UUID:
    """Return the id of this deployment, made on first use; the default key file is named by it."""
    try:
        async with conn.transaction():
            await conn.execute(sql.SQL("set local search_path = {}").format(sql.Identifier(schema)))
            await conn.execute(_SQL["add_deployment"], {"id": new_id()})
            row = await (await conn.execute(_SQL["deployment"])).fetchone()
    except psycopg.Error as error:
        raise translate(error) from error
    assert row is not None
    return UUID(str(row[0]))


async def establish(
    conn: AsyncConnection[tuple[object, ...]], schema: str, provider: KeyProvider
) -> str:
    """Bind the deployment to the provider's KEK on first use, check it ever after; return its id.

    Raises KeyUnavailable (``key_file_missing``, ``wrong_key``) when the key of existing data is not there.
    """
    try:
        row = await _bound(conn, schema, provider)
    except psycopg.Error as error:
        raise translate(error) from error
    return await check(str(row[0]), str(row[1]), row[2], provider)


async def _bound(
    conn: AsyncConnection[tuple[object, ...]], schema: str, provider: KeyProvider
) -> tuple[object, ...]:
    """Return id, KEK and proof of the deployment; only the first starter locks the row and makes a key."""
    async with conn.transaction():
        await conn.execute(sql.SQL("set local search_path = {}").format(sql.Identifier(schema)))
        row = await (await conn.execute(_SQL["deployment"])).fetchone()
        if row is not None and row[1] is None:
            row = await (await conn.execute(_SQL["deployment_for_update"])).fetchone()
        if row is None:
            raise ConfigurationError("schema_missing", "Run `mnemic db init` first.")
        if row[1] is None:
            kek_id = await provider.create()
            proof = await provider.wrap(kek_id, new_secret(), f"deployment|{row[0]}".encode())
            await conn.execute(_SQL["bind_deployment"], {"kek_id": kek_id, "kek_check": proof})
            row = (row[0], kek_id, proof)
        return row


async def check(deployment: str, kek_id: str, sealed: object, provider: KeyProvider) -> str:
    """Return ``kek_id`` once the provider has proved that it holds that key."""
    assert isinstance(sealed, bytes)
    await provider.unwrap(kek_id, sealed, f"deployment|{deployment}".encode())
    return kek_id
