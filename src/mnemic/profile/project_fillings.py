# ruff: noqa: E501 (patterns, not prose)
"""Which fields of a project's profile does one statement fill, and with what was decided? Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mnemic.profile.contact import holds_contact
from mnemic.profile.fillings import Filling
from mnemic.profile.known import Known
from mnemic.profile.phrases import asks, clauses, denies, kept_part, sentences
from mnemic.profile.words import STACK

_GOAL = re.compile(
    r"\b(?:goals?|aims?|objectives?|purpose|mission)\b(?: (?:of|for|in|with|behind) [^,.;!?]{1,40}?)?(?: here)?(?: is| are|['’]s|:) (?:to )?(?P<en>[^;!?\n]{3,400})|\b(?:we (?:aim|want|intend|are aiming|are trying) to|(?:the|this|our) project (?:aims|is meant|intends|wants) to) (?P<want>[^;!?\n]{3,400})|"
    r"(?:目标|目的|宗旨|愿景|使命)(?:就?是|为|在于|：|:)(?P<zh>[^；！？\n]{2,200})|(?:本|这个|我们的?)?项目(?:旨在|致力于|是为了|要做的是)(?P<zh2>[^；！？\n]{2,200})",
    re.I,
)
_USED = re.compile(
    r"\b(?:us(?:e|es|ing)|runs?|running|built|build|builds|written|writ(?:e|es|ing)|stack|chose|choose|chosen|picked|adopt(?:s|ed|ing)?|decided|settled on|standardi[sz]ed? on|go(?:ing)? with|went with|deploy\w*|hosted|stor(?:e|ed|es|ing)|backed by|powered by|based on|depends? on|"
    r"switch(?:ed|ing)?|mov(?:ed|ing)|migrat(?:e|ed|ing)|backend|frontend|database|in production|is on|are on|is in|tests?|framework|version)\b|用|采用|使用|基于|技术栈|运行|部署|选择|选定|选用|决定|数据库|后端|前端|框架|换成|迁移到|改用|切换到|改成|搭建|开发|存储|跑在",
    re.I,
)
_CONVENTION = re.compile(
    r"\b(?:convention|code style|style guide|coding standard|naming|commit messages?|code reviews?|pull requests?|branch(?:es)?|standup|stand-up|retro|we always|we never|always|never|every (?:change|commit|pull request|release|function|file)|must be reviewed|agreed to)\b|规范|约定|统一|命名|提交信息|代码评审|评审|分支|例会|站会|每次|每个|一律|团队习惯",
    re.I,
)
_PHASE = re.compile(
    r"\b(?:in|at|into|enter(?:ed|s|ing)?|reached|start(?:ed|s|ing)?|during)\s+(?:the |our |its |an? )?(?P<en>[\w-]+(?: [\w-]+){0,3}?) (?:phase|stage|milestone)\b|\b(?:phase|stage|milestone) (?:is|['’]s|:)(?: now| currently)? (?:the )?(?P<is>[\w-]+(?: [\w-]+){0,3})|"
    r"\b(?:are|['’]re|is|went|gone) (?:now |currently |already )?(?:in |into )?(?P<word>(?:closed |open |private |public )?(?:alpha|beta|production|maintenance|planning|prototyping|design|development|testing|staging|code freeze|feature freeze|general availability))\b|"
    r"(?:处于|进入|处在|进行到|到了|在)了?(?P<zh>[^，。；！？,.;!?\s]{1,12}?)(?:阶段|期|环节)|(?:当前|目前|现在|现)?(?:的)?阶段(?:是|为|：|:)(?P<zh2>[^，。；！？,.;!?\s]{1,20})|(?:已|正在)?(?P<zh3>内测|公测|灰度|上线试运行|试运行|封版|验收)",
    re.I,
)
_BECAUSE_EN = re.compile(
    r"^(?P<what>.+?)[,;]?\s+(?:because(?: of)?|since|due to|owing to|so that|in order to|as it|as they|given that|the reason (?:is|being)(?: that)?)\s+(?P<why>.+)$",
    re.I | re.S,
)
_BECAUSE_FIRST_EN = re.compile(
    r"^(?:because(?: of)?|since|due to|given(?: that)?)\s+(?P<why>[^,]+),\s*(?P<what>.+)$",
    re.I | re.S,
)
_BECAUSE_ZH = re.compile(
    r"^(?P<what>.+?)[，,；;。\s]*(?:因为|由于|原因是|理由是|是为了|为了|以便|考虑到)(?P<why>.+)$",
    re.S,
)
_BECAUSE_FIRST_ZH = re.compile(
    r"^(?:因为|由于|考虑到|鉴于|为了)(?P<why>[^，,]+)[，,]\s*(?:所以|因此|故)?(?P<what>.+)$", re.S
)
_REASON_APART = re.compile(
    r"^(?P<what>.+?)(?:[.;。；\n(（]\s*)(?:reason|why|rationale|理由|原因)\s*[:：]\s*(?P<why>.+?)[)）]?$",
    re.I | re.S,
)
_LONGEST = 300


def fill_project(item: Known) -> Iterator[Filling]:
    """Yield what a statement says of its project; nothing for a question, or where it holds an address."""
    text = item.text
    if asks(text) or holds_contact(text):
        return
    for sentence in sentences(text):
        goal = _GOAL.search(sentence)
        if goal and not denies(sentence[: goal.start()]):
            yield "project_goal", _group(goal)
            break
    for clause in clauses(text):
        told = kept_part(clause)
        if _USED.search(clause) and not denies(told):
            yield from (("tech_stack", name) for name in STACK.find(told))
    for clause in clauses(text):
        phase = _PHASE.search(clause)
        if phase and not denies(clause) and item.memory_type in ("fact", "context", "event"):
            yield "current_phase", _group(phase)
            break
    if item.memory_type == "constraint":
        yield "constraints", _cut(text)
    conventional = item.memory_type in ("fact", "context", "decision", "constraint")
    if item.memory_type in ("preference", "habit") or (conventional and _CONVENTION.search(text)):
        yield "team_conventions", _cut(text)


def decided(text: str) -> tuple[str, str | None]:
    """Return what a text decides, and the reason where it names one."""
    patterns = (_REASON_APART, _BECAUSE_FIRST_EN, _BECAUSE_FIRST_ZH, _BECAUSE_EN, _BECAUSE_ZH)
    for pattern in patterns:
        found = pattern.match(text.strip())
        if found:
            return found["what"].strip(" ,，;；"), found["why"].strip().rstrip(".。")
    return text.strip(), None


def _group(found: re.Match[str]) -> str:
    return next(value for value in found.groups() if value).strip(" .。，,")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"
