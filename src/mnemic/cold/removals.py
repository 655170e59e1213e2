"""How do objects leave the cold store? Their names wait in a table that outlives the user whose they were.

A name is there before its object is written, and is taken back with the row that refers to it: whatever a
crash leaves behind is removed an hour later. A store that is away delays this, and loses none.
"""

from __future__ import annotations

from datetime import timedelta

import structlog

from mnemic.cold import ColdStore, not_configured
from mnemic.cold.guarded import guarded
from mnemic.cold.owner import Owner
from mnemic.errors import reason_of
from mnemic.storage.pool import Database, Transaction
from mnemic.storage.statements import statements

_SQL = statements("hibernation")
_LOG = structlog.get_logger("mnemic.cold")
WITHIN = timedelta(hours=1)
"""How long whoever writes an object has to say that it is needed."""


class Removals:
    """Removes objects that nobody refers to; ``store`` is None where none is configured."""

    def __init__(self, database: Database, store: ColdStore | None) -> None:
        self._database = database
        self._store = guarded(store)
        self.owner = Owner(database, self._store)

    async def note(self, tx: Transaction, name: str) -> None:
        """Say in a transaction that this object is about to be written."""
        await tx.run(_SQL["note_removal"], {"name": name, "within": WITHIN})

    async def due(self) -> int:
        """Return how many objects are to be removed now."""
        async with self._database.system() as tx:
            row = await tx.one(_SQL["removals"])
        return 0 if row is None else int(row["due"])

    async def sweep(self, most: int = 10_000) -> int:
        """Remove up to ``most`` objects that are due and return how many.

        Several processes may do so at once. Raises StorageUnavailable (``cold_store_unreachable``,
        ``cold_store_missing``) and ConfigurationError (``cold_store_not_ours``): what is left waits for the
        next time.
        """
        if not await self.due():
            return 0
        if not await self.owner.require():
            await self.owner.take_over()  # an earlier version left no mark
        for count in range(most):
            async with self._database.system() as tx:
                row = await tx.one(_SQL["removal_due"])
                if row is None:
                    return count
                if self._store is None:
                    raise not_configured()
                await self._store.delete(row["name"])
                await tx.run(_SQL["take_note_back"], {"name": row["name"]})
        return most

    async def try_now(self) -> None:
        """Remove what is due without anybody waiting for it in vain: a failure is left to the next sweep."""
        try:
            await self.sweep()
        except Exception as error:  # noqa: BLE001 - what goes before has been done
            _LOG.warning("cold objects wait to be removed", **reason_of(error))
