"""What do items say together? A profile's fields, the same in whatever order the items come. Pure.

The newest statement fills a field of one value; lists hold the newest statements first, each said once. What
the user wrote stands, whatever items say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from uuid import UUID

from mnemic.profile.fields import MAX_ENTRIES, PROJECT_FIELDS, USER_FIELDS, Spec
from mnemic.profile.fillings import Filling, fill
from mnemic.profile.known import Known
from mnemic.profile.project_fillings import decided, fill_project
from mnemic.profile.values import Decision, Entry, Field, Fields
from mnemic.text import exact_form

_PROSE_ENTRIES = 10
MAX_DECISIONS = 50
_ENDS = ".。!！;；,， "


def of_user(items: Iterable[Known]) -> dict[str, Field]:
    """Return the fields of a user's profile that the items fill."""
    return _aggregate(items, fill, USER_FIELDS)


def of_project(items: Iterable[Known]) -> dict[str, Field]:
    """Return the fields of a project's profile that the items fill."""
    return _aggregate(items, fill_project, PROJECT_FIELDS)


def decisions(items: Iterable[Known]) -> tuple[tuple[Known, Decision], ...]:
    """Return what the items of type decision decide, the newest 50 first, with the items."""
    told = []
    for item in _newest_first(item for item in items if item.memory_type == "decision"):
        what, why = decided(item.text)
        told.append((item, Decision(what, why, item.since, item.id)))
    return tuple(told[:MAX_DECISIONS])


def merged(aggregated: Fields, before: Fields) -> dict[str, Field]:
    """Return fields with the user's own edits of ``before`` in place of what items say."""
    edited = {name: field for name, field in before.items() if field.edited_at is not None}
    return {**aggregated, **edited}


def first_end(items: Iterable[Known]) -> datetime | None:
    """Return when the first of the items ceases to be true, None where none is known to."""
    return min((item.until for item in items if item.until is not None), default=None)


def _aggregate(
    items: Iterable[Known],
    told_by: Callable[[Known], Iterator[Filling]],
    specs: Mapping[str, Spec],
) -> dict[str, Field]:
    said: dict[str, dict[str, tuple[str, list[UUID]]]] = {}
    for item in _newest_first(items):
        for name, value in dict.fromkeys(told_by(item)):
            cut = value[: specs[name].longest]
            # the newest way of writing stands for all that say the same
            _, ids = said.setdefault(name, {}).setdefault(_folded(cut), (cut, []))
            if item.id not in ids:
                ids.append(item.id)
    found = {
        name: tuple(Entry(text, tuple(ids)) for text, ids in values.values())
        for name, values in said.items()
    }
    return {name: Field(_kept(found[name], specs[name])) for name in specs if name in found}


def _kept(entries: tuple[Entry, ...], spec: Spec) -> tuple[Entry, ...]:
    """Return as many entries as the field takes."""
    if spec.many:
        return entries[:MAX_ENTRIES]
    if spec.kind != "prose":
        return entries[:1]
    kept: list[Entry] = []
    left = spec.longest
    for entry in entries[:_PROSE_ENTRIES]:
        left -= len(entry.text) + 1
        if left < 0:
            break
        kept.append(entry)
    return tuple(kept)


def _newest_first(items: Iterable[Known]) -> list[Known]:
    return sorted(items, key=lambda item: (item.since, item.id), reverse=True)


def _folded(text: str) -> str:
    return exact_form(text).casefold().strip(_ENDS)
