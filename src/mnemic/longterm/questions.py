"""How does one ask the user whether an unsure memory is true?"""

from __future__ import annotations

import re

_CJK = re.compile(r"[\u3400-\u9fff]")
_LONGEST = 200


def question(text: str) -> str:
    """Return the question in the language of ``text``, which it quotes (at most 200 characters of it)."""
    quoted = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    if _CJK.search(text):
        return f"我记得对吗：“{quoted}”？"
    return f"Did I get this right: “{quoted}”?"
