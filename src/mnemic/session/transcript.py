"""How does a file become a conversation? JSON lines of turns, or of whole conversations.

Three kinds of lines are read, also gzipped, one at a time:

    {"role", "content", "session"?, "time"?, "speaker"?, "tool_calls"?, "tool_call_id"?}   one turn
    {"turns": [{"role", "content"}, ...], "id"?}                       one session
    {"corpus": [{"text", "speaker", "session", "time"}, ...], "conv_id"}   one conversation, a user of its own

A line that cannot be read is a Problem with its number; the rest goes on.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mnemic.errors import InvalidInput
from mnemic.model import ROLES, Role, Turn, clean_id
from mnemic.session.turn_checks import MAX_CHARS, checked_turns

_ASSISTANTS = ("assistant", "ai", "bot", "model", "siliconfriend", "助手")
_MOST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Spoken:
    """A turn with where it belongs; ``user`` is None where the file does not name one."""

    line: int
    session: str
    turn: Turn
    user: str | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """A line, or a part of one, that could not be read."""

    line: int
    reason: str
    message: str


def read_transcript(path: Path, *, session: str = "import") -> Iterator[Spoken | Problem]:
    """Yield the turns of a file in order. Turns that name no session get ``session``.

    A tool's turn whose call did not come before it in its session is a Problem. Raises InvalidInput
    (``file_not_found``, ``file_unreadable``) when there is nothing to read at all.
    """
    called: dict[tuple[str | None, str], set[str]] = {}
    for number, line in _lines(path):
        if not line.strip():
            continue
        try:
            for entry in _row(number, _object(json.loads(line)), session):
                yield _answering(entry, called) if isinstance(entry, Spoken) else entry
        except (ValueError, RecursionError) as error:
            yield _problem(number, error)


def _answering(entry: Spoken, called: dict[tuple[str | None, str], set[str]]) -> Spoken | Problem:
    """Return a turn; a Problem in place of a result whose call is not among those of its session."""
    turn = entry.turn
    ids = called.setdefault((entry.user, entry.session), set()) if turn.tool_calls else set()
    ids |= {call.id for call in turn.tool_calls}
    known = called.get((entry.user, entry.session), set())
    if turn.tool_call_id is None or turn.tool_call_id in known:
        return entry
    return Problem(
        entry.line, "tool_call_not_found", "No turn before it in its session calls this tool."
    )


def require_readable(path: Path) -> None:
    """Raise InvalidInput (``file_not_found``, ``file_unreadable``) where no file can be opened."""
    next(_lines(path), None)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as probe:
            packed = probe.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else path.open("rb") as file:
            number = 0
            while line := file.readline(_MOST_BYTES):
                number += 1
                yield number, line
    except FileNotFoundError:
        raise InvalidInput("file_not_found", f"There is no file {path}.") from None
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or "it is no whole gzip file"
        raise InvalidInput("file_unreadable", f"{path} cannot be read: {why}.") from error


def _row(number: int, row: Mapping[str, Any], session: str) -> Iterator[Spoken | Problem]:
    if "corpus" in row:
        user = clean_id(row.get("conv_id"), "user")
        yield from _each(number, row["corpus"], lambda entry: _entry(entry, user, session, number))
    elif "turns" in row:
        name = clean_id(row.get("id") or session, "session")
        yield from _each(number, row["turns"], lambda turn: Spoken(number, name, _turn(turn)))
    elif "content" in row:
        yield Spoken(number, clean_id(row.get("session") or session, "session"), _turn(row))
    else:
        raise InvalidInput("line_not_a_turn", "The line has no content, turns or corpus.")


def _each(
    number: int, entries: object, read: Callable[[Mapping[str, Any]], Spoken]
) -> Iterator[Spoken | Problem]:
    """Read the turns of one line; a bad one costs no other."""
    if not isinstance(entries, list):
        raise InvalidInput("line_not_a_turn", "turns and corpus must be lists.")
    for entry in entries:
        try:
            yield read(_object(entry))
        except ValueError as error:
            yield _problem(number, error)


def _object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput("line_not_an_object", "The line, or a turn in it, is not an object.")
    return value


def _entry(entry: Mapping[str, Any], user: str, session: str, number: int) -> Spoken:
    speaker = str(entry["speaker"]) if entry.get("speaker") else None
    role: Role = "assistant" if speaker and speaker.casefold() in _ASSISTANTS else "user"
    name = clean_id(str(entry.get("session") or session), "session")
    said = Turn(role, _text(entry.get("text")), _loose_time(entry.get("time")), speaker=speaker)
    checked_turns([said])
    return Spoken(number, name, said, user)


def _turn(row: Mapping[str, Any]) -> Turn:
    role = row.get("role", "user")
    if role not in ROLES:
        raise InvalidInput("unknown_role", f"role must be one of {', '.join(ROLES)}.")
    speaker, calls = row.get("speaker"), row.get("tool_calls")
    turn = Turn(
        role,
        _text(row.get("content")),
        _time(row.get("time")),
        speaker=str(speaker) if speaker else None,
        tool_calls=() if calls is None else calls,
        tool_call_id=row.get("tool_call_id"),
    )
    checked_turns([turn])
    return turn


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInput("content_not_text", "The content of a turn must be text.")
    if len(value) > MAX_CHARS:
        raise InvalidInput("message_too_long", f"A turn holds at most {MAX_CHARS:,} characters.")
    return value


def _time(value: object) -> datetime | None:
    if value is None:
        return None
    try:
        time = datetime.fromisoformat(str(value))
    except ValueError:
        raise InvalidInput(
            "invalid_datetime", "time must be ISO 8601, such as 2026-03-02T09:14:00Z."
        ) from None
    if time.tzinfo is None:
        raise InvalidInput("naive_datetime", "time must name its zone, such as +08:00 or Z.")
    return time


def _loose_time(value: object) -> datetime | None:
    """Read the time of an evaluation set: many have no zone (read as UTC) or a free form (none then)."""
    try:
        time = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _problem(number: int, error: ValueError | RecursionError) -> Problem:
    if isinstance(error, InvalidInput):
        return Problem(number, error.code, error.message)
    return Problem(number, "line_not_json", "The line is not JSON.")
