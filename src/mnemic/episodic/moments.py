"""What does a page show that is loaded again? One sealed row a thread, written with what it tells of.

A checkpoint of the root graph writes the row anew. Questions (``interrupt()``), answers and failures come as
writes beside a checkpoint, and may come before it: LangGraph saves in the background. So a write names the
root checkpoint that it belongs to, and waits in the row for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any

from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME, TASKS

from mnemic.episodic.sealing import Lock, SealedSerializer
from mnemic.storage.pool import Transaction
from mnemic.storage.statements import statements

_SQL = statements("episodes")
NULL_TASK = "00000000-0000-0000-0000-000000000000"
"""Under which LangGraph keeps an answer that is for whichever task asks."""
_BRANCH, _JOIN, _START = "branch:to:", "join:", "__start__"


@dataclass(frozen=True, slots=True)
class Question:
    """What a task asks: where its answer has to be put, and whether there is one."""

    id: str
    value: Any
    ns: str
    checkpoint_id: str
    task_id: str
    task_path: str
    asked_at: datetime
    decided: bool = False


@dataclass(frozen=True, slots=True)
class Moment:
    """A thread as of a root checkpoint: its channels, which nodes come next, questions, a failure."""

    checkpoint_id: str
    values: Mapping[str, Any] = field(default_factory=dict)
    next: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    failure: str | None = None
    at: str | None = None
    early: tuple[Written, ...] = ()
    copied: str = ""
    """In a thread that was copied, until it goes on: what tells its questions from those of the original."""

    def approval_id(self, question: Question) -> str:
        """Return the id by which a question of this thread, and of no other, is decided."""
        return f"{question.id}-{self.copied}" if self.copied else question.id

    @property
    def open(self) -> tuple[Question, ...]:
        """Questions that wait for an answer."""
        return tuple(question for question in self.questions if not question.decided)

    @property
    def status(self) -> str:
        """waiting, failed, ready (all is answered, to be gone on with), running or done."""
        if self.open:
            return "waiting"
        if self.failure is not None:
            return "failed"
        if self.questions:
            return "ready"
        return "running" if self.next else "done"


@dataclass(frozen=True, slots=True)
class Written:
    """A task's writes that say how it stands; ``root`` is the root graph's checkpoint, "" when not told.

    ``asked`` are its questions, each an id and a value.
    """

    ns: str
    checkpoint_id: str
    root: str
    task_id: str
    task_path: str
    asked: tuple[tuple[str, Any], ...]
    answered: bool
    failure: str | None
    at: datetime

    @classmethod
    def of(
        cls,
        named: Mapping[str, Any],
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str,
        at: datetime,
    ) -> Written | None:
        """Return what writes say of their task, None for those that only carry values."""
        said = {
            channel: value for channel, value in writes if channel in (ERROR, INTERRUPT, RESUME)
        }
        if not said:
            return None
        ns, checkpoint_id = str(named.get("checkpoint_ns", "")), str(named["checkpoint_id"])
        asked = said.get(INTERRUPT, ())
        failed = said.get(ERROR)
        return cls(
            ns,
            checkpoint_id,
            checkpoint_id if ns == "" else str((named.get("checkpoint_map") or {}).get("", "")),
            task_id,
            task_path,
            tuple((str(one.id), one.value) for one in asked if hasattr(one, "id"))
            if isinstance(asked, list | tuple)
            else (),
            RESUME in said,
            None if failed is None else failure_of(failed),
            at,
        )


def mark_of(thread: str) -> str:
    """Return the mark of a thread that was copied, by its id in the tables."""
    return hashlib.sha256(thread.encode()).hexdigest()[:8]


def failure_of(error: object) -> str:
    """Return how a failure is told: the class of the error and its words."""
    return f"{type(error).__name__}: {error}" if isinstance(error, BaseException) else str(error)


# ---- pure


def of_checkpoint(checkpoint: Checkpoint) -> Moment:
    """Return the moment of a root checkpoint, without questions."""
    shown = {
        name: value
        for name, value in checkpoint["channel_values"].items()
        if not name.startswith(("__", _BRANCH, _JOIN))
    }
    return Moment(checkpoint["id"], shown, next_nodes(checkpoint), at=checkpoint.get("ts"))


def next_nodes(checkpoint: Checkpoint) -> tuple[str, ...]:
    """Return the nodes that the channels of a checkpoint call for."""
    values = checkpoint["channel_values"]
    found = {name.removeprefix(_BRANCH) for name in values if name.startswith(_BRANCH)}
    if _START in values:
        found.add(_START)
    for send in values.get(TASKS) or ():
        found.add(str(getattr(send, "node", _START)))
    for name, seen in values.items():
        if name.startswith(_JOIN):
            starts, _, end = name.removeprefix(_JOIN).rpartition(":")
            if isinstance(seen, set) and seen >= set(starts.split("+")):
                found.add(end)
    return tuple(sorted(found))


def after(moment: Moment, written: Written) -> Moment:
    """Return the moment after writes. Those of a checkpoint that is past change nothing, those of one that is
    not saved yet wait."""
    root = written.root or moment.checkpoint_id
    if root > moment.checkpoint_id:
        return replace(moment, early=(*moment.early, written))
    if root < moment.checkpoint_id:
        return moment
    questions = [_answered(question, written) for question in moment.questions]
    asked = dict(written.asked)
    deeper = {one.id for one in questions if one.id in asked and len(one.ns) > len(written.ns)}
    kept = [
        question
        for question in questions
        if question.id in deeper
        or not (asked and (question.id in asked or _same_task(question, written)))
    ]
    new = [
        Question(
            name,
            value,
            written.ns,
            written.checkpoint_id,
            written.task_id,
            written.task_path,
            written.at,
        )
        for name, value in asked.items()
        if name not in deeper
    ]
    failure = written.failure or (None if asked else moment.failure)
    return replace(moment, questions=tuple(kept + new), failure=failure)


def following(before: Moment, moment: Moment) -> Moment:
    """Return a moment that is saved now, with the writes that came before it, or were there already."""
    if before.checkpoint_id == moment.checkpoint_id:
        known = before.questions, before.failure, before.copied
        moment = replace(moment, questions=known[0], failure=known[1], copied=known[2])
    for written in before.early:
        moment = after(moment, written)
    return moment


def _answered(question: Question, written: Written) -> Question:
    of_all = written.task_id == NULL_TASK
    if written.answered and (of_all or (not written.asked and _same_task(question, written))):
        return replace(question, decided=True)
    return question


def _same_task(question: Question, written: Written) -> bool:
    return (question.ns, question.task_id) == (written.ns, written.task_id)


# ---- rows


async def put(
    tx: Transaction,
    lock: Lock,
    ids: Mapping[str, Any],
    checkpoint: Checkpoint,
    serializer: SealedSerializer,
    before: Mapping[str, Any],
) -> None:
    """Write the moment of a root checkpoint, with what was written beside it already: ``before`` is the row
    that ``newest_and_snapshot`` gave."""
    moment = of_checkpoint(checkpoint)
    if before["snapshot_enc"] is not None:
        moment = following(opened(before, lock, serializer), moment)
    await write(tx, lock, ids, moment, serializer)


async def moved_on(
    tx: Transaction,
    lock: Lock,
    ids: Mapping[str, Any],
    ns: str,
    checkpoint_id: str,
    serializer: SealedSerializer,
) -> None:
    """Drop the questions of a subgraph that has gone on."""
    row = await tx.one(_SQL["unsettled"], dict(ids))
    if row is None:
        return
    moment = opened(row, lock, serializer)
    kept = tuple(
        one for one in moment.questions if one.ns != ns or one.checkpoint_id >= checkpoint_id
    )
    if kept != moment.questions:
        at = {**ids, "session_id": row["session_id"]}
        await write(tx, lock, at, replace(moment, questions=kept), serializer)


async def wrote(
    tx: Transaction,
    lock: Lock,
    ids: Mapping[str, Any],
    written: Written,
    serializer: SealedSerializer,
) -> None:
    """Note questions, answers and failures of a task."""
    row = await tx.one(_SQL["snapshot_of_thread"], dict(ids))
    moment = Moment("") if row is None else opened(row, lock, serializer)
    changed = after(moment, written)
    if changed != moment:
        await write(tx, lock, ids, changed, serializer)


async def write(
    tx: Transaction,
    lock: Lock,
    ids: Mapping[str, Any],
    moment: Moment,
    serializer: SealedSerializer,
) -> None:
    """Write a moment as the row of its thread."""
    plain = {
        "values": dict(moment.values),
        "next": list(moment.next),
        "failure": moment.failure,
        "early": [_fields(one) for one in moment.early],
        "at": moment.at,
        "copied": moment.copied,
        "questions": [_fields(one) for one in moment.questions],
    }
    sealed = lock.seal(serializer.plain(plain)[1], "snapshot")
    row = {
        "checkpoint_id": moment.checkpoint_id,
        "status": moment.status,
        "waiting": len(moment.open),
        "early": len(moment.early),
        "snapshot_enc": sealed,
    }
    tx.later(_SQL["put_snapshot"], {**ids, **row})


def opened(row: Mapping[str, Any], lock: Lock, serializer: SealedSerializer) -> Moment:
    """Return the moment that a row tells of."""
    plain = serializer.unplain("msgpack", lock.open(row["snapshot_enc"], "snapshot"))
    return Moment(
        row["checkpoint_id"],
        plain["values"],
        tuple(plain["next"]),
        tuple(Question(*each) for each in plain["questions"]),
        plain["failure"],
        plain["at"],
        tuple(_written(each) for each in plain["early"]),
        plain.get("copied", ""),
    )


def _fields(one: Question | Written) -> list[Any]:
    return [getattr(one, each.name) for each in fields(one)]


def _written(kept: list[Any]) -> Written:
    ns, checkpoint_id, root, task_id, task_path, asked, *rest = kept
    questions = tuple((name, value) for name, value in asked)
    return Written(ns, checkpoint_id, root, task_id, task_path, questions, *rest)


def time_of(ts: str | None) -> datetime:
    """Return the time that a checkpoint tells of itself, now for one that does not."""
    return datetime.now(UTC) if ts is None else datetime.fromisoformat(ts)
