"""Under which name and which key does a window lie in Redis? Neither can be told without the user's data key.

    mnemic:ctx:{<HMAC of the user>}:<HMAC of the session>      braces: a user's windows share a cluster slot

Both hang on a secret that is derived from the data key for this use alone. When a user is erased the key is
gone, and with it the way to the name and to the turns.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from uuid import UUID

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from mnemic.crypto import DataKey, derive
from mnemic.model import Actor

_PREFIX = "mnemic:ctx"
_NAME_BYTES = 16


@dataclass(frozen=True, slots=True)
class WindowKey:
    """What seals and names the windows of one user."""

    key_id: UUID
    cipher: AESGCM = field(repr=False)
    names: bytes = field(repr=False)

    @classmethod
    def of(cls, key: DataKey) -> WindowKey:
        """Return what belongs to a user's data key."""
        secret = derive(key._mac, "mnemic/window")
        return cls(
            key.key_id,
            AESGCM(derive(secret, "mnemic/window/turns")),
            derive(secret, "mnemic/window/names"),
        )

    def name(self, actor: Actor) -> bytes:
        """Return the name of the window of the actor's session."""
        return self.name_of(actor.user_scope, str(actor.session_scope))

    def name_of(self, user_scope: str, session_scope: str) -> bytes:
        """Return the name of a session's window, from scope keys."""
        user, session = self._hidden(user_scope), self._hidden(session_scope)
        return f"{_PREFIX}:{{{user}}}:{session}".encode()

    def _hidden(self, text: str) -> str:
        return hmac.digest(self.names, text.encode(), "sha256")[:_NAME_BYTES].hex()
