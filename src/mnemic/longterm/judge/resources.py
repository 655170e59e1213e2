"""What do the word lists beside this module say, line by line?"""

from __future__ import annotations

from importlib.resources import files

__all__ = ["lines"]


def lines(name: str) -> list[str]:
    """Return the stripped lines of ``words/<name>`` without blank ones and ``#`` comments."""
    text = (files("mnemic.longterm.judge") / "words" / name).read_text(encoding="utf-8")
    stripped = (line.strip() for line in text.splitlines())
    return [line for line in stripped if line and not line.startswith("#")]
