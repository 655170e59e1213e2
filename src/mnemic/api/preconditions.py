"""Which version does the caller mean to change? Pure: ETag and If-Match (RFC 9110)."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mnemic.access.problems import StaleVersion
from mnemic.errors import Conflict, InvalidInput

_TAG = re.compile(r'\s*(W/)?"([\x21\x23-\x7e]*)"\s*')
_VERSION = re.compile(r"[1-9][0-9]{0,9}")


@dataclass(frozen=True, slots=True)
class Expected:
    """The versions that an If-Match header allows; ``any`` stands for ``*``."""

    versions: tuple[int, ...] = ()
    any: bool = False

    async def version(self, current: Callable[[], Awaitable[int]]) -> int | None:
        """Return the one version that may be changed, None for whichever is there.

        ``current`` is asked only where the header leaves a choice. Raises as ``require`` does.
        """
        if self.any:
            return None
        if len(self.versions) == 1:
            return self.versions[0]
        there = await current()
        self.require(there)
        return there

    def require(self, current: int) -> None:
        """Raise StaleVersion (``version_conflict``, details: version) unless the current one is meant."""
        if not self.any and current not in self.versions:
            raise StaleVersion(
                Conflict(
                    "version_conflict", "It was changed since. Read it again.", version=current
                )
            )


@contextmanager
def stale_is_told(meant: int | None) -> Iterator[None]:
    """Tell of a version that was meant and is not there any more as the answer to If-Match (412)."""
    try:
        yield
    except Conflict as error:
        if error.code == "version_conflict" and meant is not None:
            raise StaleVersion(error) from error
        raise


def etag(version: int) -> str:
    """Return the entity tag of a version."""
    return f'"{version}"'


def expected(header: str | None, *, required: bool = True) -> Expected:
    """Return what an If-Match header allows; without one any version, where it is not ``required``.

    A weak tag matches nothing, nor does one that we never gave. Raises InvalidInput:
    ``precondition_required`` without a header, ``invalid_if_match`` for what is no list of tags.
    """
    if header is None and not required:
        return Expected(any=True)
    if header is None:
        raise InvalidInput(
            "precondition_required",
            'Say which version you mean to change: If-Match: "3" (its ETag), or * for whichever.',
        )
    if header.strip() == "*":
        return Expected(any=True)
    found = [_TAG.fullmatch(part) for part in header.split(",")]
    tags = [tag for tag in found if tag is not None]
    if len(tags) != len(found):
        raise InvalidInput("invalid_if_match", 'If-Match holds entity tags such as "3", or *.')
    strong = [tag[2] for tag in tags if tag[1] is None]
    return Expected(tuple(int(tag) for tag in strong if _VERSION.fullmatch(tag)))
