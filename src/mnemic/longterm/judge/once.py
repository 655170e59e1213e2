"""How is a text that takes part in many comparisons taken apart only once?

Within one call, and no longer: no copy of what a user wrote may outlive it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar

__all__ = ["once", "reading_once"]

T = TypeVar("T")
_Known = dict[Callable[[str], Any], dict[str, Any]]
_SO_FAR: ContextVar[_Known | None] = ContextVar("readings_so_far", default=None)


@contextmanager
def reading_once() -> Iterator[None]:
    """Take each text apart once inside the block; nothing of it outlives the block."""
    token = _SO_FAR.set({})
    try:
        yield
    finally:
        _SO_FAR.reset(token)


def once(function: Callable[[str], T]) -> Callable[[str], T]:
    """Let a pure function of a text answer from memory inside ``reading_once``."""

    @wraps(function)
    def remembered(text: str) -> T:
        so_far = _SO_FAR.get()
        if so_far is None:
            return function(text)
        answers = so_far.setdefault(function, {})
        if text not in answers:
            answers[text] = function(text)
        answer: T = answers[text]
        return answer

    return remembered
