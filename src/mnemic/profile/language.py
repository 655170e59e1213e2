"""In which language does a user wish to be answered, as a tag that everybody reads alike? Pure."""

from __future__ import annotations

from mnemic.errors import InvalidInput
from mnemic.profile.words import SPOKEN

_NONE = ("und", "mul", "mis", "zxx")
"""Codes for no language in particular."""
_NAMED = {name: tag for tag, names in SPOKEN.items() for name in names.split("|")}


def language_tag(text: str) -> str:
    """Return the usual form of a language tag (BCP 47) of a language that ISO 639 knows, as ``pt-BR``.

    The English and Chinese names of languages that many speak stand for their tags. Raises InvalidInput
    (``unknown_language``).
    """
    import langcodes

    text = _NAMED.get(text.casefold(), text)
    try:
        tag = langcodes.standardize_tag(text) if langcodes.tag_is_valid(text) else ""
    except ValueError:
        tag = ""
    language = tag.partition("-")[0]
    if not 2 <= len(language) <= 3 or language in _NONE or "qaa" <= language <= "qtz":
        raise InvalidInput(
            "unknown_language",
            "A language is named by its tag, such as en, en-GB, zh, zh-CN, zh-Hant or pt-BR, or by its name"
            " in English or Chinese.",
        )
    return tag
