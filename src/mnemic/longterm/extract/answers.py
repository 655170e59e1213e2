# ruff: noqa: E501 (one pattern a row is easier to review than wrapped patterns)
"""What does a short answer to the assistant's question establish?

"Yes, always" to "Should I always use Celsius?" is a preference; "No, in Trento" to "You live in Turin,
right?" is a fact with the guess put right; a bare "no" is nothing.
"""

from __future__ import annotations

import re
from functools import cache

from mnemic.longterm.extract.rule import STATED
from mnemic.longterm.extract.sentences import has_han, split
from mnemic.longterm.extract.silence import readable
from mnemic.model import Candidate, MemoryType

_Kind = tuple[MemoryType, str]
_NO_PLACE_TO_PUT = frozenset(
    [
        "i",
        "i'm",
        "i've",
        "my",
        "we",
        "it",
        "it's",
        "that",
        "that's",
        "thanks",
        "thank",
        "you",
        "please",
        "just",
        "don't",
        "but",
        "sorry",
        "not",
        "never",
        "the",
    ]
)
"""First words of an answer that is a sentence of its own, or none at all, and no new value."""


@cache
def _yes() -> re.Pattern[str]:
    return re.compile(
        r"\W*(?:(?:oh|ah|um|well|ok(?:ay)?),? )?(?:yes|yeah|yep|yup|sure|ok(?:ay)?|correct|exactly|right|absolutely|definitely|of course|please do|do that|always|that'?s (?:right|correct)|indeed|certainly|true|sounds good|go ahead|affirmative)\b"
        r"|\W*(?:好|是|对|嗯|可以|行|没错|当然|要|以后都|都这样|就这样|每次都|一直|没问题|正确|成|必须的|中|ok)",
        re.IGNORECASE,
    )


@cache
def _refuses() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:no|not|don't|doesn't|isn't|never|but|only|this time|just (?:this )?once|for now|maybe|wrong|later)\b|不|别|没有|这次|这一次|就一次|暂时|先|但|可能|只|算了|再说|吗|呢",
        re.IGNORECASE,
    )


@cache
def _no() -> re.Pattern[str]:
    return re.compile(
        r"\W*(?:(?:oh|ah|um|well|actually),? )?(?:no|nope|nah|wrong|not quite|not really|not any ?more|not (?P<not>[\w' ]{2,30}?)(?=[,;:]))\b[\s,.!;:—-]*"
        r"|\W*(?:不是(?:的|啦|啊|哦)?|不对|不|错了|没有|不不不?|哪有|早就?不(?:是|在|住|做)?了|已经不(?:是|在|住|做)?了)[\s，,。！!、：:]+",
        re.IGNORECASE,
    )


@cache
def _standing() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:always|never|from now on|every time|each time|in future|in the future|going forward|by default|all (?:your|my|the|future)|whenever|permanently)\b|以后|今后|往后|从现在起|每次|总是|一直|永远|一律|默认|都(?:这样|按|用)|始终",
        re.IGNORECASE,
    )


@cache
def _about_user() -> re.Pattern[str]:
    return re.compile(
        r"(?:(?:so|just to (?:check|confirm)|and|then|let me confirm|if i remember (?:right|correctly)|ah|got it)[,:]? )*(?P<said>you(?:'re|'ve)? .+?|your .+?)(?:[,;] ?(?:right|correct|yes|no|is that right|is that correct|don't you|aren't you|haven't you|isn't it|true|do i have that right)|)$",
        re.IGNORECASE,
    )


@cache
def _asks_user() -> re.Pattern[str]:
    return re.compile(
        r"(?:(?:so|just to (?:check|confirm)|and|then)[,:]? )*(?P<verb>do|are|have) you (?P<rest>(?!want|need|mean|know|think|remember|have (?:a|any) (?:question|preference)|see|agree|sure|ready|okay|ok|still want|looking|asking|going to).+)$",
        re.IGNORECASE,
    )


@cache
def _offers() -> re.Pattern[str]:
    return re.compile(
        r"(?:(?:so|and|also|ok(?:ay)?|got it|then|just to (?:check|confirm))[,:]? )*(?:should i|shall i|do you want me to|would you like me to|may i|can i|could i|is it (?:ok|okay|all right) if i|would it help if i|want me to|do you prefer (?:that )?i)\s+(?P<said>.+)$"
        r"|(?P<zh>(?:要不要|需要我?|是否|需不需要|可以|能不能|要)?.{2,120}?)(?:[，,]\s*)?(?:可以吗|好吗|好不好|行吗|对吗|是吗|怎么样|如何|要吗|吗|么|没问题吧|行不行|吧)?$",
        re.IGNORECASE,
    )


