"""Which memories does a chat model find in a conversation, and which of them may go to the gate?

One call a portion, a second one only when the first answer cannot be read. Nothing that the model says is
taken on trust: it may invent, translate, or take what the assistant said about itself for the user's own.
A memory must cite turns that it was shown and follow from what was said in them: by the user; by the
assistant as a question or proposal that the user then confirmed; or, for the receipt of a finished
operation, by whoever reports it. What does not is skipped with a reason.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mnemic.chat import ChatMessage, ChatModel
from mnemic.errors import ChatError
from mnemic.longterm.extract.model_answer import (
    AGAIN,
    INSTRUCTIONS,
    SCHEMA,
    Claim,
    Malformed,
    Skipped,
    data_line,
    read_claims,
)
from mnemic.longterm.judge.numerals import with_digits
from mnemic.model import Candidate, Turn

__all__ = ["ModelExtraction", "Skipped", "extract_with_model", "main_script", "objection"]

_QUESTION = re.compile(r"[?？][\s\"'”’」』)）]*$|[吗呢么][。.!！]?\s*$")
_SENTENCE_END = re.compile(r"(?<=[!?。！？；\n])|(?<=[.;])(?=\s)")
_YES = re.compile(
    r"\s*(?:yes|yeah|yep|yup|sure|ok(?:ay)?|right|correct|exactly|always|please do|go ahead|agreed"
    r"|do (?:it|that|so)|sounds good|that's (?:right|it)|perfect|great|good|fine|absolutely"
    r"|definitely|of course|indeed"
    r"|对|是|好|嗯|没错|可以|行|要|当然|没问题|同意|正确|就这样|麻烦|确实|一直)",
    re.IGNORECASE,
)
_OF_ITSELF = re.compile(
    r"\b(?:i'm|i am|i was|my name|my|as an? (?:ai|assistant|model))\b"
    r"|我(?:是|叫|来自|的|姓|住|在)|本助手",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"“([^”]+)”|\"([^\"]+)\"|「([^」]+)」|『([^』]+)』|《([^》]+)》|`([^`]+)`"
    r"|(?<!\w)[‘']([^’']+)[’'](?!\w)"
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_THOUSANDS = re.compile(r"(?<=\d)[,，](?=\d{3}(?!\d))")
_CAPITALISED = re.compile(r"(?<![\w'’-])[A-Z][\w+#-]*(?:\.[A-Za-z]\w*)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;。！？：；]\s*|[\n\"“「『(（]\s*)$")
_NO_NAME = frozenset({"I", "User", "Users", "The", "My", "We", "Our", "They", "He", "She"})
_WORDS = re.compile(r"[a-zß-ɏ]+|[^\W\d_a-zß-ɏ]+")
_SAYS_LITTLE = re.compile(
    r"the|and|with|that|this|users?|for|are|was|has|have|not|who|she|his|her|him|they|them|their"
    r"|from|about|when|what|wants?|would|should|will|can|does"
)
_ENGLISH = re.compile(
    r"\b(?:i|i'm|me|my|we|our|you|your|the|an?|is|are|am|was|to|and|or|of|in|on|at|for|with|not"
    r"|don't|do|have|has|use|it|this|that|please|always|never|from|be|will|as)\b",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    "[我你他她它们的是在了不有和用也就都要会很这那请把让给叫想喜欢吧吗呢说做能从到个没]"
)
_NAMED_EN = re.compile(
    r"(?:i'm|i am|my name is|call me|(?:the )?user(?: is (?:called|named)|'s name is))"
    r"\s+([A-Z][\w'-]*)"
)
_NAMED_ZH = re.compile(
    r"(?:我|用户|该用户)的?"
    r"(?:(?:名字|姓名|全名|本名)?(?:叫做?|名叫|姓)|(?:名字|姓名|全名|本名)是)(\w{1,2})"
)
_INTRODUCES = re.compile(
    r"\b(?:i'm|i am|my (?:\w+ )?name|call me|this is|name's|i go by|me as|here)\b"
    r"|^\s*it's\b|[-—]\s*\w+\s*$"
    r"|我的?(?:\w{0,2}名字?|全名|姓名)?(?:就|也|其实)?(?:叫|是|姓)"
    r"|叫我|喊我|称呼我|名字|全名|姓名|免贵|本人|改名",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ModelExtraction:
    """What may go to the gate, in the order of the answer, and what was left out and why."""

    candidates: tuple[Candidate, ...] = ()
    skipped: tuple[Skipped, ...] = ()


async def extract_with_model(
    turns: Sequence[Turn],
    *,
    chat: ChatModel,
    first_new: int = 0,
    existing: Sequence[str] = (),
) -> ModelExtraction:
    """Ask ``chat`` for the memories in ``turns``; ``turns[first_new:]`` are new, the rest is context.

    ``existing`` holds texts that are stored already. System turns are not shown, and without a new turn
    that says something the model is not asked. Turns without ``seq`` are cited by their place (from 1).
    Reasons for skipping: those of ``read_claims`` and
    ``objection``, ``not_new``, ``prompt_echo``, ``already_known``, ``repeated``.

    Raises ChatError: the model's own, or ``extraction_malformed`` after two unreadable answers; nothing
    is returned then.
    """
    keys = _keys(turns)
    shown = {key: turn for key, turn in zip(keys, turns, strict=True) if _is_shown(turn)}
    new = frozenset(keys[max(0, first_new) :]) & shown.keys()
    if not new:
        return ModelExtraction()
    claims, skipped = await _ask(chat, shown, new, existing)
    taken = {_fold(text): "already_known" for text in existing}
    candidates: list[Candidate] = []
    for claim in claims:
        cited = [shown[turn] for turn in claim.turns]
        reason = _refusal(claim, cited, new, taken)
        if reason is None:
            candidates.append(_candidate(claim, cited))
            taken[_fold(claim.content)] = "repeated"
        else:
            skipped.append(Skipped(reason, claim.index))
    skipped.sort(key=lambda item: item.index)
    return ModelExtraction(tuple(candidates), tuple(skipped))


async def _ask(
    chat: ChatModel, shown: Mapping[int, Turn], new: frozenset[int], existing: Sequence[str]
) -> tuple[list[Claim], list[Skipped]]:
    said = [turn.content for turn in shown.values() if turn.role == "user"]
    language = "zh" if main_script("\n".join(said)) == "CJK" else "en"
    messages = [
        ChatMessage("system", INSTRUCTIONS[language]),
        ChatMessage("user", _data(shown, new, existing)),
    ]
    for attempt in (messages, [*messages, ChatMessage("user", AGAIN[language])]):
        text = await chat.complete(attempt, json_schema=SCHEMA)
        try:
            return read_claims(text, shown.keys())
        except Malformed:
            continue
    raise ChatError(
        "extraction_malformed",
        "The chat model answered twice without readable JSON: nothing was extracted, try again later.",
        model=chat.name,
    )


def _keys(turns: Sequence[Turn]) -> list[int]:
    """Return the ids by which turns are cited: their seq, or their place from 1 where they have none."""
    keys = [place if turn.seq is None else turn.seq for place, turn in enumerate(turns, start=1)]
    return keys if len(set(keys)) == len(keys) else list(range(1, len(turns) + 1))


def _is_shown(turn: Turn) -> bool:
    return turn.role != "system" and bool(turn.content.strip())


def _data(shown: Mapping[int, Turn], new: frozenset[int], existing: Sequence[str]) -> str:
    rows = [
        {"id": key, "role": turn.role, "new": key in new, "text": turn.content}
        | ({} if turn.speaker is None else {"speaker": turn.speaker})
        for key, turn in shown.items()
    ]
    known = ["<known>", *(data_line({"text": text}) for text in existing), "</known>"]
    talk = ["<conversation>", *map(data_line, rows), "</conversation>"]
    return "\n".join([*(known if existing else []), *talk])


def _refusal(
    claim: Claim, cited: Sequence[Turn], new: frozenset[int], taken: Mapping[str, str]
) -> str | None:
    if not new.intersection(claim.turns):
        return "not_new"
    content = _fold(claim.content)
    if any(content in _fold(text) for text in INSTRUCTIONS.values()):
        return "prompt_echo"
    return taken.get(content) or objection(claim.content, claim.memory_type, cited)


def _candidate(claim: Claim, cited: Sequence[Turn]) -> Candidate:
    receipt = all(turn.role != "user" for turn in cited)
    return Candidate(
        content=claim.content,
        memory_type=claim.memory_type,
        scope=claim.scope,
        confidence=claim.confidence,
        source="ai" if receipt else "user",
        seqs=claim.turns,
        reason="receipt" if receipt else "model",
    )


def objection(content: str, memory_type: str, cited: Sequence[Turn]) -> str | None:
    """Return why ``content`` does not follow from the cited turns (in order), None when it may.

    Reasons: ``assistant_claim`` (no user turn, and no receipt), ``wrong_language``, ``not_grounded``
    (numbers, quoted words, names or every word are missing from what was said), ``not_introduced`` (a
    name for the user that the user never gave as theirs).
    """
    receipt = memory_type == "event" and _reported(content, cited)
    if not receipt and all(turn.role != "user" for turn in cited):
        return "assistant_claim"
    said = _said(cited, receipt)
    text = _fold("\n".join(said))
    if _in_other_language(content, text):
        return "wrong_language"
    if not (
        _numbers(content) | _counted(content) <= _numbers(text) | _counted(text)
        and all(name in text for name in _names(content))
        and (_names(content) or _shares_words(content, text))
    ):
        return "not_grounded"
    return "not_introduced" if _gives_user_a_name(content, said) else None


def main_script(text: str) -> str | None:
    """Return the script of the language that a text is written in: "CJK", "LATIN" and so on.

    Between Chinese and English the small words decide: names and products of one language are often
    most of the letters in a sentence of the other.
    """
    scripts = _scripts(text)
    chinese, english = len(_CHINESE.findall(text)), len(_ENGLISH.findall(text))
    if chinese != english and {"CJK", "LATIN"} <= scripts.keys():
        return "CJK" if chinese > english else "LATIN"
    scripts["LATIN"] //= 4  # a word of letters says about as much as one or two signs
    (script, count), *_ = scripts.most_common(1)
    return script if count else None


def _in_other_language(content: str, said: str) -> bool:
    """A script nobody used (beyond a unit's letters), or the absence of the main one."""
    if _fold(content) in said:
        return False
    used, there = _scripts(content), _scripts(said)
    if any(count > 3 for script, count in used.items() if script not in there):
        return True
    main = main_script(said)
    return main is not None and bool(used) and main not in used


def _said(cited: Sequence[Turn], receipt: bool) -> list[str]:
    said: list[str] = []
    for place, turn in enumerate(cited):
        reply = next((later for later in cited[place + 1 :] if later.role == "user"), None)
        if turn.role == "user" or receipt:
            said.append(turn.content)
        elif turn.role == "assistant" and reply is not None:
            agreed = _YES.match(reply.content) is not None
            said += [part for part in _sentences(turn.content) if _put_to_user(part, agreed)]
    return said


def _put_to_user(sentence: str, agreed: bool) -> bool:
    if _QUESTION.search(sentence):
        return True
    return agreed and not _OF_ITSELF.search(sentence)


def _sentences(text: str) -> list[str]:
    return [part for part in _SENTENCE_END.split(text) if part.strip()]


def _reported(content: str, cited: Sequence[Turn]) -> bool:
    reports = [turn.content for turn in cited if turn.role in ("assistant", "tool")]
    return any(_numbers(content) & _numbers(report) for report in reports)


def _numbers(text: str) -> frozenset[str]:
    plain = _THOUSANDS.sub("", unicodedata.normalize("NFKC", text))
    return frozenset(number.lstrip("0") or "0" for number in _NUMBER.findall(plain))


def _counted(text: str) -> frozenset[str]:
    # "one" and 一 are mostly articles: as words they prove nothing, and no proof is asked of them.
    return _numbers(with_digits(_fold(text))) - {"0", "1"}


def _names(content: str) -> list[str]:
    """Return quoted words, and capitalised ones that do not begin a sentence, folded."""
    quoted = [next(filter(None, groups)) for groups in _QUOTED.findall(content)]
    capitalised = [
        found[0]
        for found in _CAPITALISED.finditer(content)
        if found[0] not in _NO_NAME and not _SENTENCE_START.search(content[: found.start()])
    ]
    return [_fold(name) for name in quoted + capitalised]


def _shares_words(content: str, text: str) -> bool:
    wanted = _beginnings(content)
    return not wanted or bool(wanted & _beginnings(text))


def _beginnings(text: str) -> set[str]:
    """Return what texts about one thing share: word beginnings, pairs of signs, numbers."""
    found: set[str] = set(_NUMBER.findall(text))
    for run in _WORDS.findall(_fold(text)):
        if run[0] > "ɏ":
            found.update(run[place : place + 2] for place in range(max(1, len(run) - 1)))
        elif len(run) >= 3 and not _SAYS_LITTLE.fullmatch(run):
            found.add(run[:4])
    return found - {"用户", "该用"}


def _gives_user_a_name(content: str, said: Sequence[str]) -> bool:
    named = _NAMED_EN.match(content[:1].lower() + content[1:]) or _NAMED_ZH.match(content)
    return named is not None and not any(
        _fold(named[1]) in _fold(sentence) and _INTRODUCES.search(sentence)
        for text in said
        for sentence in _sentences(text)
    )


def _scripts(text: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for char in filter(str.isalpha, unicodedata.normalize("NFKC", text)):
        script = unicodedata.name(char, "UNKNOWN").partition(" ")[0]
        found["CJK" if script in ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA") else script] += 1
    return found


def _fold(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return " ".join(folded.split())
