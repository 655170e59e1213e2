"""Where do values stand that are no memories? Sealed, by namespace and key, in the scope of who asks.

The rules of an ordinary store hold for every value that JSON can hold; only consent, permission and secrets
are looked at. Words and vectors of values are found as those of memories are; filters look at what was
unsealed, inside one scope.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from mnemic.crypto import DataKey
from mnemic.errors import EmbeddingError
from mnemic.integrations.langgraph.entries import (
    Entry,
    Row,
    declared_mac,
    entry_mac,
    equal_mac,
    fields_mac,
    opened,
    opened_entry,
    prefix_mac,
    prefixes_mac,
    sealed,
    searchable,
    secret_in,
    texts_at,
    value_text,
)
from mnemic.integrations.langgraph.filters import Path, equalities, matches
from mnemic.integrations.langgraph.places import Namespace, Place
from mnemic.integrations.langgraph.refusals import MemoryRefused
from mnemic.model import Actor, Scope
from mnemic.parts import Parts
from mnemic.permissions import require
from mnemic.storage.halfvec import HalfVectors
from mnemic.storage.statements import statements
from mnemic.storage.transaction import Deed, Transaction

_SQL = statements("store")
_PAGE = 200
_LONG = 20_000
"""Characters above which a value is looked through for secrets in a thread of its own."""
_KEPT = "kept"
"""The state of a value as the audit knows it: it is there."""


@dataclass(frozen=True, slots=True)
class Put:
    """A value on its way to its place, None to remove it. ``paths`` name what of it is searched by meaning
    and word; ``minutes`` is how long it lives after it was last read or put."""

    place: Place
    key: str
    value: Mapping[str, Any] | None
    paths: Sequence[str] = ()
    minutes: float | None = None


@dataclass(frozen=True, slots=True)
class Under:
    """What is looked for: a prefix of namespaces in some scopes, and a filter."""

    prefix: Namespace
    scopes: Sequence[str]
    wanted: Mapping[str, Any]


class Shelf:
    """Puts, reads and lists sealed values inside transactions of one actor."""

    def __init__(self, parts: Parts, declared: Sequence[Path] = ()) -> None:
        """``declared`` are the fields that rows are found by when a filter wants them equal."""
        self.parts = parts
        self._declared = declared

    # ---- putting

    async def prepare(self, actor: Actor, puts: Sequence[Put]) -> list[dict[str, Any]]:
        """Return what of each row does not need its key: the text and the vectors.

        Raises MemoryRefused for a secret, InvalidInput (``value_not_json``, ``value_too_large``),
        PermissionDenied where the actor may not write; all before a text goes to a model.
        """
        prepared: list[dict[str, Any]] = []
        for put in puts:
            text = None if put.value is None else value_text(put.value)
            if put.value is not None and text is not None:
                await self._require_no_secret(put, len(text))
            prepared.append({"text": text})
        await self._admit(actor, puts)
        for put, ready in zip(puts, prepared, strict=True):
            if put.value is not None:
                texts = texts_at(put.value, put.paths)
                ready |= {"texts": texts} | await self.vectors(actor, put.place.scope, texts)
        return prepared

    async def write(
        self, tx: Transaction, actor: Actor, puts: Sequence[Put], prepared: Sequence[dict[str, Any]]
    ) -> list[Deed]:
        """Put and remove values, and return what was done for the audit."""
        deeds: list[Deed] = []
        for key, mac, put, ready in await self._in_order(tx, actor, puts, prepared):
            scope_key = put.place.scope_key
            there = await self._require_role(tx, actor, put.place, mac)
            if put.value is None:
                gone = await tx.run(_SQL["remove"], {"scope_key": scope_key, "entries": [mac]})
                deeds += [Deed("delete_value", mac.hex(), there or _KEPT)] if gone else []
                continue
            row = {
                "scope_key": scope_key,
                "entry_mac": mac,
                "owner_id": actor.user,
                "prefixes_mac": prefixes_mac(key, put.place.namespace),
                "fields_mac": fields_mac(key, put.value, self._declared),
                "embeddings": ready["embeddings"],
                "model_id": ready["model_id"],
                "ttl": None if put.minutes is None else timedelta(minutes=put.minutes),
            }
            row |= sealed(key, scope_key, put.place.namespace, put.key, ready["text"], put.paths)
            was = await tx.one(_SQL["put"], row | searchable(key, ready["texts"]))
            before = there or (_KEPT if was and was["replaced"] else None)
            deeds.append(Deed("put_value", mac.hex(), before, _KEPT))
        return deeds

    async def sweep(self, tx: Transaction, scopes: Sequence[str]) -> None:
        """Remove what has outlived its time."""
        await tx.run(_SQL["sweep"], {"scopes": list(scopes)})

    # ---- reading

    async def get(
        self, tx: Transaction, actor: Actor, wanted: Sequence[tuple[Place, str]]
    ) -> dict[tuple[str, bytes], Entry]:
        """Return values by scope key and keyed hash."""
        keys = await self.parts.deployment.keys.readable(tx, actor)
        named = [
            (place.scope_key, entry_mac(keys[place.scope_key], place.known_as, name))
            for place, name in wanted
            if place.scope_key in keys
        ]
        params = {"places": [s for s, _ in named], "entries": [mac for _, mac in named]}
        rows = await tx.all(_SQL["get"], params) if named else []
        return {
            (row["scope_key"], bytes(row["entry_mac"])): opened(keys[row["scope_key"]], row)
            for row in rows
        }

    async def find(
        self, tx: Transaction, actor: Actor, place: Place, name: str
    ) -> tuple[bytes, Entry] | None:
        """Return one value with its keyed hash."""
        for (_, mac), entry in (await self.get(tx, actor, [(place, name)])).items():
            return mac, entry
        return None

    async def touch(self, tx: Transaction, named: Sequence[tuple[str, bytes]]) -> None:
        """Let values that have a time to live begin it anew."""
        if named:
            params = {"places": [s for s, _ in named], "entries": [mac for _, mac in named]}
            await tx.run(_SQL["touch"], params)

    async def under(
        self, tx: Transaction, actor: Actor, under: Under
    ) -> AsyncIterator[tuple[tuple[str, bytes], Entry]]:
        """Yield the values under a prefix that fit, with scope key and keyed hash, the last put first."""
        keys = await self.keys_of(tx, actor, under.scopes)
        params = self.criteria(keys, under) | {"limit": _PAGE, "before_id": None, "before_at": None}
        while rows := await tx.all(_SQL["page"], params):
            for row in rows:
                entry = opened(keys[row["scope_key"]], row)
                if entry.namespace[: len(under.prefix)] == under.prefix and matches(
                    entry.value, under.wanted
                ):
                    yield (row["scope_key"], bytes(row["entry_mac"])), entry
            if len(rows) < _PAGE:
                return
            params |= {"before_id": rows[-1]["id"], "before_at": rows[-1]["updated_at"]}

    async def namespaces(
        self, tx: Transaction, actor: Actor, prefix: Namespace, scopes: Sequence[str]
    ) -> set[Namespace]:
        """Return the namespaces that begin with a prefix."""
        keys = await self.keys_of(tx, actor, scopes)
        rows: Sequence[Row] = await tx.all(
            _SQL["namespaces"], self.criteria(keys, Under(prefix, scopes, {}))
        )
        return {opened_entry(keys[row["scope_key"]], row)[0] for row in rows}

    async def vectors(self, actor: Actor, scope: Scope, texts: Sequence[str]) -> dict[str, Any]:
        """Return the vectors of texts; without an answer of the model words alone find their value."""
        if not texts:
            return {"embeddings": HalfVectors(), "model_id": None}
        model = await self.parts.models.for_scope(actor, scope)
        answers = await model.vectors(texts)
        made = tuple(one for one in answers if not isinstance(one, EmbeddingError))
        whole = len(made) == len(texts)  # else the next search that comes by tries again
        return {"embeddings": HalfVectors(made), "model_id": model.model_id if whole else None}

    # ---- how it is done

    async def _in_order(
        self, tx: Transaction, actor: Actor, puts: Sequence[Put], prepared: Sequence[dict[str, Any]]
    ) -> list[tuple[DataKey, bytes, Put, dict[str, Any]]]:
        """Return puts with key and keyed hash, in the one order in which all write rows: so nobody waits for
        somebody who waits for them."""
        found = []
        for put, ready in zip(puts, prepared, strict=True):
            key = await self.parts.deployment.keys.obtain(tx, actor, put.place.scope_key)
            found.append((key, entry_mac(key, put.place.known_as, put.key), put, ready))
        return sorted(found, key=lambda one: (one[2].place.scope_key, one[1]))

    async def keys_of(
        self, tx: Transaction, actor: Actor, scopes: Sequence[str]
    ) -> dict[str, DataKey]:
        """Return the keys of those scopes that hold anything."""
        keys = await self.parts.deployment.keys.readable(tx, actor)
        return {scope: keys[scope] for scope in scopes if scope in keys}

    def criteria(self, keys: Mapping[str, DataKey], under: Under) -> dict[str, Any]:
        """Return the parameters that narrow a statement down to a prefix and to declared fields."""
        declared: list[bytes] = []
        equal: list[bytes] = []
        for path, value in equalities(under.wanted) if len(keys) == 1 else ():
            for key in keys.values():
                mac = equal_mac(key, path, value) if path in self._declared else None
                if mac is not None:
                    declared.append(declared_mac(key, path))
                    equal.append(mac)
        return {
            "places": list(keys),
            "prefixes": [prefix_mac(key, under.prefix) for key in keys.values()],
            "declared": declared,
            "equal": equal,
        }

    async def _require_no_secret(self, put: Put, length: int) -> None:
        assert put.value is not None
        categories = self.parts.writer.limits.categories
        given = (put.value, put.place.namespace, put.key, categories)
        refused = (
            await asyncio.to_thread(secret_in, *given) if length > _LONG else secret_in(*given)
        )
        if refused is not None:
            raise MemoryRefused(refused)

    async def _admit(self, actor: Actor, puts: Sequence[Put]) -> None:
        database = self.parts.deployment.database
        shared = any(put.place.scope == "project" for put in puts)
        if shared or (puts and database.consent_required):
            async with database.transaction(actor) as tx:
                if shared:
                    require(tx.role, "create")

    async def _require_role(
        self, tx: Transaction, actor: Actor, place: Place, mac: bytes
    ) -> str | None:
        """Refuse to change what another member of a project put, unless the role allows it."""
        if place.scope != "project":
            return None
        params = {"scope_key": place.scope_key, "entries": [mac]}
        row = await tx.one(_SQL["owners"], params)
        owner = actor.user if row is None else row["owner_id"]
        require(tx.role, "create" if row is None else "edit", own=owner == actor.user)
        return None if row is None else str(owner)
