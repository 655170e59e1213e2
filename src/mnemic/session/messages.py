"""What was said, word for word and in order? The append-only message log of a session."""

from __future__ import annotations

from collections.abc import Sequence

from mnemic.checks import aware, one_of, whole
from mnemic.crypto import DataKey, place
from mnemic.errors import Conflict, InvalidInput, NotFound
from mnemic.keys import KeyRing
from mnemic.model import ROLES, Actor, Turn, known_actor
from mnemic.storage.pool import Database, Transaction
from mnemic.storage.statements import statements
from mnemic.text import normalise

_SQL = statements("messages")
MAX_CHARS = 1_000_000
MAX_READ = 10_000
_LAST = 2**62


class MessageLog:
    """Appends and reads turns; the session comes from the actor."""

    def __init__(self, database: Database, keys: KeyRing) -> None:
        self._database = database
        self._keys = keys

    async def append(self, actor: Actor, turns: Sequence[Turn]) -> list[int]:
        """Append turns in order, in one transaction, and return their sequence numbers (from 1).

        Raises InvalidInput for an actor without session (``session_required``), an unknown role
        (``unknown_role``), content that is no text (``content_not_text``) or over 1,000,000 characters
        (``message_too_long``), and a time without a zone (``naive_datetime``); Conflict for a session that
        was closed (``session_closed``). Nothing is kept then.
        """
        if not isinstance(turns, list | tuple):
            raise InvalidInput("not_turns", "What to append is a list of Turn.")
        checked = [_checked(turn) for turn in turns]
        ids = session_ids(actor)
        if not checked:
            return []
        async with self._database.transaction(actor) as tx:
            key = await self._keys.obtain(tx, actor)
            await tx.run(_SQL["open_session"], ids)
            row = await tx.one(_SQL["reserve"], ids | {"count": len(checked)})
            if row is None:
                raise Conflict("session_closed", "This session was closed: open another one.")
            seqs = list(range(row["last_seq"] + 1, row["last_seq"] + 1 + len(checked)))
            rows = [
                ids
                | {
                    "seq": seq,
                    "role": turn.role,
                    "content_enc": key.seal(turn.content, _at(ids, seq, "content")),
                    "speaker_enc": turn.speaker
                    and key.seal(turn.speaker, _at(ids, seq, "speaker")),
                    "created_at": turn.created_at,
                }
                for seq, turn in zip(seqs, checked, strict=True)
            ]
            await tx.many(_SQL["append"], rows)
        return seqs

    async def read(
        self, actor: Actor, *, after: int = 0, until: int | None = None, limit: int = MAX_READ
    ) -> list[Turn]:
        """Return the turns with ``after < seq <= until``, oldest first, at most ``limit`` (1 to 10,000).

        Raises NotFound (``session_not_found``) for a session that has no log, InvalidInput for bounds that
        are no whole numbers from 0 (``after_out_of_range``, ``until_out_of_range``, ``limit_out_of_range``).
        """
        whole(limit, 1, MAX_READ, "limit")
        whole(after, 0, _LAST, "after")
        if until is not None:
            whole(until, 0, _LAST, "until")
        async with self._database.transaction(actor) as tx:
            if await tx.one(_SQL["session_state"], session_ids(actor)) is None:
                raise NotFound("session_not_found", "There is no such session.")
            key = await self._keys.obtain(tx, actor)
            return await read_turns(tx, key, actor, after=after, until=until, limit=limit)


async def read_turns(
    tx: Transaction,
    key: DataKey,
    actor: Actor,
    *,
    after: int = 0,
    until: int | None = None,
    limit: int = MAX_READ,
) -> list[Turn]:
    """Return turns inside an open transaction."""
    ids = session_ids(actor)
    bounds = {"after": after, "until": until if until is not None else _LAST, "limit": limit}
    rows = await tx.all(_SQL["read"], ids | bounds)
    return [
        Turn(
            role=row["role"],
            content=key.open(row["content_enc"], _at(ids, row["seq"], "content")),
            created_at=row["created_at"],
            seq=row["seq"],
            speaker=row["speaker_enc"]
            and key.open(row["speaker_enc"], _at(ids, row["seq"], "speaker")),
        )
        for row in rows
    ]


def session_ids(actor: Actor) -> dict[str, object]:
    """Return the columns that name the actor's session. Raises InvalidInput (``session_required``)."""
    if known_actor(actor).session is None:
        raise InvalidInput("session_required", "Name a session: the log belongs to one.")
    return {
        "scope_key": actor.session_scope,
        "session_id": actor.session,
        "user_id": actor.user,
        "project_id": actor.project,
    }


def _at(ids: dict[str, object], seq: int, column: str) -> bytes:
    return place("message", str(ids["scope_key"]), seq, column)


def _checked(turn: Turn) -> Turn:
    if not isinstance(turn, Turn):
        raise InvalidInput("not_a_turn", "Every message to append must be a Turn.")
    one_of(turn.role, ROLES, "role")
    if not isinstance(turn.content, str):
        raise InvalidInput("content_not_text", "A turn's content must be text.")
    if len(turn.content) > MAX_CHARS:
        raise InvalidInput("message_too_long", f"A turn holds at most {MAX_CHARS:,} characters.")
    if not (turn.speaker is None or isinstance(turn.speaker, str)):
        raise InvalidInput("speaker_not_text", "A turn's speaker must be text.")
    created_at = aware(turn.created_at, "created_at")
    speaker = normalise(turn.speaker).text or None if turn.speaker else None
    return Turn(turn.role, normalise(turn.content).text, created_at, turn.seq, speaker)
