"""Has this request been made before, and what was it told?

A key is reserved in a transaction of its own, so that whoever sends the same request meanwhile hears that it
is under way. The answer is committed with the write itself (``pool.ON_WRITE``): a process that dies leaves
both or neither. A reservation whose process died is taken over after a while; its token then changes,
and a write that comes late under the old one is undone.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from mnemic.crypto import DataKey, place
from mnemic.errors import Conflict, InvalidInput, MnemicError
from mnemic.ids import new_id
from mnemic.keys import KeyRing
from mnemic.model import Actor
from mnemic.storage.pool import ON_WRITE, Database, Transaction
from mnemic.storage.statements import statements

KEEP = timedelta(hours=24)
"""How long an answer is repeated."""
STALE_AFTER = 15.0
"""Seconds after which whoever reserved a key and has not been heard of since is taken for dead."""
RETRY_AFTER = 1
"""Seconds after which it is worth asking again while the first request is under way."""

_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_SWEEP_EVERY, _SWEEP_MOST = 32, 100
_ATTEMPTS = 3
_SQL = statements("access")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request was told: status, headers and body as text."""

    status: int
    body: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reservation:
    """The right to answer one request."""

    actor: Actor
    key_mac: bytes
    token: UUID
    data_key: DataKey


Work = Callable[[], Awaitable[object]]
Render = Callable[[object], Answer]


def fingerprint(method: str, path: str, query: str, body: bytes, media: str = "") -> str:
    """Return what two requests have in common only when they are the same."""
    parts = (method.upper(), path, query, media, hashlib.sha256(body).hexdigest())
    return "\0".join(parts)


