"""Which chat turns and pieces of documents bear on this query?

One statement finds candidates with what stands around them, as evidence without text; ``surroundings``
ranks them; only the winners are read and unsealed, a turn from the message log, a piece from its chunk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from math import sqrt
from typing import Any
from uuid import UUID

from mnemic.crypto import DataKey, place
from mnemic.embedding.calibration import Curve
from mnemic.embedding.models import Models
from mnemic.embedding.registry import Model
from mnemic.errors import EmbeddingError
from mnemic.keys import KeyRing
from mnemic.model import SCOPE_PRIORITY, Actor, Parts, ResourceHit, Turn, Vector
from mnemic.resources.turns import speaker_mac
from mnemic.retrieval.asked import Asked, read, sentences
from mnemic.retrieval.meaning import WORDS_ALONE, Meaning, Meanings
from mnemic.retrieval.rank import final_score
from mnemic.retrieval.surroundings import (
    DEFAULT,
    Ranked,
    Scope,
    TurnEvidence,
    Weights,
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
    ) -> FoundTurns:
        """Return the best ``k`` for a checked query; nothing for one without words.

        ``as_of`` leaves out what was said later, and relative dates are read from it (default: the clock)
        in UTC. With ``neighbours`` each turn carries the one before and the one after. ``in_mind`` leaves
        out so many last turns of the actor's own session, ``relevant_only`` what does not reach the floor.
        Raises EmbeddingError.
        """
        asked = read(query, (as_of or datetime.now(UTC)).astimezone(UTC).date(), actor.user)
        if not asked.lexemes and not asked.names:
            return FoundTurns()
        meaning = await self._meanings.of(actor, lambda model: query_vector(model, query))
        bounds = _bounds(actor, as_of, in_mind)
        async with self._database.transaction(actor) as tx:
            key = await self._keys.find(tx, actor)
            if key is None:
                return FoundTurns()
            if not self._meanings.fits(tx, actor, meaning):
                meaning = WORDS_ALONE  # the model was changed at this moment
            params = _params(key, asked, meaning, k, scopes) | bounds
            rows = await tx.all(_SQL["turns"], params)
            ranked = _ranked(rows, asked, weights, meaning)
            if relevant_only:
                ranked = [r for r in ranked if reaches_floor(r.relevance, rows[0]["documents"])]
            hits = await _open(tx, key, actor, rows, ranked[:k], asked, neighbours)
        return FoundTurns(hits, rows[0]["documents"] if rows else 0)


def _ranked(
    rows: Sequence[Mapping[str, Any]], asked: Asked, weights: Weights, meaning: Meaning
) -> list[Ranked]:
    if not rows:
        return []
    evidence = [_evidence(row, len(asked.lexemes)) for row in rows]
    return rank(evidence, asked, _scope(rows[0]), _line(meaning.curve), weights)


async def query_vector(model: Model, query: str) -> Vector:
    """Return the vector of a query: half whole, half the mean of its sentences if it has several."""
    parts = sentences(query)
    if not parts:
        return await model.vector(query)
    answers = await model.vectors([query, *parts])
    found = [answer for answer in answers if not isinstance(answer, EmbeddingError)]
    if len(found) < len(answers):
        return await model.vector(query)
    whole, rest = found[0], found[1:]
    sums = [sum(column) for column in zip(*rest, strict=True)]
    length = sqrt(sum(value * value for value in sums)) or 1.0
    return tuple(0.5 * own + 0.5 * value / length for own, value in zip(whole, sums, strict=True))


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
    similarity = likelihood(one.score)
    hit = ResourceHit(
        id=row["id"],
        resource_id=row["resource_id"],
        kind=row["kind"],
        content="",
        score=final_score(similarity, 1.0, "user"),
        parts=Parts(similarity, 1.0, SCOPE_PRIORITY["user"]),
        seq=row["ordinal"],
        occurred_at=row["occurred_at"],
        cosine=row["passage_cosine"],
        words=one.words,
        matched=tuple(w for w, tf in zip(asked.lexemes, one.row.tf, strict=True) if tf),
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
            row["created_at"],
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
