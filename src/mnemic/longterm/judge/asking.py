"""Does a text ask for something instead of telling it, and for what?

A question names the attribute and leaves its value open (where do I live), so that it can be looked up
under the same key as the statement that answers it.
"""

from __future__ import annotations

import re

from mnemic.text import holds_any

__all__ = [
    "ASKED_WORDS",
    "asks",
    "asks_about_somebody",
    "asks_age",
    "asks_home",
    "asks_job",
    "asks_when",
    "asks_who",
    "asks_workplace",
]

# Words that stand where the answer would.
ASKED_WORDS = frozenset(
    {"什么", "哪", "哪个", "哪种", "哪天", "哪里", "哪儿", "啥", "谁", "多少", "几", "几点", "几号"}
    | {"什么时候", "何时", "what", "which", "who", "why", "how"}
)
_ASKS = re.compile(
    r"\W*(?:(?:and|so|hey|do you (?:know|remember)|tell me|remind me|can you tell me)[, ]+)*"
    r"(?:what|where|who|whom|whose|which|when|how)\b",
    re.IGNORECASE,
)
_ASKS_HAN = re.compile(r"什么|哪|谁|几[点号岁]|多少|多[大高重]|啥")
# How to do a thing, and what would be best, is no question about a fact of somebody's life.
_ADVICE = re.compile(
    r"^\W*how (?:do|does|can|could|should|would|to)\b"
    r"(?! (?:i|we) (?:commute|get to work))|\b(?:should|could|best|better|recommend)\b"
    r"|怎么|如何|应该|最好|推荐",
    re.IGNORECASE,
)
_SELF = re.compile(r"\b(?:i|my|me|we|our)\b|我|咱", re.IGNORECASE)
_REPLIES = re.compile(r"\b(?:answer|reply|respond)|回答|回复", re.IGNORECASE)
_HOME = re.compile(
    r"\bwhere\b|\b(?:what|which) (?:city|town|country|place|address|street)\b|哪|什么(?:地方|城市)",
    re.IGNORECASE,
)
_WORKPLACE = re.compile(
    r"\bwhere\b|\b(?:what|which) (?:company|firm|employer)\b|\bwork for\b|employer|哪|什么(?:公司|单位)",
    re.IGNORECASE,
)
_WHO = re.compile(r"\b(?:who|who's|whose|names?|called)\b|谁|叫", re.IGNORECASE)
_JOB = re.compile(
    r"what do(?:es)? (?:i|my \w+|he|she) do\b|what(?:'s| is) my (?:job|occupation|profession)|"
    r"(?:什么|啥)(?:工作|职业)|职业是",
    re.IGNORECASE,
)
_JOB_HINTS = ("what", "什么", "啥", "职业是")
_AGE = re.compile(r"\W*how old\b", re.IGNORECASE)
_AGE_HAN = re.compile(r"多大|几岁")
_WHEN = re.compile(r"\W*(?:when|what (?:day|date|time)|which (?:day|date))\b", re.IGNORECASE)
_WHEN_HAN = re.compile(r"什么时候|哪天|几[点号]|何时")


def asks(text: str) -> bool:
    """Whether a text asks for a value instead of giving one."""
    return _opens_or_holds(_ASKS, _ASKS_HAN, text)


def asks_about_somebody(text: str, own: bool) -> bool:
    """Whether a question is after a fact of somebody's life; ``own`` tells that it names nobody else."""
    if _ADVICE.search(text):
        return bool(_REPLIES.search(text))
    return not own or bool(_SELF.search(text) or _REPLIES.search(text))


def asks_home(text: str) -> bool:
    """Whether a text asks for a place to live."""
    return asks(text) and bool(_HOME.search(text))


def asks_workplace(text: str) -> bool:
    """Whether a text asks for whom somebody works."""
    return asks(text) and bool(_WORKPLACE.search(text))


def asks_who(text: str) -> bool:
    """Whether a text asks for a person or a name."""
    return asks(text) and bool(_WHO.search(text))


def asks_job(text: str) -> bool:
    """Whether a text asks what somebody does for a living."""
    return holds_any(_JOB_HINTS, text.lower()) and bool(_JOB.search(text))


def asks_age(text: str) -> bool:
    """Whether a text asks how old somebody is."""
    return _opens_or_holds(_AGE, _AGE_HAN, text)


def asks_when(text: str) -> bool:
    """Whether a text asks for a day or an hour."""
    return _opens_or_holds(_WHEN, _WHEN_HAN, text)


def _opens_or_holds(opening: re.Pattern[str], held: re.Pattern[str], text: str) -> bool:
    """Whether a text opens with an English question word or holds a Chinese one anywhere."""
    if opening.match(text):
        return True
    return not text.isascii() and held.search(text) is not None
