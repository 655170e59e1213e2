"""Whose are the objects of a cold store? A copied database names those of its original, and may remove none.

The store holds one object more, under the deployment's id: the fingerprint of the database that put the
others there. A database with another fingerprint removes and adds nothing until its operator says that it
takes the original's place.
"""

from __future__ import annotations

import hashlib

from mnemic.cold import ColdStore, not_configured
from mnemic.errors import ConfigurationError, StorageError, StorageUnavailable
from mnemic.storage.pool import Database
from mnemic.storage.statements import statements

_SQL = statements("hibernation")


class Owner:
    """Tells whether a database may remove objects; ``store`` is None where none is configured."""

    def __init__(self, database: Database, store: ColdStore | None) -> None:
        self._database = database
        self._store = store
        self._claimed = False

    async def require(self) -> bool:
        """Return whether the objects are known to be this database's; False where nobody's mark is there.

        Raises ConfigurationError (``cold_store_not_ours``), StorageUnavailable (``cold_store_unreachable``,
        ``cold_store_missing``).
        """
        name, mark = await self._mark()
        there = await self._there(name)
        if there is not None and there != mark:
            raise ConfigurationError(
                "cold_store_not_ours",
                "The objects in this cold store belong to a database that this one is a copy of: name another"
                " place in MNEMIC_COLD_STORE; or, where that database is gone for good, run `mnemic profile"
                " hibernate --cold --take-over`.",
            )
        return there is not None

    async def claim(self) -> None:
        """Leave this database's mark where there is none. Raises as ``require``."""
        if not self._claimed and not await self.require():
            await self.take_over()
        self._claimed = True

    async def take_over(self) -> None:
        """Leave this database's mark, whosever was there. Raises StorageUnavailable."""
        if self._store is None:
            raise not_configured()
        await self._store.put(*await self._mark())

    async def _there(self, name: str) -> bytes | None:
        if self._store is None:
            raise not_configured()
        try:
            return await self._store.get(name)
        except StorageUnavailable:
            raise
        except StorageError:
            return None

    async def _mark(self) -> tuple[str, bytes]:
        """Return the name and the content of this database's mark."""
        async with self._database.system() as tx:
            row = await tx.one(_SQL["whose_store"])
            system = None
            if row is not None and row["may_ask"]:
                system = await tx.one(_SQL["which_system"])
        assert row is not None, "the deployment has no row"
        told = f"{row['id']}|{row['place']}|{system and system['system_identifier']}"
        mark = hashlib.sha256(f"mnemic/cold-owner|{told}".encode()).hexdigest()
        return f"{row['id'].hex[:2]}/{row['id'].hex[2:]}", mark.encode()
