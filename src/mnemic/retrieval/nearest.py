"""Is this scope so large that an index finds its nearest vectors faster than comparing all of them?

Pure rule and one statement. Comparing all costs time for each text of the scope. The index is shared by all
scopes of a model: it is walked outwards from the query, and of what it meets only this scope's share counts,
so for a small tenant beside huge ones it would be walked to its end. An answer that comes out too small, or
could not be asked for, is None: then all are compared.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from uuid import UUID

from psycopg import sql

from mnemic.retrieval.meaning import Meaning
from mnemic.storage.pool import Transaction
from mnemic.storage.statements import statements

_SQL = statements("nearest")
LEAST = 4_000
"""Texts of a scope below which comparing all of them is faster in any case."""
STEP_COST = 12
"""What one text met on the way through the index costs, in texts compared one after the other."""
_EF, _BROADEST = 200, 1_000
_LONGEST_WALK = 40_000
_REMEMBERED = 10_000
_TTL = 60.0
Table = Literal["memory_item", "chunk"]
_BY_INDEX: Mapping[Table, str] = {"memory_item": "by_index", "chunk": "chunks_by_index"}


class Nearest:
    """Finds the nearest of one table by index where that pays.

    It learns the sizes of scopes from their searches.
    """

    def __init__(self, table: Table = "memory_item") -> None:
        self._table = table
        self._sizes: OrderedDict[tuple[str, ...], int] = OrderedDict()
        self._indexes: dict[int, tuple[int, float]] = {}

    def learn(self, scopes: Sequence[str], documents: int) -> None:
        """Remember how many texts a search of these scopes had before it; small ones are forgotten."""
        key = tuple(scopes)
        self._sizes.pop(key, None)
        if documents >= LEAST:
            self._sizes[key] = documents
            while len(self._sizes) > _REMEMBERED:
                self._sizes.popitem(last=False)

    def size(self, scopes: Sequence[str]) -> int:
        """Return how many texts these scopes are known to hold; 0 below ``LEAST``, and where nobody knows."""
        return self._sizes.get(tuple(scopes), 0)

    def may_pay(self, meaning: Meaning, scopes: Sequence[str], wanted: int) -> bool:
        """Tell whether ``ids`` could be of use, as far as that is known without asking."""
        documents = self.size(scopes)
        if not documents:
            return False
        rows, until = self._indexes.get(meaning.model_id, (0, 0.0))
        return until <= time.monotonic() or pays(documents, wanted, rows)

    async def ids(
        self, tx: Transaction, meaning: Meaning, scopes: Sequence[str], params: dict[str, Any]
    ) -> list[UUID] | None:
        """Return the ``candidates`` nearest by index, None where all are to be compared."""
        documents = self.size(scopes)
        wanted = params["candidates"]
        if not documents:
            return None
        indexed = await self._indexed_rows(tx, meaning.model_id)
        if not pays(documents, wanted, indexed):
            return None
        breadth = search_breadth(documents, wanted, indexed)
        await tx.one(_SQL["walk"], {"ef": breadth, "longest": _LONGEST_WALK})
        statement = sql.SQL(_SQL[_BY_INDEX[self._table]]).format(
            dims=sql.Literal(meaning.dims), model=sql.Literal(meaning.model_id)
        )
        rows = await (await tx.conn.execute(statement, params)).fetchall()
        return [row["id"] for row in rows] if len(rows) >= wanted else None

    async def _indexed_rows(self, tx: Transaction, model_id: int) -> int:
        """Return about how many vectors the model's index holds, 0 when there is no index."""
        known = self._indexes.get(model_id)
        if known is not None and known[1] > time.monotonic():
            return known[0]
        of = {"model_id": model_id, "table": self._table}
        row = await tx.one(_SQL["index_of_model"], of)
        rows = int(row["rows"]) if row and row["indexed"] else 0
        self._indexes[model_id] = (rows, time.monotonic() + _TTL)
        return rows


def pays(documents: int, wanted: int, indexed: int) -> bool:
    """Tell whether walking an index of ``indexed`` vectors to ``wanted`` of this scope's is faster.

    To meet that many, about ``wanted`` x ``indexed`` / ``documents`` vectors are met in all.
    """
    if indexed <= 0 or documents < LEAST:
        return False
    met = wanted * max(1.0, indexed / documents)
    broad = search_breadth(documents, wanted, indexed) <= _BROADEST
    return broad and met <= _LONGEST_WALK and STEP_COST * met < documents


def search_breadth(documents: int, wanted: int, indexed: int) -> int:
    """Return how many candidates the walk must keep (``hnsw.ef_search``) to miss next to nothing.

    What is not of this scope takes places among them too. Measured with 64 of 39,000: a walk so broad finds
    all; one that had to be narrower (the server's limit is 1,000) found 98 to 99%.
    """
    return round(max(_EF, 3 * wanted) * max(1.0, indexed / documents))
