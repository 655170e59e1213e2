"""What do new turns of a conversation hold that is worth remembering, by rules alone?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mnemic.longterm.extract.answers import answer
from mnemic.longterm.extract.en import english
from mnemic.longterm.extract.receipts import receipts
from mnemic.longterm.extract.rule import Language
from mnemic.longterm.extract.sentences import has_han, split
from mnemic.longterm.extract.silence import takes_back
from mnemic.longterm.extract.statements import statements
from mnemic.longterm.extract.zh import chinese
from mnemic.model import Candidate, Turn

__all__ = ["extract_rules"]

LONGEST_CONTENT = 2000


def extract_rules(turns: Sequence[Turn], *, first_new: int = 0) -> tuple[Candidate, ...]:
    """Return what the turns from ``first_new`` on state, in order of appearance.

    ``turns`` are in order; those before ``first_new`` are context only (the question before a "yes").
    Contents are the user's own words in the language of the turn, at most 2,000 characters, no two equal;
    what is said twice names both turns in ``seqs``. Only users state; of an assistant only the receipt of
    a finished operation counts. Never raises on any text.
    """
    found: dict[str, Candidate] = {}
    for index in range(max(0, first_new), len(turns)):
        for candidate in _of_turn(turns, index):
            content = candidate.content[:LONGEST_CONTENT].strip()
            if content:
                _add(found, candidate, content)
    return tuple(found.values())


def _of_turn(turns: Sequence[Turn], index: int) -> Iterator[Candidate]:
    turn = turns[index]
    seq = _seq(turns, index)
    if turn.role == "assistant":
        yield from receipts(turn.content, seq)
    if turn.role != "user" or _taken_back(turns, index):
        return
    before = turns[index - 1] if index else None
    if before is not None and before.role == "assistant":
        answered = answer(before.content, turn.content, (_seq(turns, index - 1), seq))
        if answered is not None:
            first, rest = _first_sentence(turn.content)
            corrects = answered.reason == "guess_put_right"
            own_words = list(_stated(first, seq)) if corrects else []
            yield from own_words or [answered]
            yield from _stated(rest, seq)
            return
    yield from _stated(turn.content, seq)


def _taken_back(turns: Sequence[Turn], index: int) -> bool:
    """Tell whether the user's next turn makes a joke of this one."""
    later = next((turn for turn in turns[index + 1 :] if turn.role == "user"), None)
    return later is not None and takes_back(later.content)


def _first_sentence(text: str) -> tuple[str, str]:
    """Part a text behind its first sentence."""
    sentences = split(text)
    cut = sentences[1].start if len(sentences) > 1 else len(text)
    return text[:cut], text[cut:]


def _stated(text: str, seq: int) -> Iterator[Candidate]:
    for language in _languages(text):
        found = statements(text, language)
        for one in found:
            rule = one.rule
            yield Candidate(
                one.content(text),
                rule.memory_type,
                rule.scope,
                rule.confidence,
                "user",
                (seq,),
                rule.name,
            )
        if found:
            return


def _languages(text: str) -> Iterator[Language]:
    if has_han(text):
        yield chinese()
    if not has_han(text) or re.search(r"[A-Za-z']+ [A-Za-z']+ [A-Za-z']+", text):
        yield english()


def _seq(turns: Sequence[Turn], index: int) -> int:
    stored = turns[index].seq
    return index + 1 if stored is None else stored


def _add(found: dict[str, Candidate], new: Candidate, content: str) -> None:
    old = found.get(content)
    seqs = new.seqs if old is None else (*old.seqs, *(s for s in new.seqs if s not in old.seqs))
    kept = new if old is None else old
    found[content] = Candidate(
        content, kept.memory_type, kept.scope, kept.confidence, kept.source, seqs, kept.reason
    )
