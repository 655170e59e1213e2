"""When are two addresses or phone numbers one, how is one found without being read, and what of it is shown?

Pure. What people write is brought into one form first (width, case, spaces, invisible characters, country
code); the index is a keyed hash of that form, under a key of the deployment, so that users are found by it.
"""

from __future__ import annotations

import hmac
import re
import unicodedata
from typing import Literal

from mnemic.crypto import derive
from mnemic.errors import InvalidInput

Kind = Literal["email", "phone"]

_LABEL = "mnemic/contact"
_LONGEST = 320
_LOCAL = re.compile(r"[^\s@\"(),:;<>\[\]\\]{1,64}")
_AROUND_AT = re.compile(r"\s*@\s*")
_HIDDEN = "***"


class ContactIndex:
    """Makes the index values of one deployment; its secret never shows in a repr or a log."""

    __slots__ = ("_key",)

    def __init__(self, secret: bytes) -> None:
        """``secret`` is ``keys.deployment_secret``, which outlives a rotation."""
        self._key = derive(secret, _LABEL)

    def __repr__(self) -> str:
        return "ContactIndex()"

    def of(self, kind: Kind, normalised: str) -> bytes:
        """Return the 32 bytes by which a normalised address or number is found; equal only for equal ones."""
        return hmac.digest(self._key, f"{kind}|{normalised}".encode(), "sha256")


def normalise_email(text: str) -> str:
    """Return the one form of an e-mail address: half width, small letters, domain in ASCII (IDNA).

    Capitals in the local part count as small letters, as practically all servers take them. Raises
    InvalidInput (``invalid_email``).
    """
    local, at, domain = _AROUND_AT.sub("@", _plain(text, "invalid_email")).rpartition("@")
    local = local.lower()
    if not at or not _LOCAL.fullmatch(local) or local.startswith(".") or local.endswith("."):
        raise _no_email()
    address = f"{local}@{_ascii_domain(domain)}"
    if ".." in address or len(address) > 254:
        raise _no_email()
    return address


def normalise_phone(text: str, region: str | None = None) -> str:
    """Return the one form of a phone number: E.164, with ``;ext=`` and the extension where there is one.

    ``region`` is the country (ISO 3166, two letters) of a number that is written without a country code.
    Raises InvalidInput: ``invalid_phone``, ``phone_without_country``, ``unknown_region``.
    """
    import phonenumbers

    if region is not None and region not in phonenumbers.SUPPORTED_REGIONS:
        raise InvalidInput("unknown_region", "A region is a country's code such as CN or DE.")
    written = _plain(text, "invalid_phone")
    if region is None and re.match(r"\(?00\s*[1-9]", written):
        written = re.sub("00", "+", written, count=1)
    try:
        number = phonenumbers.parse(written, region)
    except phonenumbers.NumberParseException as error:
        if error.error_type == phonenumbers.NumberParseException.INVALID_COUNTRY_CODE:
            raise InvalidInput(
                "phone_without_country",
                "Write the phone number with its country code, such as +86 or +49.",
            ) from None
        raise _no_phone() from None
    if not phonenumbers.is_valid_number(number):
        raise _no_phone()
    form = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    return f"{form};ext={number.extension}" if number.extension else str(form)


def mask_email(address: str) -> str:
    """Return what is shown of a normalised address: the first letters of name and domain, and the ending."""
    local, _, domain = address.rpartition("@")
    host, _, ending = domain.rpartition(".")
    shown = f"{host[:1]}{_HIDDEN}.{ending}" if host else _HIDDEN
    return f"{local[:1] if len(local) > 1 else ''}{_HIDDEN}@{shown}"


def mask_phone(number: str) -> str:
    """Return what is shown of a normalised number: the country code and the last two digits."""
    import phonenumbers

    number = number.partition(";")[0]
    try:
        country = f"+{phonenumbers.parse(number, None).country_code}"
    except phonenumbers.NumberParseException:
        return _HIDDEN
    return f"{country}{_HIDDEN}{number[-2:]}"


def _plain(text: str, code: Literal["invalid_email", "invalid_phone"]) -> str:
    """Return the text half width, without invisible characters, with nothing but single spaces."""
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise _no_email() if code == "invalid_email" else _no_phone()
    folded = unicodedata.normalize("NFKC", text)
    visible = "".join(char for char in folded if unicodedata.category(char) != "Cf")
    return " ".join(visible.split())


def _ascii_domain(domain: str) -> str:
    import idna

    try:
        form = idna.encode(domain.lower(), uts46=True).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        raise _no_email() from None
    if "." not in form.strip("."):
        raise _no_email()
    return form


def _no_email() -> InvalidInput:
    return InvalidInput("invalid_email", "That is no e-mail address: write it as name@example.com.")


def _no_phone() -> InvalidInput:
    return InvalidInput("invalid_phone", "That is no phone number: write it as +49 30 ...")
