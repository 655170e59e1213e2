"""When is a regular expression compiled? At its first use, not when the module is imported.

The rules of this package take a fifth of a second to compile; most texts need a few of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Protocol

__all__ = ["Pattern", "lazy"]


class _Once(Protocol):
    def __call__(self, string: str, pos: int = 0, endpos: int = ..., /) -> re.Match[str] | None: ...


class _Each(Protocol):
    def __call__(
        self, string: str, pos: int = 0, endpos: int = ..., /
    ) -> Iterator[re.Match[str]]: ...


class _Replace(Protocol):
    def __call__(self, repl: str | Callable[[re.Match[str]], str], string: str, /) -> str: ...


class _All(Protocol):
    def __call__(self, string: str, /) -> list[Any]: ...


class Pattern:
    """A pattern whose methods are those of ``re.Pattern``, bound at the first call (thread-safe)."""

    def __init__(self, source: str, flags: int = 0) -> None:
        self._source = source
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._source, self._flags)

    @cached_property
    def search(self) -> _Once:
        """The bound ``search``."""
        return self._compiled.search

    @cached_property
    def match(self) -> _Once:
        """The bound ``match``."""
        return self._compiled.match

    @cached_property
    def fullmatch(self) -> _Once:
        """The bound ``fullmatch``."""
        return self._compiled.fullmatch

    @cached_property
    def finditer(self) -> _Each:
        """The bound ``finditer``."""
        return self._compiled.finditer

    @cached_property
    def findall(self) -> _All:
        """The bound ``findall``."""
        return self._compiled.findall

    @cached_property
    def sub(self) -> _Replace:
        """The bound ``sub``; it takes no count."""
        return self._compiled.sub

    def __or__(self, other: Pattern) -> Pattern:
        """Return a pattern that matches where one of two does that have the same flags."""
        if self._flags != other._flags:
            raise ValueError("patterns of different flags have no alternative")
        return Pattern(f"{self._source}|{other._source}", self._flags)


def lazy(source: str, flags: int = 0) -> Pattern:
    """Return ``source`` as a pattern that is compiled when it is first needed."""
    return Pattern(source, flags)
