"""What stands in clear beside a checkpoint? Pure functions.

LangGraph copies whatever an application puts into ``metadata`` and ``configurable`` into a column that it
searches. We keep its own numbers and opaque ids there; the rest is one sealed value, with a keyed hash of
each name and value so that ``alist(filter=...)`` still finds equal ones.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from mnemic.crypto import DataKey
from mnemic.episodic.sealing import Lock, SealedSerializer
from mnemic.episodic.threads import IDENTITY
from mnemic.errors import InvalidInput

CLEAR = (
    "source",
    "step",
    "parents",
    "run_id",
    "counters_since_delta_snapshot",
    "delta_writes_versioned",
)
"""LangGraph's own: where a checkpoint comes from, its number, ids of others, counters it looks for in SQL."""
SEALED, MACS = "sealed", "macs"
_FILTER = "A filter on metadata is an object of JSON with text keys and finite numbers."


def kept(metadata: Mapping[str, Any], serializer: SealedSerializer, lock: Lock) -> dict[str, Any]:
    """Return the metadata as it is written: the clear part, one sealed value, and the hashes.

    Raises InvalidInput (``invalid_metadata``) for a ``run_id`` that is no text.
    """
    clear = {name: metadata[name] for name in CLEAR if name in metadata}
    _require_json(clear, InvalidInput("invalid_metadata", "A run_id is well-formed text."))
    rest = {
        name: value
        for name, value in metadata.items()
        if name not in CLEAR and name not in IDENTITY
    }
    if not rest:
        return clear
    sealed = lock.seal(serializer.plain(rest)[1], "metadata")
    macs = {_name_mac(lock.key, name): _value_mac(lock.key, name, rest[name]) for name in rest}
    return clear | {SEALED: base64.b64encode(sealed).decode("ascii"), MACS: macs}


def told(written: Mapping[str, Any], serializer: SealedSerializer, lock: Lock) -> dict[str, Any]:
    """Return the metadata as it was given. Raises as ``SealedSerializer.loads_typed``."""
    clear = {name: value for name, value in written.items() if name not in (SEALED, MACS)}
    if SEALED not in written:
        return clear
    plain = lock.open(base64.b64decode(written[SEALED]), "metadata")
    rest: dict[str, Any] = serializer.unplain("msgpack", plain)
    return clear | rest


def wanted(searched: Mapping[str, Any], key: DataKey | None) -> dict[str, Any]:
    """Return a filter on metadata as it can be asked of what is written: equal values, name by name.

    Raises InvalidInput (``invalid_filter``) for what JSON cannot hold.
    """
    if not isinstance(searched, Mapping) or not all(isinstance(name, str) for name in searched):
        raise _no_filter()
    clear = {name: value for name, value in searched.items() if name in CLEAR}
    hidden = {name: value for name, value in searched.items() if name not in CLEAR}
    _require_json(clear, _no_filter())
    if not hidden or key is None:
        return clear
    try:
        macs = {
            _name_mac(key, name): _value_mac(key, name, value) for name, value in hidden.items()
        }
    except (TypeError, ValueError, RecursionError):
        raise _no_filter() from None
    return clear | {MACS: macs}


def _require_json(clear: Mapping[str, Any], otherwise: InvalidInput) -> None:
    """Refuse what a column of JSON cannot hold."""
    try:
        text = json.dumps(clear, allow_nan=False, ensure_ascii=False)
        text.encode()
    except (TypeError, ValueError, RecursionError):
        raise otherwise from None
    if "\\u0000" in text:
        raise otherwise


def _no_filter() -> InvalidInput:
    return InvalidInput("invalid_filter", _FILTER)


def _name_mac(key: DataKey, name: str) -> str:
    return key.mac(_whole(f"checkpoint metadata name\0{name}")).hex()[:32]


def _value_mac(key: DataKey, name: str, value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=repr)
    return key.mac(_whole(f"checkpoint metadata value\0{name}\0{text}")).hex()


def _whole(text: str) -> str:
    """Return text that can be encoded: half of a pair of surrogates is spelt out."""
    return text.encode(errors="backslashreplace").decode()
