"""Which key seals whose data, and who keeps the key of keys?

Every user has a data key, made on first contact, and every project one of its own and one an author. They
lie in the database wrapped by a key-encryption key (KEK) that a KeyProvider keeps elsewhere: a file, the
environment, a Vault. ``KeyRing`` hands out opened data keys from a bounded cache; an entry lives 60 seconds
and dies with its user's key epoch, or when a project gains or loses a key.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, runtime_checkable
from uuid import UUID

import psycopg
from psycopg import AsyncConnection, sql
from psycopg.rows import DictRow

from mnemic.crypto import DataKey, ProjectKey, new_secret
from mnemic.errors import ConfigurationError, KeyUnavailable
from mnemic.ids import new_id
from mnemic.model import Actor
from mnemic.storage.failures import translate
from mnemic.storage.pool import Transaction
from mnemic.storage.statements import statements

_SQL = statements("keys")
_ATTEMPTS = 3
P = ParamSpec("P")
T = TypeVar("T")


class KeyProvider(Protocol):
    """Keeps key-encryption keys; extension point (docs/reference/key-provider-protocol.md)."""

    async def create(self) -> str:
        """Make a KEK, or find the current one, and return its id."""

    async def wrap(self, kek_id: str, secret: bytes, context: bytes) -> bytes:
        """Return ``secret`` encrypted under a KEK and bound to ``context``."""

    async def unwrap(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        """Undo ``wrap``. Raises KeyUnavailable when the KEK is not there or not the one."""


@runtime_checkable
class RotatingKeys(KeyProvider, Protocol):
    """A KeyProvider whose KEK can be replaced by a new one, and destroyed."""

    async def ids(self) -> tuple[str, ...]:
        """Return the ids of all KEKs that it holds, the current one last."""

    async def renew(self, kek_id: str) -> str:
        """Return the id of a KEK newer than ``kek_id``, and make it unless it is there already."""

    async def destroy(self, kek_id: str) -> None:
        """Make a KEK unusable for ever; one that is gone already is no error."""


class KeyRing:
    """The opened data keys of recent users and projects."""

    def __init__(self, provider: KeyProvider, *, capacity: int = 10_000, ttl: float = 60.0):
        self.provider = provider
        self._users: _Recent[DataKey] = _Recent(capacity, ttl)
        self._projects: _Recent[_Authors] = _Recent(capacity, ttl)

    async def find(
        self, tx: Transaction, actor: Actor, scope_key: str | None = None
    ) -> DataKey | None:
        """Return the key of the actor's data in a scope (None: the user's), None where there is none yet."""
        if scope_key is not None and scope_key == actor.project_scope:
            return await self._of_project(tx, actor, scope_key)
        if not tx.known_user:
            return None
        cached = self._users.get(actor.user_scope, str(tx.key_epoch))
        if cached is not None:
            return cached
        row = await tx.one(_SQL["current_key"], {"scope_key": actor.user_scope, "author_id": ""})
        if row is None:
            return None
        key = await self.unwrapped(actor.user_scope, row)
        if actor.user_scope in tx.keyed:
            return key
        return self._users.keep(actor.user_scope, str(tx.key_epoch), key)

    def recent(self, actor: Actor, scope_key: str | None = None) -> tuple[DataKey, str] | None:
        """Return a key that was opened lately (of a scope as in ``find``), and the state that it belongs to.

        Whoever uses it must see that the database is in that state: the user's key epoch, as text, or the
        ``project_keys`` of a transaction.
        """
        if scope_key is None or scope_key != actor.project_scope:
            return self._users.peek(actor.user_scope)
        found = self._projects.peek(scope_key)
        own = None if found is None else found[0].current.get("")
        if found is None or own is None:
            return None
        authors, state = found
        return ProjectKey(own, authors.keys, authors.current, None), state

    async def accept(self, actor: Actor, row: DictRow) -> DataKey | None:
        """Return the user's key from a row that tells it with the epoch; None where it tells none."""
        if row["wrapped"] is None or row["key_epoch"] is None:
            return None
        key = await self.unwrapped(actor.user_scope, row)
        return self._users.keep(actor.user_scope, str(row["key_epoch"]), key)

    async def obtain(
        self,
        tx: Transaction,
        actor: Actor,
        scope_key: str | None = None,
        *,
        of: str | None = None,
    ) -> DataKey:
        """Return the key to seal data with in a scope, and make user and key on first contact.

        What belongs to another member of a project is sealed with the key ``of`` that author.
        """
        if scope_key is not None and scope_key == actor.project_scope:
            key = await self._obtain_of_project(tx, actor, scope_key)
            return key if of in (None, actor.user) else key.by(str(of))
        found = await self.find(tx, actor)
        if found is not None:
            return found
        await tx.run(_SQL["add_user"], {"scope_key": actor.user_scope, "user_id": actor.user})
        return await self._made(tx, actor.user_scope, "")

    async def readable(self, tx: Transaction, actor: Actor) -> Mapping[str, DataKey]:
        """Return the keys of all scopes that the actor reads, by scope key, where there are any."""
        own = await self.find(tx, actor)
        keys = _Readable({} if own is None else dict.fromkeys(actor.scope_keys, own))
        if actor.project_scope is not None:
            shared = await self.find(tx, actor, actor.project_scope)
            if shared is not None:
                keys[actor.project_scope] = shared
        return keys

    def forget(self, scope_key: str) -> None:
        """Drop the keys of a scope from the cache, at an erase."""
        self._users.drop(scope_key)
        self._projects.drop(scope_key)

    async def _of_project(self, tx: Transaction, actor: Actor, scope_key: str) -> ProjectKey | None:
        if not tx.project_keys:  # not the asker's, or being made
            return None
        authors = self._projects.get(scope_key, tx.project_keys)
        if authors is None:
            authors = await self._authors(tx, scope_key)
            if scope_key not in tx.keyed:
                self._projects.keep(scope_key, tx.project_keys, authors)
        return authors.key_of(actor.user)

    async def _obtain_of_project(self, tx: Transaction, actor: Actor, scope_key: str) -> ProjectKey:
        await self.obtain(tx, actor)
        found = await self._of_project(tx, actor, scope_key)
        if found is None or found.author is None:
            await self._made(tx, scope_key, "")
            await self._made(tx, scope_key, actor.user)
            found = (await self._authors(tx, scope_key)).key_of(actor.user)
        assert found is not None
        return found

    async def _authors(self, tx: Transaction, scope_key: str) -> _Authors:
        rows = await tx.all(_SQL["project_keys"], {"scope_key": scope_key})
        opened = [(row, await self.unwrapped(scope_key, row)) for row in rows]
        current = {row["author_id"]: key for row, key in opened if not row["retired"]}
        return _Authors(current, tuple(key for _, key in opened))

    async def _made(self, tx: Transaction, scope_key: str, author_id: str) -> DataKey:
        """Make a key; of two first contacts at once the row that won is the key of both."""
        key_id, secret = new_id(), new_secret()
        kek_id = await self._current_kek(tx)
        params = {
            "scope_key": scope_key,
            "author_id": author_id,
            "key_id": key_id,
            "wrapped": await self.provider.wrap(kek_id, secret, context_of(scope_key, key_id)),
            "kek_id": kek_id,
        }
        tx.keyed.add(scope_key)
        await tx.run(_SQL["add_key"], params)
        row = await tx.one(_SQL["current_key"], params)
        if row is None:
            raise KeyUnavailable("data_key_missing", "A data key could not be made; try again.")
        return await self.unwrapped(scope_key, row)

    async def _current_kek(self, tx: Transaction) -> str:
        """Return the KEK to wrap with; a rotation waits for this transaction before it names another."""
        await tx.one(_SQL["hold_kek"])
        row = await tx.one(
            _SQL["deployment"]
        )  # apart: its snapshot is taken once nobody changes it
        assert row is not None, "the deployment has no row"
        return str(row["kek_id"])

    async def unwrapped(self, scope_key: str, row: DictRow) -> DataKey:
        """Return the opened key of a row of ``data_key``."""
        context = context_of(scope_key, row["key_id"])
        secret = await self.provider.unwrap(row["kek_id"], row["wrapped"], context)
        return DataKey(row["key_id"], secret)


