"""How does a text become an item? One gate, one lock, one transaction.

Texts are screened and embedded first. Then, under an advisory lock on the scope, each is compared with its
neighbours and written with everything that follows from it: verdicts are true when the transaction commits,
and a crash leaves all of it or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from mnemic.chat import ChatModel
from mnemic.crypto import DataKey
from mnemic.embedding.registry import Model
from mnemic.errors import EmbeddingError
from mnemic.ids import new_id
from mnemic.item_rows import at, seal_texts, search_columns
from mnemic.keys import KeyRing
from mnemic.longterm.draft import Draft, checked
from mnemic.longterm.gate import Decision, Judge, Limits, Neighbour, Screened, decide, screen
from mnemic.longterm.judge import Judgement, judge
from mnemic.longterm.judge_model import ask_judge
from mnemic.longterm.questions import question
from mnemic.model import Actor, Vector, Verdict
from mnemic.permissions import home
from mnemic.storage.halfvec import HalfVector
from mnemic.storage.pool import Database, Transaction
from mnemic.storage.statements import statements
from mnemic.text import exact_form, normalise

_SQL = statements("items")
NEIGHBOURS = 8
BATCH = 100
_NOBODY = UUID(int=0)
Opinions = Mapping[tuple[str, str], Judgement]


@dataclass(frozen=True, slots=True)
class Ready:
    """A draft that passed the screen and has its vector."""

    draft: Draft
    screened: Screened
    vector: Vector


class Writer:
    """Runs drafts through the gate into the database."""

    def __init__(
        self,
        database: Database,
        keys: KeyRing,
        model: Model,
        limits: Limits,
        chat: ChatModel | None = None,
    ) -> None:
        self.database = database
        self.keys = keys
        self.model = model
        self.limits = limits
        self._chat = chat

    async def add(self, actor: Actor, drafts: Sequence[Draft]) -> list[Verdict]:
        """Return one verdict a draft, in order.

        A draft whose text gets no vector is rejected with the embedder's reason code; the others are not
        affected. Raises InvalidInput before anything is written when any draft cannot be meant.
        """
        verdicts: list[Verdict | None] = [None] * len(drafts)
        ready: dict[str, list[tuple[int, Ready]]] = {}
        places = [home(actor, checked(draft).scope)[0] for draft in drafts]
        for index, result in enumerate(await self.prepare(actor, drafts)):
            if isinstance(result, Verdict):
                verdicts[index] = result
            else:
                ready.setdefault(places[index], []).append((index, result))
        for scope_key, waiting in ready.items():
            for batch in _chunks(waiting, BATCH):
                written = await self._write(actor, scope_key, [item for _, item in batch])
                for (index, _), verdict in zip(batch, written, strict=True):
                    verdicts[index] = verdict
        return [verdict for verdict in verdicts if verdict is not None]

    async def prepare(self, actor: Actor, drafts: Sequence[Draft]) -> list[Ready | Verdict]:
        """Screen and embed; no database is touched."""
        screened = [self._screen(draft, actor) for draft in drafts]
        passed = [(i, s) for i, s in enumerate(screened) if isinstance(s, Screened)]
        vectors = await self.model.vectors([s.text for _, s in passed])
        results: list[Ready | Verdict] = [
            s if isinstance(s, Verdict) else _NO_VERDICT for s in screened
        ]
        for (index, one), vector in zip(passed, vectors, strict=True):
            results[index] = (
                Verdict("rejected", reason=vector.code, message=vector.message)
                if isinstance(vector, EmbeddingError)
                else Ready(drafts[index], one, vector)
            )
        return results

    @staticmethod
    def trusted(text: str, confidence: float) -> Screened:
        """Return a stored text as one that passed the screen, because its user vouches for it."""
        return Screened(text, confidence)

    def _screen(self, draft: Draft, actor: Actor) -> Screened | Verdict:
        result = screen(draft.content, draft.confidence, self.limits, actor.user)
        if isinstance(result, Screened) and draft.metadata:
            return self._screen_metadata(draft, actor, result)
        return result

    def _screen_metadata(self, draft: Draft, actor: Actor, result: Screened) -> Screened | Verdict:
        """Refuse a secret that hides in the metadata; there it cannot be masked."""
        text = "\n".join(_strings(draft.metadata))
        refusing = replace(self.limits, on_sensitive="refuse", min_length=0, max_length=16_384)
        verdict = screen(text or "-", 1.0, refusing, actor.user)
        return verdict if isinstance(verdict, Verdict) else result

    async def _write(self, actor: Actor, scope_key: str, items: Sequence[Ready]) -> list[Verdict]:
        opinions = await self._ask_model(actor, scope_key, items) if self._chat else {}
        async with self.database.transaction(actor) as tx:
            key = await self.keys.obtain(tx, actor)
            await tx.one(_SQL["lock_scope"], {"scope_key": scope_key})
            return [await self._place(tx, key, actor, scope_key, item, opinions) for item in items]

    async def _place(
        self,
        tx: Transaction,
        key: DataKey,
        actor: Actor,
        scope_key: str,
        item: Ready,
        opinions: Opinions,
    ) -> Verdict:
        text, pending = item.screened.text, item.screened.pending
        twin = await self.find_exact(tx, key, scope_key, text)
        if twin is not None:
            return await self._duplicate(tx, key, actor, scope_key, item, twin, "exact")
        found = await self.neighbours(tx, key, scope_key, item.vector)
        decision = decide(text, found, _judge_with(opinions), self.limits.duplicate_threshold)
        if decision.duplicate_of is not None:
            return await self._duplicate(
                tx, key, actor, scope_key, item, decision.duplicate_of, decision.why or "same"
            )
        new = await self._insert(tx, key, actor, scope_key, item)
        if pending is not None:
            return await self.ask_user(tx, key, scope_key, item, new, pending)
        await self.retire(tx, scope_key, decision.supersedes, by=new, draft=item.draft)
        return _stored(item.screened, new, decision)

    async def find_exact(
        self, tx: Transaction, key: DataKey, scope_key: str, text: str, besides: UUID = _NOBODY
    ) -> UUID | None:
        """Return the item that holds this very text, if any; an expired one makes room."""
        params = {
            "scope_key": scope_key,
            "content_mac": key.mac(exact_form(text)),
            "except_id": besides,
        }
        twin = await tx.one(_SQL["exact"], params)
        if twin is None:
            return None
        if twin["expired"]:
            await tx.run(_SQL["archive"], {"scope_key": scope_key, "id": twin["id"]})
            return None
        found: UUID = twin["id"]
        return found

    async def neighbours(
        self,
        tx: Transaction,
        key: DataKey,
        scope_key: str,
        vector: Vector,
        besides: UUID = _NOBODY,
    ) -> list[Neighbour]:
        """Return the stored texts nearest to a vector, with calibrated similarity."""
        params = {
            "scope_key": scope_key,
            "embedding": HalfVector(vector),
            "model_id": self.model.model_id,
            "except_id": besides,
            "limit": NEIGHBOURS,
        }
        rows = await tx.all(_SQL["neighbours"], params)
        near = [(row, self.model.curve(row["cosine"])) for row in rows]
        return [
            Neighbour(
                row["id"],
                key.open(row["content_enc"], at(scope_key, row["id"], "content", row["version"])),
                similarity,
            )
            for row, similarity in near
            if similarity >= self.limits.duplicate_threshold
        ]

    async def compare(self, actor: Actor, content: str, scope_key: str) -> Decision:
        """Return what the gate would decide about a text beside what is known; nothing is written."""
        text = normalise(content).text
        vector = await self.model.vector(text)
        async with self.database.transaction(actor) as tx:
            key = await self.keys.find(tx, actor)
            if key is None:
                return Decision()
            twin = await self.find_exact(tx, key, scope_key, text)
            if twin is not None:
                return Decision(duplicate_of=twin, why="exact")
            found = await self.neighbours(tx, key, scope_key, vector)
        return decide(text, found, judge, self.limits.duplicate_threshold)

    async def retire(
        self,
        tx: Transaction,
        scope_key: str,
        ids: Sequence[UUID],
        *,
        by: UUID,
        draft: Draft | None = None,
    ) -> None:
        """Mark items superseded by another one."""
        if ids:
            since = draft.valid_from if draft else None
            params = {"scope_key": scope_key, "ids": list(ids), "by": by, "since": since}
            await tx.run(_SQL["supersede"], params)

    async def _insert(
        self, tx: Transaction, key: DataKey, actor: Actor, scope_key: str, item: Ready
    ) -> UUID:
        draft, new = item.draft, new_id()
        sealed = seal_texts(
            key,
            scope_key,
            new,
            1,
            content=item.screened.text,
            reason=draft.reason,
            metadata=draft.metadata,
        )
        found_by = search_columns(key, item.screened.text, item.vector, self.model.model_id)
        plain = {
            "scope_key": scope_key,
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
        await tx.run(_SQL["insert"], plain | sealed | found_by)
        return new

    async def ask_user(
        self, tx: Transaction, key: DataKey, scope_key: str, item: Ready, new: UUID, why: str
    ) -> Verdict:
        asked = question(item.screened.text)
        sealed = key.seal(asked, at(scope_key, new, "question", 1))
        params = {"scope_key": scope_key, "id": new, "reason": why, "question_enc": sealed}
        await tx.run(_SQL["ask"], params)
        return Verdict(
            "pending",
            id=new,
            reason=why,
            question=asked if why != "instruction_like" else None,
            removed=item.screened.removed,
            masked=item.screened.masked,
        )

    async def _duplicate(
        self,
        tx: Transaction,
        key: DataKey,
        actor: Actor,
        scope_key: str,
        item: Ready,
        twin: UUID,
        why: str,
    ) -> Verdict:
        """Strengthen what stands already; a plain statement also confirms an item that was unsure."""
        params = {"scope_key": scope_key, "id": twin, "confidence": item.screened.confidence}
        await tx.run(_SQL["strengthen"], params)
        await tx.run(_SQL["mark_used"], {"scope_keys": [scope_key], "ids": [twin], "uses": [1]})
        asked = await tx.one(_SQL["question"], {"scopes": [scope_key], "id": twin})
        if asked and asked["reason"] != "instruction_like" and item.screened.pending is None:
            await self.activate(tx, key, scope_key, twin, item)
        return Verdict("duplicate", reason=why, of=twin, removed=item.screened.removed)

    async def activate(
        self, tx: Transaction, key: DataKey, scope_key: str, item_id: UUID, item: Ready
    ) -> Decision:
        """Make a pending item active; what it replaces is superseded only now."""
        params = {"scope_key": scope_key, "id": item_id, "confidence": item.screened.confidence}
        await tx.run(_SQL["activate"], params)
        await tx.run(_SQL["answer"], params)
        found = await self.neighbours(tx, key, scope_key, item.vector, besides=item_id)
        decision = decide(item.screened.text, found, judge, self.limits.duplicate_threshold)
        await self.retire(tx, scope_key, decision.supersedes, by=item_id)
        return decision

    async def _ask_model(
        self, actor: Actor, scope_key: str, items: Sequence[Ready]
    ) -> dict[tuple[str, str], Judgement]:
        """Let the chat model judge the unsure pairs before the lock is taken."""
        opinions: dict[tuple[str, str], Judgement] = {}
        async with self.database.transaction(actor) as tx:
            key = await self.keys.obtain(tx, actor)
            pairs = [
                (neighbour, item.screened.text)
                for item in items
                for neighbour in await self.neighbours(tx, key, scope_key, item.vector)
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


def _stored(screened: Screened, new: UUID, decision: Decision) -> Verdict:
    return replace(
        written(new, decision, decision.why), removed=screened.removed, masked=screened.masked
    )


def written(item_id: UUID, decision: Decision, reason: str | None) -> Verdict:
    """Return the verdict about a row that is there now, and about what it superseded."""
    old = decision.supersedes
    return Verdict(
        "superseded" if old else "stored",
        id=item_id,
        reason=reason,
        of=old[0] if old else None,
        superseded=old,
    )


def _judge_with(opinions: Opinions) -> Judge:
    def judged(first: str, second: str, similarity: float | None) -> Judgement:
        return opinions.get((first, second)) or judge(first, second, similarity)

    return judged


def _chunks(items: Sequence[tuple[int, Ready]], size: int) -> Iterator[Sequence[tuple[int, Ready]]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _strings([name, inner])
            if isinstance(inner, str):
                yield f"{name}: {inner}"
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)
