"""Which chat turns and pieces of documents bear on this query?

One statement finds candidates with what stands around them, as evidence without text; ``surroundings``
ranks them; only the winners are read and unsealed, a turn from the message log, a piece from its chunk.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal
from uuid import UUID

from mnemic.crypto import DataKey, place
from mnemic.embedding.calibration import Curve
from mnemic.embedding.models import Models
from mnemic.embedding.registry import Model
from mnemic.keys import KeyRing
from mnemic.local_time import local
from mnemic.model import SCOPE_PRIORITY, Actor, Parts, ResourceHit, Turn, Vector
from mnemic.permissions import require_within
from mnemic.resources.turns import speaker_mac
from mnemic.retrieval.asked import Asked, lend, read
from mnemic.retrieval.meaning import WORDS_ALONE, Meaning, Meanings
from mnemic.retrieval.nearest import Nearest
from mnemic.retrieval.query_vector import query_vector
from mnemic.retrieval.rank import final_score
from mnemic.retrieval.surroundings import (
    DEFAULT,
    Ranked,
    Scope,
    TurnEvidence,
    Weights,
    holds_identifier,
    likelihood,
    rank,
    reaches_floor,
    vector_points,
)
from mnemic.storage.pool import Database, Transaction
from mnemic.storage.statements import statements

_SQL = statements("resources_search")
EXACT, POOL = 2_000, 600
"""Chunks up to which every one of a scope is looked at; above, so many nearest, and as many best by words."""
POOL_BY_INDEX = 120
"""The nearest where an index finds them: a broader walk costs more than comparing all."""
CANDIDATES = 40
_EXTRA = 20


@dataclass(frozen=True, slots=True)
class FoundTurns:
    """Hits best first, and how many turns and pieces were searched for them."""

    hits: Sequence[ResourceHit] = ()
    documents: int = 0


class TurnSearch:
    """Searches the conversations and documents that an actor may read."""

    def __init__(self, database: Database, keys: KeyRing, models: Models) -> None:
        self._database = database
        self._keys = keys
        self._meanings = Meanings(models)
        self._nearest = Nearest("chunk")

    async def find(
        self,
        actor: Actor,
        query: str,
        k: int,
        scopes: Sequence[str],
        *,
        as_of: datetime | None = None,
        weights: Weights = DEFAULT,
        neighbours: bool = False,
        in_mind: int = 0,
        relevant_only: bool = False,
        standing: Sequence[str] = (),
    ) -> FoundTurns:
        """Return the best ``k`` for a checked query; nothing for one without words.

        ``as_of`` leaves out what was said later, and relative dates are read from it (default: the clock)
        in UTC. With ``neighbours`` each turn carries the one before and the one after. ``in_mind`` leaves
        out so many last turns of the actor's own session, ``relevant_only`` what does not reach the floor.
        ``standing`` are the actor's wishes that lend the query their words. Raises EmbeddingError, and
        PermissionDenied (``not_a_member``) where a project is asked that is not the actor's.
        """
        today = (as_of or datetime.now(UTC)).astimezone(UTC).date()
        asked = lend(read(query, today, actor.user), standing)
        if not asked.lexemes and not asked.names:
            return FoundTurns()
        bounds = _bounds(actor, as_of, in_mind)
        wanted = _Wanted(query, asked, k, standing, bounds, weights, neighbours, relevant_only)
        project = actor.project_scope
        own = [scope for scope in scopes if scope != project]
        found = [await self._among(actor, wanted, own, None)] if own else []
        if project is not None and project in scopes:
            found.append(await self._among(actor, wanted, [project], project))
        hits = sorted((hit for one in found for hit in one.hits), key=lambda hit: -hit.score)
        return FoundTurns(hits[:k], sum(one.documents for one in found))

    async def _among(
        self,
        actor: Actor,
        wanted: _Wanted,
        scopes: Sequence[str],
        project: str | None,
    ) -> FoundTurns:
        """Search the user's own scopes, or a project's: each has its key and its model."""
        asked = wanted.asked

        def embed(model: Model) -> Awaitable[Vector]:
            return query_vector(model, wanted.query, wanted.standing)

        meaning = await self._meanings.of(actor, embed, of_project=project is not None)
        async with self._database.transaction(actor) as tx:
            require_within(actor, scopes, tx.role)
            key = await self._keys.find(tx, actor, project)
            if key is None:
                return FoundTurns()
            if project is None and not self._meanings.fits(tx, actor, meaning):
                meaning = WORDS_ALONE  # the model was changed at this moment
            params = _params(key, asked, meaning, wanted.k, scopes) | wanted.bounds
            params["near"] = await self._nearest.ids(tx, meaning, scopes, params)
            rows = await tx.all(_SQL["turns"], params)
            ranked = _ranked(rows, asked, wanted.weights, meaning, wanted.relevant_only)
            best = ranked[: wanted.k]
            hits = await _open(tx, key, actor, rows, best, asked, wanted.neighbours)
        documents = rows[0]["documents"] if rows else 0
        self._nearest.learn(scopes, documents)
        return FoundTurns(hits, documents)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A question as it is put to each group of scopes."""

    query: str
    asked: Asked
    k: int
    standing: Sequence[str]
    bounds: dict[str, Any]
    weights: Weights
    neighbours: bool
    relevant_only: bool


