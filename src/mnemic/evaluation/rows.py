"""Which rows does a labelled file hold, and has each of them what its kind needs?"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from mnemic.errors import InvalidInput
from mnemic.longterm.judge import Label
from mnemic.model import Role


class _Shape(BaseModel):
    """What is read of an object; anything else in it is free."""

    model_config = ConfigDict(strict=True)


class _Pair(_Shape):
    first: str
    second: str
    label: Label


class _Text(_Shape):
    text: str
    label: Literal["secret", "pii", "clean", "sensitive"]
    type: str = ""
    kind: Literal["secret", "pii"] = "pii"
    category: str | None = None
    why: str | None = None
    spans: list[list[Hashable]] | None = None


class _Said(_Shape):
    role: Role
    content: str


class _Expected(_Shape):
    memory_type: str
    must_contain: list[str]
    scope: str


class _Talk(_Shape):
    turns: list[_Said]
    expected: list[_Expected]


class _Entry(_Shape):
    id: Hashable
    text: str
    time: str | None = None


class _Query(_Shape):
    query: str
    evidence_ids: list[str] | None = None
    evidence_sessions: list[str] | None = None
    corpus_end: int | None = None
    answerable: bool = True
    time: str | None = None


class _Conversation(_Shape):
    conv_id: Hashable
    corpus: list[_Entry]
    queries: list[_Query]


_SHAPES: dict[str, type[_Shape]] = {
    "judge": _Pair,
    "sensitive": _Text,
    "extract": _Talk,
    "retrieval": _Conversation,
}


def kind_of(row: Mapping[str, Any]) -> str | None:
    """Return the kind of a labelled row by its fields, None for an unknown one."""
    if {"first", "second", "label"} <= row.keys():
        return "judge"
    if {"text", "label"} <= row.keys():
        return "sensitive"
    if {"turns", "expected"} <= row.keys():
        return "extract"
    if {"corpus", "queries"} <= row.keys():
        return "retrieval"
    return None


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file of JSON lines, gzipped or not; the first one tells the kind of all.

    Raises InvalidInput: ``file_not_found``, ``file_unreadable``, ``line_not_json``, and ``invalid_row`` for
    a row that lacks a field of its kind or has another type there. The message names the line.
    """
    shape: type[_Shape] | None = None
    for number, line in _lines(path):
        if not line.strip():
            continue
        row = _object(line, number, path)
        if shape is None:
            kind = kind_of(row)
            if kind is None:
                raise InvalidInput(
                    "unknown_eval_kind",
                    f"Line {number} of {path} has the fields of no kind that can be scored.",
                )
            shape = _SHAPES[kind]
        _require(shape, row, number, path)
        yield row


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as probe:
            packed = probe.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else path.open("rb") as file:
            yield from enumerate(file, start=1)
    except FileNotFoundError:
        raise InvalidInput("file_not_found", f"There is no file {path}.") from None
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or "it is no whole gzip file"
        raise InvalidInput("file_unreadable", f"{path} cannot be read: {why}.") from error


def _object(line: bytes, number: int, path: Path) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise InvalidInput(
            "line_not_json", f"Line {number} of {path} is not JSON.", line=number
        ) from None
    if not isinstance(row, dict):
        raise InvalidInput(
            "invalid_row", f"Line {number} of {path} is no JSON object.", line=number
        )
    return row


def _require(shape: type[_Shape], row: dict[str, Any], number: int, path: Path) -> None:
    try:
        shape.model_validate(row)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise InvalidInput(
            "invalid_row", f"Line {number} of {path}, {place}: {first['msg']}.", line=number
        ) from None
