"""Which clauses of one user turn state something durable, and in whose words is it kept?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from mnemic.longterm.extract.rule import INFERRED, STATED, Language, Rule
from mnemic.longterm.extract.sentences import Clause, Sentence, split
from mnemic.longterm.extract.silence import HIDDEN, is_command, is_joke, readable
from mnemic.model import MemoryType, Scope

LONGEST_RUN = 320
LOOKED_AT = 240
_LASTING = frozenset({"name", "nickname", "home", "people", "work"})


@dataclass(frozen=True, slots=True)
class Statement:
    """One stretch of the turn that may become a memory; ``prefix`` is a repeated subject."""

    start: int
    end: int
    prefix: str
    rule: Rule
    own_subject: bool = False

    def content(self, text: str) -> str:
        return (self.prefix + text[self.start : self.end]).strip()


@dataclass(frozen=True, slots=True)
class _Turn:
    text: str
    view: str
    language: Language


_EXPLICIT = re.compile("")


def _fact(rule: Rule | None) -> Rule:
    """Return what an explicit "remember" states: the rule's kind, or else a fact; surely, in any case."""
    if rule is None:
        return Rule("remember", _EXPLICIT, "fact", "user", STATED, rest=True)
    return replace(rule, confidence=STATED, rest=True)


def statements(text: str, language: Language) -> tuple[Statement, ...]:
    """Return the durable statements of one user turn, in order. Pure; time grows with the length."""
    view = readable(text)
    if is_joke(view):
        return ()
    turn = _Turn(text, view, language)
    found: list[Statement] = []
    person = ""
    for sentence in split(view):
        spoken = view[sentence.start : sentence.end]
        if not language.standing.match(spoken) and is_command(spoken):
            continue
        tail = _remembered_tail(turn, sentence)
        if tail is not None and len(sentence.clauses) == 1:
            found.extend(_whole_sentence_before(turn, sentence, found))
            continue
        reading = _Reading(turn, sentence, person, tail)
        found.extend(reading.runs())
        person = reading.person
    return tuple(found)


def _remembered_tail(turn: _Turn, sentence: Sentence) -> int | None:
    """Return the index of a closing "please remember that", or None."""
    last = len(sentence.clauses) - 1
    for index in range(last, max(0, last - 2), -1) if last else (0,):
        clause = sentence.clauses[index]
        if turn.language.remember_tail.match(turn.view, clause.start, clause.end):
            return index
    return None


def _whole_sentence_before(
    turn: _Turn, sentence: Sentence, found: Iterable[Statement]
) -> Iterator[Statement]:
    """Keep the sentence that a lone "remember that" points back at, unless it is kept already."""
    before = [s for s in split(turn.view[: sentence.start]) if not s.asks]
    if before and not any(s.end > before[-1].start for s in found):
        yield Statement(before[-1].start, before[-1].end, "", _fact(None))


