"""Is a query the end of a conversation, and who says what in it?

Agents often ask with what was said last: lines that begin with a name and a colon. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

__all__ = ["Line", "lines_of"]

_LABEL = re.compile(
    r"([^\W\d_\u2e80-\u9fff][\w .'’-]{0,30}|[\u3400-\u9fff·]{1,12})[ ]?[:：](?!//)[ ]*"
)
_ROLES = frozenset(
    (
        "user", "human", "me", "you", "assistant", "ai", "bot", "chatbot", "agent", "system", "model",
        "用户", "用戶", "我", "你", "人类", "助手", "助理", "智能助手", "机器人", "客服", "系统", "模型",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """What one speaker says. ``speaker`` is empty where only a part is named ("User", "助手")."""

    speaker: str
    text: str

    @property
    def words(self) -> str:
        """What counts as words: a name does, a part does not."""
        return f"{self.speaker}: {self.text}" if self.speaker else self.text


def lines_of(query: str) -> tuple[Line, ...]:
    """Return what is said, the oldest first; nothing for a query that is no conversation.

    A conversation has two lines or more that begin with a label, the first among them, and some label in it
    names a part or comes again: "port: 80" above "host: heron" is none. A line without a label goes on with
    the one before.
    """
    found: list[tuple[str, str]] = []
    for line in query.splitlines():
        if match := _LABEL.match(line.strip()):
            found.append((match[1].strip(), line.strip()[match.end() :]))
        elif found:
            label, text = found[-1]
            found[-1] = (label, f"{text}\n{line.strip()}".strip())
        elif line.strip():
            return ()
    labels = Counter(label.casefold() for label, _ in found)
    if len(found) < 2 or not (_ROLES & labels.keys() or len(labels) < len(found)):
        return ()
    return tuple(Line("" if name.casefold() in _ROLES else name, text) for name, text in found)
