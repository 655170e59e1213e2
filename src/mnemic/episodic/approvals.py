"""What does a run get for an answer when a person approves, edits or rejects? And where is it put?

The answer is written beside the checkpoint, as LangGraph itself writes answers: whoever goes on with the
thread (``graph.ainvoke(None, config)``), in this process or after a crash in another, finds it there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from langgraph.checkpoint.serde.types import RESUME

from mnemic.episodic import moments
from mnemic.episodic.episode import Approval, Decision, actions_in
from mnemic.episodic.sealing import Lock, SealedSerializer, locked_with
from mnemic.episodic.threads import shown
from mnemic.errors import Conflict, InvalidInput, NotFound
from mnemic.model import Actor
from mnemic.storage.pool import Transaction
from mnemic.storage.statements import statements

_SQL = statements("episodes")
_SLOT = -4
"""The place of a task's answers among its writes, as LangGraph numbers them."""


def answer_to(question: object, decision: Decision, given: Any, message: str | None) -> Any:
    """Return the answer that a decision is.

    To a human-in-the-loop request of LangChain's: a decision for each of its tool calls. To any other
    question: True, what was ``given``, or False. Raises InvalidInput: ``several_actions``, ``edit_missing``,
    ``decision_not_allowed``, ``value_unwanted``.
    """
    actions = actions_in(question)
    if not actions:
        if decision == "edit" and given is None:
            raise InvalidInput("edit_missing", "Say what is to be done in place of it.")
        if decision == "reject":
            return False if message is None else {"type": "reject", "message": message}
        return True if given is None else given
    _require_allowed(question, decision)
    if decision == "approve" and given is not None:
        raise InvalidInput(
            "value_unwanted", "This asks about a tool call: approve it as it is, or edit it."
        )
    if decision == "edit":
        return {"decisions": [_edited(actions, given)]}
    one: dict[str, Any] = {"type": decision}
    if decision == "reject" and message is not None:
        one["message"] = message
    return {"decisions": [dict(one) for _ in actions]}


def _edited(actions: tuple[Mapping[str, Any], ...], given: Any) -> dict[str, Any]:
    if len(actions) > 1:
        raise InvalidInput(
            "several_actions",
            "This asks about several calls: give a decision for each with answer().",
        )
    if not isinstance(given, Mapping):
        raise InvalidInput("edit_missing", "Give the arguments to call the tool with.")
    edited = {"name": actions[0]["name"], "args": dict(given)}
    return {"type": "edit", "edited_action": edited}


def _require_allowed(question: object, decision: Decision) -> None:
    assert isinstance(question, Mapping)
    configs = question.get("review_configs")
    for config in configs if isinstance(configs, list | tuple) else ():
        allowed = config.get("allowed_decisions") if isinstance(config, Mapping) else None
        if isinstance(allowed, list | tuple) and allowed and decision not in allowed:
            raise InvalidInput(
                "decision_not_allowed",
                f"This call may be decided by: {', '.join(map(str, allowed))}.",
            )


def approvals_in(row: Mapping[str, Any], moment: moments.Moment) -> tuple[Approval, ...]:
    """Return what waits in a thread."""
    thread = shown(row["thread_id"])
    return tuple(
        Approval(
            moment.approval_id(one),
            thread,
            row["session_id"],
            one.value,
            one.asked_at,
            actions_in(one.value),
        )
        for one in moment.open
    )


async def find(
    tx: Transaction, actor: Actor, lock: Lock, approval_id: str, serializer: SealedSerializer
) -> tuple[Mapping[str, Any], moments.Moment, moments.Question]:
    """Return a question of the actor's by its id, with its thread's row.

    Raises NotFound (``unknown_approval``), Conflict (``approval_decided``).
    """
    decided = False
    for row in await tx.all(_SQL["settling"], {"scope_key": actor.user_scope}):
        within = lock.of(row["thread_id"])
        moment = moments.opened(row, within, serializer)
        for question in moment.questions:
            if moment.approval_id(question) == approval_id:
                if not question.decided:
                    return row, moment, question
                decided = True
    if decided:
        raise Conflict("approval_decided", "Somebody has decided this already.")
    raise unknown_approval()


def unknown_approval() -> NotFound:
    """Return the error for a question that is not there, or somebody else's."""
    return NotFound("unknown_approval", "Nothing with this id waits for a decision.")


async def put_answer(
    tx: Transaction,
    lock: Lock,
    ids: Mapping[str, Any],
    moment: moments.Moment,
    question: moments.Question,
    answer: Any,
    serializer: SealedSerializer,
) -> moments.Moment:
    """Write an answer beside its checkpoint, behind earlier ones of its task; return the moment after it."""
    at = {
        "thread_id": ids["thread_id"],
        "checkpoint_ns": question.ns,
        "checkpoint_id": question.checkpoint_id,
        "task_id": question.task_id,
        "task_path": question.task_path,
        "channel": RESUME,
        "idx": _SLOT,
    }
    with locked_with(lock):
        before = await tx.one(_SQL["answers"], at)
        earlier = [] if before is None else serializer.loads_typed((before["type"], before["blob"]))
        answers = [*(earlier if isinstance(earlier, list) else [earlier]), answer]
        kind, blob = serializer.dumps_typed(answers)
    await tx.run(_SQL["put_write"], at | {"type": kind, "blob": blob})
    decided = tuple(
        replace(one, decided=True) if one.id == question.id else one for one in moment.questions
    )
    after = replace(moment, questions=decided)
    await moments.write(tx, lock, ids, after, serializer)
    return after
