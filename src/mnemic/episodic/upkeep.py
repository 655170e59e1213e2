"""How do checkpoints leave the tables that runs work on, and come back?

Some checkpoints of a thread, with the values and writes that they refer to, are one bundle. A bundle is
sealed under the thread that it lies in: to archive, to copy and to bring back all open it and seal it anew.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.serde.types import INTERRUPT
from psycopg.types.json import Jsonb

from mnemic.crypto import DataKey
from mnemic.episodic import moments
from mnemic.episodic.leases import enter, unknown_thread
from mnemic.episodic.metadata import SEALED
from mnemic.episodic.sealing import CIPHER, Lock, SealedSerializer, opened
from mnemic.episodic.threads import Place, shown
from mnemic.errors import Conflict
from mnemic.ids import new_id
from mnemic.model import Actor
from mnemic.storage.pool import Transaction
from mnemic.storage.statements import statements

_SQL = statements("episodes")
BATCH = 200
"""Checkpoints in one archived value."""
_LEVEL = 6
Bundle = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Placed:
    """A checkpoint: its namespace, how many of it are newer (1: it is the newest), when it was written."""

    ns: str
    id: str
    place: int
    at: datetime | None
    root: str | None
    run_id: str | None
    delta: bool


def expired(all_of_thread: Sequence[Placed], keep: int, before: datetime | None) -> list[Placed]:
    """Return what may go: older than ``before`` (None: of any age) and not of the newest ``keep``.

    The newest of a namespace stays, unless it is a subgraph's and the checkpoint that it was called at goes.
    """
    old = [
        one
        for one in all_of_thread
        if one.place > max(keep, 1) and (before is None or (one.at is not None and one.at < before))
    ]
    roots = {one.id for one in old if one.ns == ""}
    called = [one for one in all_of_thread if one.ns != "" and one.root in roots and one not in old]
    return old + called


async def placed(tx: Transaction, place: Place) -> list[Placed]:
    """Return all live checkpoints of a thread."""
    rows = await tx.all(_SQL["placed"], place.ids)
    return [
        Placed(
            row["checkpoint_ns"],
            row["checkpoint_id"],
            row["place"],
            datetime.fromisoformat(row["ts"]) if row["ts"] else None,
            row["root"],
            row["run_id"],
            row["delta"],
        )
        for row in rows
    ]


async def archive(
    tx: Transaction,
    lock: Lock,
    place: Place,
    serializer: SealedSerializer,
    *,
    keep: int,
    before: datetime | None,
) -> int:
    """Move what is expired into the archive and return how many checkpoints that were."""
    await _hold(tx, place)
    every = await placed(tx, place)
    await tx.run(_SQL["looked_at"], place.ids)
    if any(one.delta for one in every):
        return 0  # later checkpoints are made of the differences in earlier ones
    going = sorted(expired(every, keep, before), key=lambda one: (one.ns, one.id))
    for start in range(0, len(going), BATCH):
        some = going[start : start + BATCH]
        plain = serializer.plain(await taken(tx, lock, place, some))[1]
        packed = zlib.compress(plain, _LEVEL)
        row = {
            "id": new_id(),
            "checkpoints": [one.id for one in some],
            "n_bytes": len(plain),
            "archive_enc": lock.seal(packed, "archive"),
        }
        await tx.run(_SQL["add_archive"], {**place.ids, **row})
    await _drop(tx, place, going)
    return len(going)


async def restore(
    tx: Transaction,
    lock: Lock,
    place: Place,
    serializer: SealedSerializer,
    checkpoint_id: str | None = None,
) -> int:
    """Bring archived checkpoints back (all, or those that lie with one) and return how many."""
    await _hold(tx, place)
    rows = await tx.all(_SQL["archives"], {**place.ids, "checkpoint_id": checkpoint_id})
    count = 0
    for row in rows:
        plain = zlib.decompress(lock.open(row["archive_enc"], "archive"))
        await given(tx, lock, place, serializer.unplain("msgpack", plain))
        await tx.run(_SQL["drop_archive"], {**place.ids, "id": row["id"]})
        count += len(row["checkpoints"])
    return count


async def prune(tx: Transaction, place: Place, *, keep: int, before: datetime | None = None) -> int:
    """Delete what is expired, for good, and return how many checkpoints that were.

    Raises Conflict (``delta_thread``) for a thread with channels that keep differences.
    """
    await _hold(tx, place)
    every = await placed(tx, place)
    going = expired(every, keep, before)
    if going and any(one.delta for one in every):
        raise Conflict(
            "delta_thread",
            "This thread has channels that keep differences: delete it as a whole, or not at all.",
        )
    await _drop(tx, place, going)
    await tx.run(_SQL["forget_parents"], place.ids)
    return len(going)


async def delete(tx: Transaction, place: Place) -> list[int] | None:
    """Delete a thread with everything of it; return how many checkpoints it had, live and archived.

    None where there was no thread.
    """
    taken = await tx.one(_SQL["take_thread"], place.ids)
    if taken is None:
        return None  # and one that somebody begins at this moment stays whole
    for name in ("drop_all_writes", "drop_all_blobs"):
        await tx.run(_SQL[name], place.ids)
    live = await tx.run(_SQL["drop_all_checkpoints"], place.ids)
    await tx.run(_SQL["drop_thread"], place.ids)
    return [live, taken["archived"]]


async def delete_runs(
    tx: Transaction,
    lock: Lock,
    actor: Actor,
    run_ids: Sequence[str],
    serializer: SealedSerializer,
) -> int:
    """Delete the checkpoints of runs, in all threads of the actor, live and archived; return how many."""
    count, wanted = 0, {str(run_id) for run_id in run_ids}
    for row in await tx.all(_SQL["thread_ids"], {"scope_key": actor.user_scope}):
        place = Place(actor, shown(row["thread_id"]))
        within = Lock(lock.key, lock.scope_key, place.stored)
        await restore(tx, within, place, serializer)
        going = [one for one in await placed(tx, place) if one.run_id in wanted]
        if going:
            await _drop(tx, place, going)
            await tx.run(_SQL["forget_parents"], place.ids)
            await _tell(tx, within, place, serializer)
        count += len(going)
    return count


async def copy(
    tx: Transaction,
    key: DataKey,
    source: Place,
    target: Place,
    serializer: SealedSerializer,
    until: str | None = None,
) -> int:
    """Copy the checkpoints of a thread (up to one of the root graph) to another; return how many.

    Raises NotFound (``unknown_thread``), Conflict (``thread_exists``) where the other is not empty, and
    ``thread_leased`` or ``session_closed`` where nobody may write there.
    """
    await _hold(tx, source, target, made=target)
    await enter(tx, target)
    scope_key = source.actor.user_scope
    within, into = (Lock(key, scope_key, one.stored) for one in (source, target))
    await restore(tx, within, source, serializer)
    some = [one for one in await placed(tx, source) if until is None or _until(one, until)]
    if not some:
        raise unknown_thread()
    if await placed(tx, target):
        raise Conflict("thread_exists", "There are checkpoints in that thread: name a new one.")
    await given(tx, into, target, await taken(tx, within, source, some))
    known = await _moment(tx, within, source, serializer)
    await _tell(tx, into, target, serializer, known, copied=moments.mark_of(target.stored))
    return len(some)


def _until(one: Placed, checkpoint_id: str) -> bool:
    return (one.id if one.ns == "" else one.root or one.id) <= checkpoint_id


async def taken(tx: Transaction, lock: Lock, place: Place, some: Iterable[Placed]) -> Bundle:
    """Return checkpoints with what they refer to, opened."""
    at = {**place.ids, **_named(some)}
    bundle = {name: await tx.all(_SQL[name], at) for name in ("checkpoints", "blobs", "writes")}
    for row in (*bundle["blobs"], *bundle["writes"]):
        if row["blob"] is not None:
            row["type"], row["blob"] = opened(lock, row["type"], row["blob"])
    for row in bundle["checkpoints"]:
        _metadata(row, lambda sealed: lock.open(sealed, "metadata"))
    return {name: [dict(row) for row in rows] for name, rows in bundle.items()}


async def given(tx: Transaction, lock: Lock, place: Place, bundle: Bundle) -> None:
    """Write the checkpoints of a bundle into a thread, sealed for it; those that are there stay."""
    for row in (*bundle["blobs"], *bundle["writes"]):
        if row["blob"] is not None:
            row["type"] = f"{row['type']}+{CIPHER}-{lock.key.key_id}"
            row["blob"] = lock.seal(row["blob"])
    for row in bundle["checkpoints"]:
        _metadata(row, lambda plain: lock.seal(plain, "metadata"))
        row["checkpoint"], row["metadata"] = Jsonb(row["checkpoint"]), Jsonb(row["metadata"])
    for name, rows in (
        ("put_blob", "blobs"),
        ("put_write", "writes"),
        ("put_checkpoint", "checkpoints"),
    ):
        if bundle[rows]:
            await tx.many(_SQL[name], [{**row, "thread_id": place.stored} for row in bundle[rows]])


def _metadata(row: dict[str, Any], change: Any) -> None:
    written = dict(row["metadata"])
    if SEALED in written:
        changed = change(base64.b64decode(written[SEALED]))
        row["metadata"] = written | {SEALED: base64.b64encode(changed).decode("ascii")}


async def _hold(tx: Transaction, *places: Place, made: Place | None = None) -> None:
    """Let nobody else write threads until the transaction ends; one is ``made`` where it is not there. All
    take them in one order, so that nobody waits for somebody who waits for them."""
    for place in sorted(places, key=lambda place: place.stored):
        if place is made:
            await tx.run(_SQL["know_thread"], place.ids)
        await tx.one(_SQL["hold_still"], place.ids)


async def _drop(tx: Transaction, place: Place, going: Sequence[Placed]) -> None:
    if not going:
        return
    at = {**place.ids, **_named(going)}
    for name in ("drop_writes", "drop_checkpoints", "drop_unused_blobs"):
        await tx.run(_SQL[name], at)


def _named(some: Iterable[Placed]) -> dict[str, list[str]]:
    pairs = [(one.ns, one.id) for one in some]
    return {"namespaces": [ns for ns, _ in pairs], "ids": [name for _, name in pairs]}


async def _moment(
    tx: Transaction, lock: Lock, place: Place, serializer: SealedSerializer
) -> moments.Moment | None:
    row = await tx.one(_SQL["snapshot_of_thread"], place.ids)
    return None if row is None else moments.opened(row, lock, serializer)


async def _tell(
    tx: Transaction,
    lock: Lock,
    place: Place,
    serializer: SealedSerializer,
    known: moments.Moment | None = None,
    *,
    copied: str = "",
) -> None:
    """Write the snapshot of a thread anew, from its newest root checkpoint; ``known`` is one to take as it
    is where it tells of the same checkpoint, ``copied`` the mark of a thread that was copied."""
    at: Mapping[str, Any] = {**place.ids, "checkpoint_ns": ""}
    newest = await tx.one(_SQL["newest"], dict(at))
    if newest is None:
        await tx.run(_SQL["drop_snapshot"], dict(at))
        return
    if known is None or known.checkpoint_id != newest["checkpoint_id"]:
        one = Placed("", newest["checkpoint_id"], 1, None, None, None, delta=False)
        known = _read(await taken(tx, lock, place, [one]), serializer)
    session = await tx.one(_SQL["thread"], place.ids)
    named = {"session_id": session["session_id"]} if session else {}
    moment = replace(known, copied=copied)
    await moments.write(tx, lock, {**at, **named}, moment, serializer)


def _read(bundle: Bundle, serializer: SealedSerializer) -> moments.Moment:
    """Return the moment of the one checkpoint in a bundle; a question that has an answer is decided."""
    (row,) = bundle["checkpoints"]
    versions = row["checkpoint"]["channel_versions"]
    values = {
        blob["channel"]: serializer.unplain(blob["type"], blob["blob"])
        for blob in bundle["blobs"]
        if blob["blob"] is not None and versions.get(blob["channel"]) == blob["version"]
    }
    moment = moments.of_checkpoint(
        cast("Checkpoint", row["checkpoint"] | {"channel_values": values})
    )
    by_task: dict[tuple[str, str], list[tuple[str, Any]]] = {}
    for write in bundle["writes"]:
        task = (write["task_id"], write["task_path"])
        value = serializer.unplain(write["type"], write["blob"])
        by_task.setdefault(task, []).append((write["channel"], value))
    named = {"checkpoint_ns": "", "checkpoint_id": row["checkpoint_id"]}
    asked_at = moments.time_of(row["checkpoint"].get("ts"))
    for (task_id, task_path), writes in by_task.items():
        asked = [write for write in writes if write[0] == INTERRUPT]
        others = [write for write in writes if write[0] != INTERRUPT]
        for some in (asked, others):
            written = moments.Written.of(named, some, task_id, task_path, asked_at)
            if written is not None:
                moment = moments.after(moment, written)
    return moment
