"""What is an entry's hash, and a chain's head? Pure.

Every hash is HMAC-SHA256 under the audit key, which is not in the database, over a use and parts that cannot
run into each other. An entry is hashed together with the one before it; a head says how far a chain has
come, and cannot be made from the entries by somebody without the key.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from mnemic.model import Actor

CHAINS = 256
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_WHY = ("app", "web", "api", "cli", "job")
_NONE, _SOME = b"\x00", b"\x01"
_BYTES = (bytes, bytearray, memoryview)
FIELDS = ("user_mac", "credential_mac", "target_mac", "before_mac", "after_mac")
"""The hashed columns of an entry, in the order in which they are hashed again."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an entry stands: behind ``last_mac``, as number ``seq`` of its chain."""

    chain: int
    seq: int
    last_mac: bytes


class AuditKey:
    """Everything that is hashed for the audit; its secret never shows in a repr or a log."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def __repr__(self) -> str:
        return "AuditKey()"

    def user(self, actor: Actor) -> bytes:
        """Return what stands for the actor's user."""
        return self._mac("user", actor.user_scope)

    def credential(self, actor: Actor) -> bytes | None:
        """Return what stands for the label of the actor's credential."""
        return None if actor.credential is None else self._mac("credential", actor.credential)

    def target(self, target: object) -> bytes | None:
        """Return what stands for the thing that was acted on: equal for whoever did it."""
        return None if target is None else self._mac("target", str(target))

    def state(self, actor: Actor, target: object, value: object) -> bytes | None:
        """Return what stands for a state of a target: equal states of another user look different."""
        if value is None:
            return None
        text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=_plain)
        return self._mac("state", actor.user_scope, str(target), text)

    def entry(self, place: Place, row: Mapping[str, Any]) -> bytes:
        """Return the hash of an entry in its place; ``row`` has at, action, why and ``FIELDS``."""
        micros = (row["at"] - _EPOCH) // _MICROSECOND
        return self._mac(
            "entry",
            place.last_mac,
            place.chain,
            place.seq,
            micros,
            row["action"],
            row["why"],
            *(row[name] for name in FIELDS),
        )

    def start(self, marker: bytes, chain: int) -> bytes:
        """Return what the first entry of a chain is hashed with; ``marker`` names this audit."""
        return self._mac("start", marker, chain)

    def head(self, place: Place) -> bytes:
        """Return the head of a chain whose last entry is number ``seq``, with the hash ``last_mac``."""
        return self._mac("head", place.chain, place.seq, place.last_mac)

    def damaged(self, place: Place) -> bytes:
        """Return the head of a chain that was found damaged and goes on: it never counts as whole again."""
        return self._mac("damaged", place.chain, place.seq, place.last_mac)

    def whole(self, marker: bytes, places: Iterable[Place]) -> bytes:
        """Return the head of all chains at once, to be kept elsewhere."""
        parts = [part for place in places for part in (place.chain, place.seq, place.last_mac)]
        return self._mac("whole", marker, *parts)

    def chain(self, user_mac: bytes) -> int:
        """Return the chain of a user, 0 to 255."""
        return user_mac[0] % CHAINS

    def _mac(self, use: str, *parts: bytes | str | int | None) -> bytes:
        return hmac.digest(self._secret, _packed((use, *parts)), "sha256")


def same(left: bytes, right: bytes) -> bool:
    """Tell whether two hashes are one."""
    return hmac.compare_digest(bytes(left), bytes(right))


def why(actor: Actor) -> str:
    """Return the actor's purpose as the audit knows it; what an application made up counts as its own."""
    return actor.purpose if actor.purpose in _WHY else "app"


def _packed(parts: Iterable[bytes | str | int | None]) -> bytes:
    packed = []
    for part in parts:
        if part is None:
            packed.append(_NONE)
            continue
        raw = bytes(part) if isinstance(part, _BYTES) else str(part).encode()
        packed.append(_SOME + len(raw).to_bytes(8, "big") + raw)
    return b"".join(packed)


def _plain(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
