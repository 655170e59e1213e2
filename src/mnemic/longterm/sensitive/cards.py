"""Is there a payment card number in this text?

12 to 19 digits. Without card words a valid Luhn digit, a known issuer range and a usual grouping are all
needed; card words nearby lift the last two, and beside an explicit "credit card" or 卡号 a card-shaped
number counts even if its check digit is wrong: a mistyped card is still somebody's card.
Wide spaces join groups like any blank: the checksum or a card word decides (decision D11).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import accumulate

from mnemic.longterm.sensitive.checks import luhn
from mnemic.longterm.sensitive.fold import Folded, Span
from mnemic.longterm.sensitive.hints import Hints
from mnemic.longterm.sensitive.lazy import lazy
from mnemic.longterm.sensitive.numbers import (
    Run,
    after,
    before,
    is_embedded,
    runs,
    stands_alone,
)

_ISSUER = lazy(
    r"4\d{15}(?:\d{3})?$|4\d{12}$|5[0-9]\d{14}$|(?:222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}$|"
    r"220[0-4]\d{12,15}$|3[47]\d{13}$|3(?:0[0-59]|[689]\d)\d{11}(?:\d{2})?$|35(?:2[89]|[3-8]\d)\d{12}$|"
    r"(?:1800|2131)\d{11}$|6\d{15}$|6[02-9]\d{16,17}$|62\d{15}$|5(?:018|020|038|893)\d{12,15}$|"
    r"9(?:792|400)\d{12}$|81\d{14,17}$"
)
_UNCERTAIN = lazy(r"4\d{12}$|3[0689]\d{12}$|\d{12}$|2014\d+$|2149\d+$")
_GROUPINGS = frozenset(
    [
        (4, 4, 4, 4),
        (4, 6, 5),
        (4, 6, 4),
        (4, 4, 4, 4, 3),
        (4, 4, 4, 4, 2),
        (4, 4, 4, 4, 1),
        (6, 13),
        (4, 5, 6),
        (4, 4, 4, 3),
        (4, 4, 4, 1),
        (6, 4, 4, 5),
        (6, 6, 4),
        (8, 8),
        (8, 11),
    ]
)
_STRONG = lazy(
    r"credit[ -]?cards?|debit[ -]?cards?|card ?(?:number|no\b|num\b|#)|bank ?cards?|visa\b|master ?card|"
    r"\bamex|unionpay|american express|信用卡|储蓄卡|借记卡|银行卡|卡号|银联|运通|贷记卡|副卡|附属卡|"
    r"[工建农中招交]行的?卡|クレジットカード|カード番号|kreditkarte|tarjeta|carte (?:bancaire|bleue)"
)
_WEAK = lazy(r"\bcards?\b|\bcc\b|\bpan\b|卡|\bcard#|cvv|cvc|有效期|jcb|diners|maestro|discover")
_OTHER_CARDS = lazy(
    r"(?:会员|积分|礼品|购物|饭|门禁|sim|电话|流量|图书|借书|学生|校园|公交|交通|社保|医保|就诊|充值|点|"
    r"贺|显|声|网|话|上网|加油|一卡通|gift|member(?:ship)?|loyalty|library|sim|report|rewards?|id)[ -]?"
    r"(?:卡|cards?\b)"
)
_OTHER_LABEL = lazy(
    r"(?:订单|单号|流水|运单|快递|物流|编号|合同|条码|条形码|时间戳|序列号|发票|批次|户号|客户号|工号|"
    r"学号|追踪|跟踪|isbn|ean|upc|imei|meid|iccid|order|invoice|tracking|serial|timestamp|ticket|"
    r"reference|ref|barcode|sku|commit|build|batch|contract|\bid)[号码是为:：#=\s\w.\"']{0,12}$"
)
_CVV = lazy(
    r"(?<![a-z])(?:cvv2?|cvc2?|card security code|(?:信用卡|卡)(?:的|背面)?(?:安全码|校验码))"
    r"(?:[码号是为:：=\s(]|code|is){0,6}(\d{3,4})(?!\d)"
)
_CVV_HINTS = Hints(("cv", "安全码", "security code"))
_TWELVE = lazy(r"[0-9](?:[ \-.·_/:]{0,3}\d){11}")
"""As many digits as the shortest card number has, apart as ``runs`` allows."""


def find_cards(folded: Folded) -> Iterable[Span]:
    """Return each card number, and each card security code named as such."""
    if not folded.digit:
        return ()
    numbered = _TWELVE.search(folded.text) is not None
    return _each(folded, numbered) if numbered or _CVV_HINTS.in_text(folded.lower) else ()


def _each(folded: Folded, numbered: bool) -> Iterator[Span]:
    taken = 0
    for run in runs(folded, 12, 19) if numbered else ():
        if run.start >= taken and _is_card(folded, run):
            taken = run.end
            yield Span("payment_card", run.start, run.end)
    if _CVV_HINTS.in_text(folded.lower):
        for match in _CVV.finditer(folded.lower):
            yield Span("payment_card", match.start(1), match.end(1))


def _is_card(folded: Folded, run: Run) -> bool:
    near = before(folded, run.start, 40)
    around = near + " | " + after(folded, run.end, 24)
    valid = luhn(run.digits)
    other = _OTHER_CARDS.search(around)
    strong = not other and _STRONG.search(around)
    if strong and (valid or _card_shaped(run)):
        return not _OTHER_LABEL.search(before(folded, run.start, 14))
    if not valid:
        return False
    if _glued(folded, run) or _OTHER_LABEL.search(before(folded, run.start, 20)):
        return False
    if not other and _WEAK.search(around):
        return True
    if not _usual(run) or not _ISSUER.match(run.digits):
        return False
    return not _UNCERTAIN.match(run.digits) or stands_alone(folded, run.start, run.end)


def _card_shaped(run: Run) -> bool:
    """Accept a wrong check digit only for what nobody would call anything but a card number."""
    return run.groups in _GROUPINGS or (len(run.groups) == 1 and len(run.digits) in (15, 16, 19))


def _usual(run: Run) -> bool:
    """Accept a usual grouping, also with some blanks left out, or evenly spaced single digits."""
    if len(set(run.groups)) == 1 and run.groups[0] <= 2:
        return True
    cuts = set(accumulate(run.groups))
    return any(
        sum(usual) == len(run.digits) and cuts <= set(accumulate(usual)) for usual in _GROUPINGS
    ) or (len(run.groups) == 1)


def _glued(folded: Folded, run: Run) -> bool:
    if re.search(r"(?:card|visa|amex|mastercard|cc|pan)[-_#]?$", before(folded, run.start, 12)):
        return False
    return is_embedded(folded, run.start, run.end)
