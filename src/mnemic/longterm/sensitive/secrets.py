"""Does a text speak of a credential at all, and who looks for it then?

Each detector knows the words without which it finds nothing; most texts hold none of all those words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import or_

from mnemic.longterm.sensitive import assignments, commands, described, logins, passwords, stated
from mnemic.longterm.sensitive.fold import Folded, Span
from mnemic.longterm.sensitive.lazy import lazy

__all__ = ["find_secrets"]

_SPEAKING = tuple(
    each.HINTS for each in (assignments, logins, commands, passwords, described, stated)
)
_HINTS = reduce(or_, _SPEAKING)
_LATIN = lazy(r"[!-~]{4}")
"""What machines read, and people write for them, has four such signs in a row."""


def find_secrets(folded: Folded) -> Iterable[Span]:
    """Return each credential that is named, placed or told."""
    return _each(folded) if _speaks_of_some(folded) else ()


def _speaks_of_some(folded: Folded) -> bool:
    return (
        _HINTS.in_text(folded.lower)
        or commands.may_hold_pair(folded.text)
        or stated.may_log_in(folded)
        or assignments.is_abbreviated(folded.lower)
    )


def _each(folded: Folded) -> Iterator[Span]:
    if _LATIN.search(folded.text):
        yield from assignments.find_assigned(folded)
        yield from logins.find_logins(folded)
        yield from commands.find_commanded(folded)
    yield from passwords.find_told(folded)
    yield from described.find_described(folded)
    yield from stated.find_stated(folded)
