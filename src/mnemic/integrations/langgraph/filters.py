"""Does this value fit that filter? Pure, and the same for every row, whatever found it.

    {"kind": "note"}                      equal; numbers by value, true is not 1, None also where missing
    {"size": {"$gte": 3, "$lt": 10}}      $eq, $ne, $gt, $gte, $lt, $lte: numbers with numbers, text with text
    {"meta": {"lang": "zh"}}              nested: what is named must fit, what is not named is free

An order between unlike things (or with something missing) does not hold, and is no error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mnemic.errors import InvalidInput

OPERATORS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")
MAX_FILTER, MAX_LEVELS = 16_384, 64
Path = tuple[str, ...]


def checked_filter(given: object) -> Mapping[str, Any]:
    """Return a filter that can be meant.

    Raises InvalidInput: ``invalid_filter`` for what is no object of JSON, ``unknown_operator``.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise _invalid()
    try:
        if len(json.dumps(given, allow_nan=False)) > MAX_FILTER or _deeper(given, MAX_LEVELS):
            raise _invalid()
    except (TypeError, ValueError, RecursionError):
        raise _invalid() from None
    _require_known(given)
    return given


def _deeper(value: object, levels: int) -> bool:
    """Tell whether objects and lists lie in each other more than so deep."""
    if not isinstance(value, Mapping | list | tuple):
        return False
    inner = value.values() if isinstance(value, Mapping) else value
    return levels == 0 or any(_deeper(one, levels - 1) for one in inner)


def matches(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Tell whether a value fits a checked filter."""
    return all(_fits(value.get(name), condition) for name, condition in wanted.items())


def equalities(wanted: Mapping[str, Any], at: Path = ()) -> Iterator[tuple[Path, object]]:
    """Yield what a filter demands of single fields: the path and the text, number, truth or None there."""
    for name, condition in wanted.items():
        path = (*at, name)
        if isinstance(condition, Mapping):
            if _operators(condition):
                if "$eq" in condition and _single(condition["$eq"]):
                    yield path, condition["$eq"]
            else:
                yield from equalities(condition, path)
        elif _single(condition):
            yield path, condition


def field_at(value: Mapping[str, Any], path: Sequence[str]) -> object:
    """Return what stands at a path, None where nothing does."""
    here: object = value
    for name in path:
        here = here.get(name) if isinstance(here, Mapping) else None
    return here


def equality_form(value: object) -> str | None:
    """Return a text that is equal for equal single values only; None for lists and objects."""
    if not _single(value):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value)


def _fits(value: object, condition: object) -> bool:
    if isinstance(condition, Mapping):
        if _operators(condition):
            return all(_holds(value, name, other) for name, other in condition.items())
        return isinstance(value, Mapping) and matches(value, condition)
    if isinstance(condition, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(condition)
            and all(_fits(one, other) for one, other in zip(value, condition, strict=True))
        )
    return _equal(value, condition)


def _holds(value: object, operator: str, other: object) -> bool:
    if operator == "$eq":
        return _equal(value, other)
    if operator == "$ne":
        return not _equal(value, other)
    order = _compared(value, other)
    if order is None:
        return False
    return {"$gt": order > 0, "$gte": order >= 0, "$lt": order < 0, "$lte": order <= 0}[operator]


def _compared(value: object, other: object) -> int | None:
    """Return -1, 0 or 1 for two numbers or two texts, None for anything else."""
    if isinstance(value, bool) or isinstance(other, bool):
        return None
    if isinstance(value, int | float) and isinstance(other, int | float):
        return int(value > other) - int(value < other)
    if isinstance(value, str) and isinstance(other, str):
        return int(value > other) - int(value < other)
    return None


def _equal(value: object, other: object) -> bool:
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return value.keys() == other.keys() and all(_equal(value[n], other[n]) for n in value)
    if isinstance(value, list | tuple) and isinstance(other, list | tuple):
        return len(value) == len(other) and all(map(_equal, value, other))
    return bool(value == other)


def _single(value: object) -> bool:
    return value is None or isinstance(value, str | bool | int | float)


def _operators(condition: Mapping[str, Any]) -> bool:
    return any(name.startswith("$") for name in condition)


def _require_known(wanted: Mapping[str, Any]) -> None:
    for name, condition in wanted.items():
        if not isinstance(name, str):
            raise _invalid()
        if isinstance(condition, Mapping):
            if not all(isinstance(inner, str) for inner in condition):
                raise _invalid()
            if not _operators(condition):
                _require_known(condition)
            elif not all(inner in OPERATORS for inner in condition):
                raise InvalidInput(
                    "unknown_operator", f"A filter compares with {', '.join(OPERATORS)}."
                )


def _invalid() -> InvalidInput:
    return InvalidInput(
        "invalid_filter",
        f"A filter is an object of JSON with text keys, of at most {MAX_FILTER:,} characters and"
        f" {MAX_LEVELS} levels.",
    )
