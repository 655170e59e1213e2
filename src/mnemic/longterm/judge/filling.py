"""Do two statements give the same single-valued thing of the user's another value?

Who is my manager, in which language to answer, which car I have: the words around the value say so, even
where no word list knows the value.
"""

from __future__ import annotations

import re

from mnemic.longterm.judge.cases import Case
from mnemic.longterm.judge.labels import Judgement, newer
from mnemic.longterm.judge.roles import is_personal_name

__all__ = ["value_filled"]

_ONE_ROLE = r"(?:manager|boss|supervisor|team lead|landlord|landlady|line manager|wife|husband)"
_ROLE = re.compile(
    rf"^my (?:new |current )?(?P<role>{_ONE_ROLE})(?:'s name)? is (?:now |called |named )*"
    r"(?P<name>(?-i:[A-Z][\w-]+(?: [A-Z][\w-]+)?))(?: now)?[.!]?$",
    re.IGNORECASE,
)
_ROLE_CHINESE = re.compile(
    r"^我的?(?:新|现任|直属)?(?P<role>经理|老板|领导|上司|主管|房东|老婆|老公|妻子|丈夫)(?:现在)?"
    r"(?:换成|改成|变成|叫|是)了?(?P<name>[\u3400-\u9fff]{2,3}?)了?[。！]?$"
)
_NO_NAME = re.compile(
    r"(?:ish|ese|ian|ican|ench|utch|reek|wiss|indu|uslim|ewish|erman)$", re.IGNORECASE
)
_THING = re.compile(
    r"^(?:my (?:new |current )?(?P<thing>car|phone|laptop|camera) is (?:now )?|I drive )(?:an? )"
    r"(?P<name>(?-i:[a-z]{0,2}[A-Z][\w-]*(?: [A-Z0-9][\w-]*)*))(?: now)?[.!]?$",
    re.IGNORECASE,
)
_REPLY = re.compile(
    r"^(?:please |always |from now on,? |now |can you |just )*(?:answer|reply|respond|write|talk|speak)"
    r"(?: to)?(?: me)?(?: back)? (?:only )?in (?P<name>[A-Z]\w+)(?: only| please| now| from now on)*[.!]?$",
    re.IGNORECASE,
)
_REPLY_CHINESE = re.compile(
    r"^(?:以后|今后|请|都|现在|从现在起|，|改)*用(?P<name>[\u3400-\u9fff]{1,3}[文语])(?:来)?(?:跟我|和我)?"
    r"(?:回答|回复|答复|交流|说话)(?:我)?(?:吧)?[。！]?$"
)
_LANGUAGES = re.compile(
    r"english|german|french|spanish|italian|portuguese|dutch|swedish|danish|norwegian|finnish|polish|"
    r"czech|russian|ukrainian|turkish|greek|arabic|hebrew|hindi|chinese|mandarin|cantonese|japanese|"
    r"korean|vietnamese|thai|indonesian|hungarian|romanian",
    re.IGNORECASE,
)


def value_filled(case: Case) -> Judgement | None:
    """Return ``newer`` for another value of one role, one thing owned or the language of answers."""
    one = _filled(case.first.text.strip())
    two = _filled(case.second.text.strip()) if one else None
    if one is None or two is None or one[0] != two[0] or one[1].lower() == two[1].lower():
        return None
    return newer("value_changed", sure=False)


def _filled(text: str) -> tuple[str, str] | None:
    """Return what is filled and the value that the text gives, if it says nothing else."""
    reply = _REPLY.match(text)
    if reply:
        return ("reply", reply["name"]) if _LANGUAGES.fullmatch(reply["name"]) else None
    chinese_reply = _REPLY_CHINESE.match(text)
    if chinese_reply:
        return "reply", chinese_reply["name"]
    thing = _THING.match(text)
    if thing:
        return (thing["thing"] or "car").lower(), thing["name"]
    role = _ROLE.match(text)
    if role and not _NO_NAME.search(role["name"]):
        return role["role"].lower(), role["name"]
    chinese = _ROLE_CHINESE.match(text)
    if chinese and is_personal_name(chinese["name"]):
        return chinese["role"], chinese["name"]
    return None
