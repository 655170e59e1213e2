"""Which side of somebody's work does a statement tell: for whom, as what, where or how?"""

from __future__ import annotations

import re

from mnemic.longterm.judge.reading import Reading

__all__ = ["sides_of_work"]

_HOME = re.compile(r"\b(?:from|at) home\b|在家|居家|\bremote(?:ly)?\b|远程")
_TIMES = (
    r"(?:home|night|noon|dawn|least|most|best|first|once|times?|the moment|the weekend|weekends|"
    r"a living|fun|free|an hour|hours|days|weeks|months|years|a while|now|\x00|\d)"
)
_NAMES_EMPLOYER = re.compile(
    rf"\b(?:at|for) (?!{_TIMES})(?:\w|\")|\b(?:join\w*|employer|hired by|employed by|moved to)\b"
    r"|跳槽|入职|加入|东家|单位|公司是"
)
_CHINESE_PLACE = re.compile(
    r"在([^，。、,在]{1,12}?)(?:那?里)?(?:上班|工作|任职|就职|供职|打工|实习|做|当)"
)
_NO_COMPANY = re.compile(
    r"^(?:家|外地|国内|国外|这|那|线|户外|办公室|室内|晚上|早上|上午|下午|夜里|周|哪)"
)
_AWAY = frozenset({"retired", "employed", "student", "freelancer", "founder"})


def sides_of_work(reading: Reading) -> frozenset[str]:
    """Return which of ``employer``, ``job``, ``city``, ``home`` and ``away`` a statement about work names.

    ``away`` stands for an end or a state without an employer. Empty for what only tells how or when
    somebody works.
    """
    low = reading.text.lower()
    sections = reading.sections
    cities = {token.text for token in reading.tokens if token.section == "city"}
    found: set[str] = set()
    if _HOME.search(low):
        found.add("home")
    if "job" in sections:
        found.add("job")
    if "workplace" in sections or _names_company(reading, low, cities):
        found.add("employer")
    elif cities or re.search(r"\bwork\w* in [A-Z]", reading.text):
        found.add("city")
    idle = any(token.key == "work" and token.sign < 0 for token in reading.tokens)
    if idle or "end" in reading.flags or reading.keys & _AWAY:
        found.add("away")
    return frozenset(found)


def _names_company(reading: Reading, low: str, cities: set[str]) -> bool:
    if _NAMES_EMPLOYER.search(low) and not any(mark.kind == "time" for mark in reading.marks):
        return True
    changed = "change" in reading.flags and any(
        token.tail and not token.known for token in reading.tokens
    )
    places = [match[1] for match in _CHINESE_PLACE.finditer(low)]
    named = [place for place in places if place not in cities and not _NO_COMPANY.match(place)]
    return changed or bool(named)
