"""Does a new text say the same as a stored one, something newer, or something different?

once        each text taken apart once within a call
folding     one writing for width, case, script and quote marks
seeking     patterns that are tried only where they can match
numerals    number words as digits
dates       dates, weekdays, clock times
quantities  amounts with units, versions, numbered things
naming      whether a number names the noun beside it or measures it
words       words and listed phrases, in Chinese and English
tokens      concepts with signs
subjects    whom it is about
moods       plan, change, end, past
roles       who acts in it and upon whom
reading     all of this for one statement
workplaces  which side of somebody's work it tells
comparing   what two readings share and where they part
keeping, retiring, accounting   the rules
filling     another value of one role, thing or manner
doubting    answers that would lose a fact, asked once more
decide      their order
sentences   what long texts do not share
asking      whether a text asks, and for what
slots       which single-valued attributes one text fills
"""

from __future__ import annotations

from mnemic.longterm.judge.cases import case_of
from mnemic.longterm.judge.decide import decide
from mnemic.longterm.judge.folding import skeleton
from mnemic.longterm.judge.labels import Judgement, Label, different, newer, same
from mnemic.longterm.judge.sentences import LONG, rests
from mnemic.longterm.judge.slots import slots

__all__ = ["Judgement", "Label", "judge", "slots"]


def judge(first: str, second: str, similarity: float | None = None) -> Judgement:
    """Return what ``second``, which arrives later, is to ``first``, which is stored.

    ``similarity`` is the calibrated similarity of the two texts in [0, 1], None when unknown; it only
    tips the unsure middle. When nothing decides, the answer is ``different``: a kept duplicate costs less
    than a lost fact. Never raises for any text.
    """
    if skeleton(first) == skeleton(second):
        return same("same_words")
    if max(len(first), len(second)) <= LONG:
        return decide(case_of(first, second, similarity))
    return _judge_long(*rests(first, second), similarity)


def _judge_long(first: str, second: str, similarity: float | None) -> Judgement:
    if not second:
        return same("part_of")
    if not first:
        return newer("restated_with_more", sure=False)
    if max(len(first), len(second)) > LONG:
        return different("many_statements", sure=False)
    return decide(case_of(first, second, similarity))
