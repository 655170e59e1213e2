"""How is the answer of a function of ours read? Its first row is its head, the others are what was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, LiteralString

from psycopg import AsyncConnection, AsyncCursor, sql
from psycopg.rows import DictRow, tuple_row

from mnemic.model import Actor


@dataclass(frozen=True, slots=True)
class Answer:
    """The head by name (who asks, and the like), the other rows as tuples in the order of ``columns``."""

    head: DictRow
    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]

    @property
    def found(self) -> list[DictRow]:
        """The rows behind the head, by name."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    @property
    def all(self) -> list[DictRow]:
        """All rows by name, where the first one is like the others."""
        return [self.head, *self.found]


@dataclass(frozen=True, slots=True)
class Look:
    """A statement that a transaction begins with: it sets who asks, takes the locks, and tells what it sees.

    It names what it needs as ``{schema}.name``. ``meanwhile`` is called while the database is at it, once
    more where it had to begin again.
    """

    statement: LiteralString
    params: dict[str, Any]
    meanwhile: Callable[[], None]


def asker(actor: Actor) -> dict[str, Any]:
    """Return the parameters that say who asks, as the opening of a transaction does."""
    return {
        "asker_scopes": ",".join(actor.scope_keys),
        "asker_sessions": actor.session_prefix,
        "asker": actor.user,
        "asker_project": actor.project_scope or "",
        "asker_user": actor.user_scope,
    }


@cache
def qualified(statement: LiteralString, schema: str) -> bytes:
    """Return a statement with ``{schema}`` filled in."""
    return sql.SQL(statement).format(schema=sql.Identifier(schema)).as_bytes()


async def read(
    conn: AsyncConnection[Any], statement: LiteralString | bytes, params: dict[str, Any]
) -> Answer:
    """Run a statement and return its answer; many columns travel cheapest in binary, as tuples."""
    cursor = AsyncCursor(conn, row_factory=tuple_row)
    await cursor.execute(statement, params, binary=True)
    return await answered(cursor)


async def answered(cursor: AsyncCursor[tuple[Any, ...]]) -> Answer:
    """Return the answer of the statement that a cursor ran."""
    head, *rows = await cursor.fetchall()
    result = cursor.pgresult
    assert result is not None
    # as its bytes: a description makes an object of every column
    columns = tuple((result.fname(n) or b"").decode() for n in range(result.nfields))
    return Answer(dict(zip(columns, head, strict=True)), columns, rows)
