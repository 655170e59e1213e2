"""What is left of two long texts once the sentences they share are put aside?

A long text is many statements; rules for one statement would find a quarrel between any two of them. So
sentences that both texts hold are matched first, and only a short rest is judged as a statement.
"""

from __future__ import annotations

import re

from mnemic.longterm.judge.folding import skeleton

__all__ = ["LONG", "rests"]

LONG = 300
"""Characters from which a text counts as long."""

_END = re.compile(r"(?<=[。！？；;!?\n])|(?<=\.)(?=\s)")


def rests(first: str, second: str) -> tuple[str, str]:
    """Return the sentences only the first and only the second text holds, in their order."""
    one, two = _sentences(first), _sentences(second)
    keys_one, keys_two = {key for key, _ in one}, {key for key, _ in two}
    return (
        " ".join(text for key, text in one if key not in keys_two),
        " ".join(text for key, text in two if key not in keys_one),
    )


def _sentences(text: str) -> list[tuple[str, str]]:
    pieces = (piece.strip() for piece in _END.split(text))
    return [(skeleton(piece), piece) for piece in pieces if piece]
