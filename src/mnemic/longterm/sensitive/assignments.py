"""Which values does a text give to a name that means a secret: ``db_password = …``, ``AppSecret是…``?

The name must end in a secret word (``reset_token``, not ``token_bucket``), an assignment must follow, and
the value must be shaped like a secret: no placeholder, no code, no lone word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mnemic.longterm.sensitive.fold import Folded, Span
from mnemic.longterm.sensitive.hints import Hints
from mnemic.longterm.sensitive.lazy import lazy
from mnemic.longterm.sensitive.shapes import (
    classes,
    entropy,
    is_blank_form,
    is_filler,
    is_placeholder,
    is_token_like,
)

_TAIL = (
    r"(?:[ _.-]?(?:id|key|value|val|string|str|text|secret|token|prod|dev|test|live|main|\d{1,3}))?"
)
_ASSIGN = (
    r"(?P<q>[\"'`\])]{0,3})\s{0,3}"
    r"(?P<op>:{0,3}[=＝]>?|\?=|:|->|=>|,(?=\s?[\"'])|是|为|[改换设]成了?|设为|设置为|\bis\b|"
    r"\bare\b|\bwas\b|"
    r"(?<=[钥证据牌匙])\s?(?=[!-~]{16})|(?<=[tokeny])\s(?=\S{20}))"
    r"[\s]{0,4}(?:bearer |basic )?(?P<open>[\"'`]?)"
)
_VALUE = r"(?P<value>[^\s\"'`,;<>(){}\[\]，。；、！？）】|\u4e00-\u9fff]{4,400})"
_PASSWORD = lazy(
    rf"(?P<name>requirepass|pass(?:words?|wd|phrase|code|_?key)|passwort|contraseña|mot de passe|pwd|"
    rf"(?<![a-z])pw|(?<![a-z])pass|密码|口令|パスワード){_TAIL}{_ASSIGN}{_VALUE}",
)
_KEY = lazy(
    r"(?P<name>api[ _-]?(?:token|key|secret)s?|(?:access|secret|private|signing|encryption|master|"
    r"service|client|"
    r"account|app|auth|license|subscription|consumer|shared|webhook|deploy|ssh)[ _-]?(?:key|secret)s?|"
    r"accesskey|"
    r"secrets?|credentials?|密钥|秘钥|私钥|凭证|凭据|(?<![a-z])ak|(?<![a-z])sk)"
    rf"{_TAIL}{_ASSIGN}{_VALUE}",
)
_TOKEN = lazy(
    r"(?P<name>tokens?|令牌|jwt|session_?id|sessid|sessdata|web_session|send ?key|bduss|p_skey|"
    r"pt_key|ticket|jsessionid|phpsessid|connect\.sid|cookie|\bsid|"
    r"authorization|x-auth|bearer|(?:snyk|sonar|sumo|hubspot|okta|heroku|meraki|jira|slack|stripe|notion)"
    r"[a-z_.]{0,20}(?:key|login|id))"
    rf"{_TAIL}{_ASSIGN}{_VALUE}",
)
_BARE_KEY = lazy(rf"(?P<name>(?<![a-z_.-])keys?|サービスキー|授权码){_TAIL}{_ASSIGN}{_VALUE}", re.I)
_HARMLESS_NAME = lazy(
    r"(?:public|primary|foreign|cache|partition|sort|bucket|schema|sequence|index|storage|i18n|react|row|"
    r"translation|max|min|num|total|count|prompt|completion|input|output|per|used|context|next|page|"
    r"continuation|stop|pad|eos|bos|unk|mask|special|design|dictionary|hot|short|registry|host|map|object)"
    r"[ _.-]?$|(?<![a-z])(?:no|without|forgot|reset your|hash(?:ed)?)[ _-]?$",
    re.I,
)
_HARMLESS_TAIL = lazy(
    r"(?:id|name|size|type|url|file|path|length|count|field|label|hint|policy)$", re.I
)
_UUID = lazy(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$")
_CODE = lazy(r"[A-Za-z_][\w.]*(?:->[\w.]*)?$")
HINTS = Hints((
    "pass", "pwd", "secret", "sessdata", "key", "bduss", "ticket", "token", "credential", "contraseña",
    "session", "sessid", "cookie", "auth", "jwt", "bearer", "login", "sumo",
    "密码", "口令", "パスワード", "キー", "密钥", "秘钥", "私钥", "凭证", "凭据", "令牌", "授权码",
))  # fmt: skip
_SHORT_HINTS = Hints(("pw", "sid", "ak", "sk"))
_SHORT_HINT = lazy(r"pw(?<=\bpw)\b|sid(?<=\bsid)|ak[:=是 ](?<![a-z]...)|sk[:=是 ](?<![a-z]...)")


def find_assigned(folded: Folded) -> Iterator[Span]:
    """Yield each value that is given to a secret's name."""
    if not (HINTS.in_text(folded.lower) or is_abbreviated(folded.lower)):
        return
    for pattern, category, accepts in (
        (_PASSWORD, "password", _is_password),
        (_KEY, "api_key", _is_key),
        (_TOKEN, "token", _is_key),
        (_BARE_KEY, "api_key", _is_bare_key),
    ):
        for match in pattern.finditer(folded.lower):
            value = folded.text[slice(*match.span("value"))].rstrip(".:!?\\")
            if not _harmless(folded, match) and accepts(match, value):
                yield Span(category, match.start("value"), match.start("value") + len(value))


