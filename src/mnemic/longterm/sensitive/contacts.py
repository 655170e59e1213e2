"""Which e-mail addresses and phone numbers does a text hold (for settings that forbid them)?

Off by default: both are entities worth remembering. Phones are read by ``phonenumbers``, loaded on first use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mnemic.longterm.sensitive.fold import Folded, Span
from mnemic.longterm.sensitive.lazy import lazy

_EMAIL = lazy(
    r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z][A-Za-z0-9-]{1,23}"
)
_REGIONS = ("CN", "US", "GB")


def find_emails(folded: Folded) -> Iterator[Span]:
    """Yield each e-mail address."""
    if "@" in folded.text:
        for match in _EMAIL.finditer(folded.text):
            yield Span("email", match.start(), match.end())


def find_phones(folded: Folded) -> Iterator[Span]:
    """Yield each phone number valid in its international form, or in China, the US or Britain."""
    if not re.search(r"\d(?:[ \-.()]{0,3}\d){6}", folded.text):
        return
    import phonenumbers

    for region in _REGIONS:
        for match in phonenumbers.PhoneNumberMatcher(folded.text, region):
            yield Span("phone", match.start, match.end)
