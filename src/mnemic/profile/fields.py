"""Which fields has a profile, and what may an edit put there? Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from mnemic.contact import normalise_email
from mnemic.errors import InvalidInput
from mnemic.profile.contact import normal_phone
from mnemic.profile.language import language_tag
from mnemic.profile.values import Entry, Fields, Origin, Value
from mnemic.text import can_be_seen, normalise

Kind = Literal["text", "prose", "word", "language", "list", "email", "phone"]
MAX_ENTRIES = 50
_BREAKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""What no line holds: controls, line ends, halves of characters."""
Sensitive = Callable[[str], Collection[str]]
"""Names the categories of what a text holds and nobody may store."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A field: ``longest`` in characters of the text or of each entry, ``words`` where only some are known.

    ``prose`` is text that aggregation puts together of several statements, ``list`` has at most 50 entries.
    """

    kind: Kind
    longest: int
    words: tuple[str, ...] = ()

    @property
    def many(self) -> bool:
        return self.kind == "list"

    @property
    def one_line(self) -> bool:
        return self.kind not in ("list", "prose")


_LIST = Spec("list", 300)
USER_FIELDS: Mapping[str, Spec] = {
    "username": Spec("text", 200),
    "background": Spec("prose", 4_000),
    "profession": Spec("text", 200),
    "communication_style": Spec("word", 20, ("concise", "detailed", "technical")),
    "response_format": Spec("word", 20, ("markdown", "plain", "code")),
    "language_preference": Spec("language", 35),
    "characteristics": _LIST,
    "content": Spec("prose", 8_000),
    "expertise_areas": _LIST,
    "programming_languages": _LIST,
    "frequently_used_tools": _LIST,
    "email": Spec("email", 254),
    "phone": Spec("phone", 32),
    "preferences": _LIST,
}
PROJECT_FIELDS: Mapping[str, Spec] = {
    "project_goal": Spec("prose", 4_000),
    "tech_stack": _LIST,
    "constraints": _LIST,
    "team_conventions": _LIST,
    "current_phase": Spec("text", 200),
}
CORE = frozenset({"username", "communication_style", "response_format", "language_preference"})
"""What a user's profile keeps at hand however long they stay away."""


def checked_edit(
    edit: object, specs: Mapping[str, Spec], sensitive: Sensitive
) -> dict[str, tuple[str, ...] | None]:
    """Return the fields of an edit with their entries; None gives a field back to aggregation.

    Raises InvalidInput: ``unknown_profile_field``, ``profile_value_invalid`` (another kind of value),
    ``profile_value_too_long``, ``profile_value_not_one_line``, ``profile_sensitive`` (with the category),
    ``unknown_language``, ``invalid_email``, ``invalid_phone``, ``nothing_to_change``. Nothing of an edit
    holds unless all of it does.
    """
    if not isinstance(edit, Mapping):
        raise InvalidInput("profile_value_invalid", "A profile's edit is a mapping of fields.")
    if not edit:
        raise InvalidInput("nothing_to_change", "Name at least one field that is to change.")
    checked: dict[str, tuple[str, ...] | None] = {}
    for given, value in edit.items():
        name = _known(given, specs)
        checked[name] = None if value is None else _entries(name, specs[name], value, sensitive)
    return checked


def _known(name: object, specs: Mapping[str, Spec]) -> str:
    if name == "key_decisions":
        raise InvalidInput(
            "profile_field_derived",
            "Key decisions are the project's memories of type decision: add or edit those.",
            field=name,
        )
    if not isinstance(name, str) or name not in specs:
        known = ", ".join(specs)
        raise InvalidInput("unknown_profile_field", f"A profile's fields are {known}.")
    return name


def _entries(name: str, spec: Spec, value: object, sensitive: Sensitive) -> tuple[str, ...]:
    if spec.many:
        if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
            raise _invalid(name, "must be a list of texts")
        if len(value) > MAX_ENTRIES:
            raise _too_long(name, f"holds at most {MAX_ENTRIES} entries")
        texts = list(value)
    elif isinstance(value, str):
        texts = [value]
    else:
        raise _invalid(name, "must be text")
    cleaned = (_checked(name, spec, text, sensitive) for text in texts)
    return tuple(dict.fromkeys(text for text in cleaned if text))


def _checked(name: str, spec: Spec, text: str, sensitive: Sensitive) -> str:
    if len(text) > spec.longest:  # before anything else looks at it, however long it is
        raise _too_long(name, f"holds at most {spec.longest:,} characters")
    if spec.one_line and _BREAKS.search(text.strip()):
        raise InvalidInput(
            "profile_value_not_one_line",
            f"{name} is one line: leave out line breaks and control characters.",
            field=name,
        )
    given, text = text, normalise(text).text
    if given.strip() and not can_be_seen(text):
        raise _invalid(name, "holds nothing that can be read")
    if not text:
        return ""
    if spec.kind == "email":
        return normalise_email(text)
    if spec.kind == "phone":
        return normal_phone(text)
    if spec.kind == "language":
        return language_tag(text)
    if spec.words and text not in spec.words:
        raise _invalid(name, f"must be one of {', '.join(spec.words)}")
    found = sensitive(text)
    if found:
        raise InvalidInput(
            "profile_sensitive",
            f"{name} holds what is never stored: take it out.",
            field=name,
            categories=sorted(found),
        )
    return text


def _invalid(name: str, told: str) -> InvalidInput:
    return InvalidInput("profile_value_invalid", f"{name} {told}.", field=name)


def _too_long(name: str, told: str) -> InvalidInput:
    return InvalidInput("profile_value_too_long", f"{name} {told}.", field=name)


def shown(fields: Fields, specs: Mapping[str, Spec]) -> dict[str, Value]:
    """Return the value of every field: a tuple for lists, text or None for the others."""
    values: dict[str, Value] = {}
    for name, spec in specs.items():
        texts = fields[name].texts if name in fields else ()
        values[name] = texts if spec.many else "\n".join(texts) or None
    return values


def origins(fields: Fields) -> dict[str, Origin]:
    """Return where each field that holds something, or was edited, comes from."""
    return {name: Origin(field.items, field.edited_at) for name, field in fields.items()}


def entries_of(texts: tuple[str, ...]) -> tuple[Entry, ...]:
    """Return what a user wrote as entries, which come from no item."""
    return tuple(Entry(text) for text in texts)
