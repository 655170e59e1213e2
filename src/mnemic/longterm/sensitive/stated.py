"""Which passwords are stated outright although the value is a plain word: "our wifi password is sunflower"?

The value ends its clause, and what people say *about* passwords (wrong, stored, required, in a vault) is
no value. In code only quoted values count. Pairs of a login and its password are found here too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mnemic.longterm.sensitive.fold import Folded, Span
from mnemic.longterm.sensitive.hints import Hints
from mnemic.longterm.sensitive.lazy import Pattern, lazy
from mnemic.longterm.sensitive.shapes import is_blank_form, is_filler

_ABOUT_WORDS = """
wrong right correct incorrect invalid valid weak strong short long longer shorter complex complicated
simple easy hard difficult tricky good bad better worse best worst fine okay great terrible awful
perfect safe unsafe secure insecure secret private public hidden visible known unknown unique common
different same similar identical new old older outdated fresh current recent temporary permanent
initial default standard normal generic random strange weird funny silly stupid dumb obvious lost gone
missing stolen broken empty blank null none nil nothing something anything everything everywhere
nowhere elsewhere somewhere there here below above inside outside attached enclosed
required mandatory optional necessary needed unnecessary important essential critical vital key
sensitive case-sensitive case-insensitive alphanumeric numeric encrypted plain plaintext clear cleartext
text string number integer char varchar boolean bool type object value field input hash salt salted
bcrypt argon2 argon scrypt base64 json yaml html http https oauth ssl tls
yes no true false maybe undefined unset ready done due up down off on in out active inactive
enabled disabled alright ok working useless useful worthless relevant irrelevant redundant sufficient
insufficient consistent inconsistent dead alive high low enough accurate exact official personal
confidential classified pending unavailable available ours mine yours theirs his hers it this that these those
what who which where why how hello world test testing example sample demo dummy placeholder fake mock
bitwarden 1password lastpass keepass keepassxc dashlane keychain vault authenticator google icloud
password passwords passwort kennwort passcode passphrase passwd pass pwd pw login username user users name
email mail token token pin code host port database server client account config settings env secret secrets
pretty awesome sweet cool neat nice lovely amazing brilliant clever smart genius excellent pathetic
ugly legit big huge tiny small trivial proper daily weekly monthly yearly bold late early mandatory
written set kept stuck sent taken shown given forgotten chosen built made put held left found
tough catchy crazy memorable german english french chinese uppercase lowercase gibberish universal
global local xxx xxxx abc foo bar baz changeme change-me redacted masked hashed tbd todo unknown n/a na
falsch richtig sicher unsicher kurz lang weg neu alt geheim leer schwach stark nicht kein abgelaufen
vergessen gespeichert correcto incorrecto segura seguro débil faux correct oublié incorrecte
next first last also still never always not being too very so really now just only
"""
_ABOUT = frozenset(_ABOUT_WORDS.split())
_ABOUT_ENDING = lazy(
    r"(?:ed|ing|able|ible|ous|ive|ical|ional|less|ful|some|ness|wrong|bytes?|chars?|characters?|digits?|"
    r"letters?|words?|n't|field|input|string|text|value|hash|type)$"
)
_CODED = lazy(r"[(){}\[\]<>$%@=|\\]|//|::|->|\w\.\w|_|^--|^\W|[a-z][A-Z]")
_CHOSEN = frozenset({"letmein", "qwerty", "welcome", "iloveyou", "opensesame"})
_FACTORY = frozenset({"admin", "root", "guest", "user"})
_NAME = (
    r"(?:passw[o0]rds?|passwd|pass ?phrase|passcode|passwort|kennwort|wachtwoord|contrase[ñn]a|senha|"
    r"mot de passe|пароль|hasło)"
)
_PLACE = r"(?: (?:for|to|of|on|at|für|vom|von|de|del) (?:[\w'&.-]{1,20} ){0,3}?[\w'&.-]{1,20})?"
_END = r"(?=[.!?]{0,2}(?:\s*$|\n|[,;)]|\s+(?:and|but|so|und|et|y|for|on)\b)|[.!?] )"
_PLAIN = r"(?P<value>[^\W_][\w'!@#$%^&*+~?-]{2,40}?)"
_QUOTED = r"(?:\"(?P<q1>[^\s\"]{3,40})\"|'(?P<q2>[^\s']{3,40})'|`(?P<q3>[^\s`]{3,40})`)"
_SPOKEN = lazy(
    rf"(?<!\w){_NAME}{_PLACE} ?(?:is|was|'s|ist|lautet|es|est|é|to jest|это|-) "
    rf"(?:(?:now|still|just|simply|jetzt|currently) )?(?:{_QUOTED}|{_PLAIN}){_END}",
    re.I,
)
_WRITTEN = lazy(
    rf"(?P<lead>^|\n|[.;,!?] |(?<=[a-z]) )(?P<name>{_NAME}|pwd|pw){_PLACE} ?[:=] ?"
    rf"(?:{_QUOTED}|{_PLAIN}){_END}",
    re.I,
)
_QUOTED_CODE = lazy(rf"(?<![A-Za-z]){_NAME}[\"']?\s?[=:]\s?{_QUOTED}(?!\s*[+.(%\[])", re.I)
_ACCOUNT = lazy(
    r"(?<![\w-])(?:user(?:name)?|login|account|log[ -]?in as|sign in as|id)(?: is|:|=)? ?"
    r"(?P<who>[\w.@+-]{2,40})(?: ?[,;/] ?| and | with )(?:the )?(?:pass(?:word)?|pw|pwd)(?: is|:|=)? ?"
    rf"{_PLAIN}{_END}",
    re.I,
)
_WITH = lazy(
    r"\b(?:log(?:ging|ged)?[ -]?(?:in|on)|sign(?:ing|ed)? in|ssh|connect)\b"
    r"(?: [^\s]{1,30}){0,3}?(?: as [^\s]{1,30}| [^\s@]{1,30}@[^\s]{1,60}) with "
    r"(?P<value>(?=[^\s]{0,30}\d)(?=[^\s]{0,30}[A-Za-z])[^\W_][\w!@#$%^&*+~?-]{5,30})"
    r"(?=[.!?]?(?:\s*$|\n|[,;)]))",
    re.I,
)
_PAIR = lazy(
    r"\b(?:login|credentials?|logins) (?:is|are|:) ?[\w.@+-]{2,40} ?[/|] ?"
    r"(?P<value>(?=[^\s]{0,40}\d)[^\W_][\w!@#$%^&*+~?-]{3,40})|"
    r"(?<![\w/])[\w.@+-]{3,40} / (?P<value2>[^\W_][\w!@#$%^&*+~?-]{3,40}) (?:is|are) (?:the|my|our) "
    r"(?:[a-z]+ ){0,2}?(?:login|credentials)\b",
    re.I,
)
_OWN_NAME = lazy(
    r"\bpass ?(?:word|code|phrase)(?: hint)?(?: (?:for|to|of) [\w' .-]{1,24}?)? is (?P<value>(?:just )?"
    r"(?:my|our|his|her|the) (?:[a-z]+'s )(?:[a-z]+ )?(?:name|nickname|birthday)\b[^.!?\n]{0,30})",
    re.I,
)
_BACKUP = lazy(
    r"\b(?:recovery|backup|rescue|emergency|scratch) (?:codes?|keys?)(?: (?:for|of|to) [\w' .-]{1,24}?)?"
    r"(?: is| are|:| =){1,2} ?(?P<value>(?=[^\s]{0,60}\d)[a-z0-9]{3,8}(?:-[a-z0-9]{3,8}){1,7}|"
    r"(?=[a-z0-9]{0,20}\d)(?=[a-z0-9]{0,20}[a-z])[a-z0-9]{8,24})(?![\w.])",
    re.I,
)
_ZH_ACCOUNT = lazy(
    r"(?:账号|帐号|账户|用户名?|帳號)(?:是|为|:)? ?[\w.@+-]{2,40}?[ ,;/和、]{0,3}"
    r"(?:密码|口令|密碼)(?:是|为|:)? ?(?P<value>(?<![a-z])[a-z][\w!@#$%^&*+~?-]{2,40})(?![\w(.\[])",
    re.I,
)
_ZH_AGAIN = lazy(
    r"(?:密码|口令)(?:还|仍|依然|一直|就)?是(?:原来|以前|之前|老|旧|那个|的|原先|我们|常用|一样){1,4}"
    r"[ :,\"]{0,2}(?P<value>[a-z][\w!@#$%^&*+~?-]{4,40})(?![\w(.\[])",
    re.I,
)
_ZH_DIAL = lazy(
    r"(?:密码|保险[箱柜]|转盘|锁)[^。;!?\n]{0,8}?(?P<value>(?:[左右](?:转|拧|旋)?[一二三四五六七八九十两\d]{1,3}"
    r"(?:圈|格|下)?[,、 ]?){2,6})(?![楼排座号米间])"
)


_HINT_WORDS = "pass kennwort pwd pw: pw= wachtwoord contrase senha пароль hasło"
_HINTS = Hints(_HINT_WORDS.split())
HINTS = _HINTS | Hints(("login", "credential", "code", "key", "密", "口令", "左"))


def find_stated(folded: Folded) -> Iterator[Span]:
    """Yield each password that is stated as the value of a name, plain words included."""
    lower, text = folded.lower, folded.text
    if _HINTS.in_text(lower):
        yield from _named(text)
    if may_log_in(folded):
        yield from _spans(_WITH, text)
    if "/" in lower and ("login" in lower or "credential" in lower):
        yield from _spans(_PAIR, text)
    if "code" in lower or "key" in lower:
        yield from _spans(_BACKUP, text)
    if not lower.isascii():
        yield from _chinese(text)


def may_log_in(folded: Folded) -> bool:
    """Tell whether somebody may log in as someone, or at a host, with a password that holds a digit."""
    lower = folded.lower
    return folded.digit and " with " in lower and (" as " in lower or "@" in lower)


def _named(text: str) -> Iterator[Span]:
    for match in _SPOKEN.finditer(text):
        if _is_value(match):
            yield _span(match)
    for match in _WRITTEN.finditer(text):
        if _is_value(match) and not _in_code(text, match.start()):
            yield _span(match)
    for match in _QUOTED_CODE.finditer(text):
        if _is_value(match):
            yield _span(match)
    for match in _ACCOUNT.finditer(text):
        if _is_value(match) and re.search(
            r"\d|[:=]|\bis\b", match[0][match.end("who") - match.start() :]
        ):
            yield _span(match)
    for match in _OWN_NAME.finditer(text):
        yield _span(match)


def _chinese(text: str) -> Iterator[Span]:
    if "密" in text or "口令" in text:
        for pattern in (_ZH_ACCOUNT, _ZH_AGAIN):
            for match in pattern.finditer(text):
                if _is_value(match) or match["value"].lower() in _FACTORY:
                    yield _span(match)
    if "左" in text and "右" in text:
        yield from _spans(_ZH_DIAL, text)


def _spans(pattern: Pattern, text: str) -> Iterator[Span]:
    for match in pattern.finditer(text):
        if not is_blank_form(_value(match)):
            yield _span(match)


def _is_value(match: re.Match[str]) -> bool:
    """Tell a chosen word from a placeholder, a piece of code and a remark about the password."""
    value = _value(match).rstrip(".,;:!?'")
    word = value.lower()
    if len(value) < 3 or is_blank_form(value) or _is_coded(value):
        return False
    if word in _CHOSEN:
        return True
    if word in _ABOUT or is_filler(value):
        return _written_out(value + match.string[match.end() : match.end() + 1])
    plain = not any(char.isdigit() for char in value)
    asked = match.string[match.end() - 1 : match.end() + 1].find("?") >= 0
    return not (plain and (asked or _ABOUT_ENDING.search(word) or _of_names(word)))


def _written_out(value: str) -> bool:
    """Accept ``Sup3rS3cret!``: example words in disguise are what people choose, ``P@ssw0rd`` is not."""
    kinds = (str.isupper, str.islower, str.isdigit)
    mixed = all(any(map(kind, value)) for kind in kinds) and not value.isalnum()
    inside = bool(re.search(r"[a-z]\d[a-z]", value, re.I)) and value[-1] in "!?#*+$%&"
    return mixed and inside and not re.search(r"p[a@4][s$5]{2}", value, re.I)


def _is_coded(value: str) -> bool:
    return not any(char.isdigit() for char in value) and bool(_CODED.search(value))


def _of_names(word: str) -> bool:
    return bool(re.search(r"pass|pwd|user|secret|token|hash|test|admin|_|\.", word))


def _in_code(text: str, start: int) -> bool:
    """Tell a line of code or markup: brackets, quotes or an assignment stand before the name."""
    line = text[max(0, text.rfind("\n", max(0, start - 80), start + 1) + 1, start - 80) : start]
    return bool(re.search(r"[(){}\[\]<>=`\"]|//", line))


def _value(match: re.Match[str]) -> str:
    return text if (text := match[_group(match)]) else ""


def _span(match: re.Match[str]) -> Span:
    start, end = match.span(_group(match))
    return Span("password", start, max(start + 1, end))


def _group(match: re.Match[str]) -> str:
    names = match.re.groupindex
    for name in ("value", "value2", "q1", "q2", "q3"):
        if name in names and match[name]:
            return name
    return "value"