def is_abbreviated(lower: str) -> bool:
    """Tell whether a text holds a name of a secret that is too short to be looked for in any word."""
    return _SHORT_HINTS.in_text(lower) and bool(_SHORT_HINT.search(lower))


def _harmless(folded: Folded, match: re.Match[str]) -> bool:
    """Tell names that only sound secret, templates and code on the right-hand side."""
    head = folded.text[max(0, match.start() - 16) : match.start()]
    tail = folded.text[match.end("name") : match.start("q")]
    if _HARMLESS_NAME.search(head) or (_HARMLESS_TAIL.search(tail) and not _vendor_id(match)):
        return True
    following = folded.text[match.end() : match.end() + 1]
    value = folded.text[slice(*match.span("value"))]
    if following and following in "([{" and not match["open"]:
        return True
    return is_blank_form(value) or bool(re.match(r"https?:/|/|\.\.?/|\w:\\", value))


def _vendor_id(match: re.Match[str]) -> bool:
    whole = (match["name"] + match[0][len(match["name"]) :][:12]).lower()
    return bool(re.match(r"sumo|session|sess|jsess|phpsess|access[ _-]?key|secret[ _-]?key", whole))


def _is_password(match: re.Match[str], value: str) -> bool:
    """Accept what people choose as passwords; words, types and flags in code are none."""
    if len(value) < 4 or is_filler(value) or (value.isdigit() and len(value) < 4):
        return False
    quoted, spoken = bool(match["open"]), match["op"] in ("is", "are", "was")
    if value.isdigit():
        if match["name"] == "pass":
            return False
        return len(value) <= 16 and not value.startswith("0" * 4) and (spoken or len(value) >= 4)
    if _CODE.match(value) and not any(char.isdigit() for char in value):
        return False
    if _CODE.match(value) and "." in value and not quoted:
        return False
    return (classes(value) >= 2 and any(char.isdigit() for char in value)) or _symbolic(value)


def _symbolic(value: str) -> bool:
    inner = re.sub(r"[A-Za-z0-9_.\-:/\\]", "", value)
    return (
        len(value) >= 6 and bool(inner) and any(c.isalpha() for c in value) and classes(value) >= 3
    )


def _is_key(match: re.Match[str], value: str) -> bool:
    if _UUID.match(value):
        return True
    code = _CODE.match(value) and ("." in value or "_" in value) and not match["open"]
    if code and entropy(value) < 4.0:
        return False
    if match["op"] in ("is", "are", "was", "是", "为") and len(value) < 10:
        return False
    return is_token_like(value)


def _is_bare_key(match: re.Match[str], value: str) -> bool:
    """A name as common as ``key`` needs a long random value: no path, no dashes, no word."""
    if (
        not re.fullmatch(r"[A-Za-z0-9+/_=-]{16,200}(?:\.[A-Za-z0-9+/_=-]{8,100})?", value)
        or len(value) < 24
        or is_placeholder(value)
    ):
        return False
    digits = sum(char.isdigit() for char in value)
    return digits >= 4 and entropy(value) >= 3.3 and is_token_like(value) and not _UUID.match(value)
