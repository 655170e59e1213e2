"""Which credentials ride in headers, addresses and command lines, or stand beside their name as a blob?

``https://user:pass@host``, ``Authorization: Basic …``, ``curl -u user:pass``, and random strings of
mixed letters and digits within a few words of "secret", "凭证" and their like.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from mnemic.longterm.sensitive.fold import Folded, Span
from mnemic.longterm.sensitive.hints import Hints
from mnemic.longterm.sensitive.lazy import Pattern, lazy
from mnemic.longterm.sensitive.numbers import before
from mnemic.longterm.sensitive.shapes import classes, entropy, is_placeholder, is_token_like

_URL = lazy(r"://(?P<user>[^\s:/@\"'<>]{0,80}):(?P<value>[^\s/@\"'<>]{2,120})@(?=[A-Za-z0-9\[])")
_CURL = lazy(
    r"(?:curl\b[^\n]{0,400}?|\s)(?:-u|--user|--proxy-user)[ =]{1,2}(?P<open>[\"']?)"
    r"(?P<user>[^\s:\"'$<{]{0,80}):(?P<value>[\"']?[^\s\"'<]{0,120})"
)
_HEADER = lazy(
    r"(?:authorization|proxy-authorization|x-[a-z-]{0,24}(?:key|token|auth)|api-?(?:key|"
    r"token))[\"']?\s?[:=]\s?[\"']?"
    r"(?P<kind>bearer|basic|token|apikey)?\s{0,2}(?P<value>[A-Za-z0-9+/=_.~-]{8,3000})",
    re.I,
)
_BEARER = lazy(r"\bBearer (?P<value>[A-Za-z0-9+/=_.~-]{16,3000})")
_FLAG = lazy(
    r"(?:\s|^)(?:--(?:password|passwd|pass|token|secret|api-?key|access-?token|auth)[ =]|"
    r"-p(?=[^\s-]{6})|sshpass -p ?|mysql [^\n]{0,60}-p)"
    r"[\"']?(?P<value>[^\s\"'$<{]{5,200})"
)
_BLOB = lazy(r"(?<![A-Za-z0-9+/=_.-])[A-Za-z0-9+/_-]{20,400}={0,2}(?![A-Za-z0-9+/_-])")
_NEAR = lazy(
    r"凭证|凭据|密钥|秘钥|私钥|密码|口令|令牌|secret|credential|api[ _-]?key|access[ _-]?key|"
    r"\btoken\b|password|"
    r"密匙|授权码|passphrase|auth key|license key|激活码|恢复码|recovery code|helper key|助记"
)
_NEAR_HINTS = Hints((
    "secret", "credential", "key", "token", "pass", "recovery", "凭证", "凭据", "密", "秘钥", "私钥", "口令",
    "令牌", "授权码", "激活码", "恢复码", "助记",
))  # fmt: skip
_NOT_NEAR = lazy(
    r"\bid[\"'\s:=]{1,6}$|hash|sha|md5|commit|digest|摘要|哈希|public|公钥|checksum|url|http|/$"
)
HINTS = _NEAR_HINTS | Hints((
    "://", " -u", "--user", "--proxy-user", "uthorization", "key", "token", "auth", "-p",
    "Bearer ", "bearer ",
))  # fmt: skip
"""A header that is not an authorization is a key, a token or an auth."""


def find_logins(folded: Folded) -> Iterator[Span]:
    """Yield each credential carried by a URL, a header, a command line, or named from nearby."""
    text = folded.text
    if "://" in text:
        yield from _pairs(_URL, text)
    if " -u" in text or "--user" in text or "--proxy-user" in text:
        yield from _pairs(_CURL, text)
    lower = folded.lower
    if "uthorization" in lower or "x-" in lower or "api" in lower:
        yield from _headers(text)
    if "Bearer " in text:
        for match in _BEARER.finditer(text):
            if is_token_like(match["value"]):
                yield Span("token", *match.span("value"))
    if "-p" in text:
        for match in _FLAG.finditer(text):
            if _strong(match["value"]):
                yield Span("password", *match.span("value"))
    if _NEAR_HINTS.in_text(lower) and _NEAR.search(lower):
        yield from _named_blobs(folded)


def _pairs(form: Pattern, text: str) -> Iterator[Span]:
    for match in form.finditer(text):
        user, value = match["user"], match["value"].strip("\"'")
        secret = value or user
        if len(secret) < 3 or is_placeholder(secret) or is_placeholder(user + ":" + secret):
            continue
        if re.search(r"[${}<>]|\(\w*\)", user + value.replace("$", "", value.count("$1"))):
            continue
        yield Span("password", match.start("user"), match.end("value"))


def _headers(text: str) -> Iterator[Span]:
    for match in _HEADER.finditer(text):
        value = match["value"].strip(".")
        kind = (match["kind"] or "").lower()
        if is_placeholder(value):
            continue
        if (kind == "basic" and _decodes_to_pair(value)) or is_token_like(value):
            yield Span("password" if kind == "basic" else "token", *match.span("value"))


def _decodes_to_pair(value: str) -> bool:
    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return b":" in plain


def _strong(value: str) -> bool:
    return (
        classes(value) >= 2
        and any(c.isdigit() for c in value)
        and not is_placeholder(value)
        and not re.match(r"\d+(?::\d+)+|[\d.]+$|[\w./-]+/", value)
    )


def _named_blobs(folded: Folded) -> Iterator[Span]:
    for match in _BLOB.finditer(folded.text):
        near = before(folded, match.start(), 40).rsplit("\n", 1)[-1]
        if not _NEAR.search(near) or _NOT_NEAR.search(near):
            continue
        value = match[0]
        mixed = classes(re.sub(r"[^A-Za-z0-9]", "", value)) == 3
        if (
            mixed
            and entropy(value) >= 3.6
            and is_token_like(value)
            and value.count("/") <= 2 + len(value) // 20
        ):
            yield Span("api_key", match.start(), match.end())
