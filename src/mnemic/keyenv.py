"""Can the key of keys come from a variable, or a file that an orchestrator mounts?

``MNEMIC_KEK`` is the current key, ``MNEMIC_KEK_OTHERS`` holds those that may be needed to read: earlier ones,
and the next one while it is being handed out. A key's id comes from the key, so all processes agree on it.
Where the keys lie in files (MNEMIC_SECRETS_DIR), these are read again when an unknown key is asked for.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable

from mnemic.crypto import KEY_BYTES, derive, unwrap, wrap
from mnemic.errors import ConfigurationError, KeyUnavailable

Source = Callable[[], tuple[str, str]]
"""Tells the current key and the others, separated by commas."""
_ID_BYTES = 8


class EnvironmentKeys:
    """The KeyProvider whose keys the process is given; it makes none and destroys none."""

    def __init__(self, source: Source, again: Source | None = None) -> None:
        """``again`` reads what may have changed since. Raises ConfigurationError (``bad_setting``)."""
        self._again = again
        self._keys: dict[str, bytes] = {}
        self._current, self._listed = "", frozenset[str]()
        self._take(source())

    def __repr__(self) -> str:
        return f"EnvironmentKeys({', '.join(sorted(self._keys))})"

    async def create(self) -> str:
        """Return the id of the current key."""
        return self._current

    async def ids(self) -> tuple[str, ...]:
        """Return the ids of all keys, the current one last."""
        self._look_again()
        return (*sorted(self._listed - {self._current}), self._current)

    async def renew(self, kek_id: str) -> str:
        """Return the id of the current key, which must be another one than ``kek_id``."""
        self._look_again()
        self._key(kek_id)
        if self._current == kek_id:
            raise ConfigurationError(
                "no_newer_kek",
                "MNEMIC_KEK is the key in use: put a new one there and the present one into"
                " MNEMIC_KEK_OTHERS, in every process, and run this again.",
            )
        return self._current

    async def destroy(self, kek_id: str) -> None:
        """See that a key was taken away. Raises ConfigurationError (``kek_still_configured``) until then."""
        self._look_again()
        if kek_id in self._listed:
            raise ConfigurationError(
                "kek_still_configured",
                f"Remove the key {kek_id} from MNEMIC_KEK_OTHERS in every process and wherever else it"
                " is kept, and run this again: until then what was erased can be read in old copies.",
            )
        self._keys.pop(kek_id, None)

    async def wrap(self, kek_id: str, secret: bytes, context: bytes) -> bytes:
        """Return ``secret`` encrypted under the key ``kek_id``."""
        return wrap(self._key(kek_id), secret, context)

    async def unwrap(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        """Undo ``wrap``."""
        return unwrap(self._key(kek_id), wrapped, context)

    def _key(self, kek_id: str) -> bytes:
        if kek_id not in self._keys:
            self._look_again()
        if kek_id not in self._keys:
            raise KeyUnavailable(
                "unknown_kek",
                f"The key of this data ({kek_id}) is neither MNEMIC_KEK nor among MNEMIC_KEK_OTHERS:"
                " put it there.",
            )
        return self._keys[kek_id]

    def _look_again(self) -> None:
        if self._again is not None:
            self._take(self._again())

    def _take(self, given: tuple[str, str]) -> None:
        current = _decoded(given[0], "MNEMIC_KEK")
        others = [
            _decoded(text, "MNEMIC_KEK_OTHERS") for text in given[1].split(",") if text.strip()
        ]
        listed = {kek_id_of(key): key for key in (current, *others)}
        self._keys |= listed  # one that was taken away opens what is on its way
        self._current, self._listed = kek_id_of(current), frozenset(listed)


def kek_id_of(key: bytes) -> str:
    """Return the name of a key, which tells nothing else about it."""
    return "env-" + derive(key, "mnemic/kek-id")[:_ID_BYTES].hex()


def _decoded(text: str, variable: str) -> bytes:
    text = text.strip()
    try:
        if len(text) == 2 * KEY_BYTES:
            key = bytes.fromhex(text)
        else:
            key = base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (ValueError, binascii.Error):
        key = b""
    if len(key) != KEY_BYTES:
        raise ConfigurationError(
            "bad_setting",
            f"{variable}: a key is 32 random bytes in base64 or hexadecimal; make one with"
            " `openssl rand -base64 32`.",
            variable=variable,
        )
    return key