class Idempotency:
    """The answers of the last 24 hours, a user's own sealed with the user's data key."""

    def __init__(
        self,
        database: Database,
        keys: KeyRing,
        *,
        stale_after: float = STALE_AFTER,
        keep: timedelta = KEEP,
    ) -> None:
        self._database = database
        self._keys = keys
        self._stale = timedelta(seconds=stale_after)
        self._keep = keep
        self._reserved = 0

    async def run(
        self,
        actor: Actor,
        key: str,
        request: str,
        work: Work,
        render: Render,
        *,
        consent: bool = True,
    ) -> Answer:
        """Do the work of a request once, and return its answer, or the one that was given before.

        ``request`` is its ``fingerprint``; ``render`` makes the answer of what a writing method returns. An
        error gives the key back, so that the request may be tried again. Raises what ``reserve`` and
        ``work`` do.
        """
        found = await self.reserve(actor, key, request, consent=consent)
        if isinstance(found, Answer):
            return found
        committed: list[Answer] = []
        waiting = ON_WRITE.set(self._hook(found, render, committed))
        alive = asyncio.ensure_future(self._keep_alive(found, consent))
        try:
            answer = render(await work())
            if committed[-1:] != [answer]:  # nothing was written, or in several steps
                await self.finish(found, answer, consent=consent)
        except BaseException:
            await self._give_back(found, consent)
            raise
        finally:
            alive.cancel()
            ON_WRITE.reset(waiting)
        return answer

    async def reserve(
        self, actor: Actor, key: str, request: str, *, consent: bool = True
    ) -> Reservation | Answer:
        """Return the answer that this request was given before, else the right to answer it.

        Raises InvalidInput (``idempotency_key_invalid``; ``idempotency_mismatch`` when the key came with
        another request), Conflict (``idempotency_in_flight``, details: retry_after), and what a transaction
        of the actor does.
        """
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            raise InvalidInput(
                "idempotency_key_invalid",
                "An Idempotency-Key has 1 to 255 visible ASCII characters; a UUID is a good one.",
            )
        async with self._database.transaction(actor, consent=consent) as tx:
            data_key = await self._keys.obtain(tx, actor)
            key_mac = _mac(data_key, "key", actor.credential, key)
            mine = Reservation(actor, key_mac, new_id(), data_key)
            request_mac = _mac(data_key, "request", actor.project, actor.session, request)
            return await self._reserved_in(tx, mine, request_mac)

    async def answer(self, tx: Transaction, reservation: Reservation, answer: Answer) -> None:
        """Store the answer inside the transaction of the write that it tells of.

        Raises Conflict (``idempotency_taken_over``), which undoes the write, when somebody else answers.
        """
        at = _place(reservation)
        text = json.dumps([answer.status, answer.body, dict(answer.headers)], ensure_ascii=False)
        params = _of(reservation) | {"response_enc": reservation.data_key.seal(_plain(text), at)}
        if await tx.run(_SQL["answer"], params):
            return
        # where the work was to erase the user, their reservation went too, and nothing is kept of it
        if await tx.one(_SQL["still_known"], params) is not None:
            raise Conflict(
                "idempotency_taken_over",
                "This request took too long and was started again by another; nothing was written.",
            )

    async def finish(
        self, reservation: Reservation, answer: Answer, *, consent: bool = True
    ) -> None:
        """Store the final answer; what was committed with the write is replaced by what was sent."""
        async with self._database.transaction(reservation.actor, consent=consent) as tx:
            await self.answer(tx, reservation, answer)

    async def release(self, reservation: Reservation, *, consent: bool = True) -> None:
        """Give the key of a request back that was not answered; an answered one keeps it."""
        async with self._database.transaction(reservation.actor, consent=consent) as tx:
            await tx.run(_SQL["release"], _of(reservation))

    def _hook(
        self, reservation: Reservation, render: Render, committed: list[Answer]
    ) -> Callable[[Transaction, object], Awaitable[None]]:
        async def store(tx: Transaction, result: object) -> None:
            answer = render(result)
            await self.answer(tx, reservation, answer)
            committed.append(answer)

        return store

    async def _keep_alive(self, reservation: Reservation, consent: bool) -> None:
        """Say now and then that this process still works on its request."""
        while True:
            await asyncio.sleep(self._stale.total_seconds() / 3)
            with suppress(MnemicError):
                actor = reservation.actor
                async with self._database.transaction(actor, consent=consent) as tx:
                    await tx.run(_SQL["keep_alive"], _of(reservation))

    async def _give_back(self, reservation: Reservation, consent: bool) -> None:
        """Release, also for a caller that was cancelled; where that fails it is taken over in time."""
        with suppress(MnemicError):
            await asyncio.shield(self.release(reservation, consent=consent))

    async def _reserved_in(
        self, tx: Transaction, mine: Reservation, request_mac: bytes
    ) -> Reservation | Answer:
        await self._sweep(tx)
        params = _of(mine) | {"request_mac": request_mac, "keep": self._keep, "stale": self._stale}
        for _ in range(_ATTEMPTS):
            if await tx.run(_SQL["reserve"], params):
                return mine
            row = await tx.one(_SQL["reserved"], params)
            if row is None:
                continue  # given back at this moment
            if row["expired"]:
                await tx.run(_SQL["take_over"], params)
                return mine
            if bytes(row["request_mac"]) != request_mac:
                raise InvalidInput(
                    "idempotency_mismatch",
                    "This Idempotency-Key came with another request: use a new key for each request.",
                )
            if row["state"] == "done":
                return _opened(mine, bytes(row["response_enc"]))
            if row["stale"]:
                await tx.run(_SQL["take_over"], params)
                return mine
            break
        raise Conflict(
            "idempotency_in_flight",
            "The first request with this Idempotency-Key is still under way: ask again soon.",
            retry_after=RETRY_AFTER,
        )

    async def _sweep(self, tx: Transaction) -> None:
        """Remove what has expired, of everybody, now and then."""
        self._reserved += 1
        if self._reserved % _SWEEP_EVERY == 1:
            await tx.run(_SQL["drop_expired"], {"most": _SWEEP_MOST})


def _mac(data_key: DataKey, what: str, *parts: str | None) -> bytes:
    return data_key.mac(f"idempotency/{what}\0{json.dumps(parts)}")


def _of(reservation: Reservation) -> dict[str, object]:
    return {
        "scope_key": reservation.actor.user_scope,
        "key_mac": reservation.key_mac,
        "token": reservation.token,
    }


def _place(reservation: Reservation) -> bytes:
    scope_key, row = reservation.actor.user_scope, reservation.key_mac.hex()
    return place("idempotency_key", scope_key, row, "response")


def _opened(reservation: Reservation, sealed: bytes) -> Answer:
    status, body, headers = json.loads(reservation.data_key.open(sealed, _place(reservation)))
    return Answer(status, body, headers)


def _plain(text: str) -> str:
    """Half a surrogate pair has no UTF-8: it is stored as the question mark that it is sent as."""
    return text.encode("utf-8", "replace").decode("utf-8")
