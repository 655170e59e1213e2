"""What if a cold store fails in its own words? Whatever it raises is told as a store that does not answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from mnemic.cold import ColdStore, unreachable
from mnemic.errors import MnemicError, reason_of

_LOG = structlog.get_logger("mnemic.cold")


class Guarded:
    """A cold store whose errors are ours; the kind and place of any other are logged."""

    def __init__(self, store: ColdStore) -> None:
        self._store = store

    async def put(self, name: str, data: bytes) -> None:
        """Keep ``data`` under ``name``."""
        async with _ours():
            await self._store.put(name, data)

    async def get(self, name: str) -> bytes:
        """Return an object."""
        async with _ours():
            return bytes(await self._store.get(name))

    async def delete(self, name: str) -> None:
        """Remove an object."""
        async with _ours():
            await self._store.delete(name)

    async def aclose(self) -> None:
        """Close the store."""
        await self._store.aclose()


def guarded(store: ColdStore | None) -> ColdStore | None:
    """Return a store with its errors translated; None where there is none."""
    return store if store is None or isinstance(store, Guarded) else Guarded(store)


@asynccontextmanager
async def _ours() -> AsyncIterator[None]:
    try:
        yield
    except MnemicError:
        raise
    except Exception as error:
        _LOG.warning("cold store failed", **reason_of(error))
        raise unreachable() from error
