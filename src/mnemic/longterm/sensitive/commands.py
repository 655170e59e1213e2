"""Which passwords stand in command lines, in database statements and in user/password pairs?

Every tool has its own switch (``redis-cli -a``, ``unzip -P``, ``ldapsearch -w`` …); a switch counts only
behind its own tool, and the value must be shaped like a password.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mnemic.longterm.sensitive.fold import Folded, Span
from mnemic.longterm.sensitive.hints import Hints
from mnemic.longterm.sensitive.lazy import Pattern, lazy
from mnemic.longterm.sensitive.shapes import classes, is_placeholder

_V = r"[\"']?(?P<value>[^\s\"'$<>{}|;,]{5,80})"
_ARGS = r"[^\n|;]{0,120}?"


def _tool(hint: str, form: str) -> tuple[str, Pattern]:
    return hint, lazy(form, re.I)


_TOOLS = (
    _tool("-cli", rf"\b(?:redis|valkey|keydb)-cli\b{_ARGS} -a[ =]?{_V}"),
    _tool("sudo", rf"\becho (?:-n )?{_V}[\"']? ?\| ?sudo(?: -\w+)* -S"),
    _tool("passwd", rf"\becho (?:-n )?[\"']?[\w.-]{{1,32}}:{_V}[\"']? ?\| ?(?:sudo )?chpasswd"),
    _tool("-p", rf"\b(?:7z|7za|7zz|rar|unrar)\b{_ARGS} -(?:p|hp){_V}"),
    _tool("-p", rf"\b(?:zip|unzip|ipmitool|mosquitto_\w+)\b{_ARGS} -P ?{_V}"),
    _tool("-p", rf"\b(?:docker|podman|helm|skopeo|crane|nerdctl|oras|oc|az|vsphere|rdesktop|xfreerdp|"
                rf"mongo(?:sh|dump|restore|export|import)?|cypher-shell|clickhouse-client|sshpass)\b"
                rf"{_ARGS} (?:-p|--password) ?{_V}"),
    _tool("mysql", rf"\bmysql\w*\b{_ARGS} -p{_V}"),
    _tool("ldap", rf"\bldap\w+\b{_ARGS} -w ?{_V}"),
    _tool("pass:", rf"\bpass:{_V}"),
    _tool("%",
        rf"\b(?:smbclient|smbmap|rpcclient|mount\.cifs|net)\b{_ARGS} (?:-U|"
        rf"--user=?) ?[\w.\\-]{{1,40}}%{_V}"),
    _tool("pass", rf"-(?:store|key|deststore|srcstore|ts|ks)-?pass(?:word)?[ =]{_V}"),
    _tool("net use", rf"\bnet use\b{_ARGS}[\\/]{{2}}\S{{3,80}} {_V} /user:"),
    _tool("/user:", rf"\bnet use\b{_ARGS}/user:\S{{1,40}} {_V}"),
    _tool("/p", rf"\b(?:xfreerdp|cmdkey|schtasks|psexec|wmic)\b{_ARGS} /(?:p|pass|rp|password):? ?{_V}"),
    _tool("htpasswd", rf"\bhtpasswd\b{_ARGS} -\w*b\w*(?: \S+){{0,3}}? \S+ {_V}$"),
    _tool("sqlplus", rf"\bsqlplus\b{_ARGS}[\w.]{{1,30}}/{_V}@"),
    _tool("rabbitmqctl", rf"\brabbitmqctl (?:add_user|change_password) \S{{1,40}} {_V}"),
    _tool("nmcli", rf"\bnmcli\b{_ARGS} password {_V}"),
    _tool("wpa_passphrase", rf"\bwpa_passphrase \S{{1,40}} {_V}"),
    _tool("lftp", rf"\blftp\b{_ARGS} -u [\w.-]{{1,40}},{_V}"),
    _tool("identified", rf"\bidentified (?:with \w+ )?by (?:password )?{_V}"),
    _tool("password", rf"\b(?:user|role)\b[^\n;]{{1,60}}?\bpassword {_V}"),
    _tool("securestring", rf"convertto-securestring (?:-string )?{_V}"),
    _tool("_pass", r"\b\w{2,30}_pass=[\"']?(?P<value>[^\s\"'$<>{}]{5,80})"),
    _tool("pgpassword", rf"\bPGPASSWORD={_V}"),
)  # fmt: skip
_PAIR = lazy(
    r"(?:登[录陆]|后台|服务器|主机|跳板机|堡垒机|数据库|路由器|\b(?:ssh|s?ftp|vpn|nas|rdp)\b|"
    r"账号|帐号|账密|凭[证据]|用户名?密码|\blogin|\bcredentials?|\bcreds|\bsign[ -]?in)"
    r"[^\n/|]{0,24}?(?<![\w/.-])[\"'`]?(?P<user>[A-Za-z][\w.@-]{1,40})[\"'`]? ?(?P<join>[/|:]) ?"
    r"[\"'`]?(?P<value>[!-~]{6,32})(?![!-~])",
    re.I,
)
_JOINED = lazy(r"[/|:] ?(?=[!-~]*[0-9])(?=[!-~]*[A-Za-z])[!-~]{6}")
"""The end of every pair whose password may be one."""
_HALF = lazy(
    r"(?:前半[段截部]?|后半[段截部]?|第[一二三]段|前[一二三四五六]位|后[一二三四五六]位|开头|结尾)"
    r"(?:[是为: =]|就是){1,3}(?P<value>[!-+\--~]{3,40})"
)
_HALF_HINTS = Hints(("密码", "口令", "密钥"))
HINTS = Hints(hint for hint, _ in _TOOLS) | _HALF_HINTS


def find_commanded(folded: Folded) -> Iterator[Span]:
    """Yield each password that a command line, a statement or a user/password pair holds."""
    lower, text = folded.lower, folded.text
    for hint, form in _TOOLS:
        if hint in lower:
            for match in form.finditer(text):
                if _chosen(match["value"].rstrip(".,;:)")):
                    yield _span(match)
    for match in _PAIR.finditer(text) if may_hold_pair(text) else ():
        if _is_pair(match):
            yield _span(match)
    if _HALF_HINTS.in_text(text) and ("半" in text or "段" in text or "位" in text):
        for match in _HALF.finditer(text):
            if _HALF_HINTS.in_text(text[max(0, match.start() - 24) : match.start()]):
                yield _span(match)


def may_hold_pair(text: str) -> bool:
    """Tell whether something with letters and digits stands where the password of a pair would."""
    return _JOINED.search(text) is not None


def _span(match: re.Match[str]) -> Span:
    value = match["value"].rstrip(".,;:)\"'`")
    return Span("password", match.start("value"), match.start("value") + max(1, len(value)))


def _chosen(value: str) -> bool:
    """Accept what somebody chose as a password: mixed characters, no path, no address, no switch."""
    if len(value) < 5 or is_placeholder(value) or value.startswith(("-", "/", "./", "~", "@", "%")):
        return False
    if re.fullmatch(r"[\d.:-]+|[\w-]+(?:\.[\w-]+){2,}|\w+\(.*|[\w./-]+/[\w./-]*", value):
        return False
    digit = any(char.isdigit() for char in value)
    return classes(value) >= (2 if digit else 3) and any(char.isalpha() for char in value)


def _is_pair(match: re.Match[str]) -> bool:
    value = match["value"].rstrip(".,;:)\"'`")
    plain = re.fullmatch(
        r"[a-z]+[-_.]?v?\d{1,3}|[\w-]+\.\w{1,5}|[\w.-]+/.*|//.*|[\w.-]+@v?\d[\w.]*", value
    )
    if plain or re.search(r"[=(){}<>\[\]]|://", value):
        return False
    digit, letter = any(c.isdigit() for c in value), any(c.isalpha() for c in value)
    return digit and letter and classes(value) >= 3 and _chosen(value)
