"""How much room does a text take in a model's prompt? Pluggable, with an estimate that needs no model."""

from __future__ import annotations

import json
import math
import re
from typing import Protocol

from mnemic.model import Turn

_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003134f]")
PER_TURN = 4
"""Tokens that a turn costs beside its text: its role and the marks around it."""


class TokenCounter(Protocol):
    """Counts the tokens of a text; a model's own tokenizer, or ``estimate_tokens``."""

    def __call__(self, text: str, /) -> int:
        """Return the number of tokens, from 0; quickly, for it is asked for every turn."""


def estimate_tokens(text: str) -> int:
    """Return a cautious count of model tokens: one a wide character, one for three of the others."""
    wide = len(_WIDE.findall(text))
    return wide + math.ceil((len(text) - wide) / 3)


def turn_tokens(turn: Turn, count: TokenCounter = estimate_tokens) -> int:
    """Return what a turn takes: its text, its tool calls, and 4 tokens for its role."""
    text = turn.content
    for call in turn.tool_calls:
        text += f"\n{call.name}{json.dumps(call.arguments, ensure_ascii=False)}"
    return count(text) + PER_TURN
