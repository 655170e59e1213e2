"""Which parts of a text may never be remembered, and what stands in their place?

    fold, lazy      the text without disguises, with the way back; patterns compiled on first use
    hints           the words without which a costly pattern is not tried
    secrets         whether a text speaks of a credential at all; who looks for it then
    vendors, assignments, logins, commands       credentials by shape, by name, by place
    passwords, described, stated                 credentials in prose: written, told, a plain word
    cards, ids, accounts                         numbers, where a checksum exists it decides
    places, biometrics, health                   coordinates, body data, diagnoses of a person
    contacts                                     e-mail and phone, off by default

Pure functions; the cost of a clean text is a few substring checks. Findings never carry the value.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from mnemic.longterm.sensitive.accounts import find_accounts
from mnemic.longterm.sensitive.biometrics import find_biometrics
from mnemic.longterm.sensitive.cards import find_cards
from mnemic.longterm.sensitive.contacts import find_emails, find_phones
from mnemic.longterm.sensitive.fold import Folded, Span, fold
from mnemic.longterm.sensitive.health import find_medical
from mnemic.longterm.sensitive.ids import find_ids
from mnemic.longterm.sensitive.lazy import lazy
from mnemic.longterm.sensitive.places import find_places
from mnemic.longterm.sensitive.secrets import find_secrets
from mnemic.longterm.sensitive.vendors import find_vendor_tokens

__all__ = ["CATEGORIES", "DEFAULT_CATEGORIES", "Finding", "find_in", "find_sensitive", "mask"]

DEFAULT_CATEGORIES: frozenset[str] = frozenset(
    {
        "password",
        "api_key",
        "token",
        "payment_card",
        "national_id",
        "bank_account",
        "biometric",
        "exact_location",
        "medical",
    }
)
CATEGORIES: frozenset[str] = DEFAULT_CATEGORIES | {"email", "phone"}

_SECRETS = frozenset({"password", "api_key", "token"})
_CODE = lazy(
    r"(?<![0-9A-Za-z])(?:[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|[0-9A-Fa-f]{20,})"
    r"(?![0-9A-Za-z])"
)
_MASKED = re.compile(r"#[a-z_]+_masked")
_DETECTORS: tuple[tuple[frozenset[str], Callable[[Folded], Iterable[Span]]], ...] = (
    (_SECRETS, find_vendor_tokens),
    (_SECRETS, find_secrets),
    (frozenset({"bank_account"}), find_accounts),
    (frozenset({"biometric"}), find_biometrics),
    (frozenset({"exact_location"}), find_places),
    (frozenset({"national_id"}), find_ids),
    (frozenset({"payment_card"}), find_cards),
    (frozenset({"medical"}), find_medical),
    (frozenset({"email"}), find_emails),
    (frozenset({"phone"}), find_phones),
)
"""Categories and their detector; where ranges overlap the first one wins."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A sensitive part of a text: category and half-open character range in the text as given."""

    category: str
    start: int
    end: int


def find_sensitive(
    text: str, categories: frozenset[str] = DEFAULT_CATEGORIES
) -> tuple[Finding, ...]:
    """Return the sensitive parts of ``text`` in order, without overlaps (empty for clean text)."""
    return find_in(fold(text), categories)


def find_in(folded: Folded, categories: frozenset[str]) -> tuple[Finding, ...]:
    """The same of a text whose disguises are off; the ranges are those in the text as it was given."""
    kept: list[Span] = []
    codes: Sequence[tuple[int, int]] | None = None if folded.number else ()
    for offered, detect in _DETECTORS:
        if offered.isdisjoint(categories):
            continue
        for span in detect(folded):
            if span.category not in categories:
                continue
            if codes is None:
                codes = _codes(folded.text)
            if _is_piece(span, codes):
                continue
            if not _MASKED.search(folded.text, span.start, span.end):
                _keep(kept, span)
    return tuple(_finding(folded, span) for span in kept)


def _codes(text: str) -> tuple[tuple[int, int], ...]:
    """Return where UUIDs, hashes and commit ids stand: hex digits with letters among them."""
    found = (match.span() for match in _CODE.finditer(text))
    return tuple((start, end) for start, end in found if not text[start:end].isdigit())


def _is_piece(span: Span, codes: Sequence[tuple[int, int]]) -> bool:
    """Tell whether something is a piece of a code, whose digits mean nothing; secrets may look like that."""
    if span.category in _SECRETS:
        return False
    return any(
        start <= span.start and span.end <= end and (start, end) != (span.start, span.end)
        for start, end in codes
    )


def _keep(kept: list[Span], span: Span) -> None:
    """Add ``span`` to the ordered, disjoint spans unless it overlaps one of them."""
    at = bisect_left(kept, span.start, key=lambda other: other.start)
    clear_left = at == 0 or kept[at - 1].end <= span.start
    clear_right = at == len(kept) or span.end <= kept[at].start
    if clear_left and clear_right:
        kept.insert(at, span)


def _finding(folded: Folded, span: Span) -> Finding:
    return Finding(
        span.category,
        folded.original(span.start),
        folded.original(max(span.start, span.end - 1)) + 1,
    )


def mask(text: str, findings: Iterable[Finding], user_id: str) -> str:
    """Return ``text`` with ``user:<id>#<category>_masked`` in place of each finding.

    The id is percent-encoded as in every entity reference; overlapping findings count once.
    """
    pieces: list[str] = []
    position = 0
    for finding in sorted(findings, key=lambda each: (each.start, -each.end)):
        if finding.start >= position:
            pieces.append(text[position : finding.start])
            pieces.append(f"user:{quote(user_id, safe='')}#{finding.category}_masked")
        position = max(position, finding.end)
    pieces.append(text[position:])
    return "".join(pieces)
