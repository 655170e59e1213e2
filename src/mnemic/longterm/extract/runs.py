"""Do two clauses of a sentence say one thing, or are they two memories?

What may change apart is kept apart: a name and an employer are two memories, a skill and the years it
was practised one. A trailing clause that only serves the moment is not kept at all.
"""

from __future__ import annotations

from mnemic.longterm.extract.rule import Language, Rule

_WHOLE = frozenset({"preference", "constraint", "decision"})
_ONE_EACH = frozenset({"people", "skill", "thing"})
"""Rules of which every match is a memory of its own."""
_JOINED = frozenset({"remember", "news", "session_wish", "standing_wish", "decision", "constraint"})
"""Rules whose statement takes in whatever matches behind it."""


def continues(view: str, start: int, end: int, before: str, rule: Rule, language: Language) -> bool:
    """Tell whether a clause that matches no rule belongs to the statement before it.

    ``before`` is the mark between the two, ``rule`` the one of the statement.
    """
    if language.request_head.match(view, start, end):
        return False
    if rule.name not in _JOINED and not rule.wish and language.aside.match(view, start, end):
        return False
    whole = language.drops or rule.memory_type in _WHOLE or before in ":："
    if rule.name in ("remember", "news") or (rule.rest and whole):
        return True
    return language.attaches.match(view, start, end) is not None


def same(rule: Rule, found: Rule, before: str, *, own_subject: bool, elaborates: bool) -> bool:
    """Tell whether a clause that matches too only says more of the statement before it."""
    if elaborates or (before in ":：" and rule.name in _JOINED):
        return True
    kinds = found.memory_type == rule.memory_type
    if rule.name in _JOINED:
        return kinds or not own_subject
    if found.name != rule.name or rule.name in _ONE_EACH:
        return kinds and rule.memory_type in _WHOLE and not own_subject
    if rule.rest:
        return kinds or not own_subject
    return kinds and found.scope == rule.scope and not own_subject
