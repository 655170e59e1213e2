"""What exactly is asked? A search's arguments, checked once, before anything is looked up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import structlog

from mnemic.checks import aware, one_of, share, whole
from mnemic.errors import InvalidInput
from mnemic.model import MAX_QUERY, MEMORY_TYPES, Actor, Scope
from mnemic.permissions import readable
from mnemic.retrieval.dialogue import lines_of
from mnemic.text import normalise

_LOG = structlog.get_logger("mnemic.search")
MAX_K = 100
INCLUDES = ("memory", "resource")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A checked question."""

    query: str
    k: int
    scopes: tuple[str, ...]
    statuses: tuple[str, ...]
    memory_type: str | None
    as_of: datetime | None
    known_at: datetime | None
    min_score: float
    include: tuple[str, ...]


def plan(
    actor: Actor,
    query: object,
    k: object,
    memory_type: str | None,
    scope: Scope | None,
    as_of: datetime | None,
    known_at: datetime | None,
    min_score: float,
    include_pending: bool,
    include: object = ("memory",),
) -> Wanted:
    """Return the checked question.

    Raises InvalidInput: ``query_not_text``, ``blank_query``, ``k_out_of_range``, ``unknown_memory_type``,
    ``unknown_scope``, ``naive_datetime``, ``min_score_out_of_range``, ``unknown_include``.
    """
    if not isinstance(query, str):
        raise InvalidInput("query_not_text", "The query must be text.")
    text = normalise(query).text
    if not text:
        raise InvalidInput("blank_query", "The query is blank: say what to look for.")
    if len(text) > MAX_QUERY:
        _LOG.info("query cut", chars=len(text), limit=MAX_QUERY)
    return Wanted(
        _within_limit(text),
        whole(k, 1, MAX_K, "k"),
        tuple(readable(actor, scope)),
        _statuses(as_of, known_at, include_pending),
        None if memory_type is None else one_of(memory_type, MEMORY_TYPES, "memory_type"),
        aware(as_of, "as_of"),
        aware(known_at, "known_at"),
        share(min_score, "min_score"),
        _included(include),
    )


def is_cut(query: str) -> bool:
    """Tell whether only ``MAX_QUERY`` characters of a query are read, because it is longer."""
    return len(normalise(query).text) > MAX_QUERY


def _within_limit(text: str) -> str:
    """Return the beginning of a long query; of a conversation the last lines that go in whole."""
    if len(text) <= MAX_QUERY or not lines_of(text):
        return text[:MAX_QUERY]
    last = text[-MAX_QUERY:]
    if text[-MAX_QUERY - 1] == "\n":
        return last
    return last.partition("\n")[2] or last


def _included(include: object) -> tuple[str, ...]:
    """Return what to search; a text alone is no list of them."""
    given = tuple(include) if isinstance(include, tuple | list | set | frozenset) else (include,)
    return tuple(one_of(one, INCLUDES, "include") for one in given or (None,))


def _statuses(
    as_of: datetime | None, known_at: datetime | None, include_pending: bool
) -> tuple[str, ...]:
    statuses = ["active"]
    if as_of is not None or known_at is not None:
        statuses += ["superseded", "archived"]
    if include_pending:
        statuses.append("pending")
    return tuple(statuses)
