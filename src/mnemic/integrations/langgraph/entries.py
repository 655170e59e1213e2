"""How does a stored value look as a row, sealed, and back? And may it be stored at all?"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from langgraph.store.base import Item
from langgraph.store.base.embed import get_text_at_path

from mnemic.crypto import DataKey, place
from mnemic.errors import InvalidInput
from mnemic.ids import new_id
from mnemic.integrations.langgraph.filters import Path, equality_form, field_at
from mnemic.integrations.langgraph.places import Namespace
from mnemic.item_rows import blind_lexemes
from mnemic.lexical import tokens
from mnemic.longterm.sensitive import find_sensitive
from mnemic.model import Verdict

Row = Mapping[str, Any]
MAX_VALUE = 1_000_000
"""Characters of a value as JSON."""
MAX_TEXTS = 64
"""Texts of one value that get a vector."""
_LONG_NUMBER = 1_000_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One value with where it stands; ``put_at`` and ``put_again_at`` are its first and last put."""

    namespace: Namespace
    key: str
    value: dict[str, Any]
    put_at: datetime
    put_again_at: datetime

    def item(self, namespace: Namespace | None = None) -> Item:
        """Return it as LangGraph knows it."""
        return Item(
            value=self.value,
            key=self.key,
            namespace=namespace or self.namespace,
            created_at=self.put_at,
            updated_at=self.put_again_at,
        )


def entry_mac(key: DataKey, known_as: Namespace, name: str) -> bytes:
    """Return the keyed hash by which a value is found."""
    return key.mac(f"store entry {json.dumps([list(known_as), name])}")


def prefix_mac(key: DataKey, prefix: Sequence[str]) -> bytes:
    """Return the keyed hash of the first labels of a namespace, of none too."""
    return key.mac(f"store prefix {json.dumps(list(prefix))}")


def prefixes_mac(key: DataKey, namespace: Namespace) -> list[bytes]:
    """Return the keyed hashes of everything that a namespace begins with, itself last."""
    return [prefix_mac(key, namespace[:n]) for n in range(len(namespace) + 1)]


def declared_mac(key: DataKey, path: Path) -> bytes:
    """Return the keyed hash that says that a field was declared when its value was put."""
    return key.mac(f"store field {json.dumps(list(path))}")


def equal_mac(key: DataKey, path: Path, value: object) -> bytes | None:
    """Return the keyed hash of a field with its value; None for a value that is not single."""
    form = equality_form(value)
    return None if form is None else key.mac(f"store equal {json.dumps(list(path))} {form}")


def fields_mac(key: DataKey, value: Mapping[str, Any], declared: Sequence[Path]) -> list[bytes]:
    """Return the keyed hashes of the declared fields of a value."""
    found = [declared_mac(key, path) for path in declared]
    equal = (equal_mac(key, path, field_at(value, path)) for path in declared)
    return found + [mac for mac in equal if mac is not None]


def sealed(
    key: DataKey,
    scope_key: str,
    namespace: Namespace,
    name: str,
    value_text: str | None,
    paths: Sequence[str] = (),
) -> dict[str, Any]:
    """Return id and sealed columns of a row that is put now; ``paths`` say what of it is searched."""
    row_id = new_id()
    entry = json.dumps([list(namespace), name, list(paths)])
    return {
        "id": row_id,
        "entry_enc": key.seal(entry, _at(scope_key, row_id, "entry")),
        "value_enc": None
        if value_text is None
        else key.seal(value_text, _at(scope_key, row_id, "value")),
    }


def searchable(key: DataKey, texts: Sequence[str]) -> dict[str, Any]:
    """Return the blind words of a value."""
    counted = Counter(token for text in texts for token in tokens(text))
    return {"lexemes": blind_lexemes(key, counted), "n_tokens": sum(counted.values())}


def opened(key: DataKey, row: Row) -> Entry:
    """Return the value of a row."""
    namespace, name = opened_entry(key, row)
    value = key.open(row["value_enc"], _at(row["scope_key"], row["id"], "value"))
    return Entry(namespace, name, json.loads(value), row["created_at"], row["updated_at"])


def opened_entry(key: DataKey, row: Row, id_column: str = "id") -> tuple[Namespace, str]:
    """Return namespace and key of a row."""
    text = key.open(row["entry_enc"], _at(row["scope_key"], row[id_column], "entry"))
    namespace, name, _ = json.loads(text)
    return tuple(namespace), name


def opened_texts(key: DataKey, row: Row) -> list[str]:
    """Return the texts of a row's value that are searched."""
    entry = key.open(row["entry_enc"], _at(row["scope_key"], row["id"], "entry"))
    return texts_at(opened(key, row).value, json.loads(entry)[2])


def value_text(value: object) -> str:
    """Return a value as JSON.

    Raises InvalidInput: ``value_not_json`` for what JSON cannot hold or would change (keys that are no
    text, NaN), ``value_too_large`` over 1,000,000 characters.
    """
    try:
        if not isinstance(value, Mapping) or not _text_keys(value):
            raise _not_json()
        text = json.dumps(value, allow_nan=False, default=_plain)
    except (TypeError, ValueError, RecursionError):
        raise _not_json() from None
    if len(text) > MAX_VALUE:
        raise InvalidInput(
            "value_too_large", f"A value holds at most {MAX_VALUE:,} characters as JSON."
        )
    return text


def texts_at(value: Mapping[str, Any], paths: Sequence[str]) -> list[str]:
    """Return the texts of a value that are searched, at most 64."""
    found = [text for path in paths for text in get_text_at_path(dict(value), path)]
    return [text for text in dict.fromkeys(found) if text.strip()][:MAX_TEXTS]


def secret_in(
    value: Mapping[str, Any], namespace: Namespace, name: str, categories: frozenset[str]
) -> Verdict | None:
    """Return the verdict that refuses a value with a secret in it, in its key or in its namespace."""
    text = "\n".join(_said([*namespace, name, value]))
    findings = find_sensitive(text, categories)
    if not findings:
        return None
    kinds = sorted({finding.category for finding in findings})
    return Verdict(
        "rejected",
        reason=f"sensitive_{findings[0].category}",
        message=f"Not stored: it holds {' and '.join(kinds)}.",
        masked=tuple(kinds),
    )


def _said(value: object, name: str = "") -> Iterator[str]:
    """Yield every text and every long number in a value, with the name under which it stands."""
    if isinstance(value, str):
        yield f"{name}: {value}" if name else value
    elif isinstance(value, Mapping):
        for inner_name, inner in value.items():
            yield inner_name
            yield from _said(inner, inner_name)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _said(inner, name)
    elif isinstance(value, int) and abs(value) >= _LONG_NUMBER:
        yield f"{name}: {value}"


def _text_keys(value: object) -> bool:
    """Tell whether all keys in a value are text: JSON would turn others into it without a word."""
    if isinstance(value, Mapping):
        return all(isinstance(name, str) and _text_keys(inner) for name, inner in value.items())
    return not isinstance(value, list | tuple) or all(map(_text_keys, value))


def _not_json() -> InvalidInput:
    return InvalidInput(
        "value_not_json", "A value is an object of JSON: keys are text, and NaN is no number."
    )


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError


def _at(scope_key: str, row_id: object, column: str) -> bytes:
    return place("store_item", scope_key, row_id, column)
