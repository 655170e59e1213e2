"""Which rule settles a pair?

Rules are asked in order; the first that answers decides. Those that see two different things come before
those that retire one, and a text is a duplicate only when every word and amount is accounted for.
"""

from __future__ import annotations

from collections.abc import Callable

from mnemic.longterm.judge.accounting import accounted_for, translated, value_changed
from mnemic.longterm.judge.cases import Case
from mnemic.longterm.judge.doubting import doubted
from mnemic.longterm.judge.filling import value_filled
from mnemic.longterm.judge.keeping import (
    adds_up,
    other_direction,
    other_item,
    other_key,
    other_person,
    other_scope,
    other_time,
)
from mnemic.longterm.judge.labels import Judgement, different
from mnemic.longterm.judge.retiring import (
    amount_changed,
    corrected,
    ended,
    kind_denied,
    plan_and_fact,
    slot_filled,
    turned_round,
)

__all__ = ["decide"]

_RULES: tuple[Callable[[Case], Judgement | None], ...] = (
    value_filled,
    other_person,
    other_scope,
    other_direction,
    other_key,
    other_item,
    corrected,
    other_time,
    plan_and_fact,
    kind_denied,
    turned_round,
    adds_up,
    ended,
    slot_filled,
    amount_changed,
    accounted_for,
    translated,
    value_changed,
)


def decide(case: Case) -> Judgement:
    """Return the judgement of the first rule that answers; ``different`` when none does."""
    answers = (rule(case) for rule in _RULES)
    answer = next((answer for answer in answers if answer), different("no_rule", sure=False))
    return doubted(case, answer)
