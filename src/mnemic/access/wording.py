"""What is wrong with a field, in words of ours? Pure: an error of pydantic's in, what the field accepts out.

Pydantic's own sentences change with its versions, and speak of types that a caller does not see.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_KINDS: Mapping[str, str] = {
    "bool": "true or false",
    "boolean": "true or false",
    "bytes": "text",
    "date": "a date such as 2026-03-02",
    "datetime": "a time in ISO 8601 with its zone",
    "dataclass": "a JSON object",
    "dict": "a JSON object",
    "float": "a number",
    "int": "a whole number",
    "list": "a list",
    "mapping": "a JSON object",
    "model": "a JSON object",
    "none": "null",
    "set": "a list",
    "string": "text",
    "tuple": "a list",
    "uuid": "a UUID",
}
_BOUNDS: Mapping[str, tuple[str, str]] = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}
_SIZES: Mapping[str, tuple[str, str, str]] = {
    "string_too_short": ("min_length", "at least", "character"),
    "string_too_long": ("max_length", "at most", "character"),
    "too_short": ("min_length", "at least", "entr"),
    "too_long": ("max_length", "at most", "entr"),
}


def accepted(error: Mapping[str, Any]) -> str:
    """Return what a field must be, as it follows its name: ``must be one of confirm, deny``.

    ``error`` is one of ``ValidationError.errors()``; nothing of what was sent is in the answer.
    """
    kind, told = str(error["type"]), error.get("ctx") or {}
    if kind in ("literal_error", "enum"):
        return f"must be one of {_names(str(told.get('expected', '')))}"
    if kind in _BOUNDS and _BOUNDS[kind][0] in told:
        name, words = _BOUNDS[kind]
        return f"must be {words} {told[name]}"
    if kind in _SIZES and _SIZES[kind][0] in told:
        name, words, what = _SIZES[kind]
        return f"must have {words} {told[name]} {_plural(what, told[name])}"
    if kind == "value_error":
        return str(error.get("msg", "")).removeprefix("Value error, ").rstrip(".")
    known = _KINDS.get(kind.partition("_")[0])
    return "is not what this field accepts" if known is None else f"must be {known}"


def _names(expected: str) -> str:
    return ", ".join(expected.replace(" or ", ", ").replace("'", "").split(", "))


def _plural(what: str, count: object) -> str:
    if what == "entr":
        return "entry" if count == 1 else "entries"
    return what if count == 1 else f"{what}s"
