"""Who acts in a statement and upon whom, in the order of the sentence?

"I owe Tom" and "Tom owes me" hold the same words: only the order of the two people, or the case of the
pronoun, tells them apart.
"""

from __future__ import annotations

import re
from itertools import combinations

from mnemic.longterm.judge.words import Word

__all__ = ["Part", "cast_of", "is_personal_name", "swapped"]

Part = tuple[str, str]

_ACTING = frozenset({"i", "we"})
_ACTED_ON = frozenset({"me", "us"})
_SELF = frozenset({"我", "我们", "咱们"})
_SURNAMES = frozenset(
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许邓冯韩曹曾彭萧蔡潘田董袁于余叶蒋杜苏魏程吕丁沈任姚卢"
    "傅钟姜崔谭廖范汪陆金石戴贾韦夏邱方侯邹熊孟秦白江阎薛尹段雷黎史龙陶贺顾毛郝龚邵万钱严武孔向汤"
)
# "Anna and I", 我跟小王: neither of the two acts upon the other.
_BESIDE = re.compile(
    r"\bwith (?:[A-Z]|my |me\b|us\b|him\b|her\b|them\b)|(?:[A-Z]\w*|\bme) and (?:[A-Z]|me\b|my )"
    r"|\b(?:each other|together)\b|[和与同]|跟[她他它我]?.{0,3}说|一起|互相|彼此"
)
_MUTUAL = re.compile(
    r"\b(?:met|meets?|marr\w+|divorced?|dat(?:e|es|ed|ing)|(?:same|next|near|close|equal|similar|"
    r"related|identical)(?= |$)|neighbou?rs?|friends?|siblings?|cousins?|twins?)\b|结婚|离婚|认识|遇见"
)
_TURNED = re.compile(r"\b(?:by|what|where|which|whom|who|that)\b|被|由|所")
_OWNER = re.compile(r"\s?(?:'s\b|的)")


def cast_of(words: list[Word], text: str) -> tuple[Part, ...]:
    """Return the people of a statement in their order as (who, case).

    The case is ``acts`` or ``acted`` for the English pronouns, ``owns`` for whoever only owns something
    (Anna's keys), ``person`` or ``name``, and ``""`` for any other unlisted word.
    """
    cast: list[Part] = []
    owned = "'s" in text or "的" in text
    for word in words:
        low = word.text
        owns = low.endswith("'s") or (owned and _OWNER.match(text, word.start + len(low)))
        if owns and word.entry is None:
            cast.append((low.removesuffix("'s"), "owns"))
        if word.stop or owns:
            continue
        if low in _ACTING or low in _ACTED_ON:
            cast.append(("me", "acts" if low in _ACTING else "acted"))
        elif low in _SELF:
            cast.append(("me", ""))
        elif word.entry and word.entry.section == "person":
            cast += [(concept, "person") for concept, _ in word.entry.concepts]
        elif word.entry is None:
            cast.append((low, "name" if word.name or is_personal_name(low) else ""))
    return tuple(cast)


def is_personal_name(word: str) -> bool:
    """Whether a Chinese word looks like somebody's name: 小李, 老张, 李娜."""
    if word.isascii() or not 2 <= len(word) <= 3:
        return False
    return word[0] in "小老阿" or word[0] in _SURNAMES


def swapped(
    first: tuple[Part, ...], second: tuple[Part, ...], texts: tuple[str, str], linked: bool
) -> bool:
    """Return whether two of the people have changed places between two texts.

    ``linked`` tells that "is" joins them: Anna is my sister, my sister is Anna.
    """
    joined = " ".join(texts).lower()
    if _MUTUAL.search(joined) or any(_BESIDE.search(text) for text in texts):
        return False
    if _owners_swapped(first, second):
        return True
    first, second = (tuple(p for p in cast if p[1] != "owns") for cast in (first, second))
    one, two = dict(reversed(first)), dict(reversed(second))
    places = [{who: at for at, (who, _) in enumerate(cast)} for cast in (first, second)]
    passive = sum(bool(_TURNED.search(text.lower())) for text in texts) == 1
    for a, b in combinations(sorted(one.keys() & two.keys()), 2):
        cases = {one[a], one[b], two[a], two[b]}
        if "me" in (a, b) and one["me"] and two["me"]:
            if one["me"] != two["me"] and not passive:
                return True
            continue
        if "" in cases - {one.get("me")}:
            continue
        if linked and len(cases) > 1:
            continue
        order = (places[0][a] < places[0][b]) != (places[1][a] < places[1][b])
        if order != passive:
            return True
    return False


def _owners_swapped(first: tuple[Part, ...], second: tuple[Part, ...]) -> bool:
    """Whether Tom is Anna's boss in one text and Anna Tom's in the other."""
    owners = [{who for who, case in cast if case == "owns"} for cast in (first, second)]
    others = [{who for who, case in cast if case == "name"} for cast in (first, second)]
    return bool(owners[0] & others[1] - owners[1]) and bool(owners[1] & others[0] - owners[0])
