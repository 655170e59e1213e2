"""Where in a text does an e-mail address or a phone number stand, so that it is shown in no other field?

Pure. What an address is, and its one form, is said in ``mnemic.contact``; here a mainland Chinese mobile
number is understood without its country code.
"""

from __future__ import annotations

import re
import unicodedata

from mnemic.contact import normalise_phone
from mnemic.errors import InvalidInput

EMAIL = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]+@[\w-]+(?:\.[\w-]+)*\.[^\W\d_][\w-]*", re.UNICODE)
"""An address within a text."""
PHONE = re.compile(r"(?<![\w.])\+?\(?\d(?:[ ().·-]{0,2}\d){6,14}(?![\w])")
"""What may be a phone number within a text."""
_CALLED = re.compile(r"phone|mobile|\btel\b|\bcall me (?:at|on)\b|cell|电话|手机|座机|号码", re.I)
_CHINESE_MOBILE = re.compile(r"1[3-9]\d{9}")


def normal_phone(value: str) -> str:
    """Return the one form of a number. Raises InvalidInput as ``mnemic.contact.normalise_phone``."""
    digits = re.sub(r"\D", "", unicodedata.normalize("NFKC", value))
    return normalise_phone(value, "CN" if _CHINESE_MOBILE.fullmatch(digits) else None)


def holds_contact(text: str) -> bool:
    """Tell whether a text holds an address or a number."""
    folded = unicodedata.normalize("NFKC", text)
    return bool(EMAIL.search(folded)) or any(
        _CALLED.search(folded) or _is_number(found[0]) for found in PHONE.finditer(folded)
    )


def _is_number(text: str) -> bool:
    try:
        normal_phone(text)
    except InvalidInput:
        return False
    return True
