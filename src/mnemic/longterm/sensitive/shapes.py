"""Does a value look like a real secret, or like a placeholder, a word or a piece of code?

Shannon entropy in bits per character and a small lexicon of the words that examples are made of.
Nothing here knows where the value was found.
"""

from __future__ import annotations

import math
import re
from collections import Counter

from mnemic.longterm.sensitive.lazy import lazy

_CODE_VALUE = lazy(
    r"^(?:os\.|process\.|env[.\[(]|getenv|config[.\[(]|settings?[.\[]|self\.|this\.|req(?:uest)?\.|"
    r"args\.|ctx\.|secrets\.|vault[:.]|data\.|user\.|form\.|new |await |str\(|f[\"'])",
    re.I,
)
_SYNTAX = lazy(
    r"^[$%@&][\w{(]|\$\{|\{\{|\{[A-Za-z_]|%\(|%[sd]\b|[<\[{(]\s?[^<>]{0,60}[>\]})]$|^<|\*{3,}|•{2,}|"
    r"·{3,}|\.{3,}|…|_{4,}|\?{3,}|^#+$"
)
_REPEATED = lazy(r"(.)\1{4,}|[xX]{4,}|0{8,}", re.I)
_SEQUENCE = lazy(r"12345678|23456789|87654321|abcdefgh", re.I)
_FILLER_WORDS = """
a an the my your our his her their this that some any new old is in on to of for here there add insert
enter put replace change changeme me with value values goes go string text key keys secret secrets token
tokens api apikey access password passwords passwd pass pwd pw passphrase code auth authentication
authorization bearer basic client server user username admin root test testing tests dev prod production
example examples sample samples demo dummy fake mock foo bar baz qux foobar default placeholder todo tbd
redacted hidden masked none null nil undefined true false empty abc abcd abcdef xyz xxx xxxx super very
strong secure safe random long generated hash hashed plain hello world database db mysql postgres
postgresql mongo mongodb redis jwt session cookie csrf refresh id app application service account name
email mail login signing private public encryption encrypted oauth google aws azure github gitlab openai
stripe slack twitter facebook openweathermap weather news map maps env var variable config setting
settings mysecret supersecret secretkey mypassword mytoken yoursecret yourpassword yourtoken yourapikey
newpassword oldpassword testpassword letmein qwerty welcome sk pk live not long enough bot something
anything whatever only use must be min max length required optional at least and or then from get set
local localhost url path file development staging valid invalid correct wrong existing current temporary
temp initial actual real own hardcoded minimum maximum
"""
_FILLER = frozenset(_FILLER_WORDS.split())
_PARTS = lazy(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_LEET = str.maketrans("@0$3", "aose")


def entropy(value: str) -> float:
    """Return the Shannon entropy of ``value`` in bits per character (0 for the empty string)."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values()) if total else 0.0


def classes(value: str) -> int:
    """Count the kinds of characters in ``value``: lower, upper, digits, the rest (0 to 4)."""
    return (
        any(c.islower() for c in value)
        + any(c.isupper() for c in value)
        + any(c.isdigit() for c in value)
        + any(not c.isalnum() for c in value)
    )


def is_blank_form(value: str) -> bool:
    """Tell whether ``value`` is a template slot or masked: ``<key>``, ``${X}``, ``xxxx``, ``***``."""
    return bool(
        _SYNTAX.search(value)
        or _CODE_VALUE.match(value)
        or re.search(
            r"your|example|placeholder|redacted|insert|change_?me|#[a-z_]+_masked|_here\b",
            value,
            re.I,
        )
    )


def is_filler(value: str) -> bool:
    """Tell whether ``value`` is made of example words only, as ``my-secret-key-123``."""
    if _REPEATED.search(value) or (len(value) <= 20 and _SEQUENCE.search(value)):
        return True
    if _counts_up(value):
        return True
    parts = _PARTS.findall(value)
    words = [part.lower() for part in parts if not part.isdigit()]
    digits = "".join(part for part in parts if part.isdigit())
    if words and all(word in _FILLER or len(word) == 1 for word in words):
        return len(digits) <= 4 or digits in "01234567890123456789"
    whole = re.sub(r"[^a-z]", "", value.lower().translate(_LEET))
    return whole in _FILLER and len(digits) <= 6


def _counts_up(value: str) -> bool:
    """Tell ``123456:ABC-DEF``: nothing but the beginning of the digits and of the alphabet."""
    digits = "".join(char for char in value if char.isdigit())
    letters = "".join(char for char in value.lower() if char.isalpha())
    return len(digits) >= 3 <= len(letters) and bool(
        "12345678901234567890".startswith(digits)
        and "abcdefghijklmnopqrstuvwxyz".startswith(letters)
    )


def is_placeholder(value: str) -> bool:
    """Tell whether ``value`` stands for a secret instead of being one."""
    return is_blank_form(value) or is_filler(value)


def is_token_like(value: str) -> bool:
    """Tell whether ``value`` is random enough for a key or token: letters with digits, not words."""
    if len(value) < 8 or is_placeholder(value):
        return False
    digits = sum(c.isdigit() for c in value)
    letters = sum(c.isalpha() for c in value)
    if digits and letters >= 2:
        return entropy(value) >= (2.6 if len(value) < 16 else 3.0) and not _word_like(value)
    mixed = any(c.islower() for c in value) and any(c.isupper() for c in value)
    return len(value) >= 24 and mixed and entropy(value) >= 4.0 and not _word_like(value)


def _word_like(value: str) -> bool:
    """Tell names such as ``web21prod-eu-24021`` or ``gpt-4o-mini`` from random strings."""
    parts = re.findall(r"[A-Za-z]+|\d+", value)
    if re.fullmatch(r"[0-9a-f]{16,}|[0-9a-fA-F-]{32,36}", value):
        return False
    words = [p for p in _PARTS.findall(value) if p.isalpha() and len(p) >= 4]
    covered = sum(len(word) for word in words if re.search(r"[aeiouy]", word, re.I))
    return len(parts) <= 6 and covered >= 0.6 * len(value)
