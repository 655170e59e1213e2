"""Who makes profiles anew while nobody reads them? A task in every open service.

It looks twice a second for profiles that are behind their items and makes them anew, each in a transaction of
its own as its user. Several processes may do so at once: who finds a profile held passes it over. A crash
leaves the marks of the outbox where they were.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

import structlog

from mnemic.errors import fails_for_all, reason_of
from mnemic.keys import with_keys_of_now
from mnemic.model import Actor
from mnemic.profile.prose import Prose
from mnemic.profile.refresh import Refresh, Standing, may_make
from mnemic.storage.statements import statements

_SQL = statements("profiles")
_LOG = structlog.get_logger("mnemic.profile")
EVERY = 0.5
"""Seconds between two looks."""
_AT_ONCE = 100
_AFTER_FAILURE = 60.0
"""Seconds before a profile that could not be made is tried again."""
_MOST_FAILED = 1_000


class Consumer:
    """Keeps profiles up to date in the background; ``start`` and ``close`` belong to one event loop."""

    def __init__(self, refresh: Refresh, prose: Prose | None = None, every: float = EVERY) -> None:
        self._refresh = refresh
        self._prose = prose
        self._every = every
        self._failed: dict[str, float] = {}
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look; twice is once."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="mnemic-profiles")

    async def close(self) -> None:
        """Stop; a profile that is being made is finished first."""
        self._stop.set()
        if self._task is not None:
            await self._task

    async def turn(self) -> int:
        """Make what is behind now, at most 100 profiles, and return how many were made.

        Raises StorageError where the database does not answer; one profile's failure holds up no other.
        """
        now = time.monotonic()
        self._failed = {scope: until for scope, until in self._failed.items() if until > now}
        params = {"except_scopes": list(self._failed), "most": _AT_ONCE}
        async with self._refresh.database.system() as tx:
            waiting = await tx.all(_SQL["waiting"], params)
        made = 0
        for row in waiting:
            if self._stop.is_set():
                break
            actor = Actor(row["user_id"], project=row["project_id"], purpose="job")
            made += await self._made(row["scope_key"], actor)
        if self._prose is not None:
            await self._prose.work()
        return made

    async def _made(self, scope_key: str, actor: Actor) -> bool:
        try:
            standing = await self._written(scope_key, actor)
            if standing is None:
                return False
        except Exception as error:
            if fails_for_all(error):
                raise
            _LOG.warning("profile not made", **reason_of(error))
            if len(self._failed) < _MOST_FAILED:
                self._failed[scope_key] = time.monotonic() + _AFTER_FAILURE
            return False
        if actor.project is None and self._prose is not None:
            self._prose.note(actor, standing.fields)
        return True

    @with_keys_of_now
    async def _written(self, scope_key: str, actor: Actor) -> Standing | None:
        """Make one profile anew; None where another process is at it, or nobody may."""
        async with self._refresh.database.transaction(actor) as tx:
            held = await tx.one(_SQL["try_hold"], {"scope_key": scope_key})
            if held is None or not held["held"]:
                return None
            if actor.project is None:
                return await self._refresh.user(tx, actor)
            # without an owner by now, nobody may
            return await self._refresh.project(tx, actor) if may_make(tx) else None

    async def _run(self) -> None:
        while not self._stop.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), self._every)
            try:
                while not self._stop.is_set() and await self.turn() == _AT_ONCE:
                    pass
            except Exception as error:  # noqa: BLE001 - one profile holds up no other
                _LOG.warning("profiles wait", **reason_of(error))
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stop.wait(), 10 * self._every)
