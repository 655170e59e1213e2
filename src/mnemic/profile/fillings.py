# ruff: noqa: E501 (patterns, not prose)
"""Which fields of a user's profile does one statement fill, and with what? Pure; Chinese and English."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mnemic.contact import normalise_email
from mnemic.errors import InvalidInput
from mnemic.profile.contact import EMAIL, PHONE, holds_contact, normal_phone
from mnemic.profile.known import Known
from mnemic.profile.phrases import asks, clauses, denies, kept_part, of_others
from mnemic.profile.words import LANGUAGES, SPOKEN, TOOLS, Names

Filling = tuple[str, str]
"""A field and one value of it."""
SLOTS = (
    "user/name", "user/job", "user/employer", "user/reply language", "user/reply long", "user/phone number",
    "user/residence", "user/hometown", "user/school", "user/nationality", "user/birthday", "user/age",
    "user/marital status",
)  # fmt: skip
"""The single-valued attributes, as the judge names them, by which a statement fills a field."""
_OF_BACKGROUND = frozenset(SLOTS) - {
    "user/name",
    "user/reply language",
    "user/reply long",
    "user/phone number",
}
_LONGEST = 300

# ---- names

_NAME_EN = r"(?P<name>[^\W\d_][\w'’.-]*(?: (?-i:[A-Z])[\w'’.-]*){0,3})"
_NAMES_EN = (
    re.compile(
        rf"\bmy (?:full |first |given |real |nick)?name(?: is|['’]s)(?: now)? {_NAME_EN}", re.I
    ),
    re.compile(rf"\bI(?: am|['’]m) (?:called|named) {_NAME_EN}", re.I),
    re.compile(
        rf"\b(?:I go by|[Ee]verybody calls me|[Ee]veryone calls me|(?:you (?:can|may|should) |[Pp]lease |^)?[Cc]all me) (?-i:(?=[A-Z]|[^\x00-\x7f])){_NAME_EN}"
    ),
)
_NAME_PLAIN = re.compile(
    rf"^(?:(?:hi|hello|hey)\b[ ,!]*)?I(?: am|['’]m) (?-i:(?=[A-Z])){_NAME_EN}", re.I
)
_NAMES_ZH = (
    re.compile(
        r"我的?(?:名字|姓名|全名|大名|昵称|英文名)(?:就?叫做?|就?是|为)(?P<name>[^\s，。；、！？,.;!?]{1,20})"
    ),
    re.compile(r"(?:我|本人)(?:现在|就)?(?:叫做?|名叫|名为)(?P<name>[^\s，。；、！？,.;!?]{1,20})"),
    re.compile(
        r"(?:叫|称呼|喊)我(?:为|做)?(?P<name>[^\s，。；、！？,.;!?]{1,20}?)(?:就好|就行|就可以了?|即可|吧|好了)?(?=$|[\s，。；、！？,.;!?])"
    ),
)
_NO_NAME = re.compile(
    r"^(?:外卖|车|网约车|滴滴|快递|代驾|救护车|起床|醒|一声|回|不|当|back|later|when|if|at|tomorrow|again|crazy|old|not|a|an|the|sorry|sure|glad|happy)$|^(?:起床|回来|不)",
    re.I,
)

# ---- work

_JOB_END = r"(?=\s+(?:at|for|in|with|from|who|since|now|and|but|on|by|these|nowadays|currently|of my)\b|[,.;!?(]|$)"
_JOBS_EN = (
    re.compile(
        rf"\b(?:I(?:['’]m| am)? (?:now |currently |still )?(?:work|working|employed|serve|serving) as|my (?:current )?(?:job|profession|occupation|job title|role) is(?: now)?(?: being| that of)?)\s+(?:an? |the )?(?P<job>[^\d,.;!?()]{{2,60}}?){_JOB_END}",
        re.I,
    ),
)
_JOB_PLAIN_EN = re.compile(
    rf"\bI(?: am|['’]m)\s+(?:now |currently |still |also |just )?(?:(?:an?|the)\s+(?:\d+[- ]years?[- ]old )?(?P<job>[^\d,.;!?()]{{2,60}}?)|(?P<state>retired|self-employed|freelance|freelancing|unemployed)){_JOB_END}",
    re.I,
)
_JOBS_ZH = (
    re.compile(
        r"我的?(?:职业|工作|岗位|职位|本职)(?:现在)?(?:是|为)(?:一?[名位个])?(?P<job>[^，。；！？,.;!?]{2,30})"
    ),
    re.compile(
        r"(?:我|本人)?(?:现在|目前|一直)?(?:从事|任职|担任)(?:一?[名位个])?(?P<job>[^，。；！？,.;!?]{2,30}?)(?:的?工作|行业|一职)?$"
    ),
)
_JOB_PLAIN_ZH = re.compile(
    r"^(?:我|本人)?(?:现在|目前|平时|也|已经|刚)?(?:是|当|做)(?:了|着)?(?:一?[名位个])?(?P<job>[^，。；！？,.;!?]{2,30}?)(?:了|的)?$"
)
_RETIRED_ZH = re.compile(r"我.{0,4}退休了?")

# ---- manners

_ANSWERS = re.compile(
    r"\b(?:answers?|repl(?:y|ies)|respon[ds]\w*|responses?|explain\w*|explanations?|outputs?|messages?|summar\w+|keep (?:it|things|them)|be (?:more |very )?(?:brief|concise|detailed|thorough|technical|short)|tell me|talk to me|speak to me|write to me|communicat\w+|style)\b|"
    r"回答|回复|答复|答案|解释|说明|讲解|输出|沟通|交流|风格|跟我说|对我说|告诉我|说话|总结",
    re.I,
)
_STYLES = (
    (
        "concise",
        re.compile(
            r"\b(?:concise(?:ly)?|brief(?:ly)?|short(?:er)?|succinct(?:ly)?|terse(?:ly)?|to the point|crisp)\b|简洁|简短|简明|精简|精炼|扼要|简单明了|言简意赅|短一[点些]|别啰嗦|不要?啰嗦|不要?废话|少废话",
            re.I,
        ),
    ),
    (
        "detailed",
        re.compile(
            r"\b(?:detailed|in detail|in depth|in-depth|thorough(?:ly)?|long(?:er)?|comprehensive(?:ly)?|elaborate|exhaustive|step by step|step-by-step)\b|详细|详尽|细致|深入|全面|具体一[点些]|长一[点些]|一步一步",
            re.I,
        ),
    ),
    (
        "technical",
        re.compile(
            r"\b(?:technical(?:ly)?|jargon|low-level detail|expert-level)\b|技术性|技术细节|专业术语|专业一[点些]|技术向",
            re.I,
        ),
    ),
)
_NOT_TOO = re.compile(r"别啰嗦|不要?啰嗦|不要?废话|少废话")
_FORMATS = (
    ("markdown", re.compile(r"\bmarkdown\b", re.I)),
    (
        "plain",
        re.compile(
            r"\bplain[- ]?text\b|\bno (?:markdown|formatting)\b|\bwithout (?:markdown|any formatting|formatting)\b|纯文本|不要?(?:用|使用)?\s*(?:markdown|格式)|无格式",
            re.I,
        ),
    ),
    (
        "code",
        re.compile(
            r"\b(?:code[- ]only|only (?:the |with |give me (?:the )?)?code|just (?:the |give me (?:the )?)?code|code first|code without (?:an? )?explanations?)\b|只(?:要|给我?|输出|回复|贴)?代码|直接(?:给|上|贴)我?代码",
            re.I,
        ),
    ),
)
_SPEAKS = re.compile(
    r"\b(?:answer|repl(?:y|ies)|respon[ds]\w*|speak|talk|write|communicat\w+|chat|explain|address me)\b.{0,40}?\bin\b|\bprefer(?:red)? (?:language|to (?:speak|talk|chat|read))|\blanguage\b.{0,20}\b(?:is|should be|to)\b|"
    r"\bprefer (?:everything )?(?:in )?(?=[A-Z])|(?:用|说|讲|以|使用|换成|改用|只?看)|语言",
    re.I,
)
_SPOKEN = tuple(
    (code, re.compile(rf"(?<![A-Za-z])(?:{names})(?![A-Za-z])", re.I))
    for code, names in SPOKEN.items()
)

# ---- skills, tools, traits

_USES = re.compile(
    r"\b(?:us(?:e|es|ing)|writ(?:e|es|ing)|cod(?:e|es|ing)|program(?:s|ming|mer)?|develop(?:s|er|ing)?|know|learn(?:ing)?|studying|prefer|like|love|enjoy|favou?rite|work(?:ing)? (?:with|in|on)|proficient|fluent|experienced?|expert|good at|skilled|"
    r"switch(?:ed|ing)?|mov(?:ed|ing)|migrat(?:ed|ing)|chang(?:ed|ing)|run|rely|live in|daily|every ?day|stack|main(?:ly)?|mostly|engineer|maintain\w*|built|build)\b|用|写|学|会|熟悉|精通|擅长|掌握|喜欢|偏好|爱|开发|编程|主力|常|换|改|工程师|入门|语言|工具",
    re.I,
)
_SKILLS_EN = re.compile(
    r"\b(?:(?:am|['’]m|quite|very|really|pretty)?\s*(?:good|great|skilled|proficient|experienced|knowledgeable|strong|well[- ]versed|fluent|an? (?:\w+ )?expert|expertise|specialist|specialized|specialised) (?:at|in|on|with|about)|speciali[sz]e in|"
    r"my (?:expertise|speciality|specialty|strength)(?: is|['’]s)(?: in)?|expert on|know (?:a lot|a great deal|everything) about|(?:years?|decades?|a lot|lots) (?:of )?(?:experience )?(?:in|with|of)|know how to|can)\s+(?P<skill>[^,.;!?]{2,80})",
    re.I,
)
_SKILLS_ZH = re.compile(
    r"(?:擅长|精通|熟悉|专攻|专注于|主攻|精于|熟练(?:掌握|使用)|掌握|研究方向是|专业是|善于|会)(?P<skill>[^，。；！？,.;!?]{1,40})|对(?P<topic>[^，。；！？,.;!?]{1,30}?)(?:很|非常|比较|颇|十分)?(?:在行|精通|熟悉|有研究|有经验)"
)
_AND = re.compile(r"\s*(?:、|/|\band\b|&|以及|还有|和|与|及)\s*")
_FILLER = re.compile(
    r"^(?:I(?: am|['’]m)?|the|a|an|use|using|all things|everything about|我)\s+|^我(?:会|很)?", re.I
)
_TRAITS = re.compile(
    r"\bI(?: am|['’]m) (?:a |an |quite |very |rather |really |more of an? |pretty |a bit )*(?:morning person|early (?:bird|riser)|night owl|introvert(?:ed)?|extrovert(?:ed)?|perfectionist|minimalist|optimist(?:ic)?|pessimist(?:ic)?|patient|impatient|curious|shy|outgoing|"
    r"left-handed|colou?r[- ]?blind|vegan|vegetarian|detail[- ]oriented|hands-on|visual (?:learner|thinker)|organi[sz]ed|forgetful|punctual|sceptical|skeptical|pragmatic|cautious|beginner|self-taught)\b|"
    r"我.{0,6}(?:内向|外向|急性子|慢性子|完美主义|夜猫子|早起的人|早鸟|有耐心|没耐心|好奇心|左撇子|素食|细心|粗心|乐观|悲观|务实|谨慎|健忘|守时|社恐|新手|自学)",
    re.I,
)
_PAST_OF_MINE = re.compile(
    r"\bI (?:was born|grew up|come from|am from|studied|graduated|live|have lived|moved to|majored|work (?:as|at|for)|hold an?|have an? (?:degree|master|bachelor|phd|doctorate))\b|\bI(?:['’]m| am) from\b|我(?:是|来自|出生|生于|毕业|住在?|老家|家在|本科|硕士|博士|读的?|学的|在.{1,20}(?:工作|上班|任职))",
    re.I,
)
_MINE_EN = re.compile(r"\b(?:my|reach me|contact me|write to me|mail me|call me|text me)\b", re.I)
_MINE_ZH = re.compile(r"我的?|联系|本人")


def fill(item: Known) -> Iterator[Filling]:
    """Yield what a statement says of its user; nothing for a question."""
    text = item.text
    if asks(text):
        return
    yield from _contacts(text)
    if holds_contact(text):
        return  # an address is shown in its own field alone
    parts = clauses(text)
    yield from (("username", name) for name in _username(item, parts))
    yield from (("profession", job) for job in _profession(item, parts))
    yield from _manners(item, parts)
    yield from (("programming_languages", name) for name in _named(LANGUAGES, parts))
    yield from (("frequently_used_tools", name) for name in _named(TOOLS, parts))
    yield from (("expertise_areas", area) for area in _expertise(item, parts))
    yield from _as_said(item)


def _contacts(text: str) -> Iterator[Filling]:
    for clause in clauses(text.replace("。", ".")) if "@" not in text else [text]:
        if (
            of_others(clause)
            or denies(clause)
            or not (_MINE_EN.search(clause) or _MINE_ZH.search(clause))
        ):
            continue
        found, number = EMAIL.search(clause), PHONE.search(clause)
        try:
            if found:
                yield "email", normalise_email(found[0].rstrip("."))
            elif number:
                yield "phone", normal_phone(number[0])
        except InvalidInput:
            continue  # not an address after all


def _username(item: Known, parts: list[str]) -> Iterator[str]:
    for clause in parts:
        plain = [_NAME_PLAIN] if "user/name" in item.slots else []
        patterns = [*_NAMES_EN, *_NAMES_ZH, *plain]
        found = next((match for pattern in patterns if (match := pattern.search(clause))), None)
        if found and not denies(clause[: found.start("name")]):
            name = found["name"].strip(" .")
            if not _NO_NAME.search(name):
                yield name
                return


def _profession(item: Known, parts: list[str]) -> Iterator[str]:
    of_job = "user/job" in item.slots
    for clause in parts:
        if denies(clause):
            continue
        patterns = (*_JOBS_EN, *_JOBS_ZH, *((_JOB_PLAIN_EN, _JOB_PLAIN_ZH) if of_job else ()))
        found = next((match for pattern in patterns if (match := pattern.search(clause))), None)
        if found:
            groups = found.groupdict()
            job = groups.get("job") or groups.get("state") or ""
            yield job.rpartition("的")[2].strip() or job
            return
        if _RETIRED_ZH.search(clause):
            yield "退休"
            return


def _manners(item: Known, parts: list[str]) -> Iterator[Filling]:
    for clause in parts:
        if item.memory_type in ("preference", "constraint", "habit") and of_others(clause):
            continue
        told = kept_part(clause)
        if _ANSWERS.search(told) or "user/reply long" in item.slots:
            negated = denies(_NOT_TOO.sub("", told))
            yield from (
                ("communication_style", style)
                for style, words in _STYLES
                if words.search(told) and not negated
            )
        if plain := _FORMATS[1][1].search(told):
            yield "response_format", "plain"
        yield from (
            ("response_format", form)
            for form, words in (_FORMATS[0], _FORMATS[2])
            if not plain and words.search(told) and not denies(told)
        )
        if ("user/reply language" in item.slots or _SPEAKS.search(told)) and not denies(told):
            yield from (("language_preference", code) for code in _spoken(told, item))


def _spoken(told: str, item: Known) -> list[str]:
    """Return the language that answers should be in: the first one that is named."""
    wished = (
        item.memory_type in ("preference", "constraint", "habit")
        or "user/reply language" in item.slots
    )
    places = [
        (found.start(), -len(found[0]), code)
        for code, names in _SPOKEN
        if (found := names.search(told))
    ]
    about = (
        _ANSWERS.search(told)
        or "user/reply language" in item.slots
        or re.search(r"language|语言|speak|talk|chat|prefer", told, re.I)
    )
    return [min(places)[2]] if places and wished and about else []


def _named(names: Names, parts: list[str]) -> Iterator[str]:
    for clause in parts:
        told = kept_part(clause)
        if _USES.search(clause) and not denies(told) and not of_others(told):
            yield from names.find(told)


def _expertise(item: Known, parts: list[str]) -> Iterator[str]:
    found_any = False
    for clause in parts:
        if denies(clause) or of_others(clause):
            continue
        found = _SKILLS_EN.search(clause) or _SKILLS_ZH.search(clause)
        if found is None or (
            item.memory_type != "skill"
            and found[0].strip().lower().startswith(("can", "会", "know how"))
        ):
            continue
        groups = found.groupdict()
        for area in _AND.split((groups.get("skill") or groups.get("topic") or "").strip()):
            area = _FILLER.sub("", area).strip()
            if area:
                found_any = True
                if not list(LANGUAGES.find(area)):
                    yield area
    plainly = not (found_any or denies(item.text) or of_others(item.text))
    if item.memory_type == "skill" and plainly and not list(_named(LANGUAGES, parts)):
        yield _cut(item.text)


def _as_said(item: Known) -> Iterator[Filling]:
    """Yield what goes into a field in the words in which it was said."""
    text = _cut(item.text)
    if item.memory_type == "preference":
        yield "preferences", text
    if item.memory_type == "habit" or _TRAITS.search(item.text):
        yield "characteristics", text
    if item.memory_type == "constraint" and item.source == "user":
        yield "content", item.text
    told = item.memory_type in ("fact", "context", "event", "skill")
    if (
        told
        and (item.slots & _OF_BACKGROUND or _PAST_OF_MINE.search(item.text))
        and not of_others(item.text[:12])
        and not denies(clauses(item.text)[0])
    ):
        yield "background", text


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"
