"""/api/sessions: which there are; of one its window and summary, what it keeps for a while, and its end."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Body, Query
from starlette.responses import Response

from mnemic.api.doors import Asked, Who
from mnemic.api.guard import Guarded
from mnemic.api.paging import mark_of, unwrap, wrap
from mnemic.api.paths import SessionId, ValueName
from mnemic.api.replies import reply
from mnemic.api.session_shapes import (
    Closing,
    ClosureAnswer,
    EntryAnswer,
    ForgottenAnswer,
    ListSessions,
    PinnedAnswer,
    Pins,
    ReadWindow,
    SessionAnswer,
    SessionsAnswer,
    SetValue,
    StateAnswer,
    WindowAnswer,
    window_view,
)
from mnemic.api.views import plain
from mnemic.errors import NotFound
from mnemic.model import Actor
from mnemic.session.state import Entry

every = APIRouter(prefix="/api/sessions", route_class=Guarded, tags=["sessions"])
router = APIRouter(prefix="/api/sessions/{session_id}", route_class=Guarded, tags=["sessions"])


@every.get("", operation_id="listSessions", response_model=SessionsAnswer)
async def list_sessions(who: Who, query: Annotated[ListSessions, Query()]) -> Response:
    """List the user's sessions, the last begun first, a page at a time."""
    mark = mark_of(who.actor, "sessions", {})
    cursor = unwrap(query.cursor, mark)
    return await who.read(
        who.memory.sessions.list(who.actor, limit=query.limit, cursor=cursor),
        lambda page: reply(
            {
                "sessions": plain(page.sessions),
                "total": page.total,
                "cursor": wrap(page.cursor, mark),
            }
        ),
    )


@router.get("", operation_id="getSession", response_model=SessionAnswer)
async def info(who: Who, session_id: SessionId) -> Response:
    """Return what is known of a session itself."""
    actor = _in_session(who, session_id)
    return await who.read(who.memory.sessions.info(actor), lambda found: reply(plain(found)))


@router.get("/window", operation_id="readWindow", response_model=WindowAnswer)
async def window(
    who: Who, session_id: SessionId, query: Annotated[ReadWindow, Query()]
) -> Response:
    """Return the conversation as it goes into a prompt: the newest turns, or what a budget has room for."""
    actor = _in_session(who, session_id)
    found = who.memory.sessions.window(
        actor, query.last, budget_tokens=query.budget_tokens, intent=query.intent
    )
    return await who.read(found, lambda found: reply(window_view(found)))


@router.put("/pins", operation_id="pinMessages", response_model=PinnedAnswer)
async def pin(who: Who, session_id: SessionId, body: Pins) -> Response:
    """Keep turns whenever the conversation is shortened, or no longer."""
    actor = _in_session(who, session_id)
    return await who.write(
        lambda: who.memory.sessions.pin(actor, body.seqs, pinned=body.pinned),
        lambda count: reply({"count": count}),
    )


@router.get("/state", operation_id="listSessionState", response_model=StateAnswer)
async def state(who: Who, session_id: SessionId) -> Response:
    """Return everything that the session keeps for a while, by name."""
    actor = _in_session(who, session_id)
    return await who.read(
        who.memory.sessions.state(actor), lambda found: reply({"values": plain([*found.values()])})
    )


@router.get("/state/{name}", operation_id="getSessionValue", response_model=EntryAnswer)
async def get(who: Who, session_id: SessionId, name: ValueName) -> Response:
    """Return a value that the session keeps."""
    actor = _in_session(who, session_id)

    async def found() -> Entry:
        entry = await who.memory.sessions.entry(actor, name)
        if entry is None:
            await who.memory.sessions.info(actor)  # or there is no such session at all
            raise NotFound(
                "value_not_found", "This session keeps no value of this name (any more)."
            )
        return entry

    return await who.read(found(), lambda entry: reply(plain(entry)))


@router.put("/state/{name}", operation_id="setSessionValue", response_model=EntryAnswer)
async def put(who: Who, session_id: SessionId, name: ValueName, body: SetValue) -> Response:
    """Keep a value for a while, in place of the one before."""
    actor = _in_session(who, session_id)
    return await who.write(
        lambda: who.memory.sessions.set(actor, name, body.value, ttl=body.ttl),
        lambda entry: reply(plain(entry)),
    )


@router.delete("/state/{name}", operation_id="deleteSessionValue", response_model=ForgottenAnswer)
async def delete(who: Who, session_id: SessionId, name: ValueName) -> Response:
    """Forget a value."""
    actor = _in_session(who, session_id)
    return await who.write(
        lambda: who.memory.sessions.delete(actor, name), lambda gone: reply({"deleted": gone})
    )


@router.post("/close", operation_id="closeSession", response_model=ClosureAnswer)
async def close(
    who: Who, session_id: SessionId, body: Annotated[Closing | None, Body()] = None
) -> Response:
    """End a session: what was said becomes memories, its own memories go to the archive."""
    actor = _in_session(who, session_id)
    return await who.write(
        lambda: who.memory.sessions.close(actor),
        lambda closure: reply(plain(closure)),
        at_once=False,
    )


def _in_session(who: Asked, session_id: str) -> Actor:
    """Sessions are a user's own, so whichever one they name is theirs."""
    return replace(who.actor, session=session_id)
