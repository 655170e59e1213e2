# ruff: noqa: E501 (patterns, not prose)
"""Is a clause about its speaker, and does it say yes or no? Pure."""

from __future__ import annotations

import re

_CLAUSE_ENDS = re.compile(
    r"[;；。！？!?\n]|\.(?=\s|$)|[,，](?!\d)|\b(?:but|though|although|however)\b|但是|但|不过|而(?=不|没|是)|然而"
)
_SENTENCE_ENDS = re.compile(r"[;；。！？!?\n]|\.(?=\s|$)")
_NO_EN = re.compile(
    r"\b(?:not|never|no longer|don['’]?t|do not|doesn['’]?t|didn['’]?t|can['’]?t|cannot|won['’]?t|isn['’]?t|aren['’]?t|wasn['’]?t|hate|dislike|avoid|stopped|stop|quit|gave up|give up|"
    r"used to|without|nothing|none|neither|no|rarely|hardly|former|formerly|refuse|sick of|tired of|dropped|abandoned|ditched|migrated? away from|moved? away from)\b",
    re.I,
)
_NO_ZH = re.compile(
    r"不(?!仅|但|光|只|过|断|同|错)|没(?!问题)|别(?!的|人)|勿|讨厌|避免|放弃|弃用|停用|戒|以前|曾经|从未|拒绝|禁止|无需|淘汰|抛弃"
)
_INSTEAD = re.compile(
    r"\b(?:instead of|rather than|over|not|in place of|as opposed to|replacing|replaces|replaced)\b.*|(?:而不是|而非|代替|取代|替代|替换).*",
    re.I | re.S,
)
_FROM_TO = re.compile(
    r"\bfrom\b.*?\bto\b|从.*?(?:换成|换到|迁移到|改用|转到|转为|切换到|改成)|把.*?(?:换成|改成|替换为)",
    re.I | re.S,
)
_OTHERS = re.compile(
    r"\b(?:he|she|they|his|her|their|him|them|(?:my|our|the|a|his|her) (?:[a-z]+ )?(?:boss|manager|colleagues?|coworkers?|co-workers?|teammates?|friends?|wife|husband|partner|spouse|girlfriend|boyfriend|"
    r"son|daughter|kids?|child|children|mother|mom|mum|father|dad|parents?|brother|sister|uncle|aunt|cousin|grandmother|grandfather|grandma|grandpa|neighbou?rs?|roommate|flatmate|teacher|mentor|client|customer|"
    r"landlord|doctor|assistant|intern|cat|dog|company|team)(?:['’]s)?)\b|他们?|她们?|我(?:的)?(?:同事|老板|经理|领导|上司|朋友|妻子|太太|老婆|丈夫|老公|先生|爱人|女朋友|男朋友|女友|男友|儿子|女儿|孩子|妈妈|爸爸|母亲|父亲|父母|哥哥|弟弟|姐姐|妹妹|爷爷|奶奶|叔叔|阿姨|"
    r"邻居|室友|老师|导师|客户|房东|医生|助理|猫|狗|公司|团队)|同事|老板|客户",
    re.I,
)
_ASKS = re.compile(r"[?？]\s*$|吗[。?？]?$")


def clauses(text: str) -> list[str]:
    """Return the clauses of a text, questions left out."""
    return [part.strip() for part in _CLAUSE_ENDS.split(text) if part and part.strip()]


def sentences(text: str) -> list[str]:
    """Return the sentences of a text."""
    return [part.strip() for part in _SENTENCE_ENDS.split(text) if part and part.strip()]


def asks(text: str) -> bool:
    """Tell whether a text is a question, which says nothing of anybody."""
    return _ASKS.search(text.strip()) is not None


def denies(clause: str) -> bool:
    """Tell whether a clause says that something is not so, or no longer."""
    return bool(_NO_EN.search(clause) or _NO_ZH.search(clause))


def kept_part(clause: str) -> str:
    """Return a clause without what it says was passed over: "X over Y" names X, "from Y to X" too."""
    return _INSTEAD.sub("", _FROM_TO.sub(" ", clause))


def of_others(clause: str) -> bool:
    """Tell whether a clause speaks of somebody else than the speaker."""
    return _OTHERS.search(clause) is not None
