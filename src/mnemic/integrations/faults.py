"""What is wrong with the arguments that a model calls a tool with? Pure; what was sent is never repeated."""

from __future__ import annotations

from typing import Any

from mnemic.access.wording import accepted
from mnemic.errors import InvalidInput

_MOST_FAULTS = 5


def unfit(tool: str, error: Any) -> InvalidInput:
    """Return the refusal (``invalid_arguments``) of arguments, from the ValidationError of pydantic's that
    their schema gave."""
    found = error.errors(include_url=False, include_input=False)
    shown = "; ".join(map(_fault, found[:_MOST_FAULTS]))
    return InvalidInput("invalid_arguments", f"{tool} cannot be called so: {shown}.")


def _fault(fault: Any) -> str:
    named = ".".join(str(part) for part in fault["loc"]) or "the arguments"
    if fault["type"] == "missing":
        return f"{named} is missing"
    if fault["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"there is no argument {named}"
    return f"{named} {accepted(fault)}"
