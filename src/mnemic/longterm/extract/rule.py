"""What does one extraction rule say, and what does a language bring along?

A rule looks at one clause. Which clauses may speak at all is decided by the fields of ``Language``
that silence; how clauses become contents is the work of ``statements``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mnemic.model import MemoryType, Scope

STATED = 0.9
INFERRED = 0.8


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern, matched at the start of a clause.

    ``rest``: the statement runs to the end of its sentence. ``topic``: what stands before the clause in
    the same sentence belongs to it. ``wish``: it asks for a behaviour, so "only this time" cancels it.
    ``first``: only at the start of a sentence. ``across``: the pattern may
    read on past the end of its clause.
    """

    name: str
    pattern: re.Pattern[str]
    memory_type: MemoryType
    scope: Scope = "user"
    confidence: float = STATED
    rest: bool = False
    topic: bool = False
    wish: bool = False
    first: bool = False
    across: bool = False


@dataclass(frozen=True, slots=True)
class Language:
    """The words of one language. Patterns named ``*_head`` match at a clause's start.

    ``drops``: a subject may be left out and is then the one of the clause before; where it is False,
    ``ellipsis`` names the clauses that may do so nevertheless. ``aside`` is what a statement does not
    need behind it, ``elaborates`` what it does; ``dangles`` is a content whose object stands elsewhere;
    ``role_head`` is the "as" of "as a nurse", for which ``i_am`` is put.
    """

    code: str
    rules: tuple[Rule, ...]
    lead: re.Pattern[str]
    remember_head: re.Pattern[str]
    remember_tail: re.Pattern[str]
    request_head: re.Pattern[str]
    question_head: re.Pattern[str]
    question_tag: re.Pattern[str]
    polite: re.Pattern[str]
    inner_fact: re.Pattern[str]
    hypothetical: re.Pattern[str]
    standing: re.Pattern[str]
    style: re.Pattern[str]
    unsure: re.Pattern[str]
    laughter: re.Pattern[str]
    sarcasm: re.Pattern[str]
    once: re.Pattern[str]
    session: re.Pattern[str]
    project: re.Pattern[str]
    subject: re.Pattern[str]
    person: re.Pattern[str]
    pronoun: re.Pattern[str]
    attaches: re.Pattern[str]
    aside: re.Pattern[str]
    elaborates: re.Pattern[str]
    ellipsis: re.Pattern[str]
    dangles: re.Pattern[str]
    role_head: re.Pattern[str]
    absurd: re.Pattern[str]
    drops: bool
    i_am: str


def alternatives(words: str) -> str:
    """Return one alternation of the words between bars, longest first (so that none hides another)."""
    parts: list[str] = [""]
    depth = 0
    for char in words:
        depth += (char in "([") - (char in ")]")
        if char == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    known = sorted(
        {part.strip() for part in parts if part.strip()}, key=lambda one: (-len(one), one)
    )
    return "(?:" + "|".join(known) + ")"


def compiled(pattern: str, names: Mapping[str, str]) -> re.Pattern[str]:
    """Compile a pattern in which ``{NAME}`` stands for a fragment; letter case is ignored."""
    for name, fragment in names.items():
        pattern = pattern.replace("{" + name + "}", fragment)
    return re.compile(pattern, re.IGNORECASE)


Row = tuple[str, MemoryType, Scope, str, str]
"""Name, type, scope, pattern and flags of a rule: r for ``rest``, t for ``topic``, w for ``wish``, f for
``first``, a for ``across``, s for a soft one (confidence 0.8)."""


def rules(table: Iterable[Row], names: Mapping[str, str]) -> tuple[Rule, ...]:
    """Compile a table of rules; a wish that runs on to the end of its sentence may be read across it."""
    return tuple(
        Rule(
            name,
            compiled(pattern, names),
            kind,
            scope,
            INFERRED if "s" in flags else STATED,
            rest="r" in flags,
            topic="t" in flags,
            wish="w" in flags,
            first="f" in flags,
            across="a" in flags or {"w", "r"} <= set(flags),
        )
        for name, kind, scope, pattern, flags in table
    )
