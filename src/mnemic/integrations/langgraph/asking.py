"""Which stored values bear on a query? By meaning and by word, on the scale of memories: both mix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mnemic.checks import one_of
from mnemic.crypto import DataKey
from mnemic.errors import InvalidInput
from mnemic.integrations.langgraph.entries import Entry, opened
from mnemic.integrations.langgraph.filters import matches
from mnemic.integrations.langgraph.shelf import Shelf, Under
from mnemic.lexical import query_tokens, telling
from mnemic.model import MAX_QUERY, SCOPES, Actor, Scope
from mnemic.retrieval.meaning import Meaning, Meanings
from mnemic.retrieval.query_vector import query_vector
from mnemic.retrieval.rank import Evidence, Statistics, similarity
from mnemic.storage.halfvec import HalfVectors
from mnemic.storage.statements import statements
from mnemic.storage.transaction import Transaction
from mnemic.text import normalise

_SQL = statements("store")
_AT_ONCE = 200
Named = tuple[str, bytes]
Found = tuple[float, Named, Entry]
"""Similarity from 0 to 1, scope key and keyed hash, and the value."""


def checked_query(query: object) -> str:
    """Return a query that asks for something.

    Raises InvalidInput: ``query_not_text``, ``blank_query``.
    """
    if not isinstance(query, str):
        raise InvalidInput("query_not_text", "A query is text.")
    text = normalise(query).text
    if not text:
        raise InvalidInput("blank_query", "A query must say what to look for.")
    return text[-MAX_QUERY:]


async def meanings(
    shelf: Shelf, actor: Actor, query: str, scopes: Sequence[str]
) -> dict[str, Meaning]:
    """Return what a query means to the model of each scope; call it outside of transactions."""
    source = Meanings(shelf.parts.models)
    found: dict[str, Meaning] = {}
    by_kind: dict[bool, Meaning] = {}
    for scope_key in scopes:
        of_project = kind(scope_key) == "project"
        if of_project not in by_kind:
            by_kind[of_project] = await source.of(
                actor,
                lambda model: query_vector(model, query, by_sentence=False),
                of_project=of_project,
            )
        found[scope_key] = by_kind[of_project]
    return found


async def ranked(
    shelf: Shelf,
    tx: Transaction,
    actor: Actor,
    under: Under,
    query: str,
    meant: Mapping[str, Meaning],
    most: int,
) -> tuple[list[Found], list[Named]]:
    """Return the ``most`` values under a prefix that fit and bear most on a query, best first, and those
    whose vectors are of another model, or missing.

    Values that have nothing in common with it come last, in no order of their own: it is for the caller's
    limit to cut.
    """
    keys = await shelf.keys_of(tx, actor, under.scopes)
    words = query_tokens(query)
    rows = await tx.all(_SQL["found"], _params(shelf, keys, under, words, meant)) if keys else []
    statistics = _statistics(rows, words)
    scored = [(_score(row, statistics, meant), row) for row in rows]
    scored.sort(key=lambda pair: -pair[0])
    best: list[Found] = []
    for start in range(0, len(scored), _AT_ONCE):
        best += await _read(tx, keys, under, scored[start : start + _AT_ONCE])
        if len(best) >= most:
            break
    outdated = [(row["scope_key"], bytes(row["entry_mac"])) for row in rows if row["outdated"]]
    return best[:most], outdated


async def _read(
    tx: Transaction,
    keys: Mapping[str, DataKey],
    under: Under,
    scored: Sequence[tuple[float, Mapping[str, Any]]],
) -> list[Found]:
    params = {
        "places": [row["scope_key"] for _, row in scored],
        "entries": [row["entry_mac"] for _, row in scored],
    }
    there = {
        (row["scope_key"], bytes(row["entry_mac"])): row
        for row in await tx.all(_SQL["get"], params)
    }
    found = []
    for score, row in scored:
        named = (row["scope_key"], bytes(row["entry_mac"]))
        if named in there:
            entry = opened(keys[named[0]], there[named])
            if matches(entry.value, under.wanted):
                found.append((score, named, entry))
    return found


def _params(
    shelf: Shelf,
    keys: Mapping[str, DataKey],
    under: Under,
    words: Sequence[str],
    meant: Mapping[str, Meaning],
) -> dict[str, Any]:
    blind = [(scope, key.lexeme(word)) for scope, key in keys.items() for word in words]
    return shelf.criteria(keys, under) | {
        "of_scopes": list(keys),
        "models": [meant[scope].model_id for scope in keys],
        "vectors": HalfVectors(tuple(meant[scope].vector.values for scope in keys)),
        "lexeme_scopes": [scope for scope, _ in blind],
        "lexemes": [lexeme for _, lexeme in blind],
    }


def _statistics(rows: Sequence[Mapping[str, Any]], words: Sequence[str]) -> Statistics:
    if not rows:
        return Statistics(0, 1.0, (0,) * len(words))
    df = tuple(sum(1 for row in rows if row["tf"][n]) for n in range(len(words)))
    weights = tuple(telling(word) for word in words)
    return Statistics(rows[0]["documents"], rows[0]["average_tokens"], df, weights)


def _score(row: Mapping[str, Any], statistics: Statistics, meant: Mapping[str, Meaning]) -> float:
    evidence = Evidence(row["cosine"], tuple(row["tf"]), row["n_tokens"])
    return similarity(evidence, statistics, meant[row["scope_key"]].curve).value


def kind(scope_key: str) -> Scope:
    """Return the scope of a scope key."""
    return one_of(scope_key.partition(":")[0], SCOPES, "scope")
