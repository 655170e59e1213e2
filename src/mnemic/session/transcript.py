"""How does a file become a conversation? JSON lines of turns, or of whole conversations.

Three kinds of lines are read, also gzipped, one at a time:

    {"role", "content", "session"?, "time"?, "speaker"?}               one turn
    {"turns": [{"role", "content"}, ...], "id"?}                       one session
    {"corpus": [{"text", "speaker", "session", "time"}, ...], "conv_id"}   one conversation, a user of its own

A line that cannot be read is a Problem with its number; the rest goes on.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mnemic.errors import InvalidInput
from mnemic.model import ROLES, Role, Turn, clean_id

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

    Raises InvalidInput (``file_not_found``, ``file_unreadable``) when there is nothing to read at all.
    """
    for number, line in _lines(path):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            if not isinstance(row, dict):
                raise InvalidInput("line_not_an_object", "The line is JSON, but not an object.")
            yield from _row(number, row, session)
        except ValueError as error:
            yield _problem(number, error)


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
    except (OSError, EOFError) as error:
        raise InvalidInput("file_unreadable", f"{path} cannot be read: {error}.") from error


def _row(number: int, row: Mapping[str, Any], session: str) -> Iterator[Spoken | Problem]:
    if "corpus" in row:
        user = clean_id(row.get("conv_id"), "user")
        for entry in row["corpus"]:
            yield _entry(number, entry, user, session)
    elif "turns" in row:
        name = clean_id(row.get("id") or session, "session")
        for turn in row["turns"]:
            yield Spoken(number, name, _turn(turn))
    elif "content" in row:
        yield Spoken(number, clean_id(row.get("session") or session, "session"), _turn(row))
    else:
        raise InvalidInput("line_not_a_turn", "The line has no content, turns or corpus.")


def _entry(number: int, entry: Mapping[str, Any], user: str, session: str) -> Spoken | Problem:
    try:
        speaker = str(entry["speaker"]) if entry.get("speaker") else None
        role: Role = "assistant" if speaker and speaker.casefold() in _ASSISTANTS else "user"
        name = clean_id(str(entry.get("session") or session), "session")
        said = Turn(role, _text(entry.get("text")), _loose_time(entry.get("time")), speaker=speaker)
        return Spoken(number, name, said, user)
    except ValueError as error:
        return _problem(number, error)


def _turn(row: Mapping[str, Any]) -> Turn:
    role = row.get("role", "user")
    if role not in ROLES:
        raise InvalidInput("unknown_role", f"role must be one of {', '.join(ROLES)}.")
    speaker = row.get("speaker")
    return Turn(
        role,
        _text(row.get("content")),
        _time(row.get("time")),
        speaker=str(speaker) if speaker else None,
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInput("content_not_text", "The content of a turn must be text.")
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


def _problem(number: int, error: ValueError) -> Problem:
    if isinstance(error, InvalidInput):
        return Problem(number, error.code, error.message)
    return Problem(number, "line_not_json", "The line is not JSON.")