class _Reading:
    """One pass over the clauses of a sentence; ``person`` is whom "he" or "she" means."""

    def __init__(self, turn: _Turn, sentence: Sentence, person: str, tail: int | None) -> None:
        self.turn = turn
        self.language = turn.language
        self.sentence = sentence
        self.person = person
        self.subject = ""
        self.clauses = sentence.clauses if tail is None else sentence.clauses[:tail]
        self.whole = turn.view[sentence.start : sentence.end]
        self.explicit = tail is not None

    def runs(self) -> Iterator[Statement]:
        if self._silent():
            return
        found = list(self._runs())
        if not found:
            found = list(self._of_session()) or list(self._inside_question())
        yield from found

    def _of_session(self) -> Iterator[Statement]:
        """Keep a sentence that binds itself to this session, whatever it says."""
        start = self._after_lead(self.clauses[0]) if self.clauses else self.sentence.start
        if self.sentence.asks or not self.language.session.search(self.whole):
            return
        if any(self._muted(index) for index in range(len(self.clauses))):
            return
        kind: MemoryType = "preference" if self.language.style.search(self.whole) else "constraint"
        rule = Rule("session_wish", _EXPLICIT, kind, "session", STATED)
        yield Statement(start, self.sentence.end, "", rule)

    def _inside_question(self) -> Iterator[Statement]:
        """Keep what a question says about its asker in passing: "as a film student"."""
        if not self.sentence.asks or self.language.hypothetical.match(self.whole):
            return
        inner = self.language.inner_fact.search(self.whole)
        if inner is not None and HIDDEN not in inner[0]:
            at = self.sentence.start
            rule = Rule("said_in_question", _EXPLICIT, "fact", "user", INFERRED)
            yield Statement(at + inner.start(), at + inner.end(), "", rule)

    def _runs(self) -> Iterator[Statement]:
        run: Statement | None = None
        topic: int | None = None
        for index, clause in enumerate(self.clauses):
            if self._muted(index):
                if run is not None:
                    yield self._finished(run)
                run, topic = None, None
                continue
            found = self._statement(clause)
            if found is None:
                if run is not None and self._continues(run, clause):
                    run = replace(run, end=clause.end)
                elif run is not None:
                    yield self._finished(run)
                    run = None
                topic = clause.start if topic is None else topic
            elif run is not None and self._joins(run, found):
                run = replace(run, end=clause.end)
            else:
                if run is not None:
                    yield self._finished(run)
                run = self._with_topic(found, topic) if run is None else found
            if found is not None:
                topic = None
        if run is not None:
            yield self._finished(run)

    def _silent(self) -> bool:
        """Tell whether the sentence as a whole is a joke, a dream or not meant as it is said."""
        language = self.language
        if language.sarcasm.search(self.whole):
            return True
        if language.laughter.search(self.whole) and not self._is_name():
            return True
        tag = self.clauses[-1] if self.clauses else None
        if self.sentence.asks and tag is not None and len(self.clauses) > 1:
            last = self.turn.view[tag.start : tag.end]
            if language.question_tag.fullmatch(last.strip()):
                return True
        return False

    def _is_name(self) -> bool:
        return any(
            rule.name == "name" and rule.pattern.match(self.whole) for rule in self.language.rules
        )

    def _muted(self, index: int) -> bool:
        """Tell whether a clause asks, supposes or wonders; a supposition silences what follows it."""
        language, view = self.language, self.turn.view
        clause = self.clauses[index]
        if self._is_explicit(clause):
            return False
        for earlier in self.clauses[: index + 1]:
            supposed = language.hypothetical.match(view, earlier.start, earlier.end)
            if supposed is not None and not self._standing():
                return True
        if self._asks(index):
            return True
        return language.unsure.match(view, clause.start, clause.end) is not None

    def _asks(self, index: int) -> bool:
        language, view = self.language, self.turn.view
        clause = self.clauses[index]
        start = self._after_lead(clause)
        if self._standing() and language.polite.match(view, start, clause.end):
            return False
        if language.question_head.match(view, start, clause.end):
            return True
        if not self.sentence.asks:
            return False
        asked = any(
            language.question_head.match(view, self._after_lead(other), other.end)
            for other in self.clauses[:index]
        )
        return asked or index == len(self.clauses) - 1

    def _standing(self) -> bool:
        first = self._after_lead(self.clauses[0])
        return self.language.standing.match(self.turn.view, first, self.sentence.end) is not None

    def _is_explicit(self, clause: Clause) -> bool:
        return self._remember_head(clause) is not None

    def _remember_head(self, clause: Clause) -> re.Match[str] | None:
        head = self.language.remember_head
        for start in (clause.start, self._after_lead(clause)):
            found = head.match(self.turn.view, start, self.sentence.end)
            if found is not None and found.start() < clause.end:
                return found
        return None

    def _after_lead(self, clause: Clause) -> int:
        lead = self.language.lead.match(self.turn.view, clause.start, clause.end)
        return lead.end() if lead and lead.end() < clause.end else clause.start

    def _statement(self, clause: Clause) -> Statement | None:
        start = self._after_lead(clause)
        view = self.turn.view
        head = self._remember_head(clause)
        if head is not None or self.explicit:
            begin = head.end() if head is not None else start
            if begin >= self.sentence.end or not view[begin:].strip(HIDDEN + " \n"):
                return None
            begin = self._after_lead(Clause(begin, max(clause.end, begin + 1)))
            self.explicit = False
            found = self._matched(Clause(begin, max(clause.end, begin + 1)), "")
            rule = found.rule if found else None
            return Statement(begin, max(clause.end, begin + 1), "", _fact(rule))
        if self.language.request_head.match(view, start, clause.end) and not self._wishes(
            start, clause.end
        ):
            return None
        return self._matched(Clause(start, clause.end), self.subject)

    def _wishes(self, start: int, end: int) -> bool:
        view = self.turn.view
        return any(r.wish and r.pattern.match(view, start, end) for r in self.language.rules)

    def _matched(self, clause: Clause, subject: str) -> Statement | None:
        language, view = self.language, self.turn.view
        spoken = view[clause.start : min(clause.end, clause.start + LOOKED_AT)]
        own = language.subject.match(spoken)
        person = language.person.match(spoken)
        pronoun = language.pronoun.match(spoken)
        prefix, start, tried = "", clause.start, spoken
        if pronoun is not None:
            if not self.person:
                return None
            prefix, start = self.person, clause.start + pronoun.end()
            tried = self.person + spoken[pronoun.end() :]
        elif own is not None:
            self.subject = own[0]
            self.person = person[0] if person is not None else self.person
        rest = view[clause.end : min(self.sentence.end, clause.start + LOOKED_AT)]
        rule = self._first(tried, rest)
        if rule is None and own is None and pronoun is None and subject:
            prefix = subject + language.joiner
            rule = self._first(prefix + spoken, rest)
        if rule is None:
            return None
        return Statement(start, clause.end, prefix, rule, own is not None or pronoun is not None)

    def _first(self, spoken: str, rest: str) -> Rule | None:
        whole = spoken + rest
        for rule in self.language.rules:
            if rule.pattern.match(whole if rule.wish and rule.rest else spoken):
                if rule.wish and self._only_once():
                    return None
                return rule
        return None

    def _only_once(self) -> bool:
        language = self.language
        return (
            language.once.search(self.whole) is not None
            and language.session.search(self.whole) is None
        )

    def _continues(self, run: Statement, clause: Clause) -> bool:
        if clause.end - run.start > LONGEST_RUN:
            return False
        view = self.turn.view
        if self.language.request_head.match(view, clause.start, clause.end):
            return False
        if run.rule.rest:
            return True
        return self.language.attaches.match(view, clause.start, clause.end) is not None

    def _joins(self, run: Statement, found: Statement) -> bool:
        """Tell whether a matched clause belongs to the run before it, being of the same kind."""
        if found.end - run.start > LONGEST_RUN:
            return False
        if run.rule.name == "remember" or run.rule.rest:
            return found.rule.memory_type == run.rule.memory_type or not found.own_subject
        same = (found.rule.memory_type, found.rule.scope) == (run.rule.memory_type, run.rule.scope)
        return same and not found.own_subject

    def _with_topic(self, found: Statement, topic: int | None) -> Statement:
        if topic is None or not found.rule.topic:
            return found
        return replace(found, start=self._after_lead(Clause(topic, found.end)), prefix="")

    def _finished(self, run: Statement) -> Statement:
        kind, scope = self._kind_and_scope(run.rule)
        return replace(run, rule=replace(run.rule, memory_type=kind, scope=scope))

    def _kind_and_scope(self, rule: Rule) -> tuple[MemoryType, Scope]:
        language = self.language
        kind, scope = rule.memory_type, rule.scope
        if language.session.search(self.whole):
            if kind in ("preference", "constraint"):
                return (
                    "preference" if language.style.search(self.whole) else "constraint"
                ), "session"
            return kind, scope
        if kind in ("preference", "constraint", "fact") and rule.name not in _LASTING:
            if language.project.search(self.whole) and rule.name != "remember":
                return ("constraint" if rule.wish else kind), "project"
        return kind, scope
