"""Which clauses of a sentence mean what they say, and which only ask, suppose, joke or guess?"""

from __future__ import annotations

import re

from mnemic.longterm.extract.rule import Language
from mnemic.longterm.extract.sentences import Clause, Sentence
from mnemic.model import MemoryType

SHORT_OPENING = 12


class Hearing:
    """The clauses of one sentence, heard one by one. Offsets are those of the whole turn."""

    def __init__(self, view: str, sentence: Sentence, language: Language, clauses: int) -> None:
        self.view = view
        self.sentence = sentence
        self.language = language
        self.clauses = sentence.clauses[:clauses]
        self.whole = view[sentence.start : sentence.end]
        self.standing = self._matches(language.standing)
        self._supposed_from = self._first_clause(language.hypothetical)
        self._asked_from = self._first_clause(language.question_head, after_lead=True)

    def silent(self) -> bool:
        """Tell whether the sentence as a whole is a joke, sarcasm or a question by its tag."""
        language = self.language
        if language.sarcasm.search(self.whole) or language.absurd.search(self.whole):
            return True
        if language.laughter.search(self.whole) and not self._gives_name():
            return True
        if not self.sentence.asks or len(self.clauses) < 2:
            return False
        last = self.clauses[-1]
        return language.question_tag.fullmatch(self.view, last.start, last.end) is not None

    def muted(self, index: int) -> bool:
        """Tell whether a clause asks, supposes or wonders; a supposition silences what follows it."""
        clause = self.clauses[index]
        if self.remember_head(clause) is not None:
            return False
        if index >= self._supposed_from and not self.standing:
            return True
        unsure = self.language.unsure.match(self.view, clause.start, clause.end)
        return unsure is not None or self._asks(index)

    def only_once(self) -> bool:
        """Tell whether a wish holds for one answer only."""
        language = self.language
        once = language.once.search(self.whole)
        return once is not None and not self.for_session()

    def for_session(self) -> bool:
        return self.language.session.search(self.whole) is not None

    def of_project(self, start: int, end: int) -> bool:
        """Tell whether a stretch speaks of a project, a repository or a team."""
        return self.language.project.search(self.view, start, end) is not None

    def kind_of_wish(self) -> MemoryType:
        """Return preference for a wish about style, constraint for anything else."""
        spoken = self.language.session.sub("", self.whole)
        return "preference" if self.language.style.search(spoken) else "constraint"

    def opens(self, index: int) -> bool:
        """Tell whether a clause opens its sentence, greetings and "one thing:" left aside."""
        if index == 0:
            return True
        before, here = self.clauses[index - 1], self.clauses[index]
        between = self.view[before.end : here.start]
        short = before.end - self.sentence.start <= SHORT_OPENING
        return short or ":" in between or "：" in between

    def after_lead(self, clause: Clause) -> int:
        """Return where a clause begins behind "by the way", "对了" and the like."""
        lead = self.language.lead.match(self.view, clause.start, clause.end)
        return lead.end() if lead and lead.end() < clause.end else clause.start

    def remember_head(self, clause: Clause) -> re.Match[str] | None:
        """Return the "remember that" at the start of a clause, or None."""
        head = self.language.remember_head
        for start in (clause.start, self.after_lead(clause)):
            found = head.match(self.view, start, self.sentence.end)
            if found is not None:
                return found
        return None

    def requests(self, start: int, end: int) -> bool:
        """Tell whether a stretch asks for something to be done now, and not from now on."""
        if self.language.request_head.match(self.view, start, end) is None:
            return False
        rules = self.language.rules
        return not any(rule.wish and rule.pattern.match(self.view, start, end) for rule in rules)

    def _asks(self, index: int) -> bool:
        clause = self.clauses[index]
        start = self.after_lead(clause)
        if self.standing and self.language.polite.match(self.view, start, clause.end):
            return False
        if self.language.question_head.match(self.view, start, clause.end):
            return True
        last = index == len(self.clauses) - 1
        return self.sentence.asks and (last or index >= self._asked_from)

    def _matches(self, pattern: re.Pattern[str]) -> bool:
        if not self.clauses:
            return False
        first = self.after_lead(self.clauses[0])
        return pattern.match(self.view, first, self.sentence.end) is not None

    def _first_clause(self, pattern: re.Pattern[str], *, after_lead: bool = False) -> int:
        """Return the index of the first clause that a pattern opens; past the end if none."""
        for index, clause in enumerate(self.clauses):
            start = self.after_lead(clause) if after_lead else clause.start
            if pattern.match(self.view, start, clause.end):
                return index
        return len(self.clauses)

    def _gives_name(self) -> bool:
        rules = self.language.rules
        return any(rule.name == "name" and rule.pattern.match(self.whole) for rule in rules)
