"""Which stretches of one user turn state something durable, and in whose words are they kept?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from mnemic.longterm.extract.hearing import Hearing
from mnemic.longterm.extract.rule import INFERRED, STATED, Language, Rule
from mnemic.longterm.extract.runs import continues, same
from mnemic.longterm.extract.sentences import Clause, Sentence, split
from mnemic.longterm.extract.silence import HIDDEN, is_command, is_joke, readable

LONGEST_RUN = 320
LOOKED_AT = 240
_PLANNED = frozenset({"context", "decision"})
_INTRODUCES = frozenset({"name", "nickname", "person", "identity", "people"})
_PERSONAL = frozenset({"nickname", "remember"})
_ANYTHING = re.compile("")


@dataclass(frozen=True, slots=True)
class Statement:
    """One stretch of the turn that may become a memory; ``prefix`` is a repeated subject."""

    start: int
    end: int
    prefix: str
    rule: Rule
    own_subject: bool = False

    def content(self, text: str) -> str:
        """Return the words, with the bracket that a clause end cut off."""
        said = text[self.start : self.end]
        after = text[self.end : self.end + 1]
        opened = {")": "(", "）": "（"}.get(after, "")
        if opened and said.count(opened) > said.count(after):
            said += after
        return (self.prefix + said).strip()


def statements(text: str, language: Language) -> tuple[Statement, ...]:
    """Return the durable statements of one user turn, in order. Pure; time grows with the length."""
    view = readable(text)
    if is_joke(view):
        return ()
    found: list[Statement] = []
    person = ""
    for sentence in split(view):
        spoken = view[sentence.start : sentence.end]
        if is_command(spoken) and not language.standing.match(spoken):
            continue
        tail = _remembered_tail(view, sentence, language)
        if tail == 0:
            found.extend(_sentence_before(view, sentence, found))
            continue
        hearing = Hearing(view, sentence, language, len(sentence.clauses) if tail is None else tail)
        reading = _Reading(hearing, person, explicit=tail is not None)
        found.extend(reading.statements())
        person = reading.person
    return tuple(found)


def _explicit(rule: Rule | None) -> Rule:
    """Return what a "remember" states: the kind of the rule that matches, or else a fact."""
    if rule is None:
        return Rule("remember", _ANYTHING, "fact", rest=True)
    return replace(rule, confidence=STATED, rest=True)


def _remembered_tail(view: str, sentence: Sentence, language: Language) -> int | None:
    """Return the index of a closing "please remember that", or None."""
    last = len(sentence.clauses) - 1
    for index in range(last, max(0, last - 2), -1) if last else (0,):
        clause = sentence.clauses[index]
        if language.remember_tail.match(view, clause.start, clause.end):
            return index
    return None


def _sentence_before(
    view: str, sentence: Sentence, found: Iterable[Statement]
) -> Iterator[Statement]:
    """Keep the sentence that a lone "remember that" points back at, unless it is kept already."""
    begin = max(0, sentence.start - 2 * LONGEST_RUN)
    before = [s for s in split(view[begin : sentence.start]) if not s.asks]
    if before and not any(s.end > begin + before[-1].start for s in found):
        last = before[-1]
        yield Statement(begin + last.start, begin + last.end, "", _explicit(None))


class _Reading:
    """One pass over the clauses of a sentence; ``person`` is whom "he" or "she" means."""

    def __init__(self, hearing: Hearing, person: str, *, explicit: bool) -> None:
        self.hearing = hearing
        self.view = hearing.view
        self.language = hearing.language
        self.person = person
        self.subject = ""
        self.opening = True
        self.introduced = False
        self.explicit = explicit

    def statements(self) -> list[Statement]:
        if self.hearing.silent():
            return []
        return list(self._runs()) or list(self._of_session()) or list(self._inside_question())

    def _runs(self) -> Iterator[Statement]:
        """Join matching clauses and what continues them; a muted clause ends a run."""
        run: Statement | None = None
        topic: int | None = None
        for index, clause in enumerate(self.hearing.clauses):
            if run is not None and clause.start < run.end:
                run = replace(run, end=max(run.end, clause.end))
                continue
            muted = self.hearing.muted(index)
            self.opening = self.hearing.opens(index)
            found = None if muted else self._statement(clause)
            self.introduced = found is not None and found.rule.name in _INTRODUCES
            longer = None if muted or run is None else self._longer(run, clause, found)
            if longer is not None:
                run = longer
                continue
            if run is not None:
                yield self._finished(run)
            run = self._standing_alone(found, topic) if found else None
            topic = None if muted or found else clause.start if topic is None else topic
        if run is not None:
            yield self._finished(run)

    def _longer(self, run: Statement, clause: Clause, found: Statement | None) -> Statement | None:
        """Return the run with this clause in it, or None when the clause stands for itself."""
        start, end = self.hearing.after_lead(clause), clause.end if found is None else found.end
        if end - run.start > LONGEST_RUN:
            return None
        before = self.view[run.end]
        if found is None:
            joins = continues(self.view, clause.start, clause.end, before, run.rule, self.language)
        else:
            more = self.language.elaborates.match(self.view, start, clause.end) is not None
            joins = same(
                run.rule, found.rule, before, own_subject=found.own_subject, elaborates=more
            )
        return replace(run, end=end) if joins else None

    def _statement(self, clause: Clause) -> Statement | None:
        start = self.hearing.after_lead(clause)
        head = self.hearing.remember_head(clause)
        if head is not None:
            return self._remembered(head.end())
        if self.explicit:
            return self._remembered(start)
        if self.hearing.requests(start, clause.end):
            return None
        return self._matched(Clause(start, clause.end), self.subject)

    def _remembered(self, begin: int) -> Statement | None:
        """Return what follows "remember that": its first clause, which the rest will join."""
        self.explicit = False
        clause = next((c for c in self.hearing.clauses if c.end > begin), None)
        if clause is None:
            return None
        begin = self.hearing.after_lead(Clause(max(begin, clause.start), clause.end))
        if not self.view[begin : clause.end].strip(HIDDEN + " \n"):
            return None
        found = self._matched(Clause(begin, clause.end), "")
        end = clause.end if found is None else found.end
        return Statement(begin, end, "", _explicit(found.rule if found else None))

    def _matched(self, clause: Clause, subject: str) -> Statement | None:
        """Return the clause if a rule matches it, with the subject that it leaves out put in front."""
        spoken = self.view[clause.start : min(clause.end, clause.start + LOOKED_AT)]
        rest = self.view[clause.end : min(self.hearing.sentence.end, clause.start + LOOKED_AT)]
        pronoun = self.language.pronoun.match(spoken)
        if pronoun is not None:
            if not self.person:
                return None
            rule, reach = self._first(self.person + spoken[pronoun.end() :], rest)
            start = clause.start + pronoun.end()
            return Statement(start, clause.end + reach, self.person, rule, True) if rule else None
        own = self._note_subject(spoken)
        for prefix in self._prefixes(clause, "" if own else subject):
            rule, reach = self._first(prefix + spoken, rest)
            aside = prefix and self.language.aside.match(spoken) is not None
            if rule is not None and aside and rule.memory_type not in _PLANNED:
                return None
            if rule is not None:
                return Statement(clause.start, clause.end + reach, prefix, rule, own)
        return None

    def _prefixes(self, clause: Clause, subject: str) -> tuple[str, ...]:
        """Return what may stand before a clause that leaves its subject out, likeliest first."""
        language, spoken = self.language, self.view[clause.start : clause.end]
        if not subject:
            return ("",)
        if language.drops:
            return ("",) if "我" in spoken else (subject, "")
        left_out = language.ellipsis.match(spoken)
        if left_out is None:
            return ("",)
        if left_out.lastgroup is None:
            joined = self.view[: clause.start].rstrip().endswith(("and", "but"))
            return (subject + " ",) if joined else ("",)
        if not self.introduced:
            return ("",)
        return (subject + (language.i_am if subject.casefold() == "i" else " is "),)

    def _note_subject(self, spoken: str) -> bool:
        """Note who a clause is about; tell whether it says so at its start."""
        own = self.language.subject.match(spoken)
        if own is None:
            if self.language.drops and "我" in spoken[:16]:
                self.subject = "我"
            return False
        person = self.language.person.match(spoken)
        self.subject = own[0]
        self.person = person[0] if person is not None else self.person
        return True

    def _first(self, spoken: str, rest: str) -> tuple[Rule | None, int]:
        """Return the first rule that matches, and how far it reaches beyond the clause."""
        whole = spoken + rest
        for rule in self.language.rules:
            if rule.first and not self.opening:
                continue
            found = rule.pattern.match(whole if rule.across else spoken)
            if found is not None:
                momentary = rule.wish or rule.memory_type == "preference"
                once = momentary and self.hearing.only_once()
                return (None, 0) if once else (rule, max(0, found.end() - len(spoken)))
        return None, 0

    def _standing_alone(self, found: Statement, topic: int | None) -> Statement | None:
        """Return the statement with the clauses that it speaks of, or None when those are missing."""
        language = self.language
        spoken = found.prefix + self.view[found.start : found.end]
        bound = found.rule.name == "remember" or found.rule.memory_type == "constraint"
        dangles = not bound and language.dangles.match(spoken) is not None
        if topic is not None and (found.rule.topic or dangles):
            start = self.hearing.after_lead(Clause(topic, found.end))
            return replace(found, start=start, prefix="")
        if dangles:
            return None
        return self._as_subject(found)

    def _as_subject(self, found: Statement) -> Statement:
        """Say "I'm a nurse" for "as a nurse"."""
        role = self.language.role_head.match(self.view, found.start, found.end)
        if role is None or found.prefix:
            return found
        me = "" if self.language.drops else "I"
        return replace(found, start=role.end(), prefix=me + self.language.i_am)

    def _finished(self, run: Statement) -> Statement:
        """Return the run with the type and the scope that its whole sentence gives it."""
        rule, hearing = run.rule, self.hearing
        if rule.memory_type not in ("preference", "constraint"):
            return run
        if hearing.for_session():
            rule = replace(rule, memory_type=hearing.kind_of_wish(), scope="session")
        elif rule.name not in _PERSONAL and hearing.of_project(
            hearing.sentence.start if rule.wish else run.start, run.end
        ):
            kind = "constraint" if rule.wish else rule.memory_type
            rule = replace(rule, memory_type=kind, scope="project")
        return replace(run, rule=rule)

    def _of_session(self) -> Iterator[Statement]:
        """Keep a sentence that binds itself to this session, whatever it says."""
        hearing = self.hearing
        clauses = range(len(hearing.clauses))
        if hearing.sentence.asks or not hearing.for_session() or not hearing.clauses:
            return
        if not any(hearing.muted(index) for index in clauses):
            rule = Rule("session_wish", _ANYTHING, hearing.kind_of_wish(), "session")
            start = hearing.after_lead(hearing.clauses[0])
            yield Statement(start, hearing.clauses[-1].end, "", rule)

    def _inside_question(self) -> Iterator[Statement]:
        """Keep what a question says about its asker in passing: "as a film student"."""
        sentence, whole = self.hearing.sentence, self.hearing.whole
        if not sentence.asks or self.language.hypothetical.match(whole):
            return
        inner = self.language.inner_fact.search(whole)
        if inner is not None and HIDDEN not in inner[0]:
            rule = Rule("said_in_question", _ANYTHING, "fact", confidence=INFERRED)
            start, end = sentence.start + inner.start(), sentence.start + inner.end()
            yield self._as_subject(Statement(start, end, "", rule))