@dataclass(frozen=True, slots=True)
class _Authors:
    """The opened keys of a project: ``current`` by author ("" is its own), and all, retired ones too."""

    current: Mapping[str, DataKey]
    keys: tuple[DataKey, ...]

    def key_of(self, user: str) -> ProjectKey | None:
        """Return all of them as one key, which seals for ``user`` where they are an author."""
        own = self.current.get("")
        if own is None:
            return None
        return ProjectKey(own, self.keys, self.current, user if user in self.current else None)


class _Readable(dict[str, DataKey]):
    """Keys by scope; a row whose scope has none was written after they were looked up."""

    def __missing__(self, scope_key: str) -> DataKey:
        raise KeyUnavailable(
            "unknown_key_id", "A value was sealed with a key that is not known yet: read again."
        )


def with_keys_of_now(call: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Let a call begin again that meets a value whose key came after its transaction had begun.

    Its transaction was rolled back, so nothing of it stands.
    """

    @wraps(call)
    async def again(*args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(_ATTEMPTS - 1):
            try:
                return await call(*args, **kwargs)
            except KeyUnavailable as error:
                if error.code != "unknown_key_id":
                    raise
        return await call(*args, **kwargs)

    return again


class _Recent(Generic[T]):
    """A bounded cache by scope; an entry serves while it is young and of the state that it was made in."""

    def __init__(self, capacity: int, ttl: float) -> None:
        self._capacity = capacity
        self._ttl = ttl
        self._entries: OrderedDict[str, tuple[T, str, float]] = OrderedDict()

    def get(self, scope_key: str, state: str) -> T | None:
        entry = self._entries.get(scope_key)
        if entry is None:
            return None
        value, of_state, until = entry
        if of_state != state or until < time.monotonic():
            del self._entries[scope_key]
            return None
        self._entries.move_to_end(scope_key)
        return value

    def peek(self, scope_key: str) -> tuple[T, str] | None:
        entry = self._entries.get(scope_key)
        if entry is None or entry[2] < time.monotonic():
            return None
        self._entries.move_to_end(scope_key)
        return entry[0], entry[1]

    def keep(self, scope_key: str, state: str, value: T) -> T:
        self._entries[scope_key] = (value, state, time.monotonic() + self._ttl)
        while len(self._entries) > self._capacity:
            self._entries.popitem(last=False)
        return value

    def __len__(self) -> int:
        return len(self._entries)

    def drop(self, scope_key: str) -> None:
        self._entries.pop(scope_key, None)


def context_of(scope_key: str, key_id: UUID) -> bytes:
    """Return what the wrapped form of a data key is bound to."""
    return f"data_key|{scope_key}|{key_id}".encode()


def check_context(deployment: object) -> bytes:
    """Return what the wrapped proof of a deployment (``kek_check``) is bound to."""
    return f"deployment|{deployment}".encode()


async def deployment_secret(tx: Transaction, provider: KeyProvider) -> bytes:
    """Return the deployment's own secret, from which keys for no user in particular are derived.

    It stays the same when the KEK is replaced. Raises KeyUnavailable when the provider does not hold the KEK.
    """
    row = await tx.one(_SQL["deployment"])
    assert row is not None, "the deployment has no row"
    return await provider.unwrap(row["kek_id"], row["kek_check"], check_context(row["id"]))


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
            proof = await provider.wrap(kek_id, new_secret(), check_context(row[0]))
            await conn.execute(_SQL["bind_deployment"], {"kek_id": kek_id, "kek_check": proof})
            row = (row[0], kek_id, proof)
        return row


async def check(deployment: str, kek_id: str, sealed: object, provider: KeyProvider) -> str:
    """Return ``kek_id`` once the provider has proved that it holds that key."""
    assert isinstance(sealed, bytes)
    await provider.unwrap(kek_id, sealed, check_context(deployment))
    return kek_id
