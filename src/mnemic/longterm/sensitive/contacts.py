"""Which e-mail addresses and phone numbers does a text hold (for settings that forbid them)?

Off by default: both are entities worth remembering. Phones are read by ``phonenumbers``, loaded on first use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mnemic.longterm.sensitive.fold import Folded, Span
from mnemic.longterm.sensitive.lazy import lazy

_EMAIL = lazy(
    r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z][A-Za-z0-9-]{1,23}"
)
_SEVEN = lazy(r"[0-9](?:[ \-.()]{0,3}[0-9]){6}")
_REGIONS = ("CN", "US", "GB")


def find_emails(folded: Folded) -> Iterable[Span]:
    """Return each e-mail address."""
    found = _EMAIL.finditer(folded.text) if "@" in folded.text else ()
    return [Span("email", match.start(), match.end()) for match in found]


def find_phones(folded: Folded) -> Iterable[Span]:
    """Return each phone number valid in its international form, or in China, the US or Britain."""
    return _phones(folded) if folded.number and _SEVEN.search(folded.text) else ()


def _phones(folded: Folded) -> Iterator[Span]:
    import phonenumbers

    for region in _REGIONS:
        for match in phonenumbers.PhoneNumberMatcher(folded.text, region):
            yield Span("phone", match.start, match.end)
