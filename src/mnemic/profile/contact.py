"""Are two e-mail addresses or phone numbers the same, and how may one be shown?

Pure. The normal form is what is sealed and what is hashed for equality: case, width, spaces, separators and
the way of writing a country code do not count.
"""

from __future__ import annotations

import re
import unicodedata

from mnemic.errors import InvalidInput

MAX_EMAIL = 254
EMAIL = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]+@[\w-]+(?:\.[\w-]+)*\.[^\W\d_][\w-]*", re.UNICODE)
"""An address within a text."""
PHONE = re.compile(r"(?<![\w.])\+?\(?\d(?:[ ().·-]{0,2}\d){6,14}(?![\w])")
"""What may be a phone number within a text."""
_CALLED = re.compile(r"phone|mobile|\btel\b|\bcall me (?:at|on)\b|cell|电话|手机|座机|号码", re.I)
_CHINESE_MOBILE = re.compile(r"1[3-9]\d{9}")
_SPACES = re.compile(r"\s+")


def normal_email(value: str) -> str:
    """Return the normal form of an address. Raises InvalidInput (``invalid_email``)."""
    folded = _SPACES.sub("", unicodedata.normalize("NFKC", value)).casefold()
    if len(folded) > MAX_EMAIL or not EMAIL.fullmatch(folded):
        raise InvalidInput("invalid_email", "email must be an address such as name@example.org.")
    return folded


def normal_phone(value: str) -> str:
    """Return a number as ``+`` and digits (E.164). Raises InvalidInput (``invalid_phone``).

    Without a country code only a mainland Chinese mobile number is understood.
    """
    import phonenumbers  # its tables take a while to load

    folded = unicodedata.normalize("NFKC", value).strip()
    digits = re.sub(r"\D", "", folded)
    region = "CN" if _CHINESE_MOBILE.fullmatch(digits) else None
    if folded.startswith("00"):
        folded = "+" + folded[2:]
    try:
        number = phonenumbers.parse(folded, region)
    except phonenumbers.NumberParseException:
        raise _invalid_phone() from None
    if not phonenumbers.is_valid_number(number):
        raise _invalid_phone()
    return str(phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164))


def _invalid_phone() -> InvalidInput:
    return InvalidInput(
        "invalid_phone", "phone must be a valid number with its country code, such as +44 or +86."
    )


def masked_email(value: str) -> str:
    """Return an address of which the first letter and the domain's ending can be read."""
    name, _, domain = value.rpartition("@")
    ending = domain.rpartition(".")[2]
    return f"{name[:1]}***@***.{ending}"


def masked_phone(value: str) -> str:
    """Return a number of which the last two digits can be read."""
    return f"***{value[-2:]}"


def holds_contact(text: str) -> bool:
    """Tell whether a text holds an address or a number, so that it is shown in no other field."""
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
