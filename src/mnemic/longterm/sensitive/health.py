"""Does this text hold a diagnosis, a test result or a treatment of a person?

Chinese and English have their own rules and words: health_zh, health_en. What a text says about health in
general passes.
"""

from __future__ import annotations

from collections.abc import Iterable

from mnemic.longterm.sensitive.fold import Folded, Span
from mnemic.longterm.sensitive.health_en import english_statements
from mnemic.longterm.sensitive.health_zh import chinese_statements


def find_medical(folded: Folded) -> Iterable[Span]:
    """Return each statement that a person has a disease, a test result or a prescription."""
    ranges = (*chinese_statements(folded.lower), *english_statements(folded.lower))
    return [Span("medical", start, end) for start, end in ranges]
