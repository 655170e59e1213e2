"""By what is a turn of a conversation found, apart from its vectors?

Pure functions. A turn leans on what stands around it (``window``) and is also found by its parts
(``passages``); beside its words it carries who speaks, how much of it asks, and whether it states a wish
that stands until further notice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from mnemic.crypto import DataKey
from mnemic.lexical import fold, tokens
from mnemic.model import Turn

PASSAGE = 350
"""Characters of a passage, about: one thought of a long message."""
READ = 8_000
"""Characters of a turn that get vectors; its words are all counted."""
_AROUND = 300
_OWN = 1_500
_LONGEST = 1.3
"""A turn of up to so many times a passage stays one piece."""
MAX_LEXEMES = 30_000
"""Different words of one turn at most: a tsvector holds a megabyte."""
_SLICE = 4_000

_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_SPOKEN = re.compile(r"[^.!?。！？\n]*(?:[.!?。！？\n]|\Z)")
_BREAK = re.compile(r"\s")
_GENERIC = frozenset(
    ("user", "human", "assistant", "ai", "bot", "model", "system", "tool", "用户", "助手", "助理")
)
"""Speaker names that only repeat a role."""

# A wish or habit that stands until further notice.
_STANDS = re.compile(
    r"\b(?:always|never|prefer(?:s|red|ence|ences)?|rather than|from now on|going forward|whenever"
    r"|instead of|please (?:don't|do not|avoid|only|make sure|remember|keep in mind)"
    r"|allergic|allerg(?:y|ies)|intoleran\w+|vegan|vegetarian|pescatarian"
    r"|i(?:'m| am) (?:not (?:a fan|comfortable|into)|more of|someone who)"
    r"|i (?:really |strongly |absolutely |usually |generally |tend to )*"
    r"(?:like|love|enjoy|hate|dislike|avoid|refuse|favou?r|detest|despise|loathe)"
    r"|i (?:don't|do not|won't|can't|cannot) (?:like|enjoy|want|eat|drink|use|stand|watch|tolerate|do)"
    r"|not (?:really )?my (?:thing|style)|appeal to me|i(?:'d| would) rather"
    r"|i (?:\w+ )?(?:only|strictly|exclusively|refrain|prioriti[sz]e|value|insist|limit|abstain|stick to"
    r"|stay away|steer clear|tend to|try to|need to have)"
    r"|aver(?:se|sion)|object(?:ion)? to|opposed to|phobia|afraid of|fear of|terrified|uncomfortable"
    r"|sensitiv(?:e|ity) to|committed to|devoted to|passionate about|important to me|matters to me"
    r"|kosher|halal|gluten|lactose|religious|my diet|diet(?:ary)?|policy|deal-?breaker|favou?rite"
    r"|can't stand|cannot stand|bothers me|makes me (?:sick|anxious|nervous|uncomfortable))\b"
    r"|总是|从不|从来|以后|一律|喜欢|讨厌|偏好|偏爱|更愿意|不吃|不喝|不要|过敏|习惯|宁愿|必须"
    r"|只(?:吃|喝|用|看|买|穿|住|坐|要|接受)|受不了|尽量|忌口|素食|吃素|清真|害怕|恐惧"
    r"|不能(?:吃|喝|碰|接受)|向来|反感|排斥|在意|看重|坚持",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """A turn as it is indexed: ``asking`` is the share of its characters that stand in questions (0 to 1)."""

    role: int
    asking: float
    stands: bool
    speaker: str | None
    window: str
    passages: tuple[str, ...]


def read_turn(turn: Turn, before: Turn | None, after: Turn | None) -> Reading:
    """Return what a turn is found by, its two neighbours in the session known.

    ``passages`` is empty when the window says the same.
    """
    around = window(
        turn.content, before.content if before else None, after.content if after else None
    )
    own = passages(turn.content[:READ])
    part = role(turn)
    return Reading(
        part,
        asking(turn.content),
        part == 1 and stands(turn.content),
        speaker_name(turn.speaker),
        around,
        () if own == (around,) else own,
    )


def window(text: str, before: str | None = None, after: str | None = None) -> str:
    """Return a turn's first 1,500 characters between the 300 before and the 300 after it."""
    tail = before[-_AROUND:] if before and before.strip() else None
    head = after[:_AROUND] if after and after.strip() else None
    return "\n".join(part for part in (tail, text[:_OWN], head) if part)


def passages(text: str, size: int = PASSAGE) -> tuple[str, ...]:
    """Return whole sentences packed to about ``size`` characters; a short text stays one piece."""
    if len(text) <= size * _LONGEST:
        return (text,)
    packed: list[str] = []
    current = ""
    for sentence in _sentences(text, size):
        if current and len(current) + len(sentence) > size:
            packed.append(current)
            current = ""
        current = f"{current} {sentence}" if current else sentence
    if packed and len(current) < size / 4:
        packed[-1] = f"{packed[-1]} {current}" if current else packed[-1]
    elif current:
        packed.append(current)
    return tuple(packed) or (text[:size],)


def _sentences(text: str, size: int) -> Iterator[str]:
    """Yield sentences; what has no end for twice the size is cut where the size is reached."""
    for sentence in _SENTENCE.split(text):
        if not sentence or not sentence.strip():
            continue
        start = 0
        while len(sentence) - start > size * 2:
            yield sentence[start : start + size]
            start += size
        yield sentence[start:]


def asking(text: str) -> float:
    """Return the share of a text's characters that stand in questions, 0 to 1."""
    asked = sum(len(said) for said in _SPOKEN.findall(text) if said[-1:] in ("?", "？"))
    return min(1.0, asked / max(1, len(text.strip())))


def stands(text: str) -> bool:
    """Tell whether a text states a wish or habit that holds until further notice."""
    return _STANDS.search(fold(text)) is not None


def role(turn: Turn) -> int:
    """Return 1 for the user and for whoever speaks under a name, -1 for the assistant, 0 for others."""
    if speaker_name(turn.speaker) is not None or turn.role == "user":
        return 1
    return -1 if turn.role == "assistant" else 0


def speaker_name(speaker: str | None) -> str | None:
    """Return a speaker's name in the form that is compared, None when it says no more than a role."""
    name = " ".join(fold(speaker or "").casefold().split())
    return None if not name or name in _GENERIC else name


def speaker_mac(key: DataKey, name: str) -> bytes:
    """Return the keyed hash under which a name (as ``speaker_name`` gives it) is stored."""
    return key.mac(f"speaker|{name}")


def counted(text: str) -> Counter[str]:
    """Return how often each lexeme occurs in a text of any length, at most 30,000 different ones."""
    found: Counter[str] = Counter()
    for part in _slices(text):
        found.update(tokens(part))
        if len(found) > MAX_LEXEMES:
            return Counter(dict(found.most_common(MAX_LEXEMES)))
    return found


def _slices(text: str) -> Iterator[str]:
    """Cut a long text at white space, so that each part is within what the lexer reads."""
    start = 0
    while len(text) - start > _SLICE:
        gap = _BREAK.search(text, start + _SLICE, start + _SLICE + 200)
        end = gap.end() if gap else start + _SLICE
        yield text[start:end]
        start = end
    yield text[start:]
