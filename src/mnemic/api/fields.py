"""What kinds of values stand in requests?

Doors only translate: text that spells a number becomes one (models often send "5" for 5), a time is parsed,
and everything else goes to the library as it came, which decides and has the reason codes. The schemas tell
callers the rule. ``Annotated[int, NUMBER, whole(1, 100)]`` is such a value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import PlainValidator, WithJsonSchema

from mnemic.errors import InvalidInput

_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,19}\s*", re.ASCII)
_DECIMAL = re.compile(r"\s*[+-]?([0-9]{1,19}(\.[0-9]{0,19})?|\.[0-9]{1,19})\s*", re.ASCII)
_TRUTHS = {"true": True, "false": False}
_SPELT_WHOLE = r"^\s*[+-]?[0-9]+\s*$"
_SPELT_DECIMAL = r"^\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)\s*$"


def number(value: object) -> object:
    """Return the number that a text spells, anything else as it is."""
    if isinstance(value, str):
        if _WHOLE.fullmatch(value):
            return int(value)
        if _DECIMAL.fullmatch(value):
            return float(value)
    return value


def truth(value: object) -> bool:
    """Return a boolean, also one that is spelt. Raises ValueError for anything else."""
    if isinstance(value, str):
        value = _TRUTHS.get(value.strip().lower(), value)
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def moment(value: object) -> object:
    """Return the time that an ISO 8601 text spells, anything else as it is."""
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value.strip().upper())
        except ValueError:
            return value
    return value


def json_object(value: object) -> dict[str, Any]:
    """Return a JSON object. Raises InvalidInput (``metadata_not_json``) for anything else."""
    if not isinstance(value, dict):
        raise InvalidInput("metadata_not_json", "metadata must be a JSON object.")
    return value


def texts(value: object) -> tuple[str, ...]:
    """Return a list of texts. Raises ValueError for anything else."""
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise ValueError("must be a list of texts")
    return tuple(value)


def _as_it_came(value: object) -> object:
    return value


AS_IT_CAME = PlainValidator(_as_it_came)
NUMBER = PlainValidator(number)
MOMENT = PlainValidator(moment)


def _schema(*choices: dict[str, Any], null: bool = False) -> WithJsonSchema:
    offered = [*choices, *([{"type": "null"}] if null else [])]
    return WithJsonSchema(offered[0] if len(offered) == 1 else {"anyOf": offered})


def whole(low: int, high: int, *, spelt: bool = True) -> WithJsonSchema:
    """Return the schema of a whole number; ``spelt`` where it may come as text too (in JSON)."""
    value = {"type": "integer", "minimum": low, "maximum": high}
    text = {"type": "string", "pattern": _SPELT_WHOLE}
    return _schema(value, text) if spelt else _schema(value)


def share(*, spelt: bool = True) -> WithJsonSchema:
    """Return the schema of a number from 0 to 1."""
    value = {"type": "number", "minimum": 0, "maximum": 1}
    text = {"type": "string", "pattern": _SPELT_DECIMAL}
    return _schema(value, text) if spelt else _schema(value)


def text(most: int | None = None, *, null: bool = False, blank: bool = False) -> WithJsonSchema:
    """Return the schema of a text of 1 (0 where ``blank`` is taken) to ``most`` characters."""
    value: dict[str, Any] = {"type": "string"}
    if not blank:
        value["minLength"] = 1
    if most is not None:
        value["maxLength"] = most
    return _schema(value, null=null)


def names(values: Sequence[str], *, null: bool = False) -> WithJsonSchema:
    """Return the schema of one name out of ``values``."""
    return _schema({"type": "string", "enum": list(values)}, null=null)


def time(*, null: bool = True) -> WithJsonSchema:
    """Return the schema of a time with its zone."""
    return _schema({"type": "string", "format": "date-time"}, null=null)


def list_of(values: Sequence[str]) -> WithJsonSchema:
    """Return the schema of a list of names."""
    items = {"type": "string", "enum": list(values)}
    return _schema({"type": "array", "items": items, "minItems": 1, "maxItems": len(values)})


def truths() -> WithJsonSchema:
    """Return the schema of a boolean that may be spelt (in JSON)."""
    return _schema({"type": "boolean"}, {"type": "string", "enum": list(_TRUTHS)})


Flag = Annotated[bool, PlainValidator(truth), WithJsonSchema({"type": "boolean"})]
"""A boolean of a query string."""
SpeltFlag = Annotated[bool, PlainValidator(truth), truths()]
"""A boolean of a body."""
Metadata = Annotated[
    dict[str, Any],
    PlainValidator(json_object),
    WithJsonSchema({"type": "object", "additionalProperties": True}),
]
