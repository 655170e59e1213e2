"""Does a user ask to be remembered, or say who they are? Pure: it finds phrases, rules judge sentences."""

from __future__ import annotations

import re

_ASKS = re.compile(
    r"记住|记下|记牢|记一下|记着|记好|请记得|别忘了|不要忘|我是|我叫|我姓|以后(?:都|请|要|别|不要)"
    r"|\b(?:remember|memori[sz]e|note (?:that|down)|take note|make a note|keep in mind|bear in mind"
    r"|don['’]?t forget|do not forget|never forget|for the record|fyi|from now on"
    r"|my name is|call me|i am|i['’]?m)\b",
    re.IGNORECASE,
)


def asks_to_remember(text: str) -> bool:
    """Tell whether a message may ask for something to be remembered: 记住, 我是…, remember, note that ...

    It may also be a question ("do you remember ...?"): what is stated in it, if anything, the rules say.
    """
    return _ASKS.search(text) is not None
