"""Does this text hold a diagnosis, a test result or a treatment of a person?

Chinese and English have their own rules and words: health_zh, health_en. What a text says about health in
general passes.
"""

from __future__ import annotations

from collections.abc import Iterator

from mnemic.longterm.sensitive.fold import Folded, Span
from mnemic.longterm.sensitive.health_en import english_statements
from mnemic.longterm.sensitive.health_zh import chinese_statements


def find_medical(folded: Folded) -> Iterator[Span]:
    """Yield each statement that a person has a disease, a test result or a prescription."""
    for statements in (chinese_statements, english_statements):
        for start, end in statements(folded.lower):
            yield Span("medical", start, end)
