# ruff: noqa: E501 (one pattern a row is easier to review than wrapped patterns)
"""Which words of an assistant are the receipt of a finished operation?

A receipt says that something is done and carries a number. What the assistant remembers, offers, plans or
quotes is no receipt, and neither is anything it says about itself.
"""

from __future__ import annotations

import re
from functools import cache

from mnemic.longterm.extract.sentences import Sentence, split
from mnemic.longterm.extract.silence import HIDDEN, readable
from mnemic.model import Candidate

RECEIPT_CONFIDENCE = 0.95
LONGEST_RECEIPT = 300
LOOKED_AT = 600


@cache
def _done() -> re.Pattern[str]:
    en = (
        r"\b(?:done|booked|reserved|confirmed|ordered|purchased|bought|submitted|filed|scheduled|sent|paid|created|cancell?ed|issued|registered|placed|processed|completed|refunded|transferred|"
        r"renewed|rescheduled|deployed|merged|released|published|shipped|uploaded|opened|logged|closed|enrolled|signed up|renamed|updated|changed|moved|rebooked|charged|activated|approved|all set|success(?:ful(?:ly)?)?|complete)\b"
    )
    verbs = "订好|订|预订|预定|预约|购买|买好|买|下单|提交|发送|发出|寄出|付款|支付|缴费|缴|取消|退款|退|退订|改签|创建|建好|登记|挂号|挂好|报名|报修|注册|安排|开通|续费|续借|转账|汇出|发布|部署|合并|上线|生成|受理|办理|办好|完成|报好|约好|改好|开具|更新|确认|锁定|充值|领取|归档|备案|上传|入库|发货|缴纳|办妥|搞定"
    zh = rf"已(?:经)?(?:为您|帮您|帮你|为你|给您|给你|成功|替您|替你)?\S{{0,3}}?(?:{verbs})|(?:{verbs})(?:成功|完成|完毕|好了|了|妥了)|搞定了?|办好了?|妥了|(?:订|约|买|挂|报|办|定|改|退)(?:好|妥|上)了?(?=[：:，,。])"
    return re.compile(rf"{en}|{zh}", re.IGNORECASE)


@cache
def _number() -> re.Pattern[str]:
    label_en = r"(?:(?:reference|confirmation|booking|order|ticket|case|invoice|tracking|receipt|reservation|transaction|request|claim|policy|membership|appointment|job|build|permit|serial|voucher|record|locator|application|registration|policy)(?:\s+(?:number|no\.?|code|id|ref(?:erence)?))?|ref\.?|pnr|id|no\.|number|code|pr|issue)"
    label_zh = "(?:订单号?|单号|编号|流水号|凭证号|确认号|预订号|预约号|预定号|工单号?|受理号|快递单号|运单号|取件码|取票号|取票码|票号|车次|航班号?|座位号|退款单号?|交易号|合同号|发票号|案件号|申请号|登记号|报名号|挂号单?|回执|保单号|序号|号码|会议号|会员号|参考号|核销码|验证码后四位)"
    value = r"(?=[A-Za-z0-9/_-]*\d)[A-Za-z0-9][A-Za-z0-9/_-]{2,39}"
    return re.compile(
        rf"\b{label_en}\s*(?:is|:|=|#)?\s*[(\[]?#?{value}|{label_zh}\s*(?:是|为|：|:)?\s*[#（(]?\s*{value}|#{value}|(?<![A-Za-z0-9])[A-Z]{{2,6}}-?\d[A-Z0-9-]{{2,20}}(?![A-Za-z])",
        re.IGNORECASE,
    )


@cache
def _not_done() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:if you|once (?:you|confirmed|approved|paid|it|that|this|the)|you(?:'ll| will) (?:get|receive|see|be given|find)|when you|shall i|should i|would you|do you want|can i|could i|let me know|i can|i could|i will|i'll|going to|would be|will be|not yet|unable|couldn't|can't|cannot|failed|"
        r"sorry|unfortunately|example|e\.g\.|for instance|such as|sample|placeholder|please (?:provide|confirm|enter|check)|need to be|to be|has not|hasn't|wasn't|pending your)\b|"
        r"如果|若您|要不要|是否|需要我|可以帮|我可以|请(?:提供|确认|输入|告诉|问)|稍后|将会|将为|即将|尚未|还没|未能|没有成功|失败|抱歉|无法|例如|比如|示例|样例|假设|待(?:您|你)|等(?:您|你)确认|[?？]",
        re.IGNORECASE,
    )


@cache
def _recalled() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:from (?:my |your )?memor(?:y|ies)|as i (?:recall|remember)|i (?:recall|remember)|you (?:told|said|mentioned|booked|asked|ordered)|earlier|previously|last time|in the past|according to (?:my|your|our)|"
        r"memor(?:y|ies)|recalled|stored|on file|history shows?|my records|our records|already)\b|"
        r"根据(?:我的|之前的|您的|你的)?(?:记忆|记录|历史|资料)|我记得|记忆(?:中|里|显示|条目)|之前(?!已)|上次|此前|您说过|你说过|你提到|您提到|曾经|历史记录|回忆|往期|当时",
        re.IGNORECASE,
    )


def receipts(text: str, seq: int) -> tuple[Candidate, ...]:
    """Return the receipt in one assistant turn, or nothing. The whole receipt is one memory."""
    view = readable(text[: 2 * LOOKED_AT])
    sentences = split(view)
    kept = [s for s in sentences if not _not_done().search(view[s.start : s.end + 1])]
    if _recalled().search(view) or not any(_done().search(view[s.start : s.end]) for s in kept):
        return ()
    return tuple(_candidate(text, run, seq) for run in _runs(view, kept))[:3]


def _runs(view: str, kept: list[Sentence]) -> list[tuple[int, int]]:
    """Join what is done with the number that follows in the next two sentences, if it is not beside it."""
    runs: list[tuple[int, int]] = []
    open_at: Sentence | None = None
    for sentence in kept:
        words = view[sentence.start : sentence.end]
        if HIDDEN in words or sentence.start > LOOKED_AT:
            continue
        if _done().search(words):
            open_at = sentence
        if open_at is None or not _number().search(words):
            continue
        if _is_form(view[open_at.start : sentence.end]):
            continue
        if sentence.end - open_at.start <= LONGEST_RECEIPT:
            if runs and open_at.start <= runs[-1][1] + 2:
                runs[-1] = (runs[-1][0], sentence.end)
            else:
                runs.append((open_at.start, sentence.end))
    return runs


def _is_form(words: str) -> bool:
    """Tell whether a text is a form, a table or a heading and not a sentence to somebody."""
    return re.search(r"---|\[|\||#{2,}|\bTBD\b|\*\*.*\n", words) is not None


def _candidate(text: str, run: tuple[int, int], seq: int) -> Candidate:
    content = text[run[0] : run[1]].strip()
    return Candidate(content, "event", "user", RECEIPT_CONFIDENCE, "ai", (seq,), "receipt")
