"""What does the answer of an OpenAI-compatible embeddings endpoint say?

Servers differ: some leave out the indexes, some answer out of order, some give numbers that are
none. A vector is never given to a text unless the answer says plainly that it belongs there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mnemic.errors import EmbeddingError

Result = list[float] | EmbeddingError

_LENGTH = re.compile(
    r"context.?(length|window|size)|too (long|large|many tokens)"
    r"|max\w*[ _]{1,3}(\w+[ _]){0,3}tokens?"
    r"|tokens?\b.{0,30}(limit|exceed|maximum)|(limit|exceed|maximum|fewer|less).{0,40}tokens?\b"
    r"|(input|sequence|prompt|string).{0,20}(length|long)|max_seq|physical batch size",
    re.IGNORECASE | re.DOTALL,
)
_SPOKEN = ("error", "message", "msg", "code", "type", "detail", "details", "errors", "reason")


def read_vectors(data: object, count: int) -> list[Result]:
    """Return the vectors of an answer in the order of the texts, whatever its own order is.

    A text without a vector gets ``embedding_bad_answer``. Raises the same for the whole answer when
    it is unreadable, or when its indexes cannot be trusted to name the right texts.
    """
    rows = data.get("data") if isinstance(data, Mapping) else None
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise bad_answer("The endpoint's answer holds no list of vectors.")
    indexes = [row.get("index") for row in rows]
    if len(rows) == count and all(index is None for index in indexes):
        indexes = list(range(count))
    places = [index for index in indexes if type(index) is int and 0 <= index < count]
    if len(set(places)) != len(rows):
        raise bad_answer("The endpoint's answer does not tell which vector belongs to which text.")
    found = {place: row.get("embedding") for place, row in zip(places, rows, strict=True)}
    return [_numbers(found.get(place)) for place in range(count)]


def about_length(status: int, data: object) -> bool:
    """Tell whether a refusal blames the length of the text.

    Only this verdict leaves here: the message itself may quote the text.
    """
    return status == 413 or any(_LENGTH.search(text) for text in _spoken(data))


def refused(status: int, retry_after: float | None = None) -> EmbeddingError:
    """Return the error for a final HTTP status outside 200 to 299."""
    if status in (401, 403):
        remedy = "check the key."
    elif status == 429:
        remedy = "wait and try again."
    elif status in (400, 413, 422):
        remedy = "it does not take this text, model or width."
    elif status >= 500:
        remedy = "it has a fault of its own; try later."
    else:
        remedy = "check the base URL and the model's name."
    details = {} if retry_after is None else {"retry_after": retry_after}
    return EmbeddingError(
        "embedding_refused",
        f"The embedding endpoint answered {status}: {remedy}",
        status=status,
        **details,
    )


def bad_answer(message: str) -> EmbeddingError:
    """Return the error for an answer (200) that cannot be used."""
    return EmbeddingError("embedding_bad_answer", message)


def _numbers(value: object) -> Result:
    if not isinstance(value, list) or not value:
        return bad_answer("The endpoint's answer holds no vector for this text.")
    if not all(type(number) in (int, float) for number in value):
        return bad_answer("The endpoint's answer holds a vector of something else than numbers.")
    try:
        return [float(number) for number in value]
    except OverflowError:
        return bad_answer("The endpoint's answer holds a number too large for a vector.")


def _spoken(data: object) -> Iterator[str]:
    # Fields that quote the input ("input", "body") are left out: the text is not the verdict.
    if isinstance(data, str):
        yield data
    elif isinstance(data, list):
        for part in data:
            yield from _spoken(part)
    elif isinstance(data, Mapping):
        for name in _SPOKEN:
            yield from _spoken(data.get(name))
