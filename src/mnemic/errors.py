"""What can go wrong, and what is it called?

    MnemicError                 code, message, details
    ├── InvalidInput            the caller sent something that cannot be meant
    ├── NotFound                no such thing, or not this actor's: both answer alike
    ├── Unauthenticated         no credential, or none that counts here
    ├── PermissionDenied        the actor may not do this
    │   └── ConsentRequired     its user has not agreed to be remembered
    ├── RateLimited             a request or an extraction pass too many
    ├── Conflict                somebody else changed it first
    ├── ConfigurationError      a setting, a directory or a file is wrong: fix it and start again
    │   ├── KeyUnavailable      the key that sealed the data is missing, exposed or unknown
    │   └── HostNotAllowed      an endpoint outside the allowed hosts
    ├── StorageError            the database answered no
    │   └── StorageUnavailable  the database did not answer
    ├── EmbeddingError          no usable vector for this text
    └── ChatError               no usable answer from the chat model

Every error carries a stable reason ``code`` (docs/reference/reason-codes.md), which is the same in the
library, on the command line and in every service. Messages say what to do and never repeat content.
"""

from __future__ import annotations

__all__ = [
    "ChatError",
    "ConfigurationError",
    "Conflict",
    "ConsentRequired",
    "EmbeddingError",
    "HostNotAllowed",
    "InvalidInput",
    "KeyUnavailable",
    "MnemicError",
    "NotFound",
    "PermissionDenied",
    "RateLimited",
    "StorageError",
    "StorageUnavailable",
    "Unauthenticated",
]


UNFORESEEN = "internal_error"
"""The code of whatever nobody raised on purpose."""


class MnemicError(Exception):
    """Base of every error that Mnemic raises on purpose.

    ``code`` is stable and machine-readable, ``message`` is one sentence for people, ``details`` holds
    ids, counts and limits (never content or secrets).
    """

    def __init__(self, code: str, message: str, **details: object) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details

    def __str__(self) -> str:
        return f"{self.message} [{self.code}]"


def reason_of(error: Exception) -> dict[str, str]:
    """Return what a log says of an error: its code; of one that nobody foresaw also its type and its place.

    Its text is left out: it may quote what a user said.
    """
    if isinstance(error, MnemicError):
        return {"code": error.code}
    trace, place = error.__traceback__, "nowhere"
    while trace is not None:
        place = f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}"
        trace = trace.tb_next
    return {"code": UNFORESEEN, "error": type(error).__name__, "place": place}


def fails_for_all(error: Exception) -> bool:
    """Tell whether whoever comes next would meet this error too: database, cold store or keys are away."""
    if isinstance(error, StorageUnavailable):
        return error.code != "profile_asleep"  # one user's, who was put to sleep in between
    return isinstance(error, KeyUnavailable) and error.code.startswith(("vault_", "key_file_"))


class InvalidInput(MnemicError, ValueError):
    """The input has no meaning here; nothing was read or changed."""


class NotFound(MnemicError, LookupError):
    """Unknown, or not readable by this actor: the two are not told apart."""


class Unauthenticated(MnemicError):
    """Nobody is asking: the credential is missing, wrong, expired or revoked."""


class PermissionDenied(MnemicError):
    """The actor may not do this."""


class ConsentRequired(PermissionDenied):
    """The user refused to be remembered, or has not been asked where that is required."""


class RateLimited(MnemicError):
    """Too many requests or extraction passes; ``details["retry_after"]`` is in seconds."""


class Conflict(MnemicError):
    """Somebody else changed the row first; read again and retry."""


class ConfigurationError(MnemicError):
    """Something outside the data is set up wrong; the message names the remedy."""


class KeyUnavailable(ConfigurationError):
    """Data exists that cannot be opened with the keys at hand."""


class HostNotAllowed(ConfigurationError):
    """An endpoint's host is not among the allowed ones; no byte was sent."""


class StorageError(MnemicError):
    """The database refused the work."""


class StorageUnavailable(StorageError):
    """The database cannot be reached."""


class EmbeddingError(MnemicError):
    """No usable vector came back."""


class ChatError(MnemicError):
    """No usable answer came back."""
