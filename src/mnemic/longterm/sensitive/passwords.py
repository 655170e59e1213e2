"""Which passwords, PINs, door codes and one-time codes are told in prose, in Chinese or English?

"密码昨天改成了X", "取款密码就是六个八", "大门密码锁按2580#就开", "the alarm code is 4821". Rules about
passwords (length, lifetime, attempts) and talk about them pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mnemic.longterm.sensitive.fold import Folded, Span
from mnemic.longterm.sensitive.hints import Hints
from mnemic.longterm.sensitive.lazy import lazy
from mnemic.longterm.sensitive.shapes import classes, is_blank_form, is_filler

_NAME_ZH = (
    r"(?:密码锁|访问密码|提取密码|分享密码|密码|密碼|口令|暗号|通行码|pin码|pin 码|验证码|"
    r"驗證碼|校验码|动态码|动态密码|提取码|"
    r"取[件餐货物]码|提货码|开[门柜锁箱机]码|进门码|入户码|单元码|门码|寄存码|对码|配对码|"
    r"确认码|认证码|核验码|"
    r"锁屏数字|临时码|临时密码|屏幕密码|门禁码|"
    r"门锁码|解锁码|解锁图案|支付码|安全码|恢复码|备用码|激活码|访问码|邀请码|登录码|短信码|"
    r"授权码|(?:保险箱|"
    r"门锁)(?!的?密码)|(?<![a-z])pin(?=[ 是为:：])|"
    r"パスワード|暗証番号)"
)
_LINK_ZH = (
    r"(?:[是为:：=就叫→从]|改成|改为|换成|换为|设成|设为|设置为|设的是?|设置成|用的?是?|记成|变成|"
    r"重置为|重置成|应该是|还是|一直是|"
    r"都是|依然是|仍是|按|输入?|输的是|了|，|,|は|\s|\(|（|\"|'|「|“)"
)
_MIDDLE_ZH = r"(?:[一-鿿 a-zA-Z-]{0,10}?)"
_VALUE = r"(?P<value>[!-~]{3,64})"
_ZH = lazy(
    rf"(?P<name>{_NAME_ZH})(?P<middle>{_MIDDLE_ZH})(?P<link>{_LINK_ZH}{{0,4}})(?P<value>(?!otp\b|"
    rf"pin\b|code\b)(?<![A-Za-z0-9])[A-Za-z0-9#*@!$%^&+~][!-+\--~]{{2,63}})"
    rf"(?P<unit> ?(?:位|次|个|分钟|天|秒|小时|字符|年|月|遍|元|块|条|种|%|周|度|套|人|级|字节|bit|"
    rf"char|ms|kb|轮|步|款|号|代|楼|页|版|届|岁|"
    rf"nm|or|and))?",
    re.I,
)
_SPELLED = lazy(
    rf"(?P<name>{_NAME_ZH})(?:[一-鿿]{{0,6}}?)(?:是|为|:|：|=|就|改成了?|设成了?|换成了?|按|用|"
    rf"，|\s){{0,3}}"
    r"(?P<value>(?:[一二两三四五六七八九十]个[零〇一二三四五六七八九]){1,4}|"
    r"[左右]\d{1,2}(?:[左右]\d{1,2}){1,3}|"
    r"\d(?: \d){3,7}(?![\d.])|\d{3} \d{3}(?![\d.])|[零〇一二三四五六七八九幺洞拐勾]{4,12})"
    r"(?!位|次|个|分|天|秒|小|字|年|月|遍|元|块|条|种|周|度)"
)
_BACK_ZH = lazy(
    r"(?P<value>(?<![A-Za-z0-9])[A-Za-z0-9#*@!$%^&+~][!-~]{3,40})[\"'”」 ]{0,2}(?:[这那]?就?是|当|作为?|"
    r"做)(?:(?![一-鿿]{0,6}[弱常])[一-鿿 A-Za-z0-9-]{0,14}?)(?:的)?(?:密码|口令|暗号|验证码|"
    r"提取码)(?!学|本|器|强度|格式)",
    re.I,
)
_NAME_EN = (
    r"(?:pass ?(?:words?|code|phrase)|\bpwd|\bpin(?: (?:number|code))?|(?:door|gate|alarm|entry|"
    r"access|security|lock|"
    r"unlock|safe|garage|keypad|lockbox|building|wi-?fi|verification|confirmation|one[- ]time|2fa|mfa|"
    r"authentication|login|"
    r"sms|backup|recovery|voicemail|vault) (?:code|pin|combination|password|key)s?|\botp|"
    r"combination|passkey)"
)
_EN = lazy(
    rf"(?P<name>{_NAME_EN})(?P<middle>(?: (?:for|to|of|on|at|in|the|my|our|your|his|her|their|this|"
    rf"that|wi-?fi|[a-z0-9'.-]{{1,16}})){{0,6}}?)"
    r"(?P<link>'s| is| was| are|:|=| to| as|'re| ->| will be| has been changed to| changed to| set to|"
    r" reset to| now){1,3}"
    r"(?: now| still| just| simply| set to| currently| always| actually| the| probably|"
    r" something like){0,2}[ :]{0,2}(?P<open>[\"'`(]?)"
    rf"{_VALUE}",
    re.I,
)
_BACK_EN = lazy(
    r"\b(?:use|enter|type|input|try|punch in|put in|dial) (?P<open>[\"'`]?)(?P<value>[!-~]{4,40}?)"
    r"[\"'`]? (?:as (?:the|my|our|your) |for (?:the|my|our) |to (?:open|unlock|enter|disarm) )"
    r"(?:[a-z-]{1,14} ){0,3}?(?:pass(?:word|code|phrase)|pin|code|door|gate|alarm|lock|safe|garage)",
    re.I,
)
_STOP_WORDS = """
null none nil true false undefined string str int bool boolean text varchar char hash hashed bcrypt
argon2 scrypt pbkdf2 md5 sha1 sha256 sha512 aes rsa base64 utf8 utf-8 json html http https oauth oauth2
oauth2.0 jwt api sdk app ssl tls vpn ssh wifi wi-fi wpa2 wpa3 4g 5g 2fa mfa totp otp sms email input
type password passwords passwd pwd pin code codes token key required optional invalid 1password lastpass
keepass bitwarden windows linux mysql redis postgres postgresql django flask python java javascript web3
rc4 b2b b2c s3 ec2 iphone ios14 android gmail github gitlab docker
"""
_STOP = frozenset(_STOP_WORDS.split())
_HINTS_ZH = Hints(
    (
        "pin",
        "密码",
        "密碼",
        "口令",
        "暗号",
        "码",
        "保险箱",
        "门锁",
        "锁屏",
        "パスワード",
        "暗証",
    )
)
_HINTS_EN = Hints(("pass", "pwd", "pin", "code", "otp", "combination"))
HINTS = _HINTS_ZH | _HINTS_EN
_SHARES = ("提取码", "访问码", "邀请码", "访问密码", "提取密码", "分享密码")
_RULES = lazy(
    r"错|忘|位|次|长度|强度|策略|不|没|别|管理|学|规则|格式|要求|至少|超过|有效期|过期|找回|加密|哈希|"
    r"算法|存|协议"
)
_BARE_EN = lazy(
    r"\b(?:pass(?:word|code|phrase)|pwd) (?P<value>(?=[!-~]{0,40}\d)[A-Za-z0-9]"
    r"[A-Za-z0-9!@#$%^&*+~?_-]{7,40})(?![\w.(\[])",
    re.I,
)
_OPEN_WORD = lazy(r"^[a-z]+$|^[A-Z][a-z]+$|^[A-Z]+$")


def find_told(folded: Folded) -> Iterator[Span]:
    """Yield each password or code that prose gives away."""
    lower = folded.lower
    if _HINTS_ZH.in_text(lower):
        for match in _ZH.finditer(folded.text):
            if _told_zh(match):
                yield _span(match)
        for match in _SPELLED.finditer(folded.text):
            yield Span("password", *match.span("value"))
        for match in _BACK_ZH.finditer(folded.text):
            if _mixed(match["value"]) and not _stopped(match["value"]):
                yield _span(match)
    if _HINTS_EN.in_text(lower):
        for match in _EN.finditer(folded.text):
            if _told_en(folded.text, match):
                yield _span(match)
        for match in _BARE_EN.finditer(folded.text):
            if (
                _mixed(match["value"])
                and not _stopped(match["value"])
                and not is_filler(match["value"])
            ):
                yield _span(match)
        for match in _BACK_EN.finditer(folded.text):
            if (_mixed(match["value"]) or _code(match["value"])) and not _stopped(match["value"]):
                yield _span(match)


def _span(match: re.Match[str]) -> Span:
    value = match["value"].rstrip(".,;:!?)\"'`")
    return Span("password", match.start("value"), match.start("value") + max(len(value), 1))


def _stopped(value: str) -> bool:
    return value.lower().strip(".,;:!?()\"'`") in _STOP or is_blank_form(value)


def _code(value: str) -> bool:
    return bool(
        re.fullmatch(r"[#*]{0,2}\d{4,10}[#*]{0,2}|\d{4}-\d{4}|\d{1,4}(?:-\d{1,4}){2,3}", value)
    )


def _mixed(value: str) -> bool:
    """Letters with digits or inner symbols: nobody writes an ordinary word like that."""
    digits = sum(char.isdigit() for char in value)
    letters = sum(char.isalpha() for char in value)
    return (
        letters >= 1
        and digits >= 1
        and len(value) >= 5
        and classes(value) >= 2
        and not _unit(value)
    )


def _unit(value: str) -> bool:
    return bool(
        re.fullmatch(r"\d{1,4}[A-Za-z]{1,8}|[A-Z]{2,10}-?\d{1,4}|v?\d+(?:\.\d+){1,3}[a-z]*", value)
        or re.match(r"https?:|www\.|/|--|[\w.+-]+@[\w-]+\.\w", value)
    )


def _short_code(match: re.Match[str], value: str) -> bool:
    """Three digits on a lock, or four mixed characters of a share code, are whole secrets."""
    if match["name"] in ("密码锁", "保险箱", "门锁"):
        return bool(re.fullmatch(r"\d{3}", value))
    share = match["name"] in _SHARES
    return share and bool(re.fullmatch(r"(?=.*\d)[A-Za-z0-9]{4}", value))


def _told_zh(match: re.Match[str]) -> bool:
    value = match["value"].rstrip(".,;:!?)\"'`")
    if re.search(r"[是为成]", match["middle"]) and (_mixed(value) or _code(value)):
        counted = match["unit"] and value.isdigit()
        return not (_RULES.search(match["middle"]) or _stopped(value) or counted)
    linked = (
        match["middle"].strip().lower() in ("otp", "pin", "code")
        or bool(match["link"].strip(" ，,(（"))
        or (not match["middle"] and match["link"] in (" ", ""))
    )
    if (
        (match["unit"] and (value.isdigit() or re.search(r"\d$", value)))
        or _stopped(value)
        or not linked
    ):
        return False
    if _RULES.search(match["middle"]):
        return False
    if re.search(r"[=(){}\[\]<>]|\.\w+\(", value) and not re.search(r"\d", value):
        return False
    if _code(value) or _short_code(match, value):
        return True
    if _OPEN_WORD.match(value):
        if len(set(value)) == 1:
            return False
        return len(value) >= 5 and bool(re.search(r"[是:：=为成]", match["link"]))
    return _mixed(value) and not is_blank_form(value)


def _told_en(text: str, match: re.Match[str]) -> bool:
    value = match["value"].rstrip(".,;:!?)\"'`")
    if re.match(r" names?\b", match["middle"]):
        return False
    if _stopped(value) or len(value) < 4 or value.startswith(("http", "$", "<", "{", "(", "[")):
        return False
    if _code(value):
        return not re.match(
            r" ?(?:characters|chars|digits|bits|days|minutes|attempts|%|times|ms|users|or)",
            text[match.end() :],
        ) and not re.fullmatch(r"(?:19|20)\d\d", value)
    spoken = "is" in match["link"] or "was" in match["link"] or "to" in match["link"]
    if not spoken:
        return False
    if re.fullmatch(r"[A-Za-z0-9'-]+(?:[.,;:!?])?", value) and not re.search(r"\d", value):
        return False
    inner = value.replace("_", "").replace(".", "")
    return (
        _mixed(value) or (classes(value) >= 3 and bool(re.search(r"[!@#$%^&*+~?]", inner)))
    ) and not (is_filler(value) and not re.search(r"\d", value))
