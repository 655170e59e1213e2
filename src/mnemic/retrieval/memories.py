"""Which memory items answer a question, best first? One round trip to the database, where that serves.

With the user's key and model at hand one call says who asks, looks, and tells the user's state. What it
cannot settle is looked up in a transaction, by the same function: a key or a model that was changed
meanwhile, an index to be walked, repeats that ate the places.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mnemic.crypto import DataKey
from mnemic.embedding.models import Models
from mnemic.embedding.registry import Model
from mnemic.item_rows import blind_slots, open_item
from mnemic.keys import KeyRing
from mnemic.lexical import query_tokens
from mnemic.model import Actor, Hit
from mnemic.permissions import require_within
from mnemic.retrieval.candidates import Candidate, best_first, compared
from mnemic.retrieval.meaning import WORDS_ALONE, Meaning, Meanings
from mnemic.retrieval.nearest import Nearest
from mnemic.retrieval.query_vector import query_vector
from mnemic.retrieval.rank import precedence, wording
from mnemic.retrieval.wanted import Wanted
from mnemic.storage.answer import Answer, read
from mnemic.storage.pool import Database, Transaction
from mnemic.storage.statements import statements

_SQL = statements("retrieval")
_SEARCH, _SEARCH_LARGE = _SQL["search"], _SQL["search_large"]
_NOBODY = dict.fromkeys(
    ("asker_scopes", "asker_sessions", "asker", "asker_project", "asker_user"), None
)
_CANDIDATES = 64
_ATTEMPTS = 3
_WORDS_OF_ROWS = 4_000_000
"""Words of a query times rows up to which the database holds in memory what all rows say of them, at worst
160 bytes each."""
Keys = Mapping[str, DataKey]
"""The key that opens each scope; a scope without one holds nothing that the actor may read."""


@dataclass(frozen=True, slots=True)
class Found:
    """The best hits, and how many texts were searched for them."""

    hits: Sequence[Hit] = ()
    documents: int = 0


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked in scopes whose vectors are of one model: of the project's, ``of_project``."""

    wanted: Wanted
    words: Sequence[str]
    of_project: bool = False

    @property
    def candidates(self) -> int:
        return max(_CANDIDATES, 2 * self.wanted.k)


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked, with its vector."""

    asked: _Asked
    meaning: Meaning

    @property
    def wanted(self) -> Wanted:
        return self.asked.wanted


@dataclass(frozen=True, slots=True)
class _AtHand:
    """Opened keys with the state of the user and the project that they belong to."""

    keys: Keys
    epoch: int | None
    project_keys: str | None

    def hold(self, head: Mapping[str, Any]) -> bool:
        """Tell whether the database is in that state."""
        same_project = self.project_keys is None or self.project_keys == head["project_keys"]
        return self.epoch == head["key_epoch"] and same_project


class ItemSearch:
    """Finds memory items."""

    def __init__(
        self,
        database: Database,
        keys: KeyRing,
        models: Models,
        slots: Callable[[str], Collection[str]],
        *,
        one_trip: bool,
    ) -> None:
        """``one_trip`` is False where the database must be told who asks by statements of their own."""
        self._database = database
        self._keys = keys
        self._models = models
        self._slots = slots
        self._one_trip = one_trip
        self._meanings = Meanings(models)
        self._nearest = Nearest()

    async def find(self, actor: Actor, wanted: Wanted) -> Found:
        """Return the best ``wanted.k``; emoji or punctuation alone ask for nothing.

        What is a project's has vectors of the deployment's model: for a user with another one there are
        two searches.
        """
        words = query_tokens(wanted.query)
        if not words:
            return Found()
        for _ in range(_ATTEMPTS):
            at_hand = await self._at_hand(actor, wanted) if self._one_trip else None
            if at_hand is not None and not at_hand.keys:
                return Found()
            model = await self._models.for_actor(actor)
            shared = actor.project_scope if actor.project_scope in wanted.scopes else None
            if shared is None or model.model_id == self._models.deployments.model_id:
                found = await self._among(actor, _Asked(wanted, words), model, at_hand)
            else:
                found = await self._apart(actor, wanted, words, model, shared)
            if found is not None:
                return found
        question = _Question(_Asked(wanted, words), WORDS_ALONE)
        return await self._look(actor, question) or Found()

    async def _among(
        self, actor: Actor, asked: _Asked, model: Model, at_hand: _AtHand | None
    ) -> Found | None:
        """Search scopes whose vectors are of one model; None where they are of another by now."""
        meaning = await self._meanings.by(
            model, lambda one: query_vector(one, asked.wanted.query, by_sentence=False)
        )
        question = _Question(asked, meaning)
        found = await self._ask(actor, question, at_hand) if at_hand is not None else None
        return found or await self._look(actor, question)

    async def _apart(
        self, actor: Actor, wanted: Wanted, words: Sequence[str], model: Model, shared: str
    ) -> Found | None:
        """Search the project with the deployment's model, and the user's own scopes with theirs."""
        own = replace(wanted, scopes=tuple(scope for scope in wanted.scopes if scope != shared))
        asked = _Asked(replace(wanted, scopes=(shared,)), words, True)
        # one trip tells which model the user has, not which one projects have
        of_project = await self._among(actor, asked, self._models.deployments, None)
        if of_project is None:  # this process still has the model that projects had before
            of_project = await self._look(actor, _Question(asked, WORDS_ALONE)) or Found()
        if not own.scopes:
            return of_project
        at_hand = await self._at_hand(actor, own) if self._one_trip else None
        of_user = await self._among(actor, _Asked(own, words), model, at_hand)
        return None if of_user is None else _together(of_user, of_project, wanted.k)

    async def _at_hand(self, actor: Actor, wanted: Wanted) -> _AtHand | None:
        """Return the keys without a transaction; None where a project's are not at hand."""
        project = actor.project_scope if actor.project_scope in wanted.scopes else None
        of_project = None if project is None else self._keys.recent(actor, project)
        if project is not None and of_project is None:
            return None
        known = self._keys.recent(actor) if self._models.remembers(actor) else None
        if known is None:
            told = (await self._database.ask(actor, _SQL["greet"], {})).head
            self._models.told(actor, told["user_model"])
            key, epoch = await self._keys.accept(actor, told), told["key_epoch"]
        else:
            key, epoch = known[0], int(known[1])
        keys = {scope: key for scope in wanted.scopes if key is not None and scope != project}
        if project is None or of_project is None:
            return _AtHand(keys, epoch, None)
        return _AtHand(keys | {project: of_project[0]}, epoch, of_project[1])

    async def _ask(self, actor: Actor, question: _Question, at_hand: _AtHand) -> Found | None:
        """Search in one round trip; None when that did not settle it."""
        meaning, scopes = question.meaning, question.wanted.scopes
        if self._nearest.may_pay(meaning, scopes, question.asked.candidates):
            return None
        params = self._params(at_hand.keys, question, question.asked.candidates)
        statement = _SEARCH_LARGE if params["expected"] else _SEARCH
        answer = await self._database.ask(actor, statement, params)
        head = answer.head
        if not at_hand.hold(head) or meaning.model_id not in (0, head["user_model"]):
            return None
        require_within(actor, scopes, head["role"])
        if meaning.model_id and not compared(answer):
            return None
        found, whole = self._judge(answer, at_hand.keys, question, question.asked.candidates)
        return found if whole else None

    async def _look(self, actor: Actor, question: _Question) -> Found | None:
        """Search in one transaction; None when the vectors are of another model by now."""
        limit, meaning = question.asked.candidates, question.meaning
        of_project = question.asked.of_project
        async with self._database.transaction(actor) as tx:
            if not self._meanings.fits(tx, actor, meaning, of_project=of_project):
                return None
            keys = await self._keys_of(tx, actor, question)
            while keys:
                params = self._params(keys, question, limit) | _NOBODY
                scopes = question.wanted.scopes
                params["near"] = await self._nearest.ids(tx, meaning, scopes, params)
                statement = _SEARCH_LARGE if params["expected"] else _SEARCH
                answer = await read(tx.conn, statement.replace("{schema}.", ""), params)
                fits = compared(answer) or await self._meanings.still_fits(
                    tx, actor, meaning, of_project=of_project
                )
                if not fits:
                    return None
                found, whole = self._judge(answer, keys, question, limit)
                if whole:
                    return found
                limit *= 4
        return Found()

    async def _keys_of(self, tx: Transaction, actor: Actor, question: _Question) -> Keys:
        require_within(actor, question.wanted.scopes, tx.role)
        keys = {}
        for scope in question.wanted.scopes:
            key = await self._keys.find(tx, actor, scope)
            if key is not None:
                keys[scope] = key
        return keys

    def _params(self, keys: Keys, question: _Question, limit: int) -> dict[str, Any]:
        wanted, words, meaning = question.wanted, question.asked.words, question.meaning
        asked = self._slots(wanted.query)
        distinct = {key.key_id: key for key in keys.values()}.values()
        lexemes = [key.lexeme(word) for key in distinct for word in words]
        slots = [slot for key in distinct for slot in blind_slots(key, asked)]
        size = self._nearest.size(wanted.scopes)
        return {
            "scopes": list(keys),
            "read_scopes": ",".join(keys),
            "statuses": list(wanted.statuses),
            "allowed": ",".join(wanted.statuses),
            "memory_type": wanted.memory_type,
            "as_of": wanted.as_of,
            "known_at": wanted.known_at,
            "lexemes": " ".join(lexemes),
            "words": len(words),
            "slots": " ".join(slots) or None,
            "model_id": meaning.model_id,
            "embedding": meaning.vector,
            "near": None,
            "candidates": limit,
            "expected": size if size * len(words) <= _WORDS_OF_ROWS else 0,
        }

    def _judge(
        self, answer: Answer, keys: Keys, question: _Question, limit: int
    ) -> tuple[Found, bool]:
        """Rank and open; False where repeats may have eaten places: then one must ask deeper.

        Not once k are found, or both arms are at their end.
        """
        wanted, words = question.wanted, question.asked.words
        documents = answer.head["documents"]
        self._nearest.learn(wanted.scopes, documents)
        ranked = best_first(answer, wanted.query, words, question.meaning.curve, wanted.k)
        hits = _opened(keys, ranked, words, wanted)
        found = len(answer.rows)
        whole = len(hits) >= wanted.k or found >= documents or found < limit
        return Found(hits, documents), whole


def _opened(
    keys: Keys, ranked: Iterable[Candidate], words: Sequence[str], wanted: Wanted
) -> list[Hit]:
    """Unseal the winners; what only repeats a better one of its type is passed over."""
    hits: list[Hit] = []
    seen: set[tuple[str, tuple[tuple[str, ...], ...]]] = set()
    for candidate in ranked:
        if len(hits) == wanted.k or candidate.score < wanted.min_score:
            break
        row = candidate.row()
        item = open_item(keys[row["scope_key"]], row)
        said = (item.memory_type, wording(item.content))
        if said not in seen:
            seen.add(said)
            hits.append(candidate.hit(item, words))
    return hits


def _together(of_user: Found, of_project: Found, k: int) -> Found:
    """Put both in one order; what only repeats a better one of its type is passed over."""
    both = [*of_user.hits, *of_project.hits]
    hits: list[Hit] = []
    seen = set()
    for hit in sorted(both, key=lambda hit: precedence(hit.score, hit.item.recorded_at, hit.id)):
        said = (hit.item.memory_type, wording(hit.content))
        if said not in seen:
            seen.add(said)
            hits.append(hit)
    return Found(hits[:k], of_user.documents + of_project.documents)
