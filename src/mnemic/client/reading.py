"""How does an answer's JSON become values? Pure.

Fields are read by the types of the dataclass; what a newer service says beyond them is passed over, so that
services and clients may be updated one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from mnemic.client.values import Finding, Pass
from mnemic.errors import StorageUnavailable
from mnemic.model import Candidate, Hit, MemoryItem, Parts, ResourceHit, Verdict
from mnemic.profile.values import (
    Origin,
    Profile,
    ProfileChange,
    ProfileHistory,
    ProjectProfile,
)

T = TypeVar("T")
Read = Callable[[Any], Any]


def into(kind: type[T], value: Mapping[str, Any]) -> T:
    """Return a dataclass made of a JSON object. Raises StorageUnavailable (``service_answer_unreadable``)."""
    try:
        made: T = _made(kind, value)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise unreadable() from None
    return made


def one(kind: type[T]) -> Callable[[Any], T]:
    """Return what reads an answer that is one value of a kind."""
    return lambda value: into(kind, value)


def many(kind: type[T], name: str) -> Callable[[Any], tuple[T, ...]]:
    """Return what reads the values of a kind that stand in an answer under a name."""
    return lambda value: tuple(into(kind, each) for each in value[name])


def optional(read: Callable[[Any], T]) -> Callable[[Any], T | None]:
    """Return what reads a value that may be null."""
    return lambda value: None if value is None else read(value)


def profile_of(value: Mapping[str, Any]) -> Profile:
    """Return a user's profile, as the library has it: lists are tuples."""
    return into(Profile, _told_of(value))


def project_profile_of(value: Mapping[str, Any]) -> ProjectProfile:
    """Return a project's profile."""
    return into(ProjectProfile, _told_of(value))


def profile_history_of(value: Mapping[str, Any]) -> ProfileHistory:
    """Return how a profile changed."""
    changes = tuple(into(ProfileChange, _told_of(change)) for change in value["changes"])
    return ProfileHistory(changes, value["cursor"])


def _told_of(value: Mapping[str, Any]) -> dict[str, Any]:
    values = {
        name: tuple(held) if isinstance(held, list) else held
        for name, held in value["values"].items()
    }
    origins = {name: into(Origin, held) for name, held in value["origins"].items()}
    return {**value, "values": values, "origins": origins}


def verdict_of(value: Mapping[str, Any]) -> Verdict:
    """Return a verdict, whose outcome stands under ``verdict``."""
    return into(Verdict, {**value, "outcome": value.get("verdict")})


def hit_of(value: Mapping[str, Any]) -> Hit:
    """Return a memory item that was found."""
    item, parts = into(MemoryItem, value), into(Parts, value["parts"])
    return Hit(item, value["score"], parts, **_arms(value))


def any_hit_of(value: Mapping[str, Any]) -> Hit | ResourceHit:
    """Return a memory item, or (where it has a ``kind``) a turn or a piece of a document."""
    if "kind" not in value:
        return hit_of(value)
    return into(ResourceHit, {**value, **_arms(value), "role": value.get("role") or "user"})


def _arms(value: Mapping[str, Any]) -> dict[str, Any]:
    arms = value["arms"]
    return {"cosine": arms["cosine"], "words": arms["words"], "matched": tuple(arms["matched"])}


def pass_of(value: Mapping[str, Any]) -> Pass:
    """Return what an extraction found."""
    findings = tuple(
        Finding(into(Candidate, one["candidate"]), verdict_of(one["verdict"]))
        for one in value["findings"]
    )
    return Pass(value["turns"], findings, tuple(value["skipped"]))


def unreadable() -> StorageUnavailable:
    """Return the error for what no service of ours would say."""
    return StorageUnavailable(
        "service_answer_unreadable",
        "The answer is not one of this service: check the address, or update the client.",
    )


def _made(kind: Any, value: Mapping[str, Any]) -> Any:
    given: dict[str, Any] = {}
    for name, (read, required) in _readers(kind).items():
        if name in value:
            given[name] = read(value[name])
        elif required:
            raise KeyError(name)
    return kind(**given)


@cache
def _readers(kind: Any) -> dict[str, tuple[Read, bool]]:
    hints = get_type_hints(kind)
    return {
        field.name: (
            _reader(hints[field.name]),
            field.default is MISSING and field.default_factory is MISSING,
        )
        for field in fields(kind)
    }


def _reader(hint: Any) -> Read:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        (only,) = [one for one in inner if one is not NoneType]
        return optional(_reader(only))
    if origin is tuple:
        each = _reader(inner[0])
        return lambda value: tuple(each(one) for one in value)
    if hint is Any:
        return lambda value: value
    if hint is UUID:
        return UUID
    if hint is datetime:
        return datetime.fromisoformat
    if origin is Literal or origin is not None or hint in (str, int, float, bool):
        return lambda value: value
    return lambda value: _made(hint, value)
