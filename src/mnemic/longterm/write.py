"""How does a text become an item? One gate, one lock, one transaction.

Texts are screened and embedded first. Then, under an advisory lock on the scope, each is compared with its
neighbours and written with everything that follows from it: verdicts are true when the transaction commits,
and a crash leaves all of it or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemic.chat import ChatModel
from mnemic.embedding.models import Models, switched
from mnemic.embedding.registry import Model
from mnemic.errors import Conflict, EmbeddingError, InvalidInput
from mnemic.ids import new_id
from mnemic.item_rows import at, seal_texts, search_columns
from mnemic.keys import KeyRing
from mnemic.longterm.draft import Draft, checked, texts_of
from mnemic.longterm.gate import Decision, Limits, Screened, screen
from mnemic.longterm.judge import Judgement, judge, slots
from mnemic.longterm.judge.reading import reading_once
from mnemic.longterm.judge_model import ask_judge
from mnemic.longterm.known import NO_OPINIONS, Known, Opinions, Place
from mnemic.longterm.questions import question
from mnemic.model import Actor, Vector, Verdict
from mnemic.permissions import home
from mnemic.storage.pool import Database
from mnemic.storage.statements import statements
from mnemic.text import normalise

_SQL = statements("items")
BATCH = 100
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Ready:
    """A draft that passed the screen and has its vector, of ``model``."""

    draft: Draft
    screened: Screened
    vector: Vector
    model: Model


class Writer:
    """Runs drafts through the gate into the database."""

    def __init__(
        self,
        database: Database,
        keys: KeyRing,
        models: Models,
        limits: Limits,
        chat: ChatModel | None = None,
    ) -> None:
        self.database = database
        self.keys = keys
        self.models = models
        self.limits = limits
        self.known = Known(limits.duplicate_threshold)
        self._chat = chat

    async def add(self, actor: Actor, drafts: Sequence[Draft]) -> list[Verdict]:
        """Return one verdict a draft, in order.

        A draft whose text gets no vector is rejected with the embedder's reason code; the others are not
        affected. Raises InvalidInput before anything is written when any draft cannot be meant. Every 100
        drafts are one transaction: after an error the call may be repeated, what stands is a duplicate.
        """
        verdicts: list[Verdict | None] = [None] * len(drafts)
        ready: dict[str, list[tuple[int, Ready]]] = {}
        meant = [checked(draft) for draft in drafts]
        places = [home(actor, draft.scope)[0] for draft in meant]
        for index, result in enumerate(await self.prepare(actor, meant)):
            if isinstance(result, Verdict):
                verdicts[index] = result
            else:
                ready.setdefault(places[index], []).append((index, result))
        for scope_key, waiting in ready.items():
            for batch in _chunks(waiting, BATCH):
                written = await self._settled(actor, scope_key, [item for _, item in batch])
                for (index, _), verdict in zip(batch, written, strict=True):
                    verdicts[index] = verdict
        return [verdict for verdict in verdicts if verdict is not None]

    async def prepare(self, actor: Actor, drafts: Sequence[Draft]) -> list[Ready | Verdict]:
        """Screen, and embed with the model of each draft's scope; nothing is locked meanwhile."""
        screened = [self.screen(actor, draft) for draft in drafts]
        results: list[Ready | Verdict] = [
            s if isinstance(s, Verdict) else _NO_VERDICT for s in screened
        ]
        passed = [(i, s) for i, s in enumerate(screened) if isinstance(s, Screened)]
        for scope in dict.fromkeys(drafts[i].scope for i, _ in passed):
            model = await self.models.for_scope(actor, scope)
            here = [(i, s) for i, s in passed if drafts[i].scope == scope]
            vectors = await model.vectors([s.text for _, s in here])
            for (index, one), vector in zip(here, vectors, strict=True):
                results[index] = (
                    Verdict("rejected", reason=vector.code, message=vector.message)
                    if isinstance(vector, EmbeddingError)
                    else Ready(drafts[index], one, vector, model)
                )
        return results

    def screen(self, actor: Actor, draft: Draft) -> Screened | Verdict:
        """Return the draft's text as it may be stored, or the verdict that refuses it."""
        result = screen(draft.content, draft.confidence, self.limits, actor.user)
        if isinstance(result, Screened) and draft.metadata:
            return self._screen_metadata(draft, actor, result)
        return result

    def _screen_metadata(self, draft: Draft, actor: Actor, result: Screened) -> Screened | Verdict:
        """Refuse a secret that hides in the metadata; there it cannot be masked."""
        text = "\n".join(texts_of(draft.metadata))
        refusing = replace(self.limits, on_sensitive="refuse", min_length=0, max_length=16_384)
        verdict = screen(text or "-", 1.0, refusing, actor.user)
        return verdict if isinstance(verdict, Verdict) else result

    async def compare(self, actor: Actor, content: str, scope_key: str) -> Decision:
        """Return what the gate would decide about a text beside what is known; nothing is written."""
        if not isinstance(content, str):
            raise InvalidInput("content_not_text", "The content of a memory must be text.")
        text = normalise(content).text
        model = await self.models.for_actor(actor)
        vector = await model.vector(text)
        async with self.database.transaction(actor) as tx:
            key = await self.keys.find(tx, actor)
            if key is None:
                return Decision()
            place = Place(tx, key, scope_key, model)
            twin = await self.known.twin(place, text)
            if twin is not None and not twin.expired:
                return Decision(duplicate_of=twin.id, why="exact")
            return await self.known.decide(place, text, vector)

    async def _settled(self, actor: Actor, scope_key: str, items: Sequence[Ready]) -> list[Verdict]:
        """Write a batch; when the model is changed at that moment, embed it again with the new one."""
        for _ in range(_ATTEMPTS):
            try:
                return await self._write(actor, scope_key, items)
            except Conflict as conflict:
                if conflict.code != "embedding_model_switched":
                    raise
            model = await self.models.for_scope(actor, items[0].draft.scope)
            vectors = [await model.vector(item.screened.text) for item in items]
            items = [
                replace(item, vector=vector, model=model)
                for item, vector in zip(items, vectors, strict=True)
            ]
        raise switched()

    async def _write(self, actor: Actor, scope_key: str, items: Sequence[Ready]) -> list[Verdict]:
        opinions = await self._ask_model(actor, scope_key, items) if self._chat else NO_OPINIONS
        async with self.database.transaction(actor) as tx:
            place = Place(tx, await self.keys.obtain(tx, actor), scope_key, items[0].model)
            await place.lock()
            await self.models.require(tx, actor, scope_key, place.model)
            with reading_once():
                return [await self._place(place, actor, item, opinions) for item in items]

    async def _place(self, place: Place, actor: Actor, item: Ready, opinions: Opinions) -> Verdict:
        text, pending, since = item.screened.text, item.screened.pending, item.draft.valid_from
        twin = await self.known.twin(place, text, since)
        if twin is not None and not twin.expired:
            return await self._duplicate(place, item, twin.id, "exact")
        decision = await self.known.decide(place, text, item.vector, since=since, opinions=opinions)
        if decision.duplicate_of is not None:
            return await self._duplicate(place, item, decision.duplicate_of, decision.why or "same")
        if twin is not None:
            await self.make_room(place, twin.id)
        new = await self._insert(place, actor, item)
        if pending is not None:
            return await self.ask_user(place, item.screened, new, pending)
        await self.settle(place, new, decision, since)
        return replace(
            written(new, decision, decision.why),
            removed=item.screened.removed,
            masked=item.screened.masked,
        )

    async def make_room(self, place: Place, expired: UUID) -> None:
        """Put an expired item into the archive, so that its text may be stored anew."""
        await place.tx.run(_SQL["archive"], {"scope_key": place.scope_key, "id": expired})

    async def settle(
        self, place: Place, item_id: UUID, decision: Decision, since: datetime | None = None
    ) -> None:
        """Let an active item replace what is older, and be replaced by what is newer."""
        params: dict[str, Any] = {"scope_key": place.scope_key}
        if decision.supersedes:
            ids = list(decision.supersedes)
            await place.tx.run(
                _SQL["supersede"], params | {"ids": ids, "by": item_id, "since": since}
            )
        if decision.superseded_by is not None:
            late = {"ids": [item_id], "by": decision.superseded_by, "since": decision.until}
            await place.tx.run(_SQL["supersede"], params | late)

    async def _insert(self, place: Place, actor: Actor, item: Ready) -> UUID:
        draft, new = item.draft, new_id()
        sealed = seal_texts(
            place.key,
            place.scope_key,
            new,
            1,
            content=item.screened.text,
            reason=draft.reason,
            metadata=draft.metadata,
        )
        text = item.screened.text
        found_by = search_columns(place.key, text, item.vector, item.model.model_id, slots(text))
        plain = {
            "scope_key": place.scope_key,
            "id": new,
            "scope": draft.scope,
            "scope_id": home(actor, draft.scope)[1],
            "owner_id": actor.user,
            "memory_type": draft.memory_type,
            "source": draft.source,
            "source_id": draft.source_id,
            "source_seqs": list(draft.source_seqs) or None,
            "confidence": item.screened.confidence,
            "status": "active" if item.screened.pending is None else "pending",
            "valid_from": draft.valid_from,
            "valid_to": draft.valid_to,
        }
        await place.tx.run(_SQL["insert"], plain | sealed | found_by)
        return new

    async def ask_user(self, place: Place, screened: Screened, item_id: UUID, why: str) -> Verdict:
        """Keep the question to a pending item, and return the verdict that asks it."""
        asked = question(screened.text)
        sealed = place.key.seal(asked, at(place.scope_key, item_id, "question", 1))
        params = {
            "scope_key": place.scope_key,
            "id": item_id,
            "reason": why,
            "question_enc": sealed,
        }
        await place.tx.run(_SQL["ask"], params)
        return Verdict(
            "pending",
            id=item_id,
            reason=why,
            question=asked if why != "instruction_like" else None,
            removed=screened.removed,
            masked=screened.masked,
        )

    async def _duplicate(self, place: Place, item: Ready, twin: UUID, why: str) -> Verdict:
        """Strengthen what stands already; a plain statement also confirms an item that was unsure."""
        screened = item.screened
        params: dict[str, Any] = {"scope_key": place.scope_key, "id": twin}
        await place.tx.run(_SQL["strengthen"], params | {"confidence": screened.confidence})
        await place.tx.run(
            _SQL["mark_used"], {"scope_keys": [place.scope_key], "ids": [twin], "uses": [1]}
        )
        asked = await place.tx.one(_SQL["question"], {"scopes": [place.scope_key], "id": twin})
        if asked and asked["reason"] != "instruction_like" and screened.pending is None:
            await self.activate(place, twin, screened, item.vector)
        return Verdict("duplicate", reason=why, of=twin, removed=screened.removed)

    async def activate(
        self, place: Place, item_id: UUID, screened: Screened, vector: Vector | None
    ) -> Decision:
        """Make a pending item active; what it replaces is superseded only now."""
        params: dict[str, Any] = {"scope_key": place.scope_key, "id": item_id}
        row = await place.tx.one(_SQL["activate"], params | {"confidence": screened.confidence})
        await place.tx.run(_SQL["answer"], params)
        if row is None or vector is None:
            return Decision()
        since = row["valid_from"]
        decision = await self.known.decide(
            place, screened.text, vector, since=since, besides=item_id
        )
        await self.settle(place, item_id, decision, since)
        return decision

    async def _ask_model(
        self, actor: Actor, scope_key: str, items: Sequence[Ready]
    ) -> dict[tuple[str, str], Judgement]:
        """Let the chat model judge the unsure pairs before the lock is taken."""
        opinions: dict[tuple[str, str], Judgement] = {}
        async with self.database.transaction(actor) as tx:
            place = Place(tx, await self.keys.obtain(tx, actor), scope_key, items[0].model)
            least = self.limits.duplicate_threshold
            pairs = [
                (neighbour, item.screened.text)
                for item in items
                for neighbour in await self.known.neighbours(
                    place, item.screened.text, item.vector, least=least
                )
            ]
        assert self._chat is not None
        for neighbour, text in pairs:
            by_rules = judge(neighbour.text, text, neighbour.similarity)
            if not by_rules.sure:
                label = await ask_judge(neighbour.text, text, chat=self._chat)
                if label is not None:
                    opinions[neighbour.text, text] = Judgement(label, True, "chat_model")
        return opinions


_NO_VERDICT = Verdict("rejected")


def written(item_id: UUID, decision: Decision, reason: str | None) -> Verdict:
    """Return the verdict about a row that is there now, what it superseded and what supersedes it."""
    old = decision.supersedes
    if decision.superseded_by is not None:
        return Verdict(
            "stored",
            id=item_id,
            reason=decision.why,
            of=decision.superseded_by,
            superseded=old,
            message="Stored as history: something newer is known already.",
        )
    return Verdict(
        "superseded" if old else "stored",
        id=item_id,
        reason=reason,
        of=old[0] if old else None,
        superseded=old,
    )


def _chunks(items: Sequence[tuple[int, Ready]], size: int) -> Iterator[Sequence[tuple[int, Ready]]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
