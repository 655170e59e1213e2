"""Does a text ask for something instead of telling it, and for what?

A question names the attribute and leaves its value open (where do I live), so that it can be looked up
under the same key as the statement that answers it.
"""

from __future__ import annotations

import re

__all__ = ["ASKED_WORDS", "asks", "asks_age", "asks_job", "asks_when"]

# Words that stand where the answer would.
ASKED_WORDS = frozenset(
    {"什么", "哪", "哪个", "哪种", "哪天", "哪里", "哪儿", "啥", "谁", "多少", "几", "几点", "几号"}
    | {"什么时候", "何时", "what", "which", "who"}
)
_ASKS = re.compile(
    r"^\W*(?:(?:and|so|hey|do you (?:know|remember)|tell me|remind me|can you tell me)[, ]+)*"
    r"(?:what|where|who|whom|whose|which|when|how)\b|[?？]\s*$|什么|哪|谁|几[点号岁]|多少|多[大高重]|啥",
    re.IGNORECASE,
)
_JOB = re.compile(
    r"what do(?:es)? (?:i|my \w+|he|she) do\b|what(?:'s| is) my (?:job|occupation|profession)|"
    r"(?:什么|啥)(?:工作|职业)|职业是",
    re.IGNORECASE,
)
_AGE = re.compile(r"^\W*how old\b|多大|几岁", re.IGNORECASE)
_WHEN = re.compile(
    r"^\W*(?:when|what (?:day|date|time)|which (?:day|date))\b|什么时候|哪天|几[点号]|何时",
    re.IGNORECASE,
)


def asks(text: str) -> bool:
    """Whether a text asks for a value instead of giving one."""
    return bool(_ASKS.search(text))


def asks_job(text: str) -> bool:
    """Whether a text asks what somebody does for a living."""
    return bool(_JOB.search(text))


def asks_age(text: str) -> bool:
    """Whether a text asks how old somebody is."""
    return bool(_AGE.search(text))


def asks_when(text: str) -> bool:
    """Whether a text asks for a day or an hour."""
    return bool(_WHEN.search(text))