def _ranked(
    rows: Sequence[Mapping[str, Any]],
    asked: Asked,
    weights: Weights,
    meaning: Meaning,
    relevant_only: bool,
) -> list[Ranked]:
    if not rows:
        return []
    evidence, scope = [_evidence(row, len(asked.lexemes)) for row in rows], _scope(rows[0])
    ranked = rank(evidence, asked, scope, _line(meaning.curve), weights)
    if not relevant_only:
        return ranked
    return [
        one
        for one in ranked
        if reaches_floor(one.relevance, scope.documents) or holds_identifier(one.row, asked, scope)
    ]


@lru_cache(maxsize=256)
def _line(curve: Curve) -> tuple[tuple[float, float], ...]:
    return vector_points([curve.raw(value) for value in (0.2, 0.55, 0.85)])


def _params(
    key: DataKey, asked: Asked, meaning: Meaning, k: int, scopes: Sequence[str]
) -> dict[str, Any]:
    lexemes = [key.lexeme(word) for word in asked.lexemes]
    pairs = [(n, i + 1) for n, places in enumerate(asked.of_name, start=1) for i in places]
    (low, chance), *_, (high, reached) = _line(meaning.curve)
    reach = (high - low) / (reached - chance)
    return {
        "lexemes": lexemes,
        "tells": list(asked.tells),
        "any_word": " | ".join(lexemes),
        "scopes": list(scopes),
        "speakers": [speaker_mac(key, name) for name in asked.names],
        "name_of": [name for name, _ in pairs],
        "lexeme_of": [lexeme for _, lexeme in pairs],
        "firsts": [span.first for span in asked.spans],
        "lasts": [span.last for span in asked.spans],
        "span_weights": [span.weight for span in asked.spans],
        "first_talk": asked.first,
        "latest_talk": asked.latest,
        "side": asked.side,
        "request": asked.request,
        "model_id": meaning.model_id,
        "embedding": meaning.vector,
        "chance": low - chance * reach,
        "reach": reach,
        "exact": EXACT,
        "pool": POOL,
        "candidates": POOL_BY_INDEX,
        "by_meaning": max(CANDIDATES, k),
        "by_words": CANDIDATES,
        "by_all": _EXTRA,
    }


def _bounds(actor: Actor, as_of: datetime | None, in_mind: int) -> dict[str, Any]:
    sessions = [actor.session_scope] if actor.session else []
    return {"as_of": as_of, "own_sessions": sessions, "in_mind": in_mind}


def _evidence(row: Mapping[str, Any], lexemes: int) -> TurnEvidence:
    counts = dict(zip(row["ns"] or (), row["tfs"] or (), strict=True))
    return TurnEvidence(
        id=row["id"],
        conversation=row["resource_id"],
        ordinal=row["ordinal"],
        passage=row["passage_cosine"],
        window=row["window_cosine"],
        tf=tuple(counts.get(n, 0) for n in range(1, lexemes + 1)),
        n_tokens=row["n_tokens"],
        role=row["role"],
        asking=row["asking"],
        stands=row["stands"],
        named=row["named"],
        day=row["day"],
    )


def _scope(row: Mapping[str, Any]) -> Scope:
    return Scope(
        row["documents"],
        row["average_tokens"],
        tuple(row["df"] or ()),
        row["first_day"],
        row["last_day"],
        frozenset(n - 1 for n in row["speakers"]),
        row["documents"] > EXACT,
    )


Place = tuple[UUID, int]