@cache
def _wants() -> re.Pattern[str]:
    return re.compile(
        r"(?:(?:so|and|also|ok(?:ay)?|got it|then)[,:]? )*(?:do|would) you (?P<verb>want|prefer|like) (?!me\b|to\b|that\b|it\b|this\b)(?P<what>.+)$",
        re.IGNORECASE,
    )


@cache
def _passive_offer() -> re.Pattern[str]:
    return re.compile(
        r"(?:so |and |also )?(?:should|shall|must) (?P<what>(?!i\b|we\b|you\b)(?:[\w'-]+ ){0,3}?[\w'-]+) (?P<how>(?:always |never |usually )?be .+)$",
        re.IGNORECASE,
    )


@cache
def _zh_guess() -> re.Pattern[str]:
    return re.compile(
        r"(?:那么?|所以|我记得|请问|确认一下|看起来|哦|嗯|，)*(?:你|您)(?!们|是否|有没有|会不会|是什么)(?:现在|目前|应该|好像|是不是|平时)?(?P<said>.{2,60}?)(?:[，,]\s*)?(?:对吧|对吗|是吧|是吗|对不对|是不是|没错吧|吗|吧)?$"
    )


def answer(asked: str, said: str, seqs: tuple[int, int]) -> Candidate | None:
    """Return what an answer to the assistant's last question establishes, or None."""
    question = _last_question(asked)
    view = readable(said).strip()
    if not question or not view or len(view) > 120:
        return None
    denied = _no().match(view)
    if denied is not None:
        told = re.split(r"[.!。！；;](?:\s|$)|(?<=[。！；])", view[denied.end() :])[0]
        fixed = _put_right(question, told.strip(" .!。！~，,"))
        if fixed is None:
            return None
        return Candidate(fixed, "fact", "user", STATED, "user", seqs, "guess_put_right")
    if _yes().match(view) is None or _refuses().search(view) or view.endswith(("?", "？")):
        return None
    meant = _confirmed(question, bool(_standing().search(view)))
    if meant is None:
        return None
    return Candidate(meant[1], meant[0], "user", STATED, "user", seqs, "confirmed_by_answer")


def _last_question(asked: str) -> str:
    view = readable(asked)
    sentences = [s for s in split(view) if s.asks]
    if not sentences or len(view) - sentences[-1].end > 40:
        return ""
    return asked[sentences[-1].start : sentences[-1].end].replace("’", "'").strip()[:300]


def _confirmed(question: str, standing: bool) -> _Kind | None:
    if has_han(question):
        return _confirmed_zh(question, standing)
    passive = _passive_offer().match(question)
    if passive is not None and (standing or _standing().search(question)):
        return "preference", f"{passive['what'].capitalize()} should {passive['how']}"
    wanted = _wants().match(question)
    if wanted is not None and (standing or _standing().search(question)):
        return "preference", f"I {wanted['verb']} {wanted['what']}"
    offer = _offers().match(question)
    if offer and offer["said"]:
        if not standing and not _standing().search(question):
            return None
        wish = offer["said"].strip()
        return "preference", wish[:1].upper() + wish[1:]
    guess = _first_person(question)
    return ("fact", guess) if guess else None


def _confirmed_zh(question: str, standing: bool) -> _Kind | None:
    if standing or _standing().search(question):
        offer = _offers().match(question)
        if offer and offer["zh"]:
            wish = re.sub(
                r"^(?:那么?|请问|好的|，)*(?:要不要|需要我|是否需要|是否|需不需要|能不能|需要)",
                "",
                offer["zh"],
            )
            return "preference", wish.strip(" ，,")
    guess = _guess_zh(question)
    return ("fact", guess) if guess else None


def _guess_zh(question: str) -> str | None:
    if re.search(
        r"要不要|需要|什么|哪|谁|几|多少|怎么|还是|想|同意|确定|觉得|知道|明白|可以|介意|希望|愿意|准备好",
        question,
    ):
        return None
    guess = _zh_guess().match(question)
    return f"我{guess['said'].strip()}" if guess else None


