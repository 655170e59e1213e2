"""What may a task's state hold?

JSON values under short readable names, 256 KB in all. Files do not belong there: what looks like one (bytes,
base64 over 4 KB, a long list of byte values) is refused, and ``file_ref`` says where it lies instead. Pure.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from itertools import groupby

from mnemic.errors import InvalidInput
from mnemic.tasks.workflows import MAX_NAME, is_clear_name

MAX_STATE = 256 * 1024
MAX_ENCODED = 4096
MAX_DEPTH = 32
MAX_REF = 2_048

_LINE = 60
_ESCAPES = re.compile(r"\\([nrt])")
_SPACES = {"n": "\n", "r": "\r", "t": "\t"}
_LINE_END = re.compile(rf"(?<=[A-Za-z0-9+/_-]{{{_LINE}}})[ \t]*[\r\n]+[ \t]*(?=[A-Za-z0-9+/_=-])")
_WORDS = re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_=-]++(?:[ \t]++[A-Za-z0-9+/_=-]++)+")
# tried at the beginnings of words only, so that a text of long words costs no more than another
_ENCODED = re.compile(rf"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_=-]{{{MAX_ENCODED + 1},}}")
_HEX = re.compile(r"[0-9A-Fa-f]+")
_BYTE_VALUES = 128  # of 256: measurements and marks have fewer different ones, files have more
_WIDEST = 2**63


def file_ref(where: str, size: int) -> dict[str, object]:
    """Return what stands in a state for a file: where it lies, and its size in bytes.

    Raises InvalidInput (``invalid_file_ref``).
    """
    value: dict[str, object] = {"file_ref": where, "size": size}
    _require_file_ref(value)
    return value


def checked_data(data: object) -> dict[str, object]:
    """Return state data as it will be read back: lists for tuples, nothing shared with the caller.

    Raises InvalidInput: ``state_not_an_object``, ``invalid_state_key``, ``state_not_json`` (a value that JSON
    does not have, or deeper than 32), ``state_too_large``, ``binary_in_state``, ``invalid_file_ref``.
    """
    if data is None:
        return {}
    if not isinstance(data, Mapping):
        raise InvalidInput("state_not_an_object", "State data is a mapping of names to values.")
    plain = {checked_key(name): _plain(value, 1) for name, value in data.items()}
    require_size(plain)
    return plain


def checked_key(name: object) -> str:
    """Return a top-level name of a state, which is stored readably. Raises InvalidInput."""
    if not isinstance(name, str) or not is_clear_name(name):
        raise InvalidInput(
            "invalid_state_key",
            f"A name in state data is one word of at most {MAX_NAME} letters, digits and _ - .",
        )
    return name


def require_size(data: Mapping[str, object]) -> None:
    """Refuse a state of more than 262,144 bytes of JSON. Raises InvalidInput (``state_too_large``)."""
    size = len(written(data).encode())
    if size > MAX_STATE:
        raise InvalidInput(
            "state_too_large",
            f"A state holds at most {MAX_STATE:,} bytes: store the rest elsewhere, with a file_ref here.",
            size=size,
            limit=MAX_STATE,
        )


def written(value: object) -> str:
    """Return a value as JSON; half a surrogate pair is escaped, for it has no UTF-8."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text


def merged(
    before: Mapping[str, object], data: Mapping[str, object], drop: Iterable[str]
) -> dict[str, object]:
    """Return a state with some names taken out and others set."""
    gone = set(drop)
    return {name: value for name, value in before.items() if name not in gone} | dict(data)


def _plain(value: object, depth: int) -> object:
    if depth > MAX_DEPTH:
        raise _not_json(f"values nest at most {MAX_DEPTH} deep")
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool | int | float):
        return _number(value)
    if isinstance(value, bytes | bytearray | memoryview):
        raise _binary()
    if isinstance(value, Mapping):
        return _object(value, depth)
    if isinstance(value, list | tuple):
        _require_no_bytes(value)
        return [_plain(one, depth + 1) for one in value]
    raise _not_json("it has text, numbers, true, false, null, lists and objects")


def _object(value: Mapping[object, object], depth: int) -> dict[str, object]:
    inner: dict[str, object] = {}
    for name, one in value.items():
        if not isinstance(name, str):
            raise _not_json("names are text")
        inner[_text(name)] = _plain(one, depth + 1)
    if "file_ref" in inner:
        _require_file_ref(inner)
    return inner


def _number(value: bool | int | float | None) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        raise _not_json("a number is finite")
    if type(value) is int and not -_WIDEST <= value < _WIDEST:
        raise _not_json("a whole number has at most 64 bits: write a longer one as text")
    return value


def _text(value: str) -> str:
    if len(value) > MAX_ENCODED and _is_file(value[:MAX_STATE]):
        raise _binary()
    return str.__str__(value)  # an enumeration's member is its value


def _is_file(value: str) -> bool:
    """Whether a text is base64 or hex, or base64 in lines or groups; hex in lines is a list of checksums."""
    if _ENCODED.search(value):
        return True
    spaced = _ESCAPES.sub(lambda found: _SPACES[found[1]], value)  # as in JSON within a text
    joined = _ENCODED.finditer(_LINE_END.sub("", _WORDS.sub(_ungrouped, spaced)))
    return any(not _HEX.fullmatch(found[0]) for found in joined)


def _ungrouped(words: re.Match[str]) -> str:
    """Return words with those joined that are groups of one text: a line of equal width and mixed case.

    The last of a line may be shorter.
    """
    runs = [list(run) for _, run in groupby(words[0].split(), len)]
    if len(runs) > 1 and len(runs[-1]) == 1 and len(runs[-1][0]) < len(runs[-2][0]):
        runs[-2:] = [runs[-2] + runs[-1]]
    return " ".join(("" if _are_groups(run) else " ").join(run) for run in runs)


def _are_groups(words: list[str]) -> bool:
    """Whether words make a line, and a fifth is cased as nobody writes; in base64 most are."""
    odd = sum(word not in (word.lower(), word.upper(), word.title()) for word in words)
    return sum(map(len, words)) >= _LINE and 5 * odd >= len(words)


def _require_no_bytes(values: list[object] | tuple[object, ...]) -> None:
    if len(values) <= MAX_ENCODED:
        return
    small = all(type(one) is int and 0 <= one < 256 for one in values)
    if small and len(set(values)) >= _BYTE_VALUES:
        raise _binary()


def _require_file_ref(value: Mapping[str, object]) -> None:
    where, size = value["file_ref"], value.get("size")
    sound = isinstance(where, str) and 1 <= len(where) <= MAX_REF and not where.startswith("data:")
    if not sound or type(size) is not int or not 0 <= size < _WIDEST:
        raise InvalidInput(
            "invalid_file_ref",
            f"A file_ref is an address of at most {MAX_REF:,} characters beside its size in bytes.",
        )


def _binary() -> InvalidInput:
    return InvalidInput(
        "binary_in_state",
        "A state holds no files: store the file elsewhere, and file_ref and size here.",
        limit=MAX_ENCODED,
    )


def _not_json(rule: str) -> InvalidInput:
    return InvalidInput("state_not_json", f"State data is JSON: {rule}.")
