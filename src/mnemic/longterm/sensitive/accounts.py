"""Is there a bank account number in this text?

An IBAN proves itself by mod 97 and its country's shape (or by a bank's words beside it). Any other account
number has no checksum, so an account word right before it and a bank word around it are both needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mnemic.longterm.sensitive.checks import iban
from mnemic.longterm.sensitive.fold import Folded, Span
from mnemic.longterm.sensitive.lazy import lazy
from mnemic.longterm.sensitive.numbers import after, before

_IBAN = lazy(
    r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]{4}){2,7}(?:[ -]?[A-Za-z0-9]{1,3})?(?![A-Za-z0-9])"
)
_ACCOUNT = lazy(
    r"(?:账号|帐号|账户|帐户|賬號|賬戶|帳號|帳戶|存折(?:账号)?|户头|基本户|一般户|结算户|专户|"
    r"对公|口座(?:番号)?|"
    r"\baccount(?: (?:number|no|num|nr))?|\bacct|\ba/c|kontonummer|\bclabe|\bcbu\b|\bbsb\b|sort code|iban|"
    r"numéro de compte|número de cuenta)"
    r"(?P<gap>[^\d\n。；;!?！？]{0,24}?)"
    r"(?P<number>\d(?:[ \-.]{0,2}\d){5,33})(?![A-Za-z0-9])"
)
_PAID_INTO = lazy(
    r"(?:打|汇|转|存|退)[款钱]?(?:到|至|进|入|回|给)[^\d\n。;!?]{0,8}?(?P<number>\d(?:[ \-]"
    r"{0,2}\d){14,22})(?![A-Za-z0-9])"
)
_BRANCH = lazy(
    r"(?:银行|銀行|分行|支行|信用社|农信)[^\d\n。；;!?！？]{0,12}?(?P<number>\d(?:[ \-]{0,2}\d)"
    r"{11,29})(?![A-Za-z0-9])"
)
_HOLDER = lazy(r"户名|戶名|开户|收款|账|帐|汇款|打款|转账")
_BANK = lazy(
    r"银行|銀行|开户|開戶|户名|戶名|对公|存折|农信|信用社|支行|分行|邮储|邮政储蓄|信合|汇丰|渣打|花旗|恒生|"
    r"[工建农中招交浦商发邮光民兴信平华广业合储]行|汇[款到至入]|匯款|转[账到给入至]|轉賬|"
    r"[打存退付]款|打[到进入]|"
    r"退[回到至]|存[到进入]|收款|工资|薪|养老金|退休金|补贴|稿费|奖金|房租|租金|押金|定金|货款|"
    r"尾款|学费|报销|"
    r"分红|退税|网银|储蓄|基本户|一般户|结算户|结息|利息|"
    r"\bhsbc|\bciti|\bchase\b|barclays|santander|wells fargo|\bdbs\b|revolut|monzo|icbc|\bboc\b|\bcmb\b|"
    r"\bbank|\biban|\bswift|\bbic\b|routing|sort code|\bbsb\b|checking|savings|\bwire\b|\bach\b|transfer|"
    r"direct deposit|payroll|deposit|konto|cuenta|compte|beneficiary|口座|\bclabe|\bcbu\b|\biban"
)
_OTHER = lazy(
    r"户号|客户号|客户编号|电费|水费|燃气|宽带|游戏|微信|qq|订单|流水|单号|余额|balance|元|手机|电话|"
    r"微博|抖音|微信|支付宝|会员|商户|公积金|社保|医保|保单|保险|税务|物业|燃气|煤气|话费|登录|登陆|注册|"
    r"steam|apple|系统|平台|论坛|网盘|邮箱|学号|工号|合同|发票|联行号|行号|客服"
)
_BACK = lazy(
    r"(?<![A-Za-z0-9])(?P<number>\d(?:[ \-.]{0,2}\d){8,29}) ?(?:,|这?个?就?是|为|"
    r"[(（:])[^\d\n。；;!?]{0,12}"
    r"(?:账号|帐号|账户|帐户|存折|户头|对公户)"
)
_LONG = 15
"""An account number of that many digits needs no bank word, only an account word that is a bank's."""
_NUMBERED = lazy(r"[0-9](?:(?:[ \-.]{0,2}\d){6}|(?<=[A-Za-z]{2}\d)\d[ -]?[A-Za-z0-9]{4})")
"""Seven digits, fewer than any account number has, or how an IBAN begins."""
_UNIT = lazy(r"\s?(?:元|块|万|千|美元|usd|dollars?|rmb|%|岁|天|年|月|人|个)")


def find_accounts(folded: Folded) -> Iterable[Span]:
    """Return each IBAN and each account number that its words name."""
    return _each(folded) if folded.number and _NUMBERED.search(folded.text) else ()


def _each(folded: Folded) -> Iterator[Span]:
    named = "iban" in folded.lower
    for match in _IBAN.finditer(folded.text):
        span = _iban_span(folded, match, named)
        if span is not None:
            yield span
    for match in _ACCOUNT.finditer(folded.lower):
        if _is_account(folded, match):
            yield Span("bank_account", match.start("number"), match.end("number"))
    if not _BANK.search(folded.lower):
        return
    for match in (*_BACK.finditer(folded.text), *_PAID_INTO.finditer(folded.text)):
        if not _OTHER.search(match[0]):
            yield Span("bank_account", match.start("number"), match.end("number"))
    if _HOLDER.search(folded.text):
        for match in _BRANCH.finditer(folded.text):
            if not _OTHER.search(match[0]):
                yield Span("bank_account", match.start("number"), match.end("number"))


def _iban_span(folded: Folded, match: re.Match[str], named: bool) -> Span | None:
    words = list(re.finditer(r"[A-Za-z0-9]+", match[0]))
    for count in range(len(words), 0, -1):
        end = words[count - 1].end()
        if match[0][end : end + 1] == "-":
            continue  # what goes on behind a dash is a longer code
        compact = re.sub(r"[ -]", "", match[0][:end]).upper()
        if iban(compact) and sum(char.isdigit() for char in compact) >= 8:
            span = Span("bank_account", match.start(), match.start() + end)
            if _has_shape(compact) or _is_about_bank(folded, span):
                return span
    if (
        named
        and "iban" in before(folded, match.start(), 24)
        and len(re.findall(r"\d", match[0])) >= 10
    ):
        return Span("bank_account", match.start(), match.end())
    return None


def _has_shape(compact: str) -> bool:
    """Tell whether the registry knows the country, and what follows has its length and kinds of characters.

    One hex number in a hundred that begins like an IBAN passes mod 97; hardly any has such a shape.
    """
    from stdnum import iban as registry

    return bool(registry.is_valid(compact, check_country=False))


def _is_about_bank(folded: Folded, span: Span) -> bool:
    around = before(folded, span.start, 60) + " " + after(folded, span.end, 40)
    return bool(_BANK.search(around))


def _is_account(folded: Folded, match: re.Match[str]) -> bool:
    start, end = match.span("number")
    digits = sum(char.isdigit() for char in match["number"])
    around = before(folded, match.start(), 60) + match[0] + after(folded, end, 40)
    if digits < 7 or _UNIT.match(after(folded, end, 8)) or _OTHER.search(match["gap"]):
        return False
    if _OTHER.search(before(folded, match.start(), 4)):
        return False
    if _phone(folded.text[start:end]):
        return False
    return bool(_BANK.search(around)) or (_LONG <= digits <= 23 and not _OTHER.search(around))


def _phone(number: str) -> bool:
    return bool(re.fullmatch(r"1[3-9]\d{9}", number))