def _first_person(question: str) -> str | None:
    """Return the guess about the user in the first person: "You're Kim, right" gives "I'm Kim"."""
    guess = _about_user().match(question)
    if guess:
        said = guess["said"].strip()
    else:
        asked = _asks_user().match(question)
        if asked is None:
            return _turned_thing(question)
        verb = asked["verb"].casefold()
        said = f"you {'' if verb == 'do' else verb + ' '}{asked['rest'].strip()}"
    if re.match(
        r"you (?:want|need|mean|said|asked|can|could|should|might|may|would|will)\b", said, re.I
    ):
        return None
    if " or " in said:
        return None
    return _turned(said)


def _turned_thing(question: str) -> str | None:
    """Return "My flight is on Monday" for "Is your flight on Monday"."""
    asked = re.match(
        r"(?:so |and )?(?P<verb>is|are) (?P<what>your [\w' -]{2,30}?) (?P<rest>(?:still |now )?(?:on|in|at|from|an?|the|called|named)\b.{2,60})$",
        question,
        re.IGNORECASE,
    )
    if asked is None or " or " in question:
        return None
    return _turned(f"{asked['what']} {asked['verb'].casefold()} {asked['rest']}")


def _turned(said: str) -> str:
    for pattern, mine in (
        (r"\byou are\b", "I am"),
        (r"\byou're\b", "I'm"),
        (r"\byou've\b", "I've"),
        (r"\byour\b", "my"),
        (r"\byourself\b", "myself"),
        (r"\byou\b", "I"),
    ):
        said = re.sub(pattern, mine, said, flags=re.IGNORECASE)
    return said[:1].upper() + said[1:]


def _put_right(question: str, truth: str) -> str | None:
    """Return the guess with the user's words in place of the wrong ones, or None."""
    if not truth or len(truth) > 60 or re.search(r"[?？。.!！]", truth):
        return None
    if has_han(question):
        guess = _guess_zh(question)
        return _replaced_zh(guess, truth) if guess else None
    guess = _first_person(question)
    return _replaced_en(guess, truth) if guess else None


def _replaced_zh(guess: str, truth: str) -> str | None:
    truth = re.sub(r"^(?:我|是我|其实|应该)?(?:现在|目前|已经)?", "", truth)
    truth = re.sub(r"(?:啦|呀|啊|哦|的说)$", "", truth)
    if len(truth) < 2 or re.match(
        r"(?:这样|那样|的事|用|谢|想|知道|好|行|不|别|没|先|你|您|还)", truth
    ):
        return None
    number = re.match(r"[0-9一二三四五六七八九十百两]+(\S{0,3})$", truth)
    counted = number and re.search(rf"[0-9一二三四五六七八九十百两]+{re.escape(number[1])}", guess)
    if counted:
        return guess[: counted.start()] + truth + guess[counted.end() :]
    at = guess.rfind(truth[0], 1)
    if at > 0:
        return guess[:at] + truth
    if truth.startswith("是"):
        truth = truth[1:]
    anchors = [
        m.end() for m in re.finditer(r"住在|[是叫姓在用到养有学做吃喝玩教]|喜欢|来自|习惯", guess)
    ]
    return guess[: anchors[0]] + truth if anchors else None


def _replaced_en(guess: str, truth: str) -> str | None:
    words = truth.split()
    first = words[0].casefold()
    if first in _NO_PLACE_TO_PUT:
        return None
    at = guess.casefold().rfind(f" {first} ")
    if at > 0:
        return f"{guess[:at]} {truth}"
    if len(words) > 5:
        return None
    if words[0][:1].isupper() and (
        names := list(re.finditer(r"(?:\b[A-Z][\w'-]+ ?)+(?=$|[ ,])", guess[2:]))
    ):
        last = names[-1]
        return (
            guess[: 2 + last.start()] + truth + guess[2 + len(guess[2 : 2 + last.end()].rstrip()) :]
        )
    numbers = list(re.finditer(r"\d[\d.,:]*", guess))
    if first[:1].isdigit() and numbers:
        return guess[: numbers[-1].start()] + truth + guess[numbers[-1].end() :]
    return re.sub(r"(?:\ban? )?[\w'-]+\W*$", "", guess) + truth
