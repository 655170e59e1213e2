"""Who may write a thread now? One run at a time, and only on top of what is newest.

A checkpoint names its parent. When others have gone on from there meanwhile, the thread would have two ends
and one of them would be lost without a word: that is a conflict here, and going on from an earlier checkpoint
is said aloud, with ``episodes.fork()``. A lease keeps others out before they have done anything.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from mnemic.checks import whole
from mnemic.episodic.threads import Place
from mnemic.errors import Conflict, NotFound
from mnemic.storage.pool import Transaction
from mnemic.storage.statements import statements

_SQL = statements("episodes")
LONGEST = 86_400
"""Seconds for which a lease may be held."""
_FORKING: ContextVar[bool] = ContextVar("mnemic_forking", default=False)


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write a thread alone until a moment; ``config`` is what a graph is to be run with."""

    thread: str
    token: UUID
    until: datetime
    config: Mapping[str, Any]


class Lives:
    """Which life of its user each thread was loaded in, for the threads of late that this process runs.

    Whoever comes under the id of an erased user is somebody else: what a run from before still writes must
    not become theirs.
    """

    def __init__(self, capacity: int = 10_000) -> None:
        self._capacity = capacity
        self._epochs: OrderedDict[str, int] = OrderedDict()

    def begin(self, stored: str, epoch: int | None) -> None:
        """Note the life that a thread is loaded in; None when its user is not known yet."""
        self._epochs.pop(stored, None)
        if epoch is not None:
            self._epochs[stored] = epoch
            if len(self._epochs) > self._capacity:
                self._epochs.popitem(last=False)

    async def require(self, tx: Transaction, place: Place) -> int:
        """Return the life that this is; the user is known by now. Raises Conflict (``thread_gone``) when the
        thread was loaded in another."""
        epoch: int = tx.key_epoch
        if not tx.known_user:  # when the transaction began: others may have come first
            row = await tx.one(_SQL["life"], place.ids)
            epoch = epoch if row is None else row["key_epoch"]
        if self._epochs.get(place.stored, epoch) != epoch:
            raise _gone()
        return epoch


@contextmanager
def forking() -> Iterator[None]:
    """Let a checkpoint follow on any earlier one in here."""
    token = _FORKING.set(True)
    try:
        yield
    finally:
        _FORKING.reset(token)


def is_forking() -> bool:
    """Tell whether a checkpoint is put on an earlier one on purpose."""
    return _FORKING.get()


async def enter(tx: Transaction, place: Place, *, alone: bool = True) -> str:
    """Let a run write the thread, made where there is none, ``alone`` until the transaction ends; return the
    thread's session.

    Raises Conflict: ``thread_leased`` while another run has it, ``session_closed`` when its session has
    ended.
    """
    row = await tx.one(_SQL["hold_thread" if alone else "thread"], place.ids)
    if row is None:
        # Two unique indexes hold a thread; "do update" minds one of them, "do nothing" waits for both.
        await tx.run(_SQL["know_thread"], place.ids)
        row = await tx.one(_SQL["hold_thread"], place.ids)
    return _admitted(row, place)


async def admit(tx: Transaction, place: Place) -> str:
    """Let a run go on with a thread, as ``enter`` does. Raises NotFound (``unknown_thread``) too."""
    return _admitted(await tx.one(_SQL["hold_thread"], place.ids), place)


def _admitted(row: Mapping[str, Any] | None, place: Place) -> str:
    session = _session(row)
    if row is not None and row["leased"] and row["lease_token"] != place.token:
        raise Conflict(
            "thread_leased",
            "Another run is at this thread: wait for it, or run with the config of its lease.",
        )
    return session


async def hold(tx: Transaction, place: Place) -> str:
    """Hold the thread until the transaction ends, whoever has its lease; return its session.

    Raises as ``admit``, but for the lease.
    """
    return _session(await tx.one(_SQL["hold_thread"], {**place.ids, "named": False}))


def _session(row: Mapping[str, Any] | None) -> str:
    if row is None:
        raise unknown_thread()
    if row["closed"]:
        raise Conflict("session_closed", "This session was closed: open another one.")
    return str(row["session_id"])


async def require_newest(
    tx: Transaction,
    place: Place,
    ns: str,
    parent: object,
    new: str,
    newest: str | None,
    *,
    empty: bool,
) -> None:
    """Raise Conflict unless a checkpoint goes on from the newest: ``checkpoint_behind``, ``thread_gone``, and
    ``checkpoint_clock`` when its id, which holds its time, would not come last.

    A checkpoint without a parent is from a run that found the thread empty; an ``empty`` one, which no run
    makes, stands for nothing that could be lost.
    """
    if newest is None and parent is not None:
        raise _gone()
    if newest is None or newest == new or is_forking():
        return
    follows = newest == parent or (empty and parent is None)
    if follows and newest < new:
        return
    at = place.ids | {"checkpoint_ns": ns, "checkpoint_id": new}
    if await tx.one(_SQL["parent_of"], at) is not None:
        return  # the same again
    if not follows:
        raise Conflict(
            "checkpoint_behind",
            "This thread has gone on meanwhile: load it again; or call episodes.fork() first, to go on from"
            " an earlier checkpoint.",
        )
    raise Conflict(
        "checkpoint_clock",
        "The clock of this machine is behind that of the one that wrote this thread last: try again"
        " in a while, and set the clocks.",
    )


async def take(tx: Transaction, place: Place, seconds: float, token: UUID | None) -> Lease:
    """Take the lease of a thread, made where there is none. Raises Conflict (``thread_leased``)."""
    await tx.run(_SQL["know_thread"], place.ids)
    token = token or uuid4()
    lease = timedelta(seconds=whole(seconds, 1, LONGEST, "lease"))
    row = await tx.one(_SQL["take_lease"], place.ids | {"token": token, "lease": lease})
    if row is None:
        raise Conflict("thread_leased", "Another run is at this thread: wait for it.")
    return _lease(place, token, row["lease_until"])


async def renew(tx: Transaction, place: Place, token: UUID, seconds: float) -> Lease:
    """Hold a lease for longer, from now on. Raises Conflict (``lease_lost``) once it is over."""
    lease = timedelta(seconds=whole(seconds, 1, LONGEST, "lease"))
    row = await tx.one(_SQL["renew_lease"], place.ids | {"token": token, "lease": lease})
    if row is None:
        raise Conflict("lease_lost", "This lease is over: take the thread again.")
    return _lease(place, token, row["lease_until"])


async def drop(tx: Transaction, place: Place, token: UUID) -> None:
    """Give a lease back; one that is over is no error."""
    await tx.run(_SQL["drop_lease"], place.ids | {"token": token})


def unknown_thread() -> NotFound:
    """Return the error for a thread that is not there, or somebody else's."""
    return NotFound("unknown_thread", "There is no such thread or session.")


def _gone() -> Conflict:
    return Conflict("thread_gone", "This thread was deleted while the run was at it.")


def _lease(place: Place, token: UUID, until: datetime) -> Lease:
    return Lease(place.thread, token, until, Place(place.actor, place.thread, token).config())
