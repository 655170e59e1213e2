"""What can the judge answer?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Judgement", "Label", "different", "newer", "same"]

Label = Literal["same", "newer", "different"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """One answer: ``why`` is a stable snake_case reason, ``sure`` False is the middle to ask about."""

    label: Label
    sure: bool
    why: str


def same(why: str, sure: bool = True) -> Judgement:
    """The second text tells nothing beyond the first."""
    return Judgement("same", sure, why)


def newer(why: str, sure: bool = True) -> Judgement:
    """The second text takes the place of the first."""
    return Judgement("newer", sure, why)


def different(why: str, sure: bool = True) -> Judgement:
    """Both texts stay true and tell something of their own."""
    return Judgement("different", sure, why)
