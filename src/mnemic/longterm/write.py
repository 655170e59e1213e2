"""How does a text become an item? One gate, one lock, one transaction.

Texts are screened, embedded and read first. Then, under an advisory lock on the scope, one look at it shows
what stands beside them, what becomes of each is foreseen, and all of it is written at once; only a text that
one look does not tell enough about is compared and written by itself. Verdicts are true when the transaction
commits, and a crash leaves all of it or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemic.chat import ChatModel
from mnemic.embedding.models import Models, switched
from mnemic.embedding.registry import Model
from mnemic.errors import Conflict, EmbeddingError, InvalidInput
from mnemic.keys import KeyRing
from mnemic.longterm.draft import Draft, checked, texts_of
from mnemic.longterm.foresee import foresee
from mnemic.longterm.gate import Decision, Limits, Screened, refused_sensitive, screen
from mnemic.longterm.glance import Glance, Seen, look_beside
from mnemic.longterm.judge import Judgement, judge
from mnemic.longterm.judge.reading import reading_once
from mnemic.longterm.judge_model import ask_judge
from mnemic.longterm.known import NO_OPINIONS, Known, Opinions, Place, Spot, judge_with
from mnemic.longterm.record import (
    Ready,
    Row,
    ask,
    columns,
    contest,
    insert,
    rows_of,
    strengthen,
    supersede,
)
from mnemic.longterm.sensitive import find_sensitive
from mnemic.longterm.verdicts import deed_of, written
from mnemic.model import Actor, Vector, Verdict
from mnemic.permissions import home, require
from mnemic.storage.pool import Database, Transaction
from mnemic.storage.statements import statements
from mnemic.text import normalise

_SQL = statements("items")
BATCH = 100
_ATTEMPTS = 3


class Writer:
    """Runs drafts through the gate into the database."""

    def __init__(
        self,
        database: Database,
        keys: KeyRing,
        models: Models,
        limits: Limits,
        chat: ChatModel | None = None,
        *,
        one_trip: bool = True,
    ) -> None:
        """``one_trip`` is False where the database must be told who asks by statements of their own."""
        self.database = database
        self.keys = keys
        self.models = models
        self.limits = limits
        self.known = Known(limits.duplicate_threshold)
        self._chat = chat
        self._one_trip = one_trip

    async def add(self, actor: Actor, drafts: Sequence[Draft]) -> list[Verdict]:
        """Return one verdict a draft, in order.

        A draft whose text gets no vector is rejected with the embedder's reason code; the others are not
        affected. Raises InvalidInput before anything is written when any draft cannot be meant. Every 100
        drafts are one transaction: after an error the call may be repeated, what stands is a duplicate.
        """
        verdicts: list[Verdict | None] = [None] * len(drafts)
        ready: dict[Spot, list[tuple[int, Ready]]] = {}
        meant = [checked(draft) for draft in drafts]
        places = [_spot(actor, draft) for draft in meant]
        await self._admit(actor, meant)
        for index, result in enumerate(await self.prepare(actor, meant)):
            if isinstance(result, Verdict):
                verdicts[index] = result
            else:
                ready.setdefault(places[index], []).append((index, result))
        for spot, waiting in ready.items():
            for batch in _chunks(waiting, BATCH):
                written = await self._settled(actor, spot, [item for _, item in batch])
                for (index, _), verdict in zip(batch, written, strict=True):
                    verdicts[index] = verdict
        return [verdict for verdict in verdicts if verdict is not None]

    async def _admit(self, actor: Actor, drafts: Sequence[Draft]) -> None:
        """Turn away, before a text goes to any model, whoever may not have it stored in a project."""
        shared = [draft for draft in drafts if draft.scope == "project"]
        if not shared:
            return
        async with self.database.transaction(actor) as tx:
            for draft in shared:
                require(tx.role, "create", draft.visibility)

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
            return self._screen_metadata(draft, result)
        return result

    def _screen_metadata(self, draft: Draft, result: Screened) -> Screened | Verdict:
        """Refuse a secret that hides in the metadata; there it cannot be masked.

        Whether it says anything, and how much, is not asked: it is no text of its own.
        """
        found = find_sensitive(
            normalise("\n".join(texts_of(draft.metadata))).text, self.limits.categories
        )
        return refused_sensitive(found) if found else result

    async def compare(self, actor: Actor, content: str, scope_key: str) -> Decision:
        """Return what the gate would decide about a text beside what is known; nothing is written."""
        if not isinstance(content, str):
            raise InvalidInput("content_not_text", "The content of a memory must be text.")
        text = normalise(content).text
        of_project = scope_key == actor.project_scope
        model = await self.models.for_scope(actor, "project" if of_project else "user")
        vector = await model.vector(text)
        async with self.database.transaction(actor) as tx:
            if of_project:
                require(tx.role, "read")
            key = await self.keys.find(tx, actor, scope_key)
            if key is None:
                return Decision()
            place = Place(key, scope_key, model, actor.user, tx=tx)
            twin = await self.known.twin(place, text)
            if twin is not None and not twin.expired:
                return Decision(duplicate_of=twin.id, why="exact")
            return await self.known.decide(place, text, vector)

    async def _settled(self, actor: Actor, spot: Spot, items: Sequence[Ready]) -> list[Verdict]:
        """Write a batch; when the model is changed at that moment, embed it again with the new one.

        The first attempt counts on nobody else being recorded in the audit's chain meanwhile.
        """
        ahead = True
        for _ in range(_ATTEMPTS):
            try:
                return await self._write(actor, spot, items, ahead=ahead)
            except Conflict as conflict:
                if conflict.code == "audit_moved":
                    ahead = False
                    continue
                if conflict.code != "embedding_model_switched":
                    raise
            model = await self.models.for_scope(actor, items[0].draft.scope)
            vectors = [await model.vector(item.screened.text) for item in items]
            items = [
                replace(item, vector=vector, model=model)
                for item, vector in zip(items, vectors, strict=True)
            ]
        raise switched()

    async def _write(
        self, actor: Actor, spot: Spot, items: Sequence[Ready], *, ahead: bool
    ) -> list[Verdict]:
        with reading_once():
            opinions = await self._ask_model(actor, spot, items) if self._chat else NO_OPINIONS
            rows = rows_of(items)
            recent = self.keys.recent(actor, spot.scope_key) if self._one_trip else None
            glance = recent and Glance.by_key(*recent, self.known, actor, spot, rows)
            look = glance.look if glance else None
            async with self.database.transaction(actor, writes=spot.scope_key, look=look) as opened:
                tx = opened if ahead else replace(opened, audit=None)
                place = await self._place(tx, actor, spot, items[0].model)
                if not self.models.is_written(tx, place.scope_key, place.model):
                    await self.models.require(tx, actor, place.scope_key, place.model)
                seen = glance.told(place) if glance else None
                verdicts = await self._in_order(place, actor, rows, opinions, seen)
                deeds = [deed for verdict in verdicts if (deed := deed_of(verdict)) is not None]
                await tx.answer(verdicts[0] if len(verdicts) == 1 else verdicts, *deeds)
                return verdicts

    async def _place(self, tx: Transaction, actor: Actor, spot: Spot, model: Model) -> Place:
        """Return where a batch goes. Raises PermissionDenied (``not_a_member``, ``role_too_low``)."""
        if spot.scope_key == actor.project_scope:
            require(tx.role, "create")
        key = await self.keys.obtain(tx, actor, spot.scope_key)
        return Place(key, spot.scope_key, model, actor.user, spot.private, tx=tx)

    async def _in_order(
        self,
        place: Place,
        actor: Actor,
        rows: Sequence[Row],
        opinions: Opinions,
        seen: Seen | None,
    ) -> list[Verdict]:
        """Write at once what can be foreseen, and by itself each text that cannot.

        ``seen`` is the first look, where the transaction began with one.
        """
        verdicts: list[Verdict] = []
        most = len(rows)
        while len(verdicts) < len(rows):
            waiting = rows[len(verdicts) :][:most]
            now_seen, seen = seen or await look_beside(self.known, place, actor, waiting), None
            foreseen = await self._foreseen(place, waiting, now_seen, opinions)
            verdicts += foreseen
            if len(foreseen) < len(waiting):
                verdicts.append(await self._alone(place, actor, waiting[len(foreseen)], opinions))
            # where little can be foreseen, little is looked at in vain
            most = 2 * len(foreseen) + 1
        return verdicts

    async def _foreseen(
        self, place: Place, rows: Sequence[Row], seen: Seen, opinions: Opinions
    ) -> list[Verdict]:
        """Decide about the first texts by a look at the scope, and write what follows."""
        incoming = [row.incoming for row in rows]
        now, threshold = await self.known.now(place, incoming), self.known.threshold
        decisions = foresee(incoming, seen.beside, now, judge_with(opinions), threshold)
        told = list(zip(rows, decisions, strict=False))
        ended: dict[UUID, tuple[UUID, datetime | None]] = {}
        again: dict[UUID, list[float]] = {}
        for row, decision in told:
            if decision.duplicate_of is not None:
                again.setdefault(decision.duplicate_of, []).append(row.item.screened.confidence)
            elif row.incoming.pending is None:
                ended |= dict.fromkeys(decision.supersedes, (row.incoming.id, row.incoming.since))
        new = zip(seen.sealed, decisions, strict=False)
        insert(place, [row for row, one in new if one.duplicate_of is None])
        supersede(place, ended)
        strengthen(place, again)
        await place.tx.hasten()
        return [self._verdict(place, row, decision) for row, decision in told]

    def _verdict(self, place: Place, row: Row, decision: Decision) -> Verdict:
        """Return the verdict about a text; the question about a pending one is kept only now."""
        screened, pending = row.item.screened, row.incoming.pending
        if decision.duplicate_of is not None:
            why = decision.why or "same"
            return Verdict(
                "duplicate", reason=why, of=decision.duplicate_of, removed=screened.removed
            )
        if pending is not None:
            return self.ask_user(place, screened, row.incoming.id, pending)
        verdict = written(row.incoming.id, decision, decision.why)
        return replace(verdict, removed=screened.removed, masked=screened.masked)

    async def _alone(self, place: Place, actor: Actor, row: Row, opinions: Opinions) -> Verdict:
        """Compare and write one text, whatever it meets: expired twins, open questions, later values."""
        new, vector = row.incoming, row.item.vector
        twin = await self.known.twin(place, new.text, new.since)
        if twin is not None and (twin.others is not None or not twin.expired):
            known = Decision(twin.id, why="exact", untouched=twin.others is not None)
            return await self._again(place, row, known)
        decision = await self.known.decide(
            place, new.text, vector, since=new.since, opinions=opinions
        )
        if decision.duplicate_of is not None:
            return await self._again(place, row, decision)
        if twin is not None:
            await self.make_room(place, twin.id)
        insert(place, [columns(place, actor, row)])
        if new.pending is None:
            self.settle(place, new.id, decision, new.since)
        return self._verdict(place, row, decision)

    async def make_room(self, place: Place, expired: UUID) -> None:
        """Put an expired item into the archive, so that its text may be stored anew."""
        await place.tx.run(_SQL["archive"], {"scope_key": place.scope_key, "id": expired})

    def settle(
        self, place: Place, item_id: UUID, decision: Decision, since: datetime | None = None
    ) -> None:
        """Let an active item replace what is older, and be replaced by what is newer.

        What another member of the project wrote stays beside it, and its author is asked.
        """
        for stands in decision.contested:
            contest(place, stands)
        supersede(place, dict.fromkeys(decision.supersedes, (item_id, since)))
        if decision.superseded_by is not None:
            supersede(place, {item_id: (decision.superseded_by, decision.until)})

    def ask_user(self, place: Place, screened: Screened, item_id: UUID, why: str) -> Verdict:
        """Keep the question to a pending item, and return the verdict that asks it."""
        return Verdict(
            "pending",
            id=item_id,
            reason=why,
            question=ask(place, item_id, screened.text, why),
            removed=screened.removed,
            masked=screened.masked,
        )

    async def _again(self, place: Place, row: Row, decision: Decision) -> Verdict:
        """Strengthen what stands already; a plain statement also confirms an item that was unsure."""
        screened, twin = row.item.screened, decision.duplicate_of
        assert twin is not None
        if decision.untouched:
            return self._verdict(place, row, decision)
        strengthen(place, {twin: [screened.confidence]})
        asked = await place.tx.one(_SQL["question"], {"scopes": [place.scope_key], "id": twin})
        if asked and asked["reason"] != "instruction_like" and screened.pending is None:
            await self.activate(place, twin, screened, row.item.vector)
        return self._verdict(place, row, decision)

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
        self.settle(place, item_id, decision, since)
        return decision

    async def _ask_model(
        self, actor: Actor, spot: Spot, items: Sequence[Ready]
    ) -> dict[tuple[str, str], Judgement]:
        """Let the chat model judge the unsure pairs before the lock is taken."""
        opinions: dict[tuple[str, str], Judgement] = {}
        async with self.database.transaction(actor) as tx:
            place = await self._place(tx, actor, spot, items[0].model)
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


def _spot(actor: Actor, draft: Draft) -> Spot:
    return Spot(home(actor, draft.scope)[0], draft.visibility == "owner_only")


def _chunks(items: Sequence[tuple[int, Ready]], size: int) -> Iterator[Sequence[tuple[int, Ready]]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