async def _open(
    tx: Transaction,
    key: DataKey,
    actor: Actor,
    rows: Sequence[Mapping[str, Any]],
    ranked: Sequence[Ranked],
    asked: Asked,
    neighbours: bool,
) -> list[ResourceHit]:
    """Read and unseal the winners."""
    by_id = {row["id"]: row for row in rows}
    steps = (-1, 0, 1) if neighbours else (0,)
    chats = [one for one in ranked if by_id[one.row.id]["kind"] == "chat"]
    places = {
        (by_id[one.row.id]["session_id"], one.row.ordinal + step) for one in chats for step in steps
    }
    said = await _said(tx, key, actor, places)
    pieces = await _pieces(tx, key, [by_id[one.row.id] for one in ranked if one not in chats])
    hits = []
    for one in ranked:
        hit = _hit(one, by_id[one.row.id], asked, said, pieces)
        if hit is not None:
            hits.append(hit)
    return hits


def _hit(
    one: Ranked,
    row: Mapping[str, Any],
    asked: Asked,
    said: Mapping[tuple[str, int], Turn],
    pieces: Mapping[UUID, tuple[str, str | None]],
) -> ResourceHit | None:
    similarity, scope = likelihood(one.score), _scope_of(row)
    hit = ResourceHit(
        id=row["id"],
        resource_id=row["resource_id"],
        kind=row["kind"],
        content="",
        score=final_score(similarity, 1.0, scope),
        parts=Parts(similarity, 1.0, SCOPE_PRIORITY[scope]),
        scope=scope,
        seq=row["ordinal"],
        occurred_at=row["occurred_at"],
        cosine=row["passage_cosine"],
        words=one.words,
        matched=_matched(asked, one.row.tf),
        relevance=one.relevance,
    )
    if row["kind"] != "chat":
        text, title = pieces[row["id"]]
        return replace(hit, content=text, title=title)
    session = row["session_id"]
    turn = said.get((session, row["ordinal"]))
    if turn is None:
        return None  # its session went between the two statements
    return replace(
        hit,
        content=turn.content,
        role=turn.role,
        speaker=turn.speaker,
        session=session,
        occurred_at=turn.created_at,
        before=said.get((session, row["ordinal"] - 1)),
        after=said.get((session, row["ordinal"] + 1)),
    )


def _scope_of(row: Mapping[str, Any]) -> Literal["user", "project"]:
    return "project" if row["scope_key"].startswith("project:") else "user"


def _matched(asked: Asked, tf: Sequence[int]) -> tuple[str, ...]:
    """Return the query's own words that a text holds."""
    own = len(asked.lexemes) - asked.lent
    return tuple(word for word, count in zip(asked.lexemes[:own], tf[:own], strict=True) if count)


async def _said(
    tx: Transaction, key: DataKey, actor: Actor, places: Iterable[tuple[str, int]]
) -> dict[tuple[str, int], Turn]:
    wanted = sorted(places)
    if not wanted:
        return {}
    params = {
        "scope_keys": [replace(actor, session=session).session_scope for session, _ in wanted],
        "session_ids": [session for session, _ in wanted],
        "seqs": [seq for _, seq in wanted],
    }
    turns = {}
    for row in await tx.all(_SQL["said"], params):

        def opened(column: str, row: Mapping[str, Any] = row) -> str:
            at = place("message", row["scope_key"], row["seq"], column)
            return key.open(row[f"{column}_enc"], at)

        turns[row["session_id"], row["seq"]] = Turn(
            row["role"],
            opened("content"),
            local(row["created_at"], row["local_offset"]),
            row["seq"],
            row["speaker_enc"] and opened("speaker"),
        )
    return turns


async def _pieces(
    tx: Transaction, key: DataKey, wanted: Sequence[Mapping[str, Any]]
) -> dict[UUID, tuple[str, str | None]]:
    if not wanted:
        return {}
    params = {
        "scope_keys": [row["scope_key"] for row in wanted],
        "ids": [row["id"] for row in wanted],
    }
    found = {}
    for row in await tx.all(_SQL["pieces"], params):
        scope_key = row["scope_key"]
        title = row["title_enc"] and key.open(
            row["title_enc"], place("resource", scope_key, row["resource_id"], "title")
        )
        text = key.open(row["text_enc"], place("chunk", scope_key, row["id"], "text"))
        found[row["id"]] = (text, title)
    return found
